"""Tasks for people: what each person rates, in which order, and how it looks. No task reveals which
generator wrote a text.

A template says what a task shows and asks. Each kind of task has a template in
prompts/annotate/NAME.toml.

    reference = "hidden"      # or "shown": the reference beside the output; or "paired": both side
                              # by side, blind
    instructions = "..."      # how to go about it; paragraphs
    [headings]                # source, output, reference; of a pair: source, first, second
    [[levels]]                # of every criterion without levels of its own
    [criteria.NAME]           # as in a rubric file (see metal.raters.judges.rubric), and:
    compares = true           # its levels compare the second text with the first; for each level,
                              # `shown` is what people read, and `label` what it means for the
                              # output: more is better for the output

If the table of a criterion is empty, prompts/criteria/NAME.toml declares the criterion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metal.data.files import read_toml
from metal.data.records import Criterion, Output, Source
from metal.errors import DataError, UnknownName, UsageError, check_known
from metal.raters.judges.rubric import Rubric, described, in_template

Reference = Literal["hidden", "shown", "paired"]
REFERENCES = ("hidden", "shown", "paired")
DEFAULT = "metal"
HEADINGS: Mapping[str, Mapping[str, str]] = {
    "hidden": {"source": "Source", "output": "Output to rate"},
    "shown": {"source": "Source", "reference": "Reference", "output": "Output to rate"},
    "paired": {"source": "Source", "first": "Text A", "second": "Text B"},
}
# every name that a text beside the source has in a form
TEXTS = ("reference", "output", "first", "second")
_KEYS = ("reference", "instructions", "headings", "levels", "criteria")


TAKEN_IN = "metal annotate import DATASET"


@dataclass(frozen=True)
class TaskTemplate:
    """How a task is shown. METAL's default shows a source and an output, but no reference.

    headings: field -> heading, if it differs from HEADINGS. criteria: the criteria, as a dataset
    has to declare them. rubrics: criterion -> what people read about it, for criteria that the
    template describes. compared: the criteria that compare the texts of a pair. opinions: whether
    people are asked for their opinion, not for the right answer. taken_in: the
    command that imports the answers.
    """

    name: str = DEFAULT
    reference: Reference = "hidden"
    instructions: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    compared: frozenset[str] = frozenset()
    opinions: bool = True
    taken_in: str = TAKEN_IN

    @property
    def paired(self) -> bool:
        """Whether people see the reference and the output side by side, but not which is which."""
        return self.reference == "paired"

    def heading(self, name: str) -> str:
        """The heading above the source or a text."""
        return self.headings.get(name) or HEADINGS[self.reference][name]

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the texts shown with the source, in order. The last one is rated."""
        return tuple(name for name in HEADINGS[self.reference] if name != "source")

    @property
    def rated(self) -> tuple[str, ...]:
        """The names of the texts that are rated."""
        return tuple(name for name in self.texts if name != "reference")

    @property
    def paragraphs(self) -> list[str]:
        """The instructions, paragraph by paragraph."""
        return [" ".join(part.split()) for part in self.instructions.split("\n\n") if part.strip()]


METAL = TaskTemplate()


def named_files(folders: Iterable[Path], kind: str) -> dict[str, Path]:
    """Name -> the first KIND/NAME.toml in the folders."""
    files = [path for folder in folders for path in (folder / kind).glob("*.toml")]
    return {path.stem: path for path in reversed(files)}


def load_template(name: str, folders: Sequence[Path]) -> TaskTemplate:
    """Load the first template of that name in the folders. Raises UnknownName, or DataError for a
    bad file.
    """
    paths = named_files(folders, "annotate")
    if name in paths:
        return _read(name, paths[name], folders)
    remedy = "Or give your own as prompts/annotate/NAME.toml in the dataset's folder"
    raise UnknownName("template", name, sorted(paths), remedy)


def _read(name: str, path: Path, folders: Sequence[Path]) -> TaskTemplate:
    content = read_toml(path)
    _check_parts(content, path)
    reference, tables = content.get("reference", "hidden"), content.get("criteria", {})
    instructions, headings = content.get("instructions", ""), content.get("headings", {})
    criteria, rubrics, compared = {}, {}, set()
    for criterion, table in tables.items():
        if not table:
            if not (own := described(criterion, folders)):
                problem = (
                    f"criterion {criterion} is empty, and there is no criteria/{criterion}.toml"
                )
                raise DataError(path, problem, "Write the question")
            criteria[criterion] = own
            continue
        rubric, shown = in_template(criterion, table, content.get("levels", []), path)
        criteria[criterion] = rubric.criterion
        rubrics[criterion] = replace(rubric, criterion=relabelled(rubric.criterion, shown))
        if _compares(criterion, table, path):
            _check_compared(criteria[criterion], reference, path)
            compared.add(criterion)
    return TaskTemplate(
        name, reference, instructions, headings, criteria, rubrics, frozenset(compared)
    )


