"""Each rater's correlation with the reference people: over outputs, between generators, and within each of them.

All of it, and all intervals, follow from one table of sums by source and generator: every rater and figure of a cell
shares the sources that are drawn, and one product of these with the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from metal.boards.cell import BoardCell
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.correlation import (
    deviation_sums,
    moved_sums,
    pearson,
    pearson_from_sums,
    system_pearson,
    system_pearson_from_sums,
)
from metal.stats.patterns import Codes, Numbers

# Raters are taken together as long as their sums, and the resamples of these, are no more numbers than this.
_TOGETHER = 20_000_000


@dataclass(frozen=True)
class Agreement:
    """One rater's Pearson correlations with people, with intervals by source. within: by code of the generator."""

    instance: Estimate
    system: Estimate
    within: tuple[Estimate, ...]


def agreement(cell: BoardCell, bootstrap: SourceBootstrap) -> list[Agreement]:
    """Of each rater, on the items of a cell, all of them rated by people, each generator having some.

    Source: Bidimensional Leaderboards, section 2.1.
    """
    return agreements(cell.scores, cell.human, cell.source, cell.generator, bootstrap)


def agreements(
    scores: Numbers, human: Numbers, source: Codes, generator: Codes, bootstrap: SourceBootstrap
) -> list[Agreement]:
    """The same of arrays. scores: (raters, items); human, source, generator: (items,), generators from 0 without gaps.

    Within a generator, sources are drawn of those that have an output of it.
    """
    if not len(scores) or not len(human):
        return []
    names, place = np.unique(source, return_inverse=True)
    width = int(generator.max()) + 1
    wrote = np.bincount(place * width + generator, minlength=len(names) * width).reshape(len(names), width) > 0
    step = max(1, _TOGETHER // (6 * width * max(len(names), bootstrap.resamples)))
    found: list[Agreement] = []
    for start in range(0, len(scores), step):
        found += _together(scores[start : start + step], human, place, generator, wrote, bootstrap)
    return found


def _together(
    scores: Numbers, human: Numbers, place: Codes, generator: Codes, wrote: Codes, bootstrap: SourceBootstrap
) -> list[Agreement]:
    """`agreements` of some raters. place: (items,) of the source; wrote: (sources, generators)."""
    table, means = deviation_sums(scores, human, place, generator)  # (sources, generators, raters, 6)
    whole, drawn = table.sum(axis=0), bootstrap.totals(table)
    figures = [_instance_and_system(moved_sums(sums, means)) for sums in (whole, drawn)]
    (instance, system), (instance_drawn, system_drawn) = figures
    within = pearson_from_sums(whole)
    within_drawn = pearson_from_sums(drawn)
    for code in np.flatnonzero(~wrote.all(axis=0)).tolist():
        within_drawn[:, code] = pearson_from_sums(bootstrap.totals(table[wrote[:, code], code]))
    answered = table[..., 0] > 0
    sources, by_generator = answered.any(axis=1).sum(axis=0), answered.sum(axis=0)
    low, high = intervals(instance_drawn)
    system_low, system_high = intervals(system_drawn)
    within_low, within_high = intervals(within_drawn)
    found = []
    for at, mine in enumerate(scores):
        pairs = whole[:, at, 0].astype(np.int64)
        one = _figure(instance[at], int(pairs.sum()), lambda mine=mine: pearson(mine, human))  # type: ignore[misc]
        between = _figure(system[at], int(pairs.sum()), lambda mine=mine: system_pearson(mine, human, generator))  # type: ignore[misc]
        inside = []
        for code in range(len(within)):
            here = generator == code if np.isnan(within[code, at]) else None
            figure = _figure(
                within[code, at],
                int(pairs[code]),
                lambda mine=mine, here=here: pearson(mine[here], human[here]),  # type: ignore[misc]
            )
            ends = within_low[code, at], within_high[code, at]
            inside.append(_with_interval(figure, *ends, int(by_generator[code, at])))
        found.append(
            Agreement(
                _with_interval(one, low[at], high[at], int(sources[at])),
                _with_interval(between, system_low[at], system_high[at], int(sources[at])),
                tuple(inside),
            )
        )
    return found


def _instance_and_system(sums: Numbers) -> tuple[Numbers, Numbers]:
    """(..., raters) each, from (..., generators, raters, 6)."""
    return pearson_from_sums(sums.sum(axis=-3)), system_pearson_from_sums(np.moveaxis(sums[..., :3], -3, -2))


def _figure(value: float, pairs: int, plain: Callable[[], float]) -> Estimate:
    """A figure from sums; where it has none there, what the plain formula says, or why it says nothing."""
    return Estimate(float(value), n=pairs) if value == value else estimate(plain, pairs)


def _with_interval(found: Estimate, low: float, high: float, sources: int) -> Estimate:
    """sources: of the rater's own answers; every resample of one is that one, which is no interval."""
    if found.value is None or sources < 2:
        return found
    ends = (float(low), float(high)) if low == low else (None, None)
    return replace(found, low=ends[0], high=ends[1], method="percentile bootstrap over sources")


def intervals(drawn: Numbers) -> tuple[Numbers, Numbers]:
    """(...) lows and highs of (resamples, ...), each as `percentile_interval` gives it; NaN where it gives none."""
    flat = drawn.reshape(len(drawn), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    whole = ~np.isnan(flat).any(axis=0)
    if whole.any():
        ends[:, whole] = np.quantile(flat[:, whole], [0.025, 0.975], axis=0)
    for column in np.flatnonzero(~whole):
        ends[:, column] = percentile_interval(flat[:, column]) or np.nan
    low, high = ends.reshape(2, *drawn.shape[1:])
    return low, high


def estimate(compute: Callable[[], float], outputs: int) -> Estimate:
    """A figure without interval, or the reason why it is undefined."""
    try:
        return Estimate(float(compute()), n=outputs)
    except Undefined as error:
        return Estimate.undefined(str(error), outputs)
