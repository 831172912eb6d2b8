"""Significance: Student's t, corrections for many tests, and the mean of values with its interval
over sources.

A p-value of NaN is a test that could not be run. Corrections return it unchanged and do not count
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.interval import NO_BOUNDS, NO_INTERVAL, Bounds
from metal.stats.patterns import Codes, Numbers, ratio

_CONVERGED = 1e-15  # how far the last factor of a continued fraction may be from 1
_TINY = 1e-300


def t_tail(t: float, df: float) -> float:
    """The probability of a value below -|t| with df > 0 degrees of freedom, to 12 digits for df up
    to 10,000.

    NaN if t is.

    Source: DLMF 8.17.22, the incomplete beta function as a continued fraction, on the side on which
    it converges.
    >>> round(t_tail(2.228, 10), 4), t_tail(0, 3)
    (0.025, 0.5)
    """
    if not math.isfinite(t):
        return math.nan if math.isnan(t) else 0.0
    a, square = df / 2, t * t / df
    x = 1 / (1 + square)
    # x^a (1 - x)^(1/2) / B(a, 1/2), where Gamma(a + 1/2) / Gamma(a) is B's part that grows with a
    front = math.exp(-a * math.log1p(square)) * math.sqrt(square * x / math.pi) * _gamma_ratio(a)
    if x < (a + 1) / (a + 2.5):
        return 0.5 * front * _continued_fraction(x, a, 0.5) / a
    return 0.5 - front * _continued_fraction(1 - x, 0.5, a)


def t_cdf(t: float, df: float) -> float:
    """The probability of a value below t. (SciPy has this too, but importing it takes longer than
    computing an audit.)
    """
    return t_tail(t, df) if t < 0 else 1 - t_tail(t, df)


def t_quantile(p: float, df: float) -> float:
    """The quantile of Student's t: the share p of the distribution lies below it, 0 < p < 1.

    >>> round(t_quantile(0.975, 10), 3), round(t_quantile(0.05, 1), 3)
    (2.228, -6.314)
    """
    if p < 0.5:
        return -t_quantile(1 - p, df)
    # Newton's method from the normal quantile, which lies below: the function is concave there and
    # never overshot.
    t = NormalDist().inv_cdf(p)
    while True:
        density: float = (
            _gamma_ratio(df / 2) / math.sqrt(df * math.pi) * (1 + t * t / df) ** (-(df + 1) / 2)
        )
        step = (p - t_cdf(t, df)) / density
        t += step
        if not step > 1e-12 * t:
            return t


def _gamma_ratio(a: float) -> float:
    """Gamma(a + 1/2) / Gamma(a). A difference of logarithms would lose digits if a is large (DLMF
    5.11.13).
    """
    if a < 150:
        return math.gamma(a + 0.5) / math.gamma(a)
    return math.sqrt(a) * (
        1 - 1 / (8 * a) + 1 / (128 * a**2) + 5 / (1024 * a**3) - 21 / (32768 * a**4)
    )


def _continued_fraction(x: float, a: float, b: float) -> float:
    """The fraction of DLMF 8.17.22 by Lentz's method."""
    d = 1 - (a + b) * x / (a + 1)
    value = d = 1 / (d or _TINY)
    c, m = 1.0, 0
    while True:
        m += 1
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + numerator * d) or _TINY)
            c = (1 + numerator / c) or _TINY
            value *= c * d
        if abs(c * d - 1) < _CONVERGED:
            return value


def sign_test(down: int, up: int) -> float:
    """The exact two-sided p of so many changes down and up if both are equally likely; for two
    levels, McNemar's test.

    Source: McNemar (1947), the binomial form.
    >>> round(sign_test(1, 7), 5), sign_test(0, 0)  # 2 * (1 + 8) / 2**8
    (0.07031, 1.0)
    """
    return min(2 * float(binomial_cdf(down + up, 0.5)[min(down, up)]), 1.0)


def binomial_cdf(tries: int, chance: float) -> Numbers:
    """(tries + 1,) the probability of at most 0, 1, ... successes; each try succeeds with
    probability `chance`, 0 < chance < 1.

    >>> binomial_cdf(2, 0.1).round(2).tolist()  # 0.9 * 0.9, + 2 * 0.1 * 0.9, + 0.1 * 0.1
    [0.81, 0.99, 1.0]
    """
    successes = np.arange(tries + 1)
    log_ways = np.concatenate([[0.0], np.cumsum(np.log((tries - successes[:-1]) / successes[1:]))])
    each: Numbers = np.exp(
        log_ways + successes * math.log(chance) + (tries - successes) * math.log1p(-chance)
    )
    return each.cumsum()


def holm(p_values: Any) -> Numbers:
    """Holm's step-down correction, for claims that *any* of the hypotheses is false. Source: Holm
    (1979).

    The smallest of m p-values is multiplied by m, the next by m - 1, and so on; no result is below
    an earlier one.
    >>> # 0.01 * 4, 0.03 * 3, 0.04 * 2 raised to 0.09, 0.9 * 1
    >>> holm([0.01, 0.04, np.nan, 0.03, 0.9]).round(3).tolist()
    [0.04, 0.09, nan, 0.09, 0.9]
    """
    adjusted, order, rising = _in_rising_order(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(rising * np.arange(len(rising), 0, -1)), 1.0)
    return adjusted


