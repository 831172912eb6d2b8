"""The smallest number of sources at which a design does what is asked of it.

Widths fall as 1 / sqrt(sources) and power rises; both are known from simulation only, at some numbers of sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.bootstrap import percentile_interval
from metal.stats.patterns import Numbers

MOST_SOURCES = 10_000_000
# Quantiles p, q of n normal values have variances p (1 - p) / (n density(p)^2) and covariance p (1 - q) / (n density(p)
# density(q)); for 0.025 and 0.975 their difference has a standard error of this times sd / sqrt(n).
_SPREAD = 3.73
_STEPS = 12  # of the search, after which the last number of sources stands


@dataclass(frozen=True)
class SimulatedPoint:
    """A width or a power at a number of sources, with its Monte Carlo standard error."""

    sources: int
    value: float
    error: float


@dataclass(frozen=True)
class Needed:
    """The smallest number of sources. error: its Monte Carlo standard error; value, value_error: what was simulated
    there.
    """

    sources: int
    error: float
    value: float
    value_error: float


Measure = Callable[[int, int], SimulatedPoint]  # sources, how many times the rounds


def width_of(values: Numbers, sources: int) -> SimulatedPoint:
    """The width of the central 95% of the rounds. Raises Undefined where most rounds have no value.

    Its standard error is that of two quantiles of a normal distribution, _SPREAD sd / sqrt(rounds): the quantiles
    themselves have none where the figure takes few values.
    """
    interval = percentile_interval(values)
    if interval is None:
        raise Undefined("the figure is undefined in most samples")
    defined = values[~np.isnan(values)]
    return SimulatedPoint(sources, interval[1] - interval[0], _SPREAD * float(defined.std()) / math.sqrt(len(defined)))


def share_of(passed: Numbers, sources: int) -> SimulatedPoint:
    """The share of rounds that passed; its error is that of a share, with half a round on either side."""
    rounds = len(passed)
    near = (passed.sum() + 0.5) / (rounds + 1)
    return SimulatedPoint(sources, float(passed.mean()), math.sqrt(near * (1 - near) / rounds))


def grid(sources: int) -> list[int]:
    """Numbers of sources from an eighth of those there are to eight times as many, doubling; two at least."""
    return sorted({max(2, math.ceil(sources * 2.0**power)) for power in range(-3, 4)})


def enough(measure: Measure, target: float, what: Literal["width", "power"], sources: int, least: int = 2) -> Needed:
    """The smallest number of sources with a width of at most (a power of at least) `target`.

    `grid` is simulated first, for the curve, and from there on what the search needs. Every number it steps to is
    simulated with four times the rounds; it ends where what is left is within the Monte Carlo error, or at a number
    it had before, and takes the nearest. Raises Undefined where MOST_SOURCES are not enough.
    """
    points = [measure(number, 1) for number in grid(sources)]

    def fine(point: SimulatedPoint) -> bool:
        return point.value <= target if what == "width" else point.value >= target

    while not fine(points[-1]):
        if points[-1].sources >= MOST_SOURCES:
            raise Undefined(f"{MOST_SOURCES:,} sources are not enough")
        points.append(measure(min(MOST_SOURCES, _beyond(points[-1], target, what)), 1))
    if fine(points[0]) and points[0].sources <= least:
        first = measure(least, 4)
        return Needed(least, 0.0, first.value, first.error)
    while fine(points[0]) and points[0].sources > least:
        points.insert(0, measure(max(least, points[0].sources // 4), 1))
    return _between(points, measure, target, what, fine, least)


def _beyond(last: SimulatedPoint, target: float, what: str) -> int:
    """Where to look next: for a width where 1 / sqrt(n) puts it, and a little further; for power twice as far."""
    if what == "power":
        return last.sources * 2
    return math.ceil(last.sources * min((last.value / target) ** 2 * 1.2 + 1, 1e6))


def _between(
    points: list[SimulatedPoint],
    measure: Measure,
    target: float,
    what: str,
    fine: Callable[[SimulatedPoint], bool],
    least: int,
) -> Needed:
    """Steps along the fitted line of the points near the target, each simulated with four times the rounds."""
    turn = max((place for place, point in enumerate(points) if not fine(point)), default=0)
    low, high = points[turn], points[min(turn + 1, len(points) - 1)]
    slope = _slope(low, high, what)
    guess = _solve(high if fine(high) else low, slope, target, what)
    seen: dict[int, SimulatedPoint] = {}
    for _ in range(_STEPS):
        number = int(np.clip(guess, least, MOST_SOURCES))
        if number in seen:
            break
        seen[number] = here = measure(number, 4)
        if abs(here.value - target) <= here.error:
            break
        guess = _solve(here, slope, target, what)
        guess = float(np.clip(guess, number / 2, number * 2))
    number, here = min(seen.items(), key=lambda item: abs(item[1].value - target))
    in_logs = here.error / here.value if what == "width" and here.value else here.error
    return Needed(number, number * in_logs / abs(slope), here.value, here.error)


def _slope(low: SimulatedPoint, high: SimulatedPoint, what: str) -> float:
    """Change of log width (near -1/2), or of power, over log sources."""
    step = math.log(high.sources / low.sources) if high.sources != low.sources else 0.0
    if what == "width":
        positive = step and low.value > 0 and high.value > 0
        slope = math.log(high.value / low.value) / step if positive else -0.5
        return float(np.clip(slope, -1.0, -0.3))
    return max((high.value - low.value) / step if step else 0.1, 0.02)


def _solve(point: SimulatedPoint, slope: float, target: float, what: str) -> float:
    """The number of sources at which the line through the point meets the target, rounded up."""
    gap = math.log(target / point.value) if what == "width" and point.value > 0 else target - point.value
    if what == "width" and point.value <= 0:
        return point.sources
    return math.ceil(point.sources * math.exp(float(np.clip(gap / slope, -5, 5))))
