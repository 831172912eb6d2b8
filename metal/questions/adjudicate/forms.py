"""The forms of adjudication: the output, what was answered so far without names, one's own answer.

They are the forms of `metal annotate` with another template. A criterion gets one more level,
CANNOT, and a second question beside it: whether another answer would do as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from metal.building import forms
from metal.building.tasks import Assignment, Task, TaskTemplate, task_id
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Level, Scale
from metal.data.text import count
from metal.questions.adjudicate.draw import Case
from metal.raters.judges.rubric import Rubric, rubrics_for

CANNOT = "Cannot be decided"
ONLY, ALL = "No, only this one", "Yes, every answer that was given"
ALSO = "_also"  # ends the name of the second question
TEMPLATE = TaskTemplate(
    "adjudicate",
    reference="shown",
    instructions=(
        "People and machines answered differently here. Please decide what is right, by the"
        " guidelines and as carefully as you can: few outputs are asked for, and each of them"
        " counts much.\n\n"
        "Above each output you see which answers were given and how often, in random order. The"
        " most frequent one may be wrong, and so may all of them. You do not need to give one of"
        " these answers.\n\n"
        "If two answers would do equally well, choose one of them and say so in the second"
        " question. If nobody could decide it from what is shown, say that."
    ),
    headings={"reference": "Answers so far", "output": "Output"},
)


@dataclass(frozen=True)
class Drawn:
    """An output that is to be decided. chance: the probability with which it was drawn."""

    task: str
    output: str
    criterion: str
    language: str
    chance: float


def drawn_of(case: Case, items: int, seed: int, key: str) -> list[tuple[int, Drawn]]:
    """What is drawn of a case, each with its place in the cell. key: a secret, so that nobody can
    work out which output an id stands for.
    """
    chances, cell = case.drawn(items, seed), case.cell
    name = cell.criterion.name
    drawn = []
    for item in map(int, np.flatnonzero(chances)):
        output = cell.matrix.outputs[item]
        task = task_id(key, f"{output}\0{name}")
        drawn.append((item, Drawn(task, output, name, cell.language, float(chances[item]))))
    return drawn


def asked_in_forms(criterion: Criterion) -> dict[str, Criterion]:
    """The two questions about a criterion, by the names of their columns."""
    scale = criterion.scale
    cannot = max(scale.values) + 1
    levels = (*scale.levels, Level(cannot, CANNOT))
    own = replace(criterion, scale=Scale("nominal", levels, None, None))
    labels = (ONLY, *(level.label for level in scale.levels), ALL)
    also = Scale("nominal", tuple(Level(place, label) for place, label in enumerate(labels)))
    return {
        criterion.name: own,
        f"{criterion.name}{ALSO}": Criterion(
            f"{criterion.name}{ALSO}", also, label="Would another answer do as well?"
        ),
    }


def written(
    form: str,
    dataset: Dataset,
    case: Case,
    drawn: Sequence[tuple[int, Drawn]],
    adjudicators: Sequence[str],
    folders: Sequence[Path],
    seed: int,
) -> Iterator[tuple[str, bytes]]:
    """The files of one case, a form for each adjudicator. drawn: with the item's place in the
    cell.
    """
    criterion, language = case.cell.criterion, case.cell.language
    tasks = [_task(dataset, case, item, each, seed) for item, each in drawn]
    rubrics = _rubrics(criterion, folders)
    for adjudicator in adjudicators:
        rng = np.random.default_rng([seed, *_bytes(adjudicator, criterion.name, language)])
        order = rng.permutation(len(tasks))
        assignment = Assignment(
            dataset.card.name,
            adjudicator,
            language,
            tuple(tasks[place] for place in order),
            rubrics,
            TEMPLATE,
        )
        for name, content in forms.write(form, [assignment]):
            yield f"{language}-{criterion.name}-{name}", content


def _rubrics(criterion: Criterion, folders: Sequence[Path]) -> dict[str, Rubric]:
    """What the form says of its two questions."""
    rubric = rubrics_for([criterion], folders, needed=())[criterion.name]
    own, also = asked_in_forms(criterion).values()
    return {
        own.name: replace(rubric, criterion=own, flipped=False),
        also.name: Rubric(also, optional=True),
    }


def _task(dataset: Dataset, case: Case, item: int, drawn: Drawn, seed: int) -> Task:
    """A task that shows how often each answer was given; of data without texts the output's id."""
    output = dataset.outputs[drawn.output]
    source = dataset.sources[output.source]
    levels = case.cell.criterion.scale.levels
    given = [
        f"{levels[code].label} (given {_times(number)})"
        for code, number in sorted(case.answers_to(item).items())
    ]
    order = np.random.default_rng([seed, *_bytes(drawn.task)]).permutation(len(given))
    shuffled = tuple(given[place] for place in order)
    text = output.text or output.output
    return Task(
        drawn.task, output.output, output.language, source.title, source.text, text, shuffled
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{count(number)} times"


def _bytes(*names: str) -> bytes:
    return blake2b("\0".join(names).encode(), digest_size=8).digest()


def criteria_of(criteria: Mapping[str, Criterion]) -> dict[str, Criterion]:
    """The questions of all forms, by column."""
    return {
        name: question
        for criterion in criteria.values()
        for name, question in asked_in_forms(criterion).items()
    }
