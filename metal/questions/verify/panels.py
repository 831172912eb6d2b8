"""A run's ratings, cell by cell, as tables in the form that other libraries expect.

This module uses none of METAL's own statistics: it builds labels, panels and pairs again from the
ratings, by the rules in the definitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.records import Criterion

FEW_PANELS = 30  # outputs with two people, below which single labels are taken for the truth
PANEL = 3
VOTES = ("majority-or-mean", "majority-or-middle", "majority")


def by_vote(settings: Mapping[str, Any]) -> bool:
    """Whether labels come from counting answers rather than from a model."""
    return settings.get("aggregate", VOTES[0]) in VOTES


@dataclass(frozen=True)
class Panel:
    """The ratings of a criterion in a language.

    people, judges: (outputs, raters) scores, NaN without a score. asked: (outputs, raters) whether
    there is a rating, with or without a score. settings: the settings of the audit.
    """

    language: str
    criterion: Criterion
    people: pd.DataFrame
    judges: pd.DataFrame
    asked: pd.DataFrame
    settings: Mapping[str, Any]

    @property
    def levels(self) -> list[float]:
        """The values of the scale's levels, in its order; empty for scores without levels."""
        return list(map(float, self.criterion.scale.values))

    @property
    def ordered(self) -> bool:
        """Whether levels have an order, so that distances between them have a meaning."""
        return self.criterion.scale.measure != "nominal"

    @cached_property
    def ratings(self) -> pd.Series:
        """(outputs,) how many people gave a score."""
        return self.people.notna().sum(axis=1)

    @cached_property
    def usual(self) -> int:
        """The most common number of people per output; if several are equally common, the
        largest.
        """
        often = Counter(self.ratings[self.ratings > 0].tolist())
        return max(often, key=lambda number: (often[number], number), default=0)

    @property
    def one_person(self) -> bool:
        """Whether the judge is compared with a single person's label."""
        return self.usual < 2 and int((self.ratings >= 2).sum()) < FEW_PANELS

    @cached_property
    def complete(self) -> pd.Series:
        """(outputs,) whether enough people gave a score."""
        least = 1 if self.one_person else 2
        needed = self.settings.get("min_raters") or max(least, min(PANEL, self.usual))
        return self.ratings >= needed

    @cached_property
    def labels(self) -> pd.Series:
        """(outputs,) people's aggregate label; NaN if there is none, or if too few people rated."""
        settled = [
            self._settled([score for score in row if not isnan(score)]) if complete else np.nan
            for row, complete in zip(self.people.to_numpy().tolist(), self.complete, strict=True)
        ]
        return pd.Series(settled, index=self.people.index, dtype=float)

    def _settled(self, scores: Sequence[float]) -> float:
        """The most common score of an output or, if there is none, what the audit's rule takes
        instead.
        """
        rule = self.settings.get("aggregate", VOTES[0])
        (first, often), *others = Counter(scores).most_common(2)
        if not others or others[0][1] < often:
            return first
        if self.criterion.scale.tie is not None:
            return self.levels[self.criterion.scale.tie]
        if self.ordered and rule == "majority-or-middle" and len(self.levels) % 2:
            return self.levels[len(self.levels) // 2]
        mean = sum(scores) / len(scores)
        levels = [level for level in self.levels if abs(level - mean) < 1e-9]
        return levels[0] if self.ordered and rule == VOTES[0] and levels else np.nan

    def codes(self, scores: Any) -> list[int]:
        """The positions of scores among the levels, which are classes for scikit-learn; -1 without
        a score.
        """
        code_of = {level: code for code, level in enumerate(self.levels)}
        return [code_of.get(score, -1) for score in np.asarray(scores, dtype=float).tolist()]


def panels(
    dataset: Dataset, people: Sequence[str], judges: Collection[str], settings: Mapping[str, Any]
) -> Iterator[Panel]:
    """The panel of every cell that one of the people rated."""
    ratings = dataset.ratings.loc[:, ["language", "criterion", "output", "rater", "score"]]
    ratings = ratings[ratings["rater"].isin([*people, *judges])]
    ratings = ratings.astype(dict.fromkeys(("language", "criterion", "output", "rater"), str))
    for (language, criterion), rows in ratings.groupby(["language", "criterion"], sort=False):
        scores = rows.pivot(index="output", columns="rater", values="score").astype(float)
        asked = rows.assign(score=1.0).pivot(index="output", columns="rater", values="score")
        those = [name for name in people if name in scores]
        others = [name for name in judges if name in scores]
        if scores[those].notna().any(axis=None):
            yield Panel(
                str(language),
                dataset.criteria[str(criterion)],
                scores[those],
                scores[others],
                asked[others].notna(),
                settings,
            )
