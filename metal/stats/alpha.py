"""Krippendorff's alpha (1 - observed / expected disagreement of pairs of ratings) with limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from metal.stats.agreement import Disagreement, Measure
from metal.stats.interval import NO_BOUNDS, NO_INTERVAL, Bounds
from metal.stats.intervals import beyond_chance_interval
from metal.stats.measured import P
from metal.stats.patterns import Codes, Numbers, ratio, total
from metal.stats.source_sums import SourceSums


def alpha_disagreement(
    weights: Any, observed: Codes, counts: Codes, values: Numbers, measure: Measure
) -> Disagreement:
    """The disagreement behind Krippendorff's alpha, on all items with two ratings or more.

    Observed disagreement is the mean distance of two ratings of the same item; each rating has the
    same weight, however many ratings its item has. Expected disagreement is the mean distance of
    any two ratings. The distance of two labels is: for nominal, 1 if they differ; for interval, the
    squared difference of their values; for ordinal, the square of how many ratings lie between
    their middles. Missing ratings are ignored, and so are items with fewer than two ratings. NaN if
    no item has two ratings, or all ratings are of one class. Source: Krippendorff, Content Analysis
    (2004), chapter 11.

    Args:
        weights: (..., patterns) how often each pattern occurs, see `patterns.total`.
        observed: (patterns,) how often each pattern occurs in the data; ordinal distances always
            come from these counts.
        counts: (patterns, levels) how many raters gave each class.
        values: (levels,) the value of each level; only `interval` uses it.
        measure: nominal, ordinal or interval.

    Returns:
        Observed and expected disagreement, (...) each.

    >>> # 21 ratings: 16 of 0 and 5 of 1; items 5 and 6 each have 2 of 3 pairs that differ
    >>> observed, expected = 2 * 2 / 21, 2 * 16 * 5 / (21 * 20)
    >>> items = np.array([4, 2, 1])
    >>> counts = np.array([[3, 0], [2, 1], [0, 3]])
    >>> alpha = alpha_disagreement(items, items, counts, [0, 1], "nominal").beyond_chance
    >>> alpha.round(4).item(), 1 - observed / expected
    (0.5, 0.5)
    """
    counts = counts * (counts.sum(axis=1, keepdims=True) >= 2)
    distance = _distances(observed @ counts, np.asarray(values, dtype=np.float64), measure)
    sums = total(weights, np.column_stack([_apart(counts, distance), counts]))
    return _disagreement(sums, distance)


def alpha_limits(
    counts: Codes, kind: Codes, sources: Codes, values: Numbers, measure: Measure, p: float = P
) -> Bounds:
    """Alpha of items grouped into kinds with equal votes, with limits that leave a probability of p
    on either side; NaN if undefined.

    counts: (kinds, levels) votes, two or more each; kind, sources: (items,). Ordinal distances come
    from all items. metal.stats.intervals says how limits are computed.
    """
    by = SourceSums(kind, sources)
    of_label = np.bincount(kind, minlength=len(counts)) @ counts
    if by.n < 2 or (of_label > 0).sum() < 2:
        return NO_BOUNDS
    distance = _distances(of_label, values, measure)
    rows = by.rows(np.column_stack([_apart(counts, distance), counts]).astype(float))
    seen = _disagreement(by.total(rows), distance)
    without, alone = _disagreement(by.without(rows), distance), _disagreement(rows, distance)
    limits = beyond_chance_interval(seen, without, alone, by.times, math.inf, p)
    return Bounds(float(seen.beyond_chance), *(limits or NO_INTERVAL))


def _distances(of_label: Codes, values: Numbers, measure: Measure) -> Numbers:
    """(levels, levels) distances of labels, scaled so that the largest distance of two labels in
    use is 1.

    of_label: (levels,) how many ratings each label has.
    """
    ratings = np.asarray(of_label, dtype=np.float64)
    if measure == "nominal":
        return 1.0 - np.eye(len(ratings))
    # the middle of a label has half of its own ratings below it
    middles = np.cumsum(ratings) - ratings / 2 if measure == "ordinal" else values
    distance = (middles[:, None] - middles) ** 2
    occurs = ratings > 0
    largest = distance[np.ix_(occurs, occurs)].max(initial=0.0)
    return distance / largest if largest else distance


def _apart(counts: Codes, distance: Numbers) -> Numbers:
    """(patterns,) for each rating of an item, its mean distance to the item's other ratings, summed
    over ratings.
    """
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    return np.asarray(((counts @ distance) * counts).sum(axis=1) / others)


def _disagreement(sums: Numbers, distance: Numbers) -> Disagreement:
    """(...) disagreement from sums (..., 1 + levels): the distances of `_apart`, then the ratings
    of each label.
    """
    apart, of_label = sums[..., 0], sums[..., 1:]
    ratings = of_label.sum(axis=-1)
    by_chance = ((of_label @ distance) * of_label).sum(axis=-1)
    return Disagreement(ratio(apart, ratings), ratio(by_chance, ratings * (ratings - 1)))
