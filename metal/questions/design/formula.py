"""The number of items that a verdict or a score needs, by a formula, and how certain that number
is.

A standard error shrinks with the square root of the number of sources. A limit at level p of a
figure is above its bound with `power` at n = n0 ((z_p + z_power) error / (figure - bound))^2
sources, where n0 is the number in the pilot; if the figure is not above its bound, no number is
enough. A verdict needs the largest n over its limits.

The pilot is a sample, so its sources are resampled DRAWS times. Each resample gives an n. The
interval from the 10% to the 90% quantile of these numbers contains the true n in about four of five
pilots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.clauses import Clause
from metal.auditing.standing import (
    LEAST_ITEMS,
    LEAST_OF_CLASS,
    MIN_ITEMS,
    MIN_SOURCES,
    Standing,
    in_bounds,
)
from metal.auditing.verdict import (
    LIKE_A_PERSON,
    OF_TWO,
    SMALL,
    SMALL_ORDER,
    SMALL_ORDER_ALONE,
    UNINFORMATIVE,
    clauses_of,
    looked_at,
)
from metal.data.text import signed
from metal.errors import Undefined
from metal.stats.interval import Interval
from metal.stats.measured import Measured, P
from metal.stats.order import FigurePair, z_of_order, z_of_order_again
from metal.stats.patterns import Numbers
from metal.stats.source_sums import Draws

DRAWS = 200
QUANTILES = 0.1, 0.9
MOST = 100  # times the existing sources; beyond, no number follows from them
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Times:
    """The number of sources needed, as a multiple of the existing ones.

    low, high: an 80% interval; inf if no number is enough, or only one above MOST. words: the
    reason why no number is enough.
    """

    value: float
    low: float
    high: float
    words: str = ""


@dataclass(frozen=True)
class Limit:
    """A figure whose lower limit at level p must be above a bound.

    words: what to say if it is not.
    """

    figure: Measured
    bound: float
    p: float
    words: str


Limits = Sequence[Sequence[Limit]]  # all of them, of each any


def verdict_times(
    pilots: Sequence[AuditCell],
    judge: str,
    question: str,
    power: float,
    rng: np.random.Generator,
    *,
    alike: bool,
) -> Times:
    """The number of sources that a verdict needs, as a multiple of the existing ones.

    pilots: the existing ratings; several versions if people or the judge's answers were drawn at
    random. alike: whether the judge's answers were drawn to be like a person's, so that a person's
    figures replace its own. Raises Undefined if nothing follows from the pilot.
    """
    standings = [_usable(pilot, judge) for pilot in pilots]
    asked = [_asked(beside, question, alike) for beside in standings]
    stops = [reason for _, reason in asked]
    if all(stops):
        raise Undefined(stops[0])
    drawn, values = [], []
    for beside, (limits, _) in zip(standings, asked, strict=True):

        def needed(draws: Draws, beside: Standing = beside, limits: Limits = limits) -> Numbers:
            least = _least(beside, question, draws, power)
            return np.maximum(_times(limits, draws, power, alike), least)

        sources = np.unique(beside.cell.matrix.sources)
        values.append(needed(Draws(sources, np.ones((1, len(sources)), dtype=np.int64))))
        drawn += [needed(draws) for draws in Draws.of(sources, DRAWS // len(pilots), rng)]
    value = float(np.median(np.concatenate(values)))
    reason = "" if math.isfinite(value) else _why(asked[0][0])
    return _with_interval(value, np.concatenate(drawn), reason)


def score_times(sums: Numbers, drawn: Numbers, width: float) -> tuple[Times, float]:
    """The number of sources that a generator's mean score needs for a 95% interval of this width,
    as a multiple of the existing ones; and the present width.

    sums: (6,) sums over the sources of s, c, s^2, s c, c^2 and 1, where s is the sum of a source's
    scores and c its number of items. drawn: (draws, 6) the same sums over resampled sources. The
    mean is a ratio, and its variance is linearised.
    """
    of_pilot, of_draws = (_width(each) for each in (sums[None], drawn))
    return _with_interval(float(of_pilot[0] / width) ** 2, (of_draws / width) ** 2), float(
        of_pilot[0]
    )


def _width(sums: Numbers) -> Numbers:
    score, items, score2, both, items2, n = np.moveaxis(sums, -1, 0)
    mean = score / items
    squares = np.maximum(score2 - 2 * mean * both + mean**2 * items2, 0.0)
    return np.asarray(
        2 * _NORMAL.inv_cdf(0.975) * np.sqrt(squares * n / np.maximum(n - 1, 1)) / items
    )


def _with_interval(value: float, drawn: Numbers, reason: str = "") -> Times:
    low, high = (
        np.quantile(drawn, QUANTILES[0], method="lower"),
        np.quantile(drawn, QUANTILES[1], method="higher"),
    )
    return Times(*Interval(float(low), float(high)).holding(value), reason)


# ---------------------------------------------------------------- what a verdict asks for


def _usable(pilot: AuditCell, judge: str) -> Standing:
    """The judge compared with the people who count. Raises Undefined if not even more ratings would
    make a verdict possible.
    """
    beside, stop, _ = looked_at(pilot.seen_by(judge), judge)
    reason = stop[1] if stop else ""
    if not beside.items or (not beside.gold and math.isnan(beside.people.alpha.value)):
        raise Undefined(reason)
    if beside.nothing_to_tell() if pilot.by_scores else len(beside.classes) < 2:
        raise Undefined(beside.nothing_to_tell())
    return beside


def _asked(beside: Standing, question: str, alike: bool) -> tuple[Limits, str]:
    """The limits that a verdict requires, and a phrase on anything else that prevents it."""
    if question != LIKE_A_PERSON:
        return _of_informative(beside), "" if alike else _never_informative(beside)
    clauses = clauses_of(beside)
    limits = [
        [Limit(each.figure, each.bound, P, each.words)]
        for each in clauses
        if each.figure is not None
    ]
    return limits, _stands_in_the_way(beside, clauses)


def _least(beside: Standing, question: str, draws: Draws, power: float) -> Numbers:
    """(draws,) the smallest multiple that any verdict requires by the rules on items, sources and
    rare labels.
    """
    least = np.full(len(draws.times), max(MIN_ITEMS / beside.items, MIN_SOURCES / beside.n_sources))
    if beside.cell.by_scores:
        return least
    side, bad = beside.paired, beside.cell.bad_end
    items = side.by.drawn(draws) @ side.by.rows(
        side.weight / np.maximum(side.weight.sum(axis=1, keepdims=True), 1e-12)
    )
    rising = np.sort(items, axis=1)
    off = (
        rising[:, :-1].sum(axis=1)
        if question != LIKE_A_PERSON and beside.three_levels
        else rising[:, -2]
    )
    asked = [(LEAST_ITEMS, off)]
    if question == LIKE_A_PERSON and bad is not None:
        asked.append((LEAST_OF_CLASS, items[:, bad]))
    z = _NORMAL.inv_cdf(power)
    for number, counted in asked:  # with so much room that the count is reached with this power
        least = np.maximum(least, (number + z * math.sqrt(number)) / np.maximum(counted, 1e-9))
    return np.where(least < MOST, least, np.inf)


def _stands_in_the_way(beside: Standing, clauses: Sequence[Clause]) -> str:
    """The clauses without a limit that do not hold, in words: no number of items changes them, or
    there are too few data.
    """
    fail = [clause for clause in clauses if clause.figure is None and not clause.holds]
    shown = "; ".join(clause.words for clause in fail if clause.shown)
    if shown:
        return f"{_NEVER}: {shown}"
    thin = not beside.cell.by_scores and beside.thin()
    return f"too little to plan from: {fail[0].words}" if len(fail) > thin else ""


_NEVER = "with its figures as they are, no number of items would be enough"


def _of_informative(beside: Standing) -> Limits:
    """The limits of *informative*: that the judge beats a constant (rule 5), and that people are
    shown to agree (rule 2).
    """
    order, above, lead = beside.whole_order, beside.above, beside.lead
    reason = f"not shown to beat a constant answer: {in_bounds(above, signed)}"
    if order is None:
        judge = [Limit(above, 0.0, P, reason)]
    elif not beside.by_either:
        judge = [Limit(_z(order.ranks, beside), 0.0, P, reason)]
    else:
        judge = [
            Limit(above, 0.0, OF_TWO, reason),
            Limit(_z(order.ranks, beside), 0.0, OF_TWO, reason),
        ]
    if lead is None:
        return [judge]
    people = [
        Limit(lead, 0.0, P, f"{beside.person_knows(lead)}, not shown to be more than a constant's")
    ]
    if beside.order is not None:
        people.append(Limit(_z(beside.order.ranks, beside, person=True), 0.0, OF_TWO, ""))
    return [judge, people]


def _z(ranks: FigurePair, beside: Standing, *, person: bool = False) -> Measured:
    """How many standard errors the order of the judge, or of a person, is above 0."""
    by, judge, people = ranks.by, ranks.of_judge, ranks.of_person

    def again(draws: Draws, alike: bool) -> tuple[Numbers, Numbers]:
        z = z_of_order_again(by, people if alike or person else judge, draws)
        return z, np.ones_like(z)

    return Measured(z_of_order(by, people if person else judge), 1.0, by.n - 1, again)


def _never_informative(beside: Standing) -> str:
    """Why more items would only show that the judge is *uninformative*; empty if they would not."""
    above, order = beside.above.value, beside.order_beyond(SMALL_ORDER)
    half = beside.gold or beside.cell.by_scores or beside.beyond(0.5).value < 0
    least = SMALL_ORDER_ALONE if beside.gold else 0.0
    if above < SMALL and half and (order is None or order.value < least):
        return f"{_NEVER}: {UNINFORMATIVE}, {in_bounds(beside.above, signed)} more than a constant"
    return ""


# ---------------------------------------------------------------- times


def _times(limits: Limits, draws: Draws, power: float, alike: bool) -> Numbers:
    """(draws,) the smallest multiple of the sources that satisfies each list of limits, and of
    these the largest.
    """
    largest = np.zeros(len(draws.times))
    with np.errstate(invalid="ignore", divide="ignore"):  # a class may be missing from a draw
        for any_of in limits:
            each = [_of_limit(limit, draws, power, alike) for limit in any_of]
            largest = np.maximum(largest, np.min(each, axis=0))
    return largest


def _of_limit(limit: Limit, draws: Draws, power: float, alike: bool) -> Numbers:
    assert limit.figure.again is not None  # of every figure with a limit
    value, error = limit.figure.again(draws, alike)
    gap = value - limit.bound
    times = (
        (_NORMAL.inv_cdf(limit.p) + _NORMAL.inv_cdf(power)) * error / np.where(gap > 0, gap, np.nan)
    ) ** 2
    return np.asarray(np.where(times < MOST, times, np.inf))


def _why(limits: Limits) -> str:
    """Why no number of items is enough: the limit that is farthest from holding, in words."""

    def far(any_of: Sequence[Limit]) -> float:
        return max(
            (each.figure.value - each.bound) / max(each.figure.error, 1e-12) for each in any_of
        )

    farthest = min(limits, key=far)
    reason = farthest[0].words
    return (
        f"{_NEVER}: {reason}"
        if far(farthest) <= 0
        else f"more than {MOST} times the existing items: {reason}"
    )
