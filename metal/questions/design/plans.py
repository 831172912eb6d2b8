"""How many sources a question needs: computed by a formula, which gives an 80% interval, or by
simulation.
"""

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
from metal.questions.design.cells import DesignCell
from metal.questions.design.formula import DRAWS, Times, score_times, verdict_times
from metal.questions.design.labels.sampling import Pool, draw_panels, pool_of
from metal.questions.design.search import (
    Measure,
    Needed,
    SimulatedPoint,
    narrow_enough,
    powerful_enough,
    share_of,
    width_of,
)
from metal.questions.design.verdicts import NEW_JUDGE, SimulatedVerdicts

NAN = float("nan")
SCORE = "generator score"
# of a verdict its name; informative is the least that is asked for
QUESTIONS = (LIKE_A_PERSON, INFORMATIVE, SCORE)
ALIKE = "every sample is alike: the data do not say how sources differ"
FEWEST = 20  # rounds that show what the verdict is instead
# rounds of verdicts, after which the search leaves a power that is far from what is asked for
_LEAST = 8
# half the squared z of three standard errors: the likelihood ratio's logarithm of a power that is
# far
_FAR = 4.5
ITEMS = (30, 50, 100, 200, 300, 600, 1000, 2000)  # at which verdicts are simulated
DRAWN = 4  # panels, or judges like a person, that the formula looks at


