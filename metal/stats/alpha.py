"""Limits of Krippendorff's alpha: a ratio 1 - observed / expected disagreement, both of which vary
with the sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metal.stats.agreement import Disagreement, Measure
from metal.stats.intervals import beyond_chance_interval
from metal.stats.measured import P
from metal.stats.patterns import Codes, Numbers
from metal.stats.source_sums import SourceSums


@dataclass(frozen=True)
class Alpha:
    """Alpha with one-sided limits; all NaN where it is undefined."""

    value: float
    low: float
    high: float


UNDEFINED = Alpha(math.nan, math.nan, math.nan)


def alpha_limits(
    counts: Codes, kind: Codes, sources: Codes, values: Numbers, measure: Measure, p: float = P
) -> Alpha:
    """Alpha of items of some kinds, with limits at p on either side.

    counts: (kinds, levels) votes, two or more each; kind, sources: (items,). Ordinal distances are
    those of all items. Source: Krippendorff (2004); the limits: metal.stats.intervals.
    """
    by = SourceSums(kind, sources)
    times = np.bincount(kind, minlength=len(counts))
    of_label = np.asarray(times @ counts, dtype=float)
    if by.n < 2 or (of_label > 0).sum() < 2:
        return UNDEFINED
    distance = _distances(of_label, values, measure)
    apart = ((counts @ distance) * counts).sum(axis=1) / np.maximum(counts.sum(axis=1) - 1, 1)
    rows = by.rows(np.column_stack([apart, counts]).astype(float))
    seen = _disagreement(by.total(rows)[None], distance)
    seen = Disagreement(seen.observed[0], seen.expected[0])
    about = _disagreement(by.without(rows), distance), _disagreement(rows, distance), by.times
    low, high = beyond_chance_interval(seen, *about, math.inf, p) or (math.nan, math.nan)
    return Alpha(float(seen.beyond_chance), low, high)


def _distances(of_label: Numbers, values: Numbers, measure: Measure) -> Numbers:
    """(levels, levels) distances of labels, the largest between two that occur being 1."""
    middle = np.cumsum(of_label) - of_label / 2
    places = middle if measure == "ordinal" else values
    distance = (
        1.0 - np.eye(len(places)) if measure == "nominal" else (places[:, None] - places) ** 2
    )
    occurs = of_label > 0
    return np.asarray(
        distance / max(float(distance[np.ix_(occurs, occurs)].max(initial=0.0)), 1e-300)
    )


def _disagreement(sums: Numbers, distance: Numbers) -> Disagreement:
    """(rows,) observed and expected disagreement from sums (rows, 1 + levels)."""
    given = sums[:, 1:]
    ratings = given.sum(axis=1)
    expected = ((given @ distance) * given).sum(axis=1) / np.maximum(ratings * (ratings - 1), 1)
    return Disagreement(sums[:, 0] / np.maximum(ratings, 1), expected)
