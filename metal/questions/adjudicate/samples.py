"""What a plan draws: outputs on which judge and people differ, on which all people differ, or which
two raters score most differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.auditing.settings import AuditSettings
from metal.building.tasks import task_id
from metal.data.dataset import Dataset
from metal.data.text import known
from metal.questions.adjudicate.compute import WITH_BAD, draw
from metal.questions.adjudicate.draw import Case, cases, generator_of, with_judges
from metal.questions.adjudicate.forms import Drawn, Questionnaire, candidates_of
from metal.questions.adjudicate.verdicts import power
from metal.stats.patterns import Codes


@dataclass(frozen=True)
class PlannedCase:
    """What is drawn of a case.

    Attributes:
        outputs: The number of rated outputs.
        disputed: The number of outputs that could be drawn.
        with_bad: The number of drawn outputs to which somebody gave the bad end's label.
        power: The chance that this many decisions show that an equally accurate judge is as
            accurate, for the judge with the smallest chance. NaN if no judge is compared.
    """

    language: str
    criterion: str
    outputs: int
    disputed: int
    drawn: int
    with_bad: int
    power: float = math.nan


Sample = tuple[PlannedCase, Questionnaire]


@dataclass(frozen=True)
class Drawing:
    """How many outputs to draw in each case, and the secret from which ids of tasks are made.

    The secret prevents anybody from working out which output an id stands for.
    """

    items: int
    key: str


def disputed(dataset: Dataset, settings: AuditSettings, drawing: Drawing) -> Iterator[Sample]:
    """Draw outputs on which a judge differs from a person."""
    for case in with_judges(dataset, settings):
        planned, asked = _drawn(dataset, case, case.strata, drawing, settings.seed)
        drawn = np.isin(case.cell.matrix.outputs, [each.output for each in asked.drawn])
        tells = [
            power(case.beside(judge), drawn[case.asked(judge)], settings.margin)
            for judge in case.cell.judges
        ]
        least = min(filter(known, tells), default=math.nan)
        yield PlannedCase(**planned, power=least), asked


def ambiguous(dataset: Dataset, settings: AuditSettings, drawing: Drawing) -> Iterator[Sample]:
    """Draw outputs on which all people differ."""
    for case in cases(dataset, settings):
        if (case.cell.ratings_per_item >= 2).any():
            planned, asked = _drawn(dataset, case, case.ambiguous, drawing, settings.seed)
            yield PlannedCase(**planned), asked


def task_of(dataset: Dataset, drawing: Drawing, output: str, criterion: str) -> str:
    """The id of a task. It changes with the texts, so that an answer never counts for another text;
    without texts, with the name of the dataset.
    """
    shown = dataset.outputs[output]
    texts = (dataset.sources[shown.source].text, shown.text, *shown.texts)
    rated = "\0".join(map(str, texts)) if any(texts) else dataset.card.name
    return task_id(drawing.key, f"{output}\0{criterion}\0{rated}")


def _drawn(
    dataset: Dataset, case: Case, strata: Codes, drawing: Drawing, seed: int
) -> tuple[dict[str, Any], Questionnaire]:
    """The fields of a PlannedCase, and the questions of its forms."""
    cell, name, language = case.cell, case.cell.criterion.name, case.cell.language
    chances = draw(strata, drawing.items, generator_of(seed, name, language))
    drawn, candidates = [], {}
    for item in map(int, np.flatnonzero(chances)):
        output = cell.matrix.outputs[item]
        task = task_of(dataset, drawing, output, name)
        drawn.append(Drawn(task, output, name, language, float(chances[item])))
        candidates[task] = candidates_of(case, item)
    planned = {
        "language": language,
        "criterion": name,
        "outputs": int(case.rated.sum()),
        "disputed": int((strata > 0).sum()),
        "drawn": len(drawn),
        "with_bad": int((strata[chances > 0] == WITH_BAD).sum()),
    }
    return planned, Questionnaire(language, cell.criterion, tuple(drawn), candidates)
