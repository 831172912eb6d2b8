"""TODO"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from metal.errors import Undefined
from metal.genie.design.cells import DesignCell
from metal.genie.design.judged import JudgedPool, fewer_than, judged_pool
from metal.genie.design.sampling import draw_panels, pool_of
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


F1, TEST, SCORE = "judge F1", "alternative annotator test", "generator score"
QUESTIONS = (F1, TEST, SCORE)
NAN = float("nan")


@dataclass(frozen=True)
class SizePlan:
    """The answer to a question: what is needed, and the curve it was read from.

    who: the judge or generator. raters: people per item. now: what the present sources give. value: the figure itself,
    in the data (F1, score, share of people the judge is shown to stand in for in the end). items: that count, of
    `sources` sources: outputs of this generator, or of all.
    """

    question: str
    who: str
    raters: int
    target: float
    sources: int
    items: int
    value: float
    now: SimulatedPoint | None
    needed: Needed | None
    curve: tuple[SimulatedPoint, ...]
    reason: str = ""
    dropped: str = ""

    def items_of(self, sources: int) -> int:
        """Items of so many sources, with as many each as there are on average."""
        return math.ceil(sources * self.items / self.sources - 1e-9) if self.sources else 0


def plans(cell: DesignCell) -> Iterator[SizePlan]:
    """Every question of a cell, for each number of people per item: judges, then generators."""
    for judge in cell.judges:
        for size in cell.sizes:
            yield from judge_plans(cell, judge, size)
    for generator in dict.fromkeys(sorted(map(str, cell.generators))):
        for size in cell.sizes:
            yield score_plan(cell, generator, size)


def judge_plans(cell: DesignCell, judge: str, size: int) -> tuple[SizePlan, SizePlan]:
    """F1 and test of a judge with `size` people per item."""
    rng = cell.random("judge", judge, size)
    f1, test = _asked(cell, F1, judge, size), _asked(cell, TEST, judge, size)
    try:
        pool = _pool(cell, judge, size, rng)
    except Undefined as error:
        return replace(f1, reason=str(error)), replace(test, reason=str(error))
    drawn: dict[tuple[int, int], Numbers] = {}  # both questions are put to the same samples

    def sums(sources: int, times: int) -> Numbers:
        if (sources, times) not in drawn:
            drawn[sources, times] = pool.pool.draw(sources, cell.settings.rounds * times, rng)
        return drawn[sources, times]

    def width(sources: int, times: int) -> SimulatedPoint:
        return width_of(pool.f1(sums(sources, times)), sources)

    def power(sources: int, times: int) -> SimulatedPoint:
        return share_of(pool.passes(sums(sources, times), cell.epsilon), sources)

    dropped = ", ".join(f"{reason} {count}" for reason, count in pool.dropped.items())
    counts: dict[str, Any] = {"sources": pool.pool.sources, "items": pool.items, "dropped": dropped}
    f1 = _planned(replace(f1, value=float(pool.f1(pool.pool.chances @ pool.pool.sums)), **counts), width)
    leads = pool.leads()
    leads = leads[~np.isnan(leads)]
    if not len(leads):
        reason = "each item needs two people, one to leave out and one to compare with"
        return f1, replace(test, reason=reason, **counts)
    below = int((leads < cell.epsilon).sum())
    test = replace(test, value=below / len(leads), **counts)
    if below * 2 < len(leads):
        reason = (
            f"no number of items would do: epsilon {cell.epsilon:g} makes up for what the judge is behind {below} of "
            f"{len(leads)} people only"
        )
        now = power(test.sources, 1)
        return f1, replace(test, reason=reason, now=now, curve=(now,))
    return f1, _planned(test, power)


def score_plan(cell: DesignCell, generator: str, size: int) -> SizePlan:
    """The mean score of a generator's outputs with `size` people per item."""
    rng = cell.random("generator", generator, size)
    asked = _asked(cell, SCORE, generator, size)
    by_generator = cell.generators == generator
    labels, sources = cell.shares[by_generator], cell.sources[by_generator]
    rated = ~np.isnan(labels)
    full = rated.sum(axis=1) >= size
    if not full.any():
        return replace(asked, reason=_not_there(size, int(rated.sum(axis=1).max())))
    labels, rated, sources = labels[full], rated[full], sources[full]
    chosen = draw_panels(rated, size, rng)
    score = np.round(np.where(chosen, labels, 0.0).sum(axis=-1) / size, 12)
    pool = pool_of(np.stack([score, np.ones_like(score)], axis=-1), sources)

    def width(number: int, times: int) -> SimulatedPoint:
        sums = pool.draw(number, cell.settings.rounds * times, rng)
        return width_of(sums[:, 0] / sums[:, 1], number)

    total, count = pool.chances @ pool.sums
    left = int((~full).sum())
    dropped = f"{fewer_than(size)} {left}" if left else ""
    counts: dict[str, Any] = {
        "sources": pool.sources,
        "items": len(labels),
        "value": float(total / count),
        "dropped": dropped,
    }
    return _planned(replace(asked, **counts), width)


def _pool(cell: DesignCell, judge: str, size: int, rng: np.random.Generator) -> JudgedPool:
    if cell.codes is None:
        raise Undefined("a continuous scale has no classes")
    if judge not in cell.codes.raters:
        raise Undefined("the judge rated nothing here")
    most = int((~np.isnan(cell.scores)).sum(axis=1).max())
    if size > most:
        raise Undefined(_not_there(size, most))
    return judged_pool(
        cell.codes.of(cell.people),
        cell.codes.of([judge])[:, 0],
        cell.sources,
        np.asarray(cell.criterion.scale.values),
        size,
        rule=cell.settings.aggregate,
        ordered=cell.criterion.scale.measure != "nominal",
        rng=rng,
    )


def _not_there(size: int, most: int) -> str:
    return f"not in the data: items were rated by up to {most} people, not {size}"


def _asked(cell: DesignCell, question: str, who: str, size: int) -> SizePlan:
    """A question without an answer."""
    target = cell.settings.power if question == TEST else cell.settings.width
    return SizePlan(question, who, size, target, 0, 0, NAN, None, None, ())


def _planned(plan: SizePlan, measure: Measure) -> SizePlan:
    """The plan with what is needed, or the reason why nobody knows, and every point that was simulated."""
    if plan.sources < 2:
        return replace(plan, reason="one source: nothing says how sources differ")
    points: dict[int, SimulatedPoint] = {}

    def kept(number: int, times: int) -> SimulatedPoint:
        points[number] = here = measure(number, times)  # what was simulated with more rounds comes later, and stays
        return here

    needed, reason = None, ""
    try:
        needed = enough(kept, plan.target, "power" if plan.question == TEST else "width", plan.sources)
    except Undefined as error:
        reason = str(error)
    curve = tuple(points[number] for number in sorted(points))
    if plan.question != TEST and all(point.value == 0 for point in curve):
        needed, reason = None, "every sample is alike: the data do not say how sources differ"
    return replace(plan, now=points.get(plan.sources), needed=needed, curve=curve, reason=reason)
