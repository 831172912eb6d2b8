"""Tasks for people: what each of them rates, in which order, without a sign of who wrote what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from metal.errors import UsageError
from metal.judges.rubric import Rubric
from metal.records import Output, Source


@dataclass(frozen=True)
class Task:
    """One output to be rated, as people see it: nothing in it tells its generator or quality.

    task: an id that says nothing. output stays with us and is written into no form.
    """

    task: str
    output: str
    language: str
    title: str
    source: str
    text: str


@dataclass(frozen=True)
class Sheet:
    """What one person is given: tasks in their order, and the criteria to rate them on."""

    dataset: str
    rater: str
    language: str
    tasks: tuple[Task, ...]
    rubrics: Mapping[str, Rubric]


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


def task_id(dataset: str, output: str) -> str:
    """The same for an output in every export: ratings of earlier rounds keep their place."""
    return "t" + blake2b(f"{dataset}\0{output}".encode(), digest_size=6).hexdigest()


def make_tasks(dataset: str, outputs: Iterable[Output], sources: Mapping[str, Source]) -> list[Task]:
    """A task for each output."""
    found = []
    for output in outputs:
        source = sources[output.source]
        name = task_id(dataset, output.output)
        found.append(Task(name, output.output, output.language, source.title, source.text, output.text))
    return found


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
) -> list[Sheet]:
    """Sheets for the people of each language, named `hi-1`, `hi-2`, ... from `first` on.

    Every task goes to `raters` people; with more `people` than that it is dealt so that loads differ by one task at
    most and every two people share about as many tasks as any other two. common: so many tasks of a language go to
    all of its people. Orders are shuffled for each person, seeded by (seed, person).
    Raises UsageError when there are fewer people than raters.
    """
    people = people or raters
    if people < raters:
        raise UsageError(f"--people {people} is fewer than --raters {raters}: nobody rates an output twice")
    sheets = []
    for language in dict.fromkeys(task.language for task in tasks):
        mine = [task for task in tasks if task.language == language]
        piles = _dealt(len(mine), raters, people, min(common, len(mine)), _rng(seed, language))
        for number, pile in enumerate(piles, first):
            rater = f"{language}-{number}"
            order = _rng(seed, rater).permutation(len(pile))
            sheets.append(Sheet(dataset, rater, language, tuple(mine[pile[place]] for place in order), rubrics))
    return sheets


def _dealt(count: int, raters: int, people: int, common: int, rng: np.random.Generator) -> list[list[int]]:
    """For each person the positions of their tasks.

    The tasks go round the circle of people in all its steps: groups of `raters` people at a distance of 1, 2, ...
    follow each other, which evens out how often two people meet.
    """
    order = rng.permutation(count)
    piles: list[list[int]] = [[int(one) for one in order[:common]] for _ in range(people)]
    met = np.zeros((people, people), dtype=int)
    for one in order[common:]:
        chosen: list[int] = []
        for _ in range(raters):
            free = [person for person in range(people) if person not in chosen]
            loads = [len(piles[person]) for person in free]
            least = [person for person, load in zip(free, loads, strict=True) if load == min(loads)]
            chosen.append(min(least, key=lambda person: (sum(met[person, other] for other in chosen), person)))
        for person in chosen:
            piles[person].append(int(one))
            for other in chosen:
                met[person, other] += person != other
    return piles


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *blake2b(name.encode(), digest_size=8).digest()])
