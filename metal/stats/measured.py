"""A figure with its standard error over sources: one-sided limits, p-values, and ratios of two
figures.

Sources are taken as drawn at random, and a standard error over n sources is used with Student's t.
These limits use no resampling, so the same ratings always give the same limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from metal.stats.interval import Bounds
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import t_quantile, t_tail
from metal.stats.source_sums import Draws, SourceSums

P = 0.95  # of a one-sided limit
FARTHEST = 6.0  # a ratio is looked for from minus this to this; beyond, its interval is open
_EXACT = 1e-13  # of the ends of a ratio's interval
Again = Callable[[Draws, bool], tuple[Numbers, Numbers]]


@dataclass(frozen=True)
class Measured:
    """A figure, its standard error over sources, and the degrees of freedom for Student's t.

    again: returns (draws,) figures and errors for sources drawn again. With True, the drawn judge
    is like a person: the judge's figure is taken to be a person's.
    """

    value: float
    error: float
    df: float
    again: Again | None = field(default=None, compare=False, repr=False)

    def low(self, p: float = P) -> float:
        """The one-sided lower limit."""
        return self.value - quantile(p, self.df) * self.error

    def high(self, p: float = P) -> float:
        """The one-sided upper limit."""
        return self.value + quantile(p, self.df) * self.error

    def p_above(self, bound: float, n: float) -> float:
        """The one-sided p-value for the claim that the figure is above a bound. n: the number of
        items or sources on which it was measured.

        The variance is the one about the bound, error^2 + (value - bound)^2 / n, because figures
        near the ends of their range vary too little.
        """
        gap = self.value - bound
        error = math.sqrt(self.error**2 + gap**2 / max(n, 1))
        if error == 0:
            return 0.5
        return t_tail(gap / error, self.df) if gap > 0 else 1 - t_tail(-gap / error, self.df)

    def needed(self, bound: float, n: int, *, upper: bool = False) -> float:
        """About how many items show in half of all repetitions that the figure is above a bound;
        inf if it is not above it.

        upper: the figure is to be shown below the bound instead.
        """
        gap = (bound - self.value) if upper else (self.value - bound)
        return n * (quantile(P, self.df) * self.error / gap) ** 2 if gap > 0 else math.inf


@lru_cache(maxsize=65536)
def _quantile(p: float, tenths: int) -> float:
    return t_quantile(p, tenths / 10)


def quantile(p: float, df: float) -> float:
    """The quantile of Student's t: the share p of the distribution lies below it. Degrees of
    freedom are rounded to tenths.
    """
    return _quantile(p, round(df * 10))


def jackknife(value: float, without: Numbers, times: Codes) -> Measured:
    """A figure with its delete-one-source standard error over n sources; t has n - 1 degrees of
    freedom.

    without: (rows,) the figure without one source of each row. times: (rows,) how many sources a
    row stands for. If the figure is undefined without a source, its value with the source is used.
    Source: Tukey's jackknife, Efron and Stein (1981).
    """
    n = int(times.sum())
    return Measured(
        value,
        math.sqrt(max(_covariance(without, without, value, value, times), 0.0)),
        max(n - 1, 1),
    )


def jackknife_again(
    by: SourceSums, rows: Numbers, figure: Callable[[Numbers], Numbers], draws: Draws
) -> tuple[Numbers, Numbers]:
    """(draws,) a figure and its error by `jackknife`, for sources drawn again.

    rows: (rows, columns) what the sources of each row add to the figure's sums. figure: computes
    the figure from sums (..., columns).
    """
    times = by.drawn(draws)
    totals, n = times @ rows, times.sum(axis=1)
    value = figure(totals)
    without = figure(totals[:, None] - rows)
    without = np.where(np.isfinite(without), without, value[:, None])
    away = without - ((times * without).sum(axis=1) / n)[:, None]
    return value, np.sqrt((n - 1) / n * (times * away**2).sum(axis=1))


def _covariance(
    first: Numbers, second: Numbers, first_value: float, second_value: float, times: Codes
) -> float:
    """The jackknife's covariance of two figures."""
    n = int(times.sum())
    if n < 2:
        return math.inf
    away = []
    for without, value in ((first, first_value), (second, second_value)):
        defined = np.where(np.isfinite(without), without, value)
        away.append(defined - times @ defined / n)
    return float((n - 1) / n * (times * away[0] * away[1]).sum())


def jackknife_ratio(
    top: float, bottom: float, tops: Numbers, bottoms: Numbers, times: Codes, p: float = P
) -> Bounds:
    """top / bottom with limits at p on either side, by Fieller's method with the jackknife. bottom
    must be shown to be above 0. An end at -inf or inf is open.

    tops, bottoms: (rows,) top and bottom without one source of each row.
    """
    xx = _covariance(tops, tops, top, top, times)
    xy = _covariance(tops, bottoms, top, bottom, times)
    yy = _covariance(bottoms, bottoms, bottom, bottom, times)
    wide = quantile(p, max(int(times.sum()) - 1, 1))
    return fieller(top, bottom, lambda k: wide * math.sqrt(max(xx - 2 * k * xy + k * k * yy, 0.0)))


def fieller(top: float, bottom: float, half: Callable[[float], float]) -> Bounds:
    """top / bottom, and the interval of all k around it with |top - k bottom| <= half(k), where
    `half` is t times a standard error.

    Source: Fieller (1954).
    >>> fieller(1.0, 2.0, lambda k: 0.2)
    Bounds(value=0.5, low=0.4, high=0.6)
    """
    share = top / bottom

    def out(k: float) -> float:
        return abs(top - k * bottom) - half(k)

    if not -FARTHEST < share < FARTHEST:
        return Bounds(share, -math.inf, math.inf)
    ends = []
    for far in (-FARTHEST, FARTHEST):
        is_open = out(far) <= 0
        ends.append(math.copysign(math.inf, far) if is_open else _crossing(out, share, far))
    return Bounds(share, *ends)


def _crossing(out: Callable[[float], float], near: float, far: float) -> float:
    """The point at which a function becomes positive, to 9 digits. At one end it is at most 0.

    Each step fits an inverse parabola to the last three values if that is safe, else halves the
    interval. Source: Chandrupatla (1997).
    """
    last, other, step = (near, min(out(near), 0.0)), (far, out(far)), 0.5
    while True:
        at = last[0] + step * (other[0] - last[0])
        value = out(at)
        if (value > 0) == (last[1] > 0):
            third = last
        else:
            other, third = last, other
        last = at, value
        (a, at_a), (b, at_b), (c, at_c) = last, other, third
        least = _EXACT / abs(b - a)
        if least > 0.5:
            return round(a if at_a <= 0 else b, 9) + 0.0  # never -0
        step = 0.5
        along, up = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        if up**2 < along and (1 - up) ** 2 < 1 - along:
            step = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            step += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        step = min(max(step, least), 1 - least)
