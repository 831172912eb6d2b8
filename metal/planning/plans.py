"""How many sources a question needs: simulated at growing numbers, and simulated again at the answer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.standing import MIN_SOURCES
from metal.auditing.verdict import DISAGREE, INFORMATIVE, LIKE_A_PERSON, Verdict, verdict
from metal.data.text import plural
from metal.errors import Undefined
from metal.planning.cells import DesignCell
from metal.planning.sampling import draw_panels, pool_of
from metal.planning.verdicts import NEW_JUDGE, SimulatedVerdicts
from metal.stats.bootstrap import percentile_interval
from metal.stats.patterns import Numbers

NAN = float("nan")
MOST_SOURCES = 10_000_000
# Quantiles p, q of n normal values have variances p (1 - p) / (n density(p)^2) and covariance p (1 - q) / (n density(p)
# density(q)); for 0.025 and 0.975 their difference has a standard error of this times sd / sqrt(n).
_SPREAD = 3.73
_STEPS = 12  # of the search for a width, after which the last number of sources stands
_TRIES = 4  # of the search for a power, each of which leaves at most 70% of what was left


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


def narrow_enough(measure: Measure, target: float, sources: int, least: int = 2) -> Needed:
    """The smallest number of sources with a width of at most `target`.

    `grid` is simulated first, for the curve, and from there on what the search needs. Raises Undefined where
    MOST_SOURCES are not enough.
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
    turn = max((place for place, point in enumerate(points) if point.value > target), default=0)
    return _between(points[turn], points[min(turn + 1, len(points) - 1)], measure, target, least)


def powerful_enough(measure: Measure, target: float, numbers: Sequence[int]) -> Needed:
    """The smallest number of sources with a power of at least `target`, from the first of the rising numbers on.

    The numbers are halved; then what lies between two of them is tried a few times, with four times the rounds, until
    the power is the target within its Monte Carlo error. Raises Undefined where the last is not enough.
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
    slope = (right.value - left.value) / math.log(right.sources / left.sources) if right.sources > left.sources else 1
    return Needed(final.sources, final.sources * final.error / max(slope, 0.1), final.value, final.error)


def _between(low: SimulatedPoint, high: SimulatedPoint, measure: Measure, target: float, least: int) -> Needed:
    """Steps along the line through two points in logarithms, the second narrow enough.

    Every number is simulated with four times the rounds; it ends where what is left is within the Monte Carlo error,
    or at a number it had before, and takes the nearest.
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
    """Change of log width over log sources, near -1/2."""
    step = math.log(high.sources / low.sources)
    positive = step and low.value > 0 and high.value > 0
    return float(np.clip(math.log(high.value / low.value) / step if positive else -0.5, -1.0, -0.3))


def _solve(point: SimulatedPoint, slope: float, target: float) -> float:
    """The number of sources at which the line through the point meets the target, rounded up."""
    if point.value <= 0:
        return point.sources
    return math.ceil(point.sources * math.exp(float(np.clip(math.log(target / point.value) / slope, -5, 5))))


SCORE = "generator score"
QUESTIONS = (LIKE_A_PERSON, INFORMATIVE, SCORE)  # of a verdict its name; informative is the least that is asked for
FEWEST = 20  # rounds that show what the verdict is instead
_LEAST = 8  # rounds of verdicts, after which the search leaves a power that is far from what is asked for
_FAR = 4.5  # half the squared z of three standard errors: the likelihood ratio's logarithm of a power that is far
ITEMS = (30, 50, 100, 200, 300, 600, 1000, 2000)  # at which verdicts are simulated