def benjamini_hochberg(p_values: Any) -> Numbers:
    """Control the false discovery rate (at most 5% of a list are wrong) for independent or
    positively dependent tests.

    The p-value of rank r of m is multiplied by m / r; no result is above a later one. Source:
    Benjamini and Hochberg (1995).
    >>> benjamini_hochberg([0.01, 0.04, np.nan, 0.03]).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    adjusted, order, rising = _in_rising_order(p_values)
    scaled = rising * len(rising) / np.arange(1, len(rising) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def benjamini_yekutieli(p_values: Any) -> Numbers:
    """Control the false discovery rate under any dependence of tests, for claims *which* hypotheses
    are false.

    P-values are those of `benjamini_hochberg` times 1 + 1/2 + ... + 1/m. Source: Benjamini and
    Yekutieli (2001), theorem 1.3.
    >>> # 5.5 * (0.01, 0.03 / 2, 0.04 / 3)
    >>> benjamini_yekutieli([0.01, 0.04, np.nan, 0.03]).round(4).tolist()
    [0.055, 0.0733, nan, 0.0733]
    """
    tests = int((~np.isnan(np.asarray(p_values, dtype=np.float64))).sum())
    factor = float((1 / np.arange(1, tests + 1)).sum())
    return np.asarray(np.minimum(benjamini_hochberg(p_values) * factor, 1.0))


def by_family(
    p_values: Sequence[float | None], families: Sequence[Hashable], adjust: Callable[[Any], Numbers]
) -> list[float]:
    """The p-values adjusted within each family. Tests with equal names in `families` are one
    family. None, like NaN, is a test that was not run.

    >>> by_family([0.01, 0.02, 0.03], ["a", "b", "a"], holm)
    [0.02, 0.02, 0.03]
    """
    p = np.array(p_values, dtype=np.float64)
    members: dict[Hashable, list[int]] = {}
    for index, family in enumerate(families):
        members.setdefault(family, []).append(index)
    for places in members.values():
        p[places] = adjust(p[places])
    return list(map(float, p))


def _in_rising_order(p_values: Any) -> tuple[Numbers, Codes, Numbers]:
    """An array of NaN to fill, the indices of the defined p-values in rising order, and these
    p-values.
    """
    p = np.asarray(p_values, dtype=np.float64)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    return np.full(p.shape, np.nan), order, p[order]


@dataclass(frozen=True)
class ClusteredMean:
    """A mean with an interval over sources. mean: over all values, with its 95% interval by
    percentile bootstrap over sources. p: two-sided, for a mean of 0.

    Without values, all are NaN; with one source, interval and p are NaN. n: the number of values.
    sources: the number of sources.
    """

    mean: Bounds
    p: float
    n: int
    sources: int


def clustered_mean(values: Numbers, sources: Codes, bootstrap: SourceBootstrap) -> ClusteredMean:
    """The mean of the defined values, with an interval and a p-value over their sources.

    values: (n,), NaN is left out; sources: (n,) the source of each value, as any whole number. p:
    see `t_test`; the variance comes from the residuals of the totals by source.
    >>> score = clustered_mean(
    ...     np.array([1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 1, 2]), SourceBootstrap(100)
    ... )
    >>> score.mean.value, score.n, score.sources
    (0.5, 4, 3)
    """
    defined = ~np.isnan(values)
    values, sources = values[defined], np.asarray(sources)[defined]
    if not len(values):
        return ClusteredMean(NO_BOUNDS, np.nan, 0, 0)
    names, source = np.unique(sources, return_inverse=True)
    totals = np.bincount(source, weights=values)
    sizes = np.bincount(source)
    mean, clusters = float(totals.sum() / sizes.sum()), len(names)
    if clusters < 2:
        return ClusteredMean(Bounds(mean, *NO_INTERVAL), np.nan, len(values), clusters)
    drawn = bootstrap.totals(np.stack([totals, sizes], axis=1))
    ends = percentile_interval(ratio(drawn[:, 0], drawn[:, 1])) or NO_INTERVAL
    variance = (
        clusters
        / (clusters - 1)
        * float(((totals - mean * sizes) ** 2).sum())
        / float(sizes.sum()) ** 2
    )
    p = t_test(mean, variance, clusters)
    return ClusteredMean(Bounds(mean, *ends), p, len(values), clusters)


def t_test(value: float, variance: float, sources: int) -> float:
    """Two-sided p-value that a figure is 0, from its variance over sources; NaN with one source.

    The p-value is never below 2^(1 - sources), the smallest p-value from flipping the signs of that
    many sources. Equal sources have no variance, but they are not stronger evidence than such
    flips.
    >>> round(t_test(0.5, 0.04, 11), 4)  # t of 2.5 with 10 degrees of freedom
    0.0314
    """
    if sources < 2 or math.isnan(value):
        return math.nan
    if abs(value) < 1e-12:
        return 1.0
    least = 2.0 ** (1 - sources)
    return (
        max(least, 2 * t_tail(value / math.sqrt(variance), sources - 1)) if variance > 0 else least
    )
