"""Search for the smallest number of sources that gives a width or a power, by bisection or by
simulation.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.bootstrap import percentile_interval
from metal.stats.patterns import Numbers

MOST_SOURCES = 10_000_000
# Quantiles p, q of n normal values have variances p (1 - p) / (n density(p)^2) and covariance p (1
# - q) / (n density(p)
# density(q)); for 0.025 and 0.975 their difference has a standard error of this times sd / sqrt(n).
_SPREAD = 3.73
_STEPS = 12  # of the search for a width, after which the last number of sources stands
_TRIES = 4  # of the search for a power, each of which leaves at most 70% of what was left


@dataclass(frozen=True)
class SimulatedPoint:
    """A simulated width or power at a number of sources, with its Monte Carlo standard error."""

    sources: int
    value: float
    error: float


@dataclass(frozen=True)
class Needed:
    """The smallest number of sources that is enough.

    error: its Monte Carlo standard error. value, value_error: the width or power simulated at this
    number, and its error.
    """

    sources: int
    error: float
    value: float
    value_error: float


Measure = Callable[[int, int], SimulatedPoint]  # sources, how many times the rounds


def fewest(enough: Callable[[int], bool], least: int, most: int) -> int:
    """The smallest number from `least` to `most` that is enough; `most` if no smaller one is.

    >>> fewest(lambda number: number**2 >= 50, 3, 100)
    8
    """
    return least + bisect_left(range(least, most), True, key=enough)


def width_of(values: Numbers, sources: int) -> SimulatedPoint:
    """The width of the central 95% of the rounds. Raises Undefined if most rounds have no value.

    Its standard error is that of two quantiles of a normal distribution, _SPREAD sd / sqrt(rounds),
    because the quantiles themselves give no error if the figure takes few values.
    """
    interval = percentile_interval(values)
    if interval is None:
        raise Undefined("the figure is undefined in most samples")
    defined = values[~np.isnan(values)]
    return SimulatedPoint(
        sources, interval[1] - interval[0], _SPREAD * float(defined.std()) / math.sqrt(len(defined))
    )


def share_of(passed: Numbers, sources: int) -> SimulatedPoint:
    """The share of rounds that passed. Its standard error is computed after adding half a round
    that passed and half a round that failed.
    """
    rounds = len(passed)
    near = (passed.sum() + 0.5) / (rounds + 1)
    return SimulatedPoint(sources, float(passed.mean()), math.sqrt(near * (1 - near) / rounds))


def grid(sources: int) -> list[int]:
    """Numbers of sources from an eighth of the existing ones to eight times as many, each twice the
    last; all are at least 2.
    """
    return sorted({max(2, math.ceil(sources * 2.0**power)) for power in range(-3, 4)})


def narrow_enough(measure: Measure, target: float, sources: int, least: int = 2) -> Needed:
    """The smallest number of sources with a width of at most `target`.

    The numbers of `grid` are simulated first, for the curve, then the numbers that the search
    needs. Raises Undefined if MOST_SOURCES are not enough.
    """
    points = [measure(number, 1) for number in grid(sources)]
    while points[-1].value > target:
        last = points[-1]
        if last.sources >= MOST_SOURCES:
            raise Undefined(f"{MOST_SOURCES:,} sources are not enough")
        # Where 1 / sqrt(n) puts it, and a little further.
        further = math.ceil(last.sources * min((last.value / target) ** 2 * 1.2 + 1, 1e6))
        points.append(measure(min(MOST_SOURCES, further), 1))
    if points[0].value <= target and points[0].sources <= least:
        first = measure(least, 4)
        return Needed(least, 0.0, first.value, first.error)
    while points[0].value <= target and points[0].sources > least:
        points.insert(0, measure(max(least, points[0].sources // 4), 1))
    turn = max((index for index, point in enumerate(points) if point.value > target), default=0)
    return _between(points[turn], points[min(turn + 1, len(points) - 1)], measure, target, least)


def powerful_enough(measure: Measure, target: float, numbers: Sequence[int]) -> Needed:
    """The smallest number of sources with a power of at least `target`.

    The search is a bisection over `numbers`, which rise. Then a few numbers between two of these
    are tried with four times the rounds, until the power equals the target within its Monte Carlo
    error. Raises Undefined if the last number is not enough.
    """
    low, high = -1, len(numbers)
    ends: dict[int, SimulatedPoint] = {}
    while high - low > 1:
        middle = (low + high) // 2
        ends[middle] = measure(numbers[middle], 1)
        low, high = (low, middle) if ends[middle].value >= target else (middle, high)
    if high == len(numbers):
        raise Undefined(f"{numbers[-1]:,} sources are not enough")
    right = here = ends[high]
    left = ends.get(low, right)
    for _ in range(_TRIES):
        if right.sources - left.sources < 2:
            here = right
            break
        share = np.clip((target - left.value) / max(right.value - left.value, 1e-9), 0.3, 0.7)
        between = round(left.sources * (right.sources / left.sources) ** float(share))
        here = measure(int(np.clip(between, left.sources + 1, right.sources - 1)), 4)
        if abs(here.value - target) <= here.error:
            break
        left, right = (left, here) if here.value >= target else (here, right)
    else:
        here = right
    final = measure(here.sources, 4)
    slope = (
        (right.value - left.value) / math.log(right.sources / left.sources)
        if right.sources > left.sources
        else 1
    )
    return Needed(
        final.sources, final.sources * final.error / max(slope, 0.1), final.value, final.error
    )


def _between(
    low: SimulatedPoint, high: SimulatedPoint, measure: Measure, target: float, least: int
) -> Needed:
    """Search between two simulated points, along the line through their logarithms; `high` is
    narrow enough.

    Every number is simulated with four times the rounds; the search ends if the difference to the
    target is within the Monte Carlo error, or if a number comes up again. It takes the number whose
    width is nearest to the target.
    """
    slope = _slope(low, high)
    guess = _solve(high, slope, target)
    seen: dict[int, SimulatedPoint] = {}
    for _ in range(_STEPS):
        number = int(np.clip(guess, least, MOST_SOURCES))
        if number in seen:
            break
        seen[number] = here = measure(number, 4)
        if abs(here.value - target) <= here.error:
            break
        guess = _solve(here, slope, target)
        guess = float(np.clip(guess, number / 2, number * 2))
    number, here = min(seen.items(), key=lambda item: abs(item[1].value - target))
    in_logs = here.error / here.value if here.value else here.error
    return Needed(number, number * in_logs / abs(slope), here.value, here.error)


def _slope(low: SimulatedPoint, high: SimulatedPoint) -> float:
    """The slope of log width against log sources, near -1/2."""
    step = math.log(high.sources / low.sources)
    positive = step and low.value > 0 and high.value > 0
    return float(np.clip(math.log(high.value / low.value) / step if positive else -0.5, -1.0, -0.3))


def _solve(point: SimulatedPoint, slope: float, target: float) -> float:
    """The number of sources at which the line through the point meets the target, rounded up."""
    if point.value <= 0:
        return point.sources
    return math.ceil(
        point.sources * math.exp(float(np.clip(math.log(target / point.value) / slope, -5, 5)))
    )