@dataclass(frozen=True)
class SizePlan:
    """The answer to a question: what is needed, and the curve it was read from.

    who: the judge or generator. raters: people per item. now: what the present sources give. value: the figure itself,
    in the data (share kept, score); verdict: of a judge, what an audit of the data says. items: that count, of
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
    verdict: str = ""

    def items_of(self, sources: int) -> int:
        """Items of so many sources, with as many each as there are on average."""
        return math.ceil(sources * self.items / self.sources - 1e-9) if self.sources else 0


def plans(cell: DesignCell) -> Iterator[SizePlan]:
    """Every question of a cell, for each number of people per item: judges, then generators."""
    for judge in (NEW_JUDGE, *cell.judges):
        for size in cell.judged_sizes:
            yield from judge_plans(cell, judge, size)
    for generator in dict.fromkeys(sorted(map(str, cell.generators))) if cell.scored else ():
        for size in cell.sizes:
            yield score_plan(cell, generator, size)


def judge_plans(cell: DesignCell, judge: str, size: int) -> Iterator[SizePlan]:
    """The verdicts *like a person*, and *informative* or better, of a judge with `size` people per item."""
    asked = [_asked(cell, question, judge, size) for question in (LIKE_A_PERSON, INFORMATIVE)]
    try:
        simulated = _simulated(cell, judge, size)
    except Undefined as error:
        yield from (replace(plan, reason=str(error)) for plan in asked)
        return
    counts: dict[str, Any] = {"sources": simulated.sources, "items": simulated.items}
    if simulated.dropped:
        counts["dropped"] = f"{fewer_than(size)} {simulated.dropped}"
    audited = _audited(cell.audit, judge)
    if judge != NEW_JUDGE:
        counts |= {"value": audited.share_kept.value, "verdict": audited.verdict}
    if audited.verdict == DISAGREE:
        # More ratings might leave a careless person out, but who that is nobody knows from those there are.
        counts |= {"verdict": DISAGREE, "reason": f"{DISAGREE}, so that no judge can be validated: guidelines first"}
        yield from (replace(plan, **counts) for plan in asked)
        return
    drawn: dict[int, list[Verdict]] = {}  # both questions are put to the same samples

    def verdicts(sources: int) -> Iterator[Verdict]:
        have = drawn.setdefault(sources, [])
        yield from have
        for each in simulated.draw(sources):
            have.append(each)
            yield each

    for plan, enough in zip(asked, ({LIKE_A_PERSON}, {LIKE_A_PERSON, INFORMATIVE}), strict=True):
        yield _judged(replace(plan, **counts), verdicts, enough, cell.settings.rounds // 5)


def _audited(cell: AuditCell, judge: str) -> Verdict:
    """What an audit of the ratings there are says; of a judge like a person, who rated none, whether people agree."""
    if judge == NEW_JUDGE:  # whether people agree, no answer of a judge changes: here the first class throughout
        codes = np.column_stack([cell.matrix.codes, np.zeros(len(cell.matrix.codes), cell.matrix.codes.dtype)])
        cell = replace(cell, matrix=replace(cell.matrix, codes=codes, raters=(*cell.matrix.raters, judge)))
    return verdict(cell, judge, ranges=False)


def _judged(plan: SizePlan, verdicts: Callable[[int], Iterator[Verdict]], enough: set[str], rounds: int) -> SizePlan:
    """The plan with what is needed for one of the verdicts, or what the verdict would be instead."""
    points: dict[int, SimulatedPoint] = {}

    def power(sources: int, times: int) -> SimulatedPoint:
        passed: list[bool] = []
        for each in islice(verdicts(sources), rounds * times):
            passed.append(each.verdict in enough)
            if (
                len(passed) >= (_LEAST if times == 1 else rounds)
                and _evidence(sum(passed), len(passed), plan.target) > _FAR
            ):
                break
        points[sources] = share_of(np.array(passed), sources)
        return points[sources]

    if plan.question == LIKE_A_PERSON and plan.raters == 1:
        return replace(plan, reason="one person per item, so that it is unknown how good a person is")
    if plan.sources < 2:
        return replace(plan, reason="one source: nothing says how sources differ")
    numbers = sorted({max(MIN_SOURCES, math.ceil(items * plan.sources / plan.items)) for items in ITEMS})
    now, needed, reason = power(plan.sources, 1), None, ""
    try:
        needed = powerful_enough(power, plan.target, numbers)
    except Undefined:
        reason = _instead(plan.items_of(numbers[-1]), list(islice(verdicts(numbers[-1]), FEWEST)))
    curve = tuple(points[number] for number in sorted(points))
    return replace(plan, now=points[now.sources], needed=needed, curve=curve, reason=reason)


def _evidence(passed: int, rounds: int, power: float) -> float:
    """The logarithm of how much likelier so many of the rounds are with the power they show than with `power`."""
    shares = (passed, power), (rounds - passed, 1 - power)
    return sum(part * math.log(part / (rounds * share)) for part, share in shares if part)


def _instead(items: int, verdicts: list[Verdict]) -> str:
    """Why so many items are not enough: the usual verdict, and its reason without the figures of one round."""
    usual = Counter(each.verdict for each in verdicts).most_common(1)[0][0]
    reason = re.sub(r" \([^()]*\)", "", next(each.reason for each in verdicts if each.verdict == usual))
    return f"{items:,} items are not enough: most often {usual}, {reason.partition('; ')[2] or reason}"


def _simulated(cell: DesignCell, judge: str, size: int) -> SimulatedVerdicts:
    if judge != NEW_JUDGE and judge not in cell.audit.judges:
        raise Undefined("the judge rated nothing here")
    if size > (most := int(cell.audit.ratings_per_item.max())):
        raise Undefined(_not_there(size, most))
    return SimulatedVerdicts(cell.audit, judge, size, cell.random("judge", judge, size))


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


def fewer_than(size: int) -> str:
    """Why an item is left out."""
    return f"fewer than {plural(size, 'person', 'people')}"


def _not_there(size: int, most: int) -> str:
    return f"not in the data: items were rated by up to {most} people, not {size}"


def _asked(cell: DesignCell, question: str, who: str, size: int) -> SizePlan:
    """A question without an answer."""
    target = cell.settings.width if question == SCORE else cell.settings.power
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
        needed = narrow_enough(kept, plan.target, plan.sources)
    except Undefined as error:
        reason = str(error)
    curve = tuple(points[number] for number in sorted(points))
    if all(point.value == 0 for point in curve):
        needed, reason = None, "every sample is alike: the data do not say how sources differ"
    return replace(plan, now=points.get(plan.sources), needed=needed, curve=curve, reason=reason)