@dataclass(frozen=True)
class SizePlan:
    """The answer to a question: the number of sources needed, and the curve from which it was read.

    who: the judge or generator. raters: people per item. now: the width or power that the present
    sources give. value: the figure in the data: the share kept, or the score. verdict: for a judge,
    the verdict of an audit of the data. sources: the number of sources in the data. items: the
    number of their items that count: outputs of this generator, or of all. low, high: an 80%
    interval of the sources needed; inf if the pilot shows no upper end, NaN if it shows nothing.
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
    low: float = NAN
    high: float = NAN

    @property
    def open_end(self) -> bool:
        """Whether the pilot shows no upper end."""
        return math.isinf(self.high)

    @property
    def most(self) -> float:
        """The sources needed at the upper end of the interval; without an interval, the number
        itself.
        """
        return self.high if not math.isnan(self.high) or not self.needed else self.needed.sources

    def items_of(self, sources: int) -> int:
        """The number of items that this many sources have, at the average number per source."""
        return math.ceil(sources * self.items / self.sources - 1e-9) if self.sources else 0


def plans(cell: DesignCell) -> Iterator[SizePlan]:
    """A plan for every question of a cell and each number of people per item: judges first, then
    generators.
    """
    for judge in (NEW_JUDGE, *cell.judges):
        for size in cell.judged_sizes:
            yield from judge_plans(cell, judge, size)
    for generator in dict.fromkeys(sorted(map(str, cell.generators))) if cell.scored else ():
        for size in cell.sizes:
            yield score_plan(cell, generator, size)


def judge_plans(cell: DesignCell, judge: str, size: int) -> Iterator[SizePlan]:
    """Plans for the verdicts *like a person*, and *informative* or better, of a judge with `size`
    people per item.
    """
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
        # More ratings might leave a careless person out, but who that is nobody knows from those
        # there are.
        counts |= {
            "verdict": DISAGREE,
            "reason": f"{DISAGREE}, so no judge can be validated: improve the guidelines first",
        }
        yield from (replace(plan, **counts) for plan in asked)
        return
    pilots = list(simulated.pilots(DRAWN))
    planned = [_by_formula(replace(plan, **counts), pilots, cell) for plan in asked]
    yield from _simulated_too(planned, simulated, cell) if cell.settings.thorough else planned


def _by_formula(plan: SizePlan, pilots: Sequence[AuditCell], cell: DesignCell) -> SizePlan:
    """The plan with the result of the formula, or the reason why there is none."""
    if plan.question == LIKE_A_PERSON and plan.raters == 1:
        return replace(plan, reason="one person per item, so it is unknown how good a person is")
    if plan.sources < 2:
        return replace(plan, reason="one source only: it does not show how sources differ")
    alike = plan.who == NEW_JUDGE
    rng = cell.random("formula", plan.who, plan.raters)
    try:
        times = verdict_times(pilots, plan.who, plan.question, plan.target, rng, alike=alike)
    except Undefined as error:
        return replace(plan, reason=str(error))
    return _with_times(plan, times)


def _with_times(plan: SizePlan, times: Times) -> SizePlan:
    """The plan with this multiple of its sources, or the reason why no number is enough."""
    least, value, most = (
        _whole(each * plan.sources) for each in (times.low, times.value, times.high)
    )
    plan = replace(plan, low=least, high=most)
    if not math.isfinite(value):
        return replace(plan, reason=times.words)
    return replace(plan, needed=Needed(int(value), NAN, NAN, NAN))


def _whole(sources: float) -> float:
    return math.ceil(sources - 1e-9) if math.isfinite(sources) else sources


def _simulated_too(
    planned: list[SizePlan], simulated: SimulatedVerdicts, cell: DesignCell
) -> Iterator[SizePlan]:
    """The plans with the result of a simulation in place of the formula's.

    The interval keeps its proportion to the number of sources.
    """
    drawn: dict[int, list[Verdict]] = {}  # both questions are put to the same samples

    def verdicts(sources: int) -> Iterator[Verdict]:
        have = drawn.setdefault(sources, [])
        yield from have
        for each in simulated.draw(sources):
            have.append(each)
            yield each

    for plan, enough in zip(planned, ({LIKE_A_PERSON}, {LIKE_A_PERSON, INFORMATIVE}), strict=True):
        if plan.sources < 2 or (plan.question == LIKE_A_PERSON and plan.raters == 1):
            yield plan
        else:
            yield _in_proportion(plan, _judged(plan, verdicts, enough, cell.settings.rounds // 5))


def _in_proportion(plan: SizePlan, thorough: SizePlan) -> SizePlan:
    """The simulated plan with the formula's interval, rescaled by the ratio of the simulated to the
    formula's number.
    """
    if not thorough.needed:
        return replace(thorough, low=NAN, high=NAN)
    if not plan.needed:
        return thorough
    scale = thorough.needed.sources / plan.needed.sources
    return replace(thorough, low=_whole(plan.low * scale), high=_whole(plan.high * scale))


def _audited(cell: AuditCell, judge: str) -> Verdict:
    """The verdict of an audit of the existing ratings. A planned judge (NEW_JUDGE) has no ratings
    yet; then the verdict only tells whether people agree.
    """
    # whether people agree, no answer of a judge changes: here the first class throughout
    if judge == NEW_JUDGE:
        codes = np.column_stack(
            [cell.matrix.codes, np.zeros(len(cell.matrix.codes), cell.matrix.codes.dtype)]
        )
        cell = replace(
            cell, matrix=replace(cell.matrix, codes=codes, raters=(*cell.matrix.raters, judge))
        )
    return verdict(cell, judge, ranges=False)


def _judged(
    plan: SizePlan, verdicts: Callable[[int], Iterator[Verdict]], enough: set[str], rounds: int
) -> SizePlan:
    """The simulated plan for one of the verdicts `enough`, or the reason why no number of items is
    enough.
    """
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

    numbers = sorted(
        {max(MIN_SOURCES, math.ceil(items * plan.sources / plan.items)) for items in ITEMS}
    )
    now, needed, reason = power(plan.sources, 1), None, ""
    try:
        needed = powerful_enough(power, plan.target, numbers)
    except Undefined:
        reason = _instead(plan.items_of(numbers[-1]), list(islice(verdicts(numbers[-1]), FEWEST)))
    curve = tuple(points[number] for number in sorted(points))
    return replace(plan, now=points[now.sources], needed=needed, curve=curve, reason=reason)


def _evidence(passed: int, rounds: int, power: float) -> float:
    """The logarithm of how much more likely this number of passed rounds is with the observed power
    than with `power`.
    """
    shares = (passed, power), (rounds - passed, 1 - power)
    return sum(part * math.log(part / (rounds * share)) for part, share in shares if part)


def _instead(items: int, verdicts: list[Verdict]) -> str:
    """Why this many items are not enough: the most frequent verdict, and its reason without the
    figures of one round.
    """
    usual = Counter(each.verdict for each in verdicts).most_common(1)[0][0]
    reason = re.sub(
        r" \([^()]*\)", "", next(each.reason for each in verdicts if each.verdict == usual)
    )
    return (
        f"{items:,} items are not enough: most often {usual}, {reason.partition('; ')[2] or reason}"
    )


def _simulated(cell: DesignCell, judge: str, size: int) -> SimulatedVerdicts:
    if judge != NEW_JUDGE and judge not in cell.audit.judges:
        raise Undefined("the judge rated nothing here")
    if size > (most := int(cell.audit.ratings_per_item.max())):
        raise Undefined(_not_there(size, most))
    return SimulatedVerdicts(cell.audit, judge, size, cell.random("judge", judge, size))


def score_plan(cell: DesignCell, generator: str, size: int) -> SizePlan:
    """A plan for the mean score of a generator's outputs with `size` people per item."""
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

    total, items = pool.chances @ pool.sums
    left = int((~full).sum())
    dropped = f"{fewer_than(size)} {left}" if left else ""
    counts: dict[str, Any] = {
        "sources": pool.sources,
        "items": len(labels),
        "value": float(total / items),
        "dropped": dropped,
    }
    plan = replace(asked, **counts)
    if plan.sources < 2:
        return replace(plan, reason="one source only: it does not show how sources differ")
    plan = _score_by_formula(plan, pool, rng)
    return _planned(plan, width) if cell.settings.thorough else plan


