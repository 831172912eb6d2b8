"""Tasks for people: what each person rates and in which order, with no hint of who wrote what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from metal.building.template import METAL, TaskTemplate
from metal.data.records import Output, Source
from metal.errors import UsageError
from metal.raters.judges.rubric import Rubric


@dataclass(frozen=True)
class Task:
    """One output to be rated, as people see it: nothing in it reveals its generator or quality.

    task: an opaque id. references: those of the source, if people see them. output and output_first are never written
    into a form; in a pair (the first reference and the output) output_first says whether the output comes first.
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
        """The texts shown beside the source, by their names in the template (for a pair: first and second)."""
        if template.paired:
            pair = (self.text, self.references[0]) if self.output_first else (self.references[0], self.text)
            return dict(zip(template.texts, pair, strict=True))
        bulleted = len(self.references) > 1
        reference = "\n".join(f"• {text}" if bulleted else text for text in self.references)
        texts = {"output": self.text, "reference": reference}
        return {name: texts[name] for name in template.texts}


@dataclass(frozen=True)
class Assignment:
    """What one person is given: tasks in order, the criteria to rate them on, and the template that shows both."""

    dataset: str
    rater: str
    language: str
    tasks: tuple[Task, ...]
    rubrics: Mapping[str, Rubric]
    template: TaskTemplate = METAL


@dataclass(frozen=True)
class Answer:
    """What came back for one task.

    scores: by criterion, as written in the file; blank if the rater gave none. where: file and row, for messages.
    seconds: time spent on the task, if the form measured it.
    """

    task: str
    rater: str
    scores: Mapping[str, str]
    comment: str = ""
    where: str = ""
    seconds: float | None = None


def task_id(key: str, output: str) -> str:
    """The id of an output's task. It is the same in every export with that key, so ratings of earlier rounds still fit.

    key: the dataset's secret. Ids of passages and generators are often public; without a key anybody could work out
    which output a task id stands for.
    """
    return "t" + blake2b(output.encode(), key=key.encode()[:64], digest_size=6).hexdigest()


def make_tasks(
    key: str, outputs: Iterable[Output], sources: Mapping[str, Source], template: TaskTemplate = METAL
) -> list[Task]:
    """A task for each output. key: see task_id.

    A pair gets a task id of its own, so its answers are never mistaken for answers about the output alone. The key and
    that id decide which text comes first; the order is the same in every round. If the template shows references,
    leave out outputs whose source has none.
    """
    tasks = []
    for output in outputs:
        source = sources[output.source]
        name = task_id(key, f"{output.output}\0{template.name}" if template.paired else output.output)
        references = () if template.reference == "hidden" else tuple(filter(str.strip, source.references))
        coin = blake2b(name.encode(), key=key.encode()[:64], person=b"first", digest_size=1).digest()[0] & 1
        first = template.paired and bool(coin)
        tasks.append(
            Task(name, output.output, output.language, source.title, source.text, output.text, references, first)
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
    seed: int = 0,
    hidden: Sequence[Sequence[Task]] = (),
    template: TaskTemplate = METAL,
) -> list[Assignment]:
    """Assignments for the people of each language, named `hi-1`, `hi-2`, ... from `first` on.

    Every task goes to `raters` people. With more `people` than that, loads differ by at most one task, and every two
    people share about as many tasks as any other two. common: how many tasks of a language all of its people rate.
    hidden: test questions, one list for each kind; each kind is spread in the same way, so that everybody gets as many
    of it as anybody else, give or take one. Each person's order is shuffled, seeded by (seed, person). People without
    a task get no assignment.
    Raises UsageError if there are fewer people than raters.
    """
    people = people or raters
    if people < raters:
        raise UsageError(f"`people={people}` is fewer than `raters={raters}`: nobody rates an output twice")
    assignments = []
    for language in dict.fromkeys(task.language for task in tasks):
        pool = [task for task in tasks if task.language == language]
        piles = _spread(len(pool), raters, [0] * people, min(common, len(pool)), _rng(seed, language))
        for number, kind in enumerate(hidden, 1):
            start, loads = len(pool), [len(pile) for pile in piles]
            pool += [task for task in kind if task.language == language]
            more = _spread(len(pool) - start, raters, loads, 0, _rng(seed, f"{language} hidden {number}"))
            piles = [[*pile, *(start + place for place in new)] for pile, new in zip(piles, more, strict=True)]
        for number, pile in enumerate(filter(None, piles), first):
            rater = f"{language}-{number}"
            order = _rng(seed, rater).permutation(len(pile))
            shuffled = tuple(pool[pile[place]] for place in order)
            assignments.append(Assignment(dataset, rater, language, shuffled, rubrics, template))
    return assignments


def _spread(count: int, raters: int, before: Sequence[int], common: int, rng: np.random.Generator) -> list[list[int]]:
    """For each person the positions of their tasks. before: how many tasks each person already has.

    Each task goes to the people with the fewest of these tasks, then to those with the fewest in all, then to those
    who share the fewest tasks with the others chosen for it. Ties are broken at random; a fixed rule would pair the
    same people at the end of every round.
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
