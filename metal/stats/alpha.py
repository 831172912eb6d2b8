"""Limits of Krippendorff's alpha: a ratio 1 - observed / expected disagreement, both of which vary with the sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from metal.stats.agreement import Measure
from metal.stats.intervals import wilson
from metal.stats.measured import P, quantile
from metal.stats.patterns import Codes, Numbers
from metal.stats.source_sums import SourceSums


@dataclass(frozen=True)
class Alpha:
    """Alpha with one-sided limits; all NaN where it is undefined."""

    value: float
    low: float
    high: float


UNDEFINED = Alpha(math.nan, math.nan, math.nan)


def alpha_limits(counts: Codes, kind: Codes, sources: Codes, values: Numbers, measure: Measure, p: float = P) -> Alpha:
    """Alpha of items of some kinds, with limits at p on either side.

    counts: (kinds, levels) votes, two or more each; kind, sources: (items,). The limits are those of the logarithm of
    the ratio, by a jackknife over sources in which both disagreements are computed anew, ordinal distances held; where
    nobody disagrees, Wilson's for the observed disagreement. Source: Krippendorff (2004); Efron and Stein (1981).
    """
    by = SourceSums(kind, sources)
    times = np.bincount(kind, minlength=len(counts))
    of_label = np.asarray(times @ counts, dtype=float)
    if by.n < 2 or (of_label > 0).sum() < 2:
        return UNDEFINED
    distance = _distances(of_label, values, measure)
    apart = ((counts @ distance) * counts).sum(axis=1) / np.maximum(counts.sum(axis=1) - 1, 1)
    rows = by.rows(np.column_stack([apart, counts]).astype(float))
    observed, expected = _disagreement(by.total(rows)[None], distance)
    left_observed, left_expected = _disagreement(by.without(rows), distance)
    value = float(observed[0] / expected[0])
    disagree = int(by.times @ (rows[:, 0] > 1e-12))
    if not disagree or not (left_observed > 1e-12).all() or not (left_expected > 1e-12).all():
        z = NormalDist().inv_cdf(p)
        size = by.n * (z / quantile(p, by.n - 1)) ** 2
        ends = wilson(float(observed[0]), size, z)
        return Alpha(1 - value, *(1 - end / float(expected[0]) for end in reversed(ends)))
    logs = np.log(left_observed / left_expected)
    away = logs - by.times @ logs / by.n
    error = math.sqrt((by.n - 1) / by.n * float(by.times @ away**2))
    half = quantile(p, max(min(by.n, disagree) - 1, 1)) * error
    return Alpha(1 - value, 1 - value * math.exp(min(half, 700.0)), 1 - value * math.exp(-half))


def _distances(of_label: Numbers, values: Numbers, measure: Measure) -> Numbers:
    """(levels, levels) distances of labels, the largest between two that occur being 1."""
    middle = np.cumsum(of_label) - of_label / 2
    places = middle if measure == "ordinal" else values
    distance = 1.0 - np.eye(len(places)) if measure == "nominal" else (places[:, None] - places) ** 2
    occurs = of_label > 0
    return np.asarray(distance / max(float(distance[np.ix_(occurs, occurs)].max(initial=0.0)), 1e-300))


def _disagreement(sums: Numbers, distance: Numbers) -> tuple[Numbers, Numbers]:
    """(rows,) observed and expected disagreement from sums (rows, 1 + levels)."""
    given = sums[:, 1:]
    ratings = given.sum(axis=1)
    expected = ((given @ distance) * given).sum(axis=1) / np.maximum(ratings * (ratings - 1), 1)
    return sums[:, 0] / np.maximum(ratings, 1), expected
