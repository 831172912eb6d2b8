"""Tasks for people: what each of them rates, in which order, without a sign of who wrote what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from metal.building.template import METAL, Template
from metal.data.records import Output, Source
from metal.errors import UsageError
from metal.raters.judges.rubric import Rubric


@dataclass(frozen=True)
class Task:
    """One output to be rated, as people see it: nothing in it tells its generator or quality.

    task: an id that says nothing. references: of the source, where people see them. output and output_first stay with
    us and are written into no form: of a pair (the first reference and the output) output_first says which came first.
    """

    task: str
    output: str
    language: str
    title: str
    source: str
    text: str
    references: tuple[str, ...] = ()
    output_first: bool = False

    def texts(self, template: Template) -> dict[str, str]:
        """The texts beside the source by the names that the template has for them: of a pair, first and second."""
        if template.paired:
            pair = (self.text, self.references[0]) if self.output_first else (self.references[0], self.text)
            return dict(zip(template.texts, pair, strict=True))
        known = "\n".join(f"• {text}" for text in self.references) if len(self.references) > 1 else ""
        found = {"output": self.text, "reference": known or "".join(self.references)}
        return {name: found[name] for name in template.texts}


@dataclass(frozen=True)
class Sheet:
    """What one person is given: tasks in their order, the criteria to rate them on, and how both are put to people."""

    dataset: str
    rater: str
    language: str
    tasks: tuple[Task, ...]
    rubrics: Mapping[str, Rubric]
    template: Template = METAL


@dataclass(frozen=True)
class Answer:
    """What came back for one task. scores: by criterion, as it stands in the file; blank where nothing was said.

    where: file and row, for messages. seconds: spent on the task, where the form measured it.
    """

    task: str
    rater: str
    scores: Mapping[str, str]
    comment: str = ""
    where: str = ""
    seconds: float | None = None


def task_id(key: str, output: str) -> str:
    """The same for an output in every export with that key: ratings of earlier rounds keep their place.

    key: a secret of the dataset's. Ids of passages and generators are often public: without a key everybody could
    find out which of them an id stands for.
    """
    return "t" + blake2b(output.encode(), key=key.encode()[:64], digest_size=6).hexdigest()


def make_tasks(
    key: str, outputs: Iterable[Output], sources: Mapping[str, Source], template: Template = METAL
) -> list[Task]:
    """A task for each output. key: see task_id.

    A pair is a task of its own, so that its answers are never taken for those about the output alone; which of its
    texts comes first is decided by the key and that id, the same in every round. Outputs of sources without references
    cannot be shown with one: leave them out before.
    """
    found = []
    for output in outputs:
        source = sources[output.source]
        name = task_id(key, f"{output.output}\0{template.name}" if template.paired else output.output)
        references = () if template.reference == "hidden" else tuple(filter(str.strip, source.references))
        first = template.paired and _coin(key, name)
        found.append(
            Task(name, output.output, output.language, source.title, source.text, output.text, references, first)
        )
    return found


def _coin(key: str, task: str) -> bool:
    return bool(blake2b(task.encode(), key=key.encode()[:64], person=b"first", digest_size=1).digest()[0] & 1)


def deal(
    tasks: Sequence[Task],
    dataset: str,
    rubrics: Mapping[str, Rubric],
    *,
    raters: int = 3,
    people: int | None = None,
    common: int = 0,
    first: int = 1,
    seed: int = 0,
    hidden: Sequence[Sequence[Task]] = (),
    template: Template = METAL,
) -> list[Sheet]:
    """Sheets for the people of each language, named `hi-1`, `hi-2`, ... from `first` on.

    Every task goes to `raters` people; with more `people` than that it is dealt so that loads differ by one task at
    most and every two people share about as many tasks as any other two. common: so many tasks of a language go to
    all of its people. hidden: test questions, a list of each kind; each is dealt likewise, so that everybody gets as
    many of a kind as anybody, give or take one. Orders are shuffled for each person, seeded by (seed, person). People
    without a task have no sheet.
    Raises UsageError when there are fewer people than raters.
    """
    people = people or raters
    if people < raters:
        raise UsageError(f"--people {people} is fewer than --raters {raters}: nobody rates an output twice")
    sheets = []
    for language in dict.fromkeys(task.language for task in tasks):
        mine = [task for task in tasks if task.language == language]
        piles = _dealt(len(mine), raters, [0] * people, min(common, len(mine)), _rng(seed, language))
        for number, kind in enumerate(hidden, 1):
            start, loads = len(mine), [len(pile) for pile in piles]
            mine += [task for task in kind if task.language == language]
            more = _dealt(len(mine) - start, raters, loads, 0, _rng(seed, f"{language} hidden {number}"))
            piles = [[*pile, *(start + place for place in new)] for pile, new in zip(piles, more, strict=True)]
        for number, pile in enumerate(filter(None, piles), first):
            rater = f"{language}-{number}"
            order = _rng(seed, rater).permutation(len(pile))
            dealt = tuple(mine[pile[place]] for place in order)
            sheets.append(Sheet(dataset, rater, language, dealt, rubrics, template))
    return sheets


def _dealt(count: int, raters: int, before: Sequence[int], common: int, rng: np.random.Generator) -> list[list[int]]:
    """For each person the positions of their tasks. before: how many tasks each person has already.

    Each task goes to those who have the fewest of these, then to those who have the fewest in all; among them to
    whoever met the others of that task least often. Ties are broken at random: always the same way, the last pair of
    a round would be the same again and again.
    """
    people, order = len(before), rng.permutation(count)
    piles: list[list[int]] = [[int(one) for one in order[:common]] for _ in range(people)]
    loads = np.zeros(people)
    met = np.zeros((people, people))
    for one in order[common:]:
        chosen: list[int] = []
        for _ in range(raters):
            taken = np.isin(np.arange(people), chosen)
            keys = (rng.random(people), met[:, chosen].sum(axis=1), loads + before, loads, taken)
            chosen.append(int(np.lexsort(keys)[0]))
        for person in chosen:
            piles[person].append(int(one))
        loads[chosen] += 1
        met[np.ix_(chosen, chosen)] += 1
    return piles


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *blake2b(name.encode(), digest_size=8).digest()])
