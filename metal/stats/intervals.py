"""Intervals over sources: of shares (Wilson), of agreement beyond chance (jackknife), of rank
correlations (Fisher).

A percentile bootstrap of a share near 0 or 1 is too narrow (at a truth of 0.97 and 20 sources it
covers 47% of the time instead of 95%). Here the variance over sources says how many independent
items the data are worth. Wilson's interval is taken for this number of items, which Student's t
reduces further if there are few sources.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from metal.stats.agreement import Disagreement
from metal.stats.interval import Interval
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import t_quantile

# sources in which anybody disagrees, for a jackknife of agreement beyond chance
LEAST_DISAGREEING = 3


def wilson(share: float, size: float, z: float) -> Interval:
    """Wilson's score interval of a share of `size` items, at z standard errors; [0, 1] without
    items.

    Source: Wilson (1927).
    >>> [round(end, 4) for end in wilson(0.9, 10, 1.96)]
    [0.5958, 0.9821]
    """
    if size <= 0:
        return Interval(0.0, 1.0)
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = (
        z
        / (1 + z * z / size)
        * math.sqrt(max(share * (1 - share), 0) / size + (z / (2 * size)) ** 2)
    )
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0))


def share_interval(
    share: float,
    variance: float,
    items: float,
    sources: int,
    p: float = 0.975,
    *,
    alike: float = math.inf,
) -> Interval:
    """The interval of a share from its p quantile to its 1 - p quantile.

    variance: the variance of the share over sources (see `jackknife_variance`). items: the number
    of items; infinite for a mean of numbers from 0 to 1, which can vary less than a share. sources:
    the number of sources that have an item. If the variance is 0, all sources agree; the share is
    then worth as many items as there are sources, but at most `alike`. The interval is [0, 1] with
    fewer than two sources.
    """
    if sources < 2:
        return Interval(0.0, 1.0)
    worth = (
        min(items, share * (1 - share) / variance)
        if variance > 1e-15
        else min(items, alike, sources)
    )
    z = NormalDist().inv_cdf(p)
    return wilson(share, worth * (z / few_sources(p, sources)) ** 2, z)


def balanced_items(of_class: Numbers) -> float:
    """How many independent items a mean over classes is worth: K^2 / sum(1 / N_c) over the classes
    that occur.

    of_class: (levels,) the items of each class. The variance of a mean of K shares of N_c items
    each, at one p, is p (1 - p) sum(1 / N_c) / K^2.
    >>> round(balanced_items(np.array([90, 0, 10])), 2)  # 4 / (1/90 + 1/10)
    36.0
    """
    occur = of_class[of_class > 0]
    return float(len(occur) ** 2 / (1 / occur).sum())


def beyond_chance_interval(
    seen: Disagreement,
    without: Disagreement,
    alone: Disagreement,
    times: Codes,
    items: float,
    p: float = 0.975,
) -> Interval | None:
    """The interval of 1 - Do / De from its p quantile to its 1 - p quantile; None with one source.

    seen: observed and expected disagreement (Do, De) of all sources, De > 0. without: (kinds,) the
    same without one source of each kind. alone: (kinds,) the same of this source alone, NaN if it
    has no item. times: (kinds,) the number of sources of a kind. items: the largest number of items
    that Do can be worth; infinite for losses by distance.

    The method is the delete-one-source jackknife of log(Do / De), which computes Do and De again
    without each source. Student's t has one degree of freedom less than there are sources with a
    disagreement. With fewer than three such sources, t would be useless (12.7 standard errors for
    two). Then this is Wilson's interval of Do with De fixed. Source: Arvesen (1969), the jackknife
    of a ratio; coverage in tests/bench/beyond_chance.py.
    """
    holds = ~np.isnan(alone.observed)
    times, sources = times[holds], int(times[holds].sum())
    if sources < 2:
        return None
    expected = float(seen.expected)
    ratios = (without.observed / np.where(without.expected > 0, without.expected, np.nan))[holds]
    logs = np.log(np.where(ratios > 1e-12, ratios, np.nan))  # what rounding leaves of 0, too
    variance = jackknife_variance(logs, times)
    disagreeing = int(times[alone.observed[holds] > 1e-12].sum())
    if disagreeing < LEAST_DISAGREEING or not variance > 1e-15:  # NaN, too
        of_observed = jackknife_variance(without.observed[holds], times)
        ends = share_interval(float(seen.observed), of_observed, items, sources, p)
        return Interval(1 - ends.high / expected, 1 - ends.low / expected)
    half = few_sources(p, disagreeing) * math.sqrt(variance)
    ratio = float(seen.observed) / expected
    lowest = 1 - 1 / expected
    return Interval(max(1 - ratio * math.exp(half), lowest), 1 - ratio * math.exp(-half))


def correlation_interval(r: float, influence: Numbers, source: Codes) -> Interval | None:
    """The 95% interval of a correlation over sources, by Student's t on the scale of the inverse
    hyperbolic tangent.

    influence: (items,) the influence of each item on r, NaN if a score is missing
    (stats.correlation.Correlation). None with one source. Source: Fisher (1921).
    """
    defined = ~np.isnan(influence)
    sources = int((np.bincount(source[defined]) > 0).sum())
    if sources < 2:
        return None
    if 1 - r * r < 1e-12:
        return Interval(r, r)
    variance = (
        sources / (sources - 1) * (np.bincount(source[defined], influence[defined]) ** 2).sum()
    )
    half = few_sources(0.975, sources) * math.sqrt(variance) / (1 - r * r)
    return Interval(*map(math.tanh, Interval.around(math.atanh(r), half)))


def interval_of_mean(totals: Numbers, counts: Numbers) -> Interval:
    """The 95% interval over sources of a mean of numbers from 0 to 1. totals, counts: (sources,).

    >>> [round(end, 2) for end in interval_of_mean(np.ones(10), np.ones(10))]
    [0.66, 1.0]
    """
    return interval_of_sums(
        np.stack([totals, counts], axis=1), np.ones(len(counts), dtype=np.int64), math.inf
    )


def interval_without_ends(totals: Numbers, counts: Numbers) -> Interval:
    """The 95% interval over sources of a mean of numbers without bounds: Student's t on the
    jackknife variance. totals, counts: (sources,), at least two of them with a count.

    >>> [round(end, 2) for end in interval_without_ends(np.array([-1.0, -3.0]), np.ones(2))]
    [-14.71, 10.71]
    """
    totals, counts = totals[counts > 0], counts[counts > 0]
    total, items, sources = totals.sum(), counts.sum(), len(counts)
    without = (total - totals) / (items - counts)
    variance = jackknife_variance(without, np.ones(sources, dtype=np.int64))
    half = few_sources(0.975, sources) * math.sqrt(variance)
    return Interval.around(float(total / items), half)


def interval_of_sums(added: Numbers, times: Codes, items: float, p: float = 0.975) -> Interval:
    """The interval of a ratio of two sums, over the sources that add to the denominator (see
    `share_interval`).

    added: (kinds, 2) what a source of each kind adds to numerator and denominator. times: (kinds,)
    the number of sources of a kind.
    """
    holds = added[:, 1] > 0
    added, times = added[holds], times[holds]
    above, below = times @ added
    sources = int(times.sum())
    if sources < 2:
        return Interval(0.0, 1.0)
    without = (above - added[:, 0]) / (below - added[:, 1])
    return share_interval(
        float(above / below), jackknife_variance(without, times), items, sources, p
    )


@lru_cache(maxsize=4096)
def few_sources(p: float, sources: int) -> float:
    """The p quantile of Student's t with sources - 1 degrees of freedom, sources > 1."""
    return t_quantile(p, sources - 1)


def jackknife_variance(without: Numbers, times: Codes) -> float:
    """The variance of a figure over sources; NaN with fewer than two sources, or if the figure is
    undefined without one of them.

    without: (kinds,) the figure without one source of each kind. times: (kinds,) the number of
    sources of a kind. Source: Tukey's jackknife, Efron and Stein (1981).
    """
    sources = int(times.sum())
    if sources < 2:
        return float("nan")
    mean = (without * times).sum() / sources
    return float((sources - 1) / sources * (times * (without - mean) ** 2).sum())