def _score_by_formula(plan: SizePlan, pool: Pool, rng: np.random.Generator) -> SizePlan:
    """The plan with the result of the formula for the variance of a mean."""
    scores, items = pool.sums.T
    counted = np.ones_like(scores)
    columns = np.stack([scores, items, scores**2, scores * items, items**2, counted], axis=1)
    moments = Pool(columns, pool.chances, pool.sources)
    of_pilot = pool.sources * (pool.chances @ columns)
    times, width = score_times(of_pilot, moments.draw(pool.sources, DRAWS, rng), plan.target)
    if width == 0:
        return replace(plan, reason=ALIKE)
    plan = replace(plan, now=SimulatedPoint(plan.sources, width, NAN))
    return _with_times(plan, times)


def fewer_than(size: int) -> str:
    """The reason why an item is left out."""
    return f"fewer than {plural(size, 'person', 'people')}"


def _not_there(size: int, most: int) -> str:
    return f"not in the data: items were rated by up to {most} people, not {size}"


def _asked(cell: DesignCell, question: str, who: str, size: int) -> SizePlan:
    """A plan for a question, before it is answered."""
    target = cell.settings.width if question == SCORE else cell.settings.power
    return SizePlan(question, who, size, target, 0, 0, NAN, None, None, ())


def _planned(plan: SizePlan, measure: Measure) -> SizePlan:
    """The plan with the number needed, or the reason why it is unknown, and with every simulated
    point.
    """
    points: dict[int, SimulatedPoint] = {}

    def kept(number: int, times: int) -> SimulatedPoint:
        # what was simulated with more rounds comes later, and stays
        points[number] = here = measure(number, times)
        return here

    needed, reason = None, ""
    try:
        needed = narrow_enough(kept, plan.target, plan.sources)
    except Undefined as error:
        reason = str(error)
    curve = tuple(points[number] for number in sorted(points))
    if all(point.value == 0 for point in curve):
        needed, reason = None, ALIKE
    simulated = replace(
        plan, now=points.get(plan.sources), needed=needed, curve=curve, reason=reason
    )
    return _in_proportion(plan, simulated)
