"""The competence of raters whom nobody asked a test question, from how they agree: Dawid-Skene and MACE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metal.data.ratings import code_matrix
from metal.data.records import Criterion
from metal.stats.answers import answers_of_matrix
from metal.stats.dawid_skene import dawid_skene
from metal.stats.mace import mace
from metal.stats.patterns import Codes

# Beyond so many answers MACE gets fewer starts and iterations: its competences are known well enough by then, and where
# labels hold no signal it would creep on for minutes.
MANY_ANSWERS = 20_000
NO_LEVELS = "the criterion has no levels"
MISNAMED = "in Dawid and Skene's model a label came to mean another"  # DawidSkene.misnamed: right is not right then


@dataclass(frozen=True)
class Competence:
    """dawid_skene: expected share of right answers; mace: probability of knowing. NaN where undefined. ratings: that
    it rests on. reason: why dawid_skene is undefined, where the criterion or the model is to blame.
    """

    dawid_skene: float
    mace: float
    ratings: int = 0
    reason: str = ""

    @classmethod
    def mean(cls, parts: Sequence[Competence | None]) -> Competence:
        """Over several criteria, weighted by ratings; criteria where it is undefined have no part in it."""
        defined = [part for part in parts if part is not None]
        reasons = {part.reason for part in defined}
        return cls(
            _weighted([(part.dawid_skene, part.ratings) for part in defined]),
            _weighted([(part.mace, part.ratings) for part in defined]),
            sum(part.ratings for part in defined),
            reasons.pop() if len(reasons) == 1 else "",
        )


def competences(rows: pd.DataFrame, criterion: Criterion, people: frozenset[str]) -> Mapping[str, Competence]:
    """The competence of every rater in `rows` (one language x criterion).

    People are fitted together; whoever is no person is fitted with all people and nobody else, so that ten judges of
    one family do not decide what is true. Persons who are not among `people` are fitted with them, all in one fit.
    """
    if not criterion.scale.levels:
        counts = rows["rater"].value_counts()
        return {str(name): Competence(np.nan, np.nan, int(count), NO_LEVELS) for name, count in counts.items() if count}
    matrix = code_matrix(rows, criterion)
    panel = [name for name in matrix.raters if name in people]
    fitted = _fitted(matrix.of(panel), panel, len(criterion.scale.levels))
    kinds = dict(zip(rows["rater"].astype(str), rows["kind"].astype(str), strict=True))
    others = [name for name in matrix.raters if name not in people]
    persons = [name for name in others if kinds[name] == "human"]
    for beside in [*([persons] if persons else []), *([name] for name in others if name not in persons)]:
        together = _fitted(matrix.of([*panel, *beside]), [*panel, *beside], len(criterion.scale.levels))
        fitted |= {name: together[name] for name in beside}
    return fitted


def _fitted(codes: Codes, names: Sequence[str], levels: int) -> dict[str, Competence]:
    answers = answers_of_matrix(codes, levels)
    fit = dawid_skene(answers)
    lost = bool(len(fit.misnamed))
    first = np.where(lost, np.nan, fit.competence).tolist()
    many = answers.given.sum() > MANY_ANSWERS
    guessing = mace(answers, **({"starts": 3, "max_iterations": 60} if many else {}))
    figures = zip(first, guessing.competence.tolist(), answers.given.tolist(), strict=True)
    return {name: Competence(*values, MISNAMED if lost else "") for name, values in zip(names, figures, strict=True)}


def _weighted(parts: Sequence[tuple[float, int]]) -> float:
    defined = [(value, weight) for value, weight in parts if not np.isnan(value)]
    total = sum(weight for _, weight in defined)
    return sum(value * weight for value, weight in defined) / total if total else float("nan")
