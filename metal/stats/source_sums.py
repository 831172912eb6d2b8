"""Sums over items, source by source: what every variance over sources is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers, distinct

_AT_ONCE = 2_000_000  # numbers of sources drawn


@dataclass(frozen=True)
class Draws:
    """Sources drawn anew, as many as there are. sources: (n,) their numbers, rising; times: (draws,
    n).
    """

    sources: Codes
    times: Codes

    @classmethod
    def of(cls, sources: Codes, draws: int, rng: np.random.Generator) -> Iterator[Draws]:
        """So many draws of the sources that occur, a few at a time where there are many."""
        names, n = np.unique(sources), len(np.unique(sources))
        step = max(1, _AT_ONCE // n)
        for start in range(0, draws, step):
            number = min(step, draws - start)
            picked = rng.integers(n, size=(number, n)) + n * np.arange(number)[:, None]
            yield cls(names, np.bincount(picked.ravel(), minlength=number * n).reshape(number, n))


class SourceSums:
    """Items of a few kinds, added up by source.

    Where every source has one item, sources whose items are of one kind are alike: one row stands
    for all of them.

    n: sources. times: (rows,) how many sources each row stands for. sources, row: (n,) their
    numbers, rising, and the row of each.
    """

    def __init__(self, kinds: Codes, sources: Codes) -> None:
        """kinds: (items,) numbered from 0, none left out; sources: (items,) any whole numbers >=
        0.
        """
        first, place = distinct(sources)
        self.n, self.sources = len(first), np.asarray(sources)[first]
        self._kinds: Codes | None = None
        if self.n == len(sources):
            self.times, self.row = np.bincount(kinds), kinds[first]
            return
        # by kind inside a source: the order of rows must not change a digit
        order = np.lexsort((kinds, place))
        self._kinds = kinds[order]
        self._starts = np.searchsorted(place[order], np.arange(self.n))
        self.times, self.row = np.ones(self.n, dtype=np.int64), np.arange(self.n)

    def rows(self, features: Numbers) -> Numbers:
        """(rows, ...) what a source of each row adds to the sums of features (kinds, ...)."""
        if self._kinds is None:
            return features
        return np.asarray(np.add.reduceat(features[self._kinds], self._starts, axis=0))

    def total(self, rows: Numbers) -> Numbers:
        """(...) the sums over all sources, of rows (rows, ...)."""
        if self._kinds is not None:  # each row is one source
            return np.asarray(rows.sum(axis=0))
        return np.asarray(np.tensordot(self.times, rows, axes=1))

    def without(self, rows: Numbers) -> Numbers:
        """(rows, ...) the sums without one source of each row."""
        return np.asarray(self.total(rows)[None] - rows)

    def drawn(self, draws: Draws) -> Numbers:
        """(draws, rows) how many sources each row stands for when sources are drawn anew."""
        times = draws.times[:, np.searchsorted(draws.sources, self.sources)]
        order = np.argsort(self.row, kind="stable")
        starts = np.searchsorted(self.row[order], np.arange(len(self.times)))
        return np.asarray(np.add.reduceat(times[:, order], starts, axis=1), dtype=float)
