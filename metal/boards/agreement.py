"""Each rater's correlation with the reference people: over outputs, between generators, and within each generator.

All figures and intervals follow from one table of sums by source and generator. Every rater and figure of a cell shares
the sources that are drawn, and one product of these with the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

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

# Most numbers held at once: the sums of some raters and the resamples of these.
_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class RaterAgreement:
    """One rater's Pearson correlations with people, with intervals by source. within: by code of the generator."""

    instance: Estimate
    system: Estimate
    within: tuple[Estimate, ...]


def agreements(
    scores: Numbers, human: Numbers, source: Codes, generator: Codes, bootstrap: SourceBootstrap
) -> list[RaterAgreement]:
    """Of each rater, on items that people rated.

    scores: (raters, items); human, source, generator: (items,), codes from 0 without gaps. Within a generator, sources
    are drawn from those that have an output of it. Source: Bidimensional Leaderboards, section 2.1.
    """
    if not len(scores) or not len(human):
        return []
    names, place = np.unique(source, return_inverse=True)
    width = int(generator.max()) + 1
    wrote = np.bincount(place * width + generator, minlength=len(names) * width).reshape(len(names), width) > 0
    step = max(1, _AT_ONCE // (6 * width * max(len(names), bootstrap.resamples)))
    return [
        rater
        for start in range(0, len(scores), step)
        for rater in _agreements(scores[start : start + step], human, place, generator, wrote, bootstrap)
    ]


def _agreements(
    scores: Numbers, human: Numbers, place: Codes, generator: Codes, wrote: Codes, bootstrap: SourceBootstrap
) -> Iterator[RaterAgreement]:
    """`agreements` of some raters. place: (items,) of the source; wrote: (sources, generators)."""
    table, means = deviation_sums(scores, human, place, generator)  # (sources, generators, raters, 6)
    totals, drawn = table.sum(axis=0), bootstrap.totals(table)
    within, within_drawn = pearson_from_sums(totals), pearson_from_sums(drawn)
    for code in np.flatnonzero(~wrote.all(axis=0)).tolist():
        within_drawn[:, code] = pearson_from_sums(bootstrap.totals(table[wrote[:, code], code]))
    instance, system = _instance_and_system(moved_sums(totals, means))
    drawn_values = (*_instance_and_system(moved_sums(drawn, means)), within_drawn)
    instance_ends, system_ends, within_ends = (np.stack(intervals(values), axis=-1) for values in drawn_values)
    answered = table[..., 0] > 0
    sources, by_generator = answered.any(axis=1).sum(axis=0), answered.sum(axis=0)
    for at, given in enumerate(scores):
        pairs = totals[:, at, 0].astype(np.int64)
        both, figures = int(pairs.sum()), []
        for code in range(len(within)):
            inside = generator == code if np.isnan(within[code, at]) else slice(0)
            value, ends, least = within[code, at], within_ends[code, at], int(by_generator[code, at])
            figures.append(_figure(value, ends, least, int(pairs[code]), pearson, given[inside], human[inside]))
        yield RaterAgreement(
            _figure(instance[at], instance_ends[at], int(sources[at]), both, pearson, given, human),
            _figure(system[at], system_ends[at], int(sources[at]), both, system_pearson, given, human, generator),
            tuple(figures),
        )


def _instance_and_system(sums: Numbers) -> tuple[Numbers, Numbers]:
    """(..., raters) each, from (..., generators, raters, 6)."""
    return pearson_from_sums(sums.sum(axis=-3)), system_pearson_from_sums(np.moveaxis(sums[..., :3], -3, -2))


def _figure(
    value: float, ends: Numbers, sources: int, pairs: int, statistic: Callable[..., float], *arrays: Codes
) -> Estimate:
    """A figure from sums, with its interval; where sums give NaN, what the plain statistic gives, or its reason.

    ends: (2,) of the interval. sources: of the rater's own answers; from one source there is no interval.
    """
    figure = estimate(statistic, *arrays, n=pairs) if np.isnan(value) else Estimate(float(value), n=pairs)
    if figure.value is None or sources < 2:
        return figure
    low, high = (None, None) if np.isnan(ends).any() else (float(ends[0]), float(ends[1]))
    return replace(figure, low=low, high=high, method="percentile bootstrap over sources")


def intervals(drawn: Numbers) -> tuple[Numbers, Numbers]:
    """(...) lows and highs of (resamples, ...), each as `percentile_interval` gives it; NaN where it gives none."""
    flat = drawn.reshape(len(drawn), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    complete = ~np.isnan(flat).any(axis=0)
    if complete.any():
        ends[:, complete] = np.quantile(flat[:, complete], [0.025, 0.975], axis=0)
    for column in np.flatnonzero(~complete):
        ends[:, column] = percentile_interval(flat[:, column]) or np.nan
    low, high = ends.reshape(2, *drawn.shape[1:])
    return low, high


def estimate(statistic: Callable[..., float], *arrays: Codes, n: int, **options: Any) -> Estimate:
    """A statistic without interval, or the reason why it is undefined."""
    try:
        return Estimate(float(statistic(*arrays, **options)), n=n)
    except Undefined as error:
        return Estimate.undefined(str(error), n)


def table_of(records: Sequence[Mapping[str, Any]], first: Sequence[str], names: Collection[str] = ()) -> pd.DataFrame:
    """The records as a table with the columns `first` in front, which are there without records too.

    A figure that is undefined everywhere is a column of numbers still; names: columns that are no figures.
    """
    if not records:
        return pd.DataFrame(columns=[*first, "signature"])
    table = pd.DataFrame(list(records))
    empty = [str(column) for column in table if table[column].isna().all() and column not in names]
    table = table.astype(dict.fromkeys(empty, np.float64))
    present = [column for column in first if column in table]
    return table[[*present, *(column for column in table if column not in present)]]


def figure_columns(figures: Mapping[str, Estimate | float | None], with_interval: Collection[str]) -> dict[str, Any]:
    """Columns of a row: each figure, its _low and _high where it has an interval, and `undefined` with all reasons."""
    row: dict[str, Any] = {}
    reasons = []
    for name, figure in figures.items():
        row[name] = figure.value if isinstance(figure, Estimate) else figure
        if isinstance(figure, Estimate) and name in with_interval:
            row |= {f"{name}_low": figure.low, f"{name}_high": figure.high}
        if isinstance(figure, Estimate) and figure.reason:
            reasons.append(f"{name}: {figure.reason}")
    return row | {"undefined": "; ".join(reasons)}