def _check_parts(content: Mapping[str, Any], path: Path) -> None:
    """Raise UnknownName or DataError if a part of a template is wrong."""
    check_known(f"{path}: key", content, _KEYS)
    reference = content.get("reference", "hidden")
    if reference not in REFERENCES:
        raise DataError(
            path, f"reference is {reference!r}", f"Write one of {', '.join(REFERENCES)}"
        )
    instructions, headings = content.get("instructions", ""), content.get("headings", {})
    if not isinstance(instructions, str):
        raise DataError(path, "instructions is not a text", 'Write instructions = """..."""')
    if not isinstance(headings, dict) or not all(
        isinstance(text, str) for text in headings.values()
    ):
        raise DataError(
            path, "headings is not a table of texts", 'Write source = "Article" under [headings]'
        )
    check_known(f"{path}: headings: key", headings, HEADINGS[reference])
    tables = content.get("criteria", {})
    if not isinstance(tables, dict) or not all(
        isinstance(table, dict) for table in tables.values()
    ):
        raise DataError(
            path, "criteria is not a table of tables", "Write [criteria.NAME] before each"
        )


def _compares(name: str, table: Mapping[str, Any], path: Path) -> bool:
    compares = table.get("compares", False)
    if not isinstance(compares, bool):
        raise DataError(path, f"criterion {name}: compares is {compares!r}", "Write true or false")
    return compares


def _check_compared(criterion: Criterion, reference: str, path: Path) -> None:
    if reference != "paired":
        raise DataError(
            path,
            f"criterion {criterion.name} compares, but there is nothing to compare with",
            'Set reference = "paired"',
        )
    if criterion.scale.ends is None:
        raise DataError(
            path,
            f"criterion {criterion.name} compares on a scale without ends, which cannot be"
            " reversed",
            "Give it levels in an order, or a range",
        )


def relabelled(criterion: Criterion, labels: Sequence[str]) -> Criterion:
    """The criterion with other labels for its levels."""
    levels = tuple(
        replace(level, label=label)
        for level, label in zip(criterion.scale.levels, labels, strict=True)
    )
    return replace(criterion, scale=replace(criterion.scale, levels=levels))


@dataclass(frozen=True)
class Task:
    """One output to be rated, as people see it. Nothing in the task reveals the output's generator
    or quality.

    task: an opaque id. references: the references of the source, if people see them. output_first:
    whether the output comes first in a pair (of the first reference and the output). output and
    output_first are never written into a form.
    """

    task: str
    output: str
    language: str
    title: str
    source: str
    text: str
    references: tuple[str, ...] = ()
    output_first: bool = False

    def texts(self, template: TaskTemplate) -> dict[str, str]:
        """The texts shown with the source, by their names in the template (for a pair: first and
        second).
        """
        if template.paired:
            pair = (
                (self.text, self.references[0])
                if self.output_first
                else (self.references[0], self.text)
            )
            return dict(zip(template.texts, pair, strict=True))
        bulleted = len(self.references) > 1
        reference = "\n".join(f"• {text}" if bulleted else text for text in self.references)
        texts = {"output": self.text, "reference": reference}
        return {name: texts[name] for name in template.texts}


@dataclass(frozen=True)
class Frame:
    """The form's own words around the tasks, in one language. texts: English -> translation; other
    texts stay English.

    reviewed: who has reviewed the translation, or `unreviewed`.
    """

    language: str = "en"
    reviewed: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """What one person is given: tasks in order, the criteria on which to rate them, and the
    template.
    """

    dataset: str
    rater: str
    language: str
    tasks: tuple[Task, ...]
    rubrics: Mapping[str, Rubric]
    template: TaskTemplate = METAL
    frame: Frame = Frame()


@dataclass(frozen=True)
class Answer:
    """A person's answer to one task.

    scores: criterion -> score as written in the file, blank if the rater gave none. where: file and
    row, for messages. seconds: time spent on the task, if the form measured it.
    """

    task: str
    rater: str
    scores: Mapping[str, str]
    comment: str = ""
    where: str = ""
    seconds: float | None = None


def task_id(key: str, output: str) -> str:
    """The id of an output's task. It is the same in every export with that key, so ratings of
    earlier rounds still fit.

    key: the dataset's secret. Ids of passages and generators are often public; without a key
    anybody could work out which output a task id stands for.
    """
    return "t" + blake2b(output.encode(), key=key.encode()[:64], digest_size=6).hexdigest()


