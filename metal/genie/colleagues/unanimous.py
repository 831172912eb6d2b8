"""Outputs on which all people of a group gave the very same ratings on every criterion, more often than can be.

Crowd ratings were once published with five "workers" who are mostly columns of one list. Agreement on one criterion
does not show that; agreeing on all criteria at once does, because each criterion brings its own doubts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from metal.data.dataset import Dataset

LEAST_OUTPUTS = 50  # with all criteria rated by all of the group
TIMES = 4.0  # as often as the criteria would come out alike together by chance; where outputs differ in difficulty, 2
LEAST_SHARE = 0.2
LEAST_PEOPLE = 3


@dataclass(frozen=True)
class Unanimous:
    """A group in a language. outputs: with `criteria` criteria rated by `people` each; same: those on which everybody
    gave the same on each criterion. expected: their share if criteria came out alike independently of each other.
    """

    group: str
    language: str
    people: int
    criteria: int
    outputs: int
    same: int
    expected: float

    @property
    def share(self) -> float:
        """Of the outputs."""
        return self.same / self.outputs

    @property
    def suspicious(self) -> bool:
        """Whether it is too often for people who rated by themselves."""
        enough = self.outputs >= LEAST_OUTPUTS and self.people >= LEAST_PEOPLE and self.criteria >= 2
        return enough and self.share >= LEAST_SHARE and self.share >= TIMES * self.expected


def unanimous(dataset: Dataset, people: Collection[str]) -> Iterator[Unanimous]:
    """An entry a group and language that has outputs rated by three people or more on two criteria or more."""
    table = dataset.ratings
    table = table[table["rater"].isin(list(people)) & table["score"].notna()]
    for (language, group), rows in table.groupby(["language", "group"], observed=True, sort=True):
        cells = rows.groupby(["output", "criterion"], observed=True)["score"].agg(["size", "nunique"])
        raters = int(cells["size"].max())
        complete = cells[cells["size"] == raters]["nunique"].unstack("criterion")
        complete = complete[complete.notna().all(axis=1)]
        if raters < LEAST_PEOPLE or complete.shape[1] < 2 or complete.empty:
            continue
        alike = complete.to_numpy() == 1
        expected = float(np.prod(alike.mean(axis=0)))
        yield Unanimous(
            str(group), str(language), raters, alike.shape[1], len(alike), int(alike.all(axis=1).sum()), expected
        )
