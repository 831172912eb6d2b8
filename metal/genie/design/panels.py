"""Smaller panels drawn from a larger one, and samples of sources drawn from those there are.

A design of k people an item is what the data would have been had only k of an item's people been asked. Those k are
drawn at random, several times over; each drawing is a *version* of the item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers

VERSIONS = 16  # of each item, where k of more people are drawn: 16 hold 15/16 of the variance between versions
_MOST = 20_000_000  # numbers held at once


def usual_panel(rated: Codes) -> int:
    """How many ratings an item usually has, the larger number on a tie; 0 without ratings.

    rated: (items, raters) whether there is a rating.
    """
    sizes = rated.sum(axis=1)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return 0
    frequency = np.bincount(sizes)
    return int(np.flatnonzero(frequency == frequency.max())[-1])


def draw_panels(rated: Codes, size: int, rng: np.random.Generator) -> Codes:
    """(versions, items, raters): which `size` of an item's raters are asked, in each version.

    rated: (items, raters) whether there is a rating; every item has `size` or more. One version where none has more.
    """
    if (rated.sum(axis=1) <= size).all():
        return rated[None]
    versions = int(np.clip(_MOST // rated.size, 2, VERSIONS))
    order = rng.random((versions, *rated.shape))
    order[:, ~rated] = 2.0  # after everyone who did rate
    last = np.partition(order, size - 1, axis=-1)[..., size - 1 : size]
    return np.asarray(order <= last)


@dataclass(frozen=True)
class Pool:
    """What samples of sources are drawn from.

    sums: (rows, columns) what a source adds to each statistic; chances: (rows,) that a draw is this row. Rows are
    versions of sources, equal ones put together: with one output a source there are as many as rating patterns.
    sources: how many there are in the data.
    """

    sums: Numbers
    chances: Numbers
    sources: int

    def draw(self, sources: int, rounds: int, rng: np.random.Generator) -> Numbers:
        """(rounds, columns): the sums over so many sources, drawn with replacement, in each round.

        Counts are drawn, not sources: the time does not grow with their number.
        """
        step = max(1, _MOST // len(self.chances))
        chunks = [
            _counts(self.chances, sources, min(step, rounds - start), rng) @ self.sums
            for start in range(0, rounds, step)
        ]
        return np.asarray(np.concatenate(chunks), dtype=np.float64)


def _counts(chances: Numbers, draws: int, rounds: int, rng: np.random.Generator) -> Codes:
    """(rounds, outcomes) how often each outcome is drawn; the same in law either way, and quick."""
    if draws > len(chances) / 4:
        return rng.multinomial(draws, chances, size=rounds)
    upto = np.cumsum(chances)
    hit = np.minimum(np.searchsorted(upto, rng.random((rounds, draws)), side="right"), len(chances) - 1)
    flat = np.arange(rounds)[:, None] * len(chances) + hit
    return np.bincount(flat.ravel(), minlength=rounds * len(chances)).reshape(rounds, len(chances))


def pool_of(rows: Numbers, sources: Codes) -> Pool:
    """The pool of sources.

    rows: (versions, items, columns) what each item adds to each statistic; sources: (items,) any whole number naming
    the source of an item.
    """
    names, source = np.unique(sources, return_inverse=True)
    versions, items, columns = rows.shape
    if len(names) == items:
        by_source = rows.reshape(versions * items, columns)
    else:
        place = (np.arange(versions)[:, None] * len(names) + source).ravel()
        flat = rows.reshape(versions * items, columns)
        size = versions * len(names)
        by_source = np.stack([np.bincount(place, flat[:, at], minlength=size) for at in range(columns)], axis=1)
    which = _like(by_source)
    first = np.unique(which, return_index=True)[1]
    return Pool(by_source[first].astype(np.float64), np.bincount(which) / len(which), len(names))


def _like(rows: Numbers) -> Codes:
    """(rows,) a number for each, from 0 up, equal for equal rows."""
    which = np.zeros(len(rows), dtype=np.int64)
    for at in range(rows.shape[1]):
        place = np.unique(rows[:, at], return_inverse=True)[1]
        which = np.unique(which * (int(place.max(initial=0)) + 1) + place, return_inverse=True)[1]
    return which