def make_tasks(
    key: str,
    outputs: Iterable[Output],
    sources: Mapping[str, Source],
    template: TaskTemplate = METAL,
) -> list[Task]:
    """A task for each output. key: see task_id.

    The id of a pair differs from the id of its output, so answers about the pair are never mistaken
    for answers about the output alone. The key and the id decide which text of a pair comes first,
    so the order is the same in every round. If the template shows references, callers leave out
    outputs whose source has none.
    """
    tasks = []
    for output in outputs:
        source = sources[output.source]
        name = task_id(
            key, f"{output.output}\0{template.name}" if template.paired else output.output
        )
        references = (
            () if template.reference == "hidden" else tuple(filter(str.strip, source.references))
        )
        coin = (
            blake2b(name.encode(), key=key.encode()[:64], person=b"first", digest_size=1).digest()[
                0
            ]
            & 1
        )
        first = template.paired and bool(coin)
        tasks.append(
            Task(
                name,
                output.output,
                output.language,
                source.title,
                source.text,
                output.text,
                references,
                first,
            )
        )
    return tasks


def assign(
    tasks: Sequence[Task],
    dataset: str,
    rubrics: Mapping[str, Rubric],
    *,
    raters: int = 3,
    people: int | None = None,
    common: int = 0,
    first: int = 1,
    reserved: Sequence[range] = (),
    seed: int = 0,
    hidden: Sequence[Sequence[Task]] = (),
    template: TaskTemplate = METAL,
) -> list[Assignment]:
    """Assign tasks to the people of each language. People are called `hi-1`, `hi-2`, ..., numbered
    from `first`, without `reserved` numbers.

    Every task goes to `raters` people. With more `people` than that, loads differ by at most one
    task, and every two people share about as many tasks as any other two. common: how many tasks of
    a language all of its people rate. hidden: test questions, one list for each kind. Each kind is
    spread in the same way, so the number of its questions differs by at most one between people.
    Each person's order is shuffled, seeded by (seed, person). People without a task get no
    assignment. Raises UsageError if there are fewer people than raters.
    """
    people = people or raters
    if people < raters:
        raise UsageError(
            f"`people={people}` is fewer than `raters={raters}`: no person rates an output twice"
        )
    assignments = []
    for language in dict.fromkeys(task.language for task in tasks):
        pool = [task for task in tasks if task.language == language]
        piles = _spread(
            len(pool), raters, [0] * people, min(common, len(pool)), _rng(seed, language)
        )
        for number, kind in enumerate(hidden, 1):
            start, loads = len(pool), list(map(len, piles))
            pool += [task for task in kind if task.language == language]
            more = _spread(
                len(pool) - start, raters, loads, 0, _rng(seed, f"{language} hidden {number}")
            )
            piles = [
                [*pile, *(start + index for index in new)]
                for pile, new in zip(piles, more, strict=True)
            ]
        numbers = free_numbers(first, reserved)
        for number, pile in zip(numbers, filter(None, piles), strict=False):
            rater = f"{language}-{number}"
            order = _rng(seed, rater).permutation(len(pile))
            shuffled = tuple(pool[pile[index]] for index in order)
            assignments.append(Assignment(dataset, rater, language, shuffled, rubrics, template))
    return assignments


def free_numbers(first: int, reserved: Sequence[range]) -> Iterator[int]:
    """The numbers from `first` on that are not reserved.

    >>> from itertools import islice
    >>> list(islice(free_numbers(1, [range(2, 5)]), 3))
    [1, 5, 6]
    """
    number = first
    while True:
        blocks = [block for block in reserved if number in block]
        if blocks:
            number = blocks[0].stop
        else:
            yield number
            number += 1


def _spread(
    count: int, raters: int, before: Sequence[int], common: int, rng: np.random.Generator
) -> list[list[int]]:
    """Spread `count` tasks over people: for each person, the positions of their tasks. before: how
    many tasks each person already has.

    Each task goes to the people with the fewest of these tasks. Among equals, people with the
    fewest tasks in all come first, then people who share the fewest tasks with the others chosen
    for the task. Ties are broken at random, because a fixed rule would pair the same people at the
    end of every round.
    """
    people, order = len(before), rng.permutation(count)
    piles: list[list[int]] = [order[:common].tolist() for _ in range(people)]
    loads = np.zeros(people)
    shared = np.zeros((people, people))
    for task in order[common:].tolist():
        chosen: list[int] = []
        for _ in range(raters):
            taken = np.isin(np.arange(people), chosen)
            keys = (rng.random(people), shared[:, chosen].sum(axis=1), loads + before, loads, taken)
            chosen.append(int(np.lexsort(keys)[0]))
        for person in chosen:
            piles[person].append(task)
        loads[chosen] += 1
        shared[np.ix_(chosen, chosen)] += 1
    return piles


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *blake2b(name.encode(), digest_size=8).digest()])
