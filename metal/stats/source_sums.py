"""Sums over items by source, from which every variance over sources is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers, distinct

_AT_ONCE = 2_000_000  # numbers of sources drawn


@dataclass(frozen=True)
class Draws:
    """Resamples of the sources, each as large as the data. sources: (n,) their numbers, rising;
    times: (draws, n) how often each was drawn.
    """

    sources: Codes
    times: Codes

    @classmethod
    def of(cls, sources: Codes, draws: int, rng: np.random.Generator) -> Iterator[Draws]:
        """Make this many draws of the sources that occur; if there are many sources, a few draws at
        a time.
        """
        names, n = np.unique(sources), len(np.unique(sources))
        step = max(1, _AT_ONCE // n)
        for start in range(0, draws, step):
            number = min(step, draws - start)
            picked = rng.integers(n, size=(number, n)) + n * np.arange(number)[:, None]
            yield cls(names, np.bincount(picked.ravel(), minlength=number * n).reshape(number, n))


class SourceSums:
    """Sums over items by source, for items of a few kinds.

    If every source has one item, all sources with items of the same kind are alike, and one row
    stands for all of them.

    n: the number of sources. times: (rows,) how many sources each row stands for. sources: (n,) the
    numbers of the sources, rising. row: (n,) the row of each source.
    """

    def __init__(self, kinds: Codes, sources: Codes, content: Codes | None = None) -> None:
        """kinds: (items,) numbered from 0, none left out; sources: (items,) any whole numbers >= 0.
        content: (kinds,) values that identify kinds (see `scattered`); needed if the numbers of
        kinds depend on the order of items.
        """
        first, source = distinct(sources)
        self.n, self.sources = len(first), np.asarray(sources)[first]
        self._kinds: Codes | None = None
        if self.n == len(sources) and content is None:
            self.times, self.row = np.bincount(kinds), kinds[first]
            return
        # Sources in the order of what they hold, and so their items: no digit of a sum may hang on
        # the order of rows, or on names.
        order = np.lexsort((kinds if content is None else content[kinds], source))
        self._kinds = kinds[order]
        self._starts = np.searchsorted(source[order], np.arange(self.n))
        if content is None:
            content = scattered(np.arange(int(kinds.max(initial=-1)) + 1))
        held = np.add.reduceat(content[self._kinds], self._starts) if self.n else self._starts
        self._order = np.argsort(held, kind="stable")
        self.row = np.empty(self.n, dtype=np.int64)
        self.row[self._order] = np.arange(self.n)
        self.times = np.ones(self.n, dtype=np.int64)

    def rows(self, features: Numbers) -> Numbers:
        """(rows, ...) what one source of each row adds to the sums of features (kinds, ...)."""
        if self._kinds is None:
            return features
        by_source = np.add.reduceat(features[self._kinds], self._starts, axis=0)
        return np.asarray(by_source[self._order])

    def total(self, rows: Numbers) -> Numbers:
        """(...) the sums over all sources, of rows (rows, ...)."""
        if self._kinds is not None:  # each row is one source
            return np.asarray(rows.sum(axis=0))
        return np.asarray(np.tensordot(self.times, rows, axes=1))

    def without(self, rows: Numbers) -> Numbers:
        """(rows, ...) the sums without one source of each row."""
        return np.asarray(self.total(rows)[None] - rows)

    def drawn(self, draws: Draws) -> Numbers:
        """(draws, rows) how many sources each row stands for in each draw."""
        times = draws.times[:, np.searchsorted(draws.sources, self.sources)]
        order = np.argsort(self.row, kind="stable")
        starts = np.searchsorted(self.row[order], np.arange(len(self.times)))
        return np.asarray(np.add.reduceat(times[:, order], starts, axis=1), dtype=float)


def scattered(numbers: Codes | Numbers) -> Codes:
    """(...) hashes of numbers, as unsigned whole numbers. Equal numbers have equal hashes, and
    others differ widely, so a sum of hashes identifies what was added.

    Source: Steele, Lea and Flood (2014), the finalizer of SplitMix64.
    >>> len({*scattered(np.array([1.0, 2.0, -0.0, 0.0, np.nan, np.nan])).tolist()})
    4
    """
    numbers = np.asarray(numbers)
    if numbers.dtype.kind == "f":
        plain = np.where(np.isnan(numbers), np.inf, numbers + 0.0)
        numbers = np.ascontiguousarray(plain, dtype=np.float64).view(np.uint64)
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def scattered_rows(columns: Numbers) -> Codes:
    """(items,) hashes like those of `scattered`, for rows of numbers (items, columns)."""
    mixed = np.zeros(len(columns), dtype=np.uint64)
    for column in np.asarray(columns, dtype=np.float64).T:
        mixed = scattered(mixed ^ scattered(column))
    return mixed
