"""The correlations of a board as scipy computes them from the ratings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from metal.data.dataset import Dataset
from metal.data.records import METRIC_SCORE, Criterion
from metal.questions.verify import libraries
from metal.questions.verify.libraries import SCIPY, Recomputed

OVERALL = "overall"
DIGITS = 12  # of a rater's largest mean: beyond these, equal ones would not tie


class Means:
    """The scores of a board's raters and of its people by output, reversed if needed so that higher
    is better.

    Args:
        dataset: The ratings.
        people: The people with whom raters are compared.
    """

    def __init__(self, dataset: Dataset, people: Sequence[str]) -> None:
        ratings = dataset.ratings.loc[:, ["criterion", "output", "rater", "score"]]
        ratings = ratings.astype(dict.fromkeys(("criterion", "output", "rater"), str))
        of_people = ratings["rater"].isin(people)
        self._wide = {
            str(criterion): rows.pivot(index="output", columns="rater", values="score")
            for criterion, rows in ratings.groupby("criterion")
        }
        self.people = list(people)
        rated = ratings[of_people & ratings["score"].notna()]["criterion"].unique()
        self._rated = [each for name, each in dataset.criteria.items() if name in rated]
        self._of_all = METRIC_SCORE.name
        self.language = pd.Series({name: out.language for name, out in dataset.outputs.items()})

    def of(self, criterion: str, raters: Sequence[str]) -> pd.Series:
        """(outputs,) the mean score of raters on a criterion, or over all criteria that people
        rated.
        """
        if criterion != OVERALL:
            (part,) = (each for each in self._rated if each.name == criterion)
            return _rounded(self._of_part(part, raters))
        ends = list(map(_ends, self._rated))
        shares = len(set(ends)) > 1
        total = pd.Series(0.0, self.language.index)
        for part, (low, high) in zip(self._rated, ends, strict=True):
            means = self._of_part(part, raters)
            total += (means - low) / (high - low) if shares else means
        return _rounded(total / len(self._rated))

    def _of_part(self, part: Criterion, raters: Sequence[str]) -> pd.Series:
        """(outputs,) the mean score on one criterion; a metric's scores count for all criteria."""
        wide = self._wide[part.name]
        own = wide[[name for name in raters if name in wide]].mean(axis=1)
        sign = -1.0 if part.direction == "lower" else 1.0
        means = (sign * own).reindex(self.language.index)
        every = self._wide.get(self._of_all)
        if every is not None and set(raters) <= {*every}:
            means = means.fillna(every[list(raters)].mean(axis=1))
        return means


def _rounded(means: pd.Series) -> pd.Series:
    """The means rounded to DIGITS of the largest mean, as a board does."""
    largest = float(means.abs().max())
    return means.round(DIGITS - math.ceil(math.log10(largest))) if largest > 0 else means


def _ends(part: Criterion) -> tuple[float, float]:
    """The worst and the best score of a scale."""
    low, high = part.scale.ends or (0.0, 1.0)
    return (-high, -low) if part.direction == "lower" else (low, high)


def of_rater(means: Means, row: Mapping[str, Any]) -> Iterator[tuple[str, Recomputed]]:
    """The correlations of a rater with people's means."""
    human, scores = (
        means.of(row["criterion"], means.people),
        means.of(row["criterion"], [row["rater"]]),
    )
    both = human.notna() & scores.notna()
    if row["language"]:
        both &= means.language == row["language"]
    n = int(both.sum())
    yield "pearson", Recomputed(libraries.pearson(scores[both], human[both]), SCIPY, n)
    yield "spearman", Recomputed(libraries.spearman(scores[both], human[both]), SCIPY, n)
    yield "kendall", Recomputed(libraries.kendall(scores[both], human[both]), SCIPY, n)
