"""What *like a person* requires: the clauses of rule 3 of a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from metal.auditing.standing import LEAST_OF_CLASS, LEAST_SHARE, Standing, in_bounds, in_items
from metal.data.text import coverage, percent, plural, signed
from metal.stats.measured import Measured

MIN_COVERAGE = 0.95
MOST_NEEDED = 20  # times the existing items: beyond, a number of items says nothing
HALF = 0.5  # of what people find of a label, that the judge must find
# items on which two or more others all say the bad end: from here on the judge is asked about them
AGREED = 5
FOUND = 0.7  # of what people find there
ANSWERED_ONLY = "it answered only"


@dataclass(frozen=True)
class Clause:
    """A clause of *like a person*.

    words: what to say if the clause does not hold. remark: what a reason adds to the words. shown:
    whether the clause is shown not to hold, rather than just not shown to hold. figure, bound: the
    clause holds if the lower limit of the figure is above the bound. n: the number of items from
    which the figure is computed. items: the number of items of the cell, if the cell has more.
    plain: whether readers understand the words without statistics; the words are then a sentence.
    bad_end: whether the clause is about finding what people call bad.
    """

    holds: bool
    words: str = ""
    shown: bool = False
    figure: Measured | None = None
    bound: float = 0.0
    n: float = 0.0
    items: float = 0.0
    plain: bool = False
    bad_end: bool = False
    remark: str = ""

    @property
    def p(self) -> float:
        """The one-sided p-value of the clause; 1 if it has no limit and does not hold."""
        if self.figure is None:
            return 0.0 if self.holds else 1.0
        return self.figure.p_above(self.bound, self.n)

    @property
    def needed(self) -> float:
        """About how many items would show, in half of all cases, that the clause holds; inf if no
        number would, NaN if unknown.
        """
        every = round(self.items or self.n)
        return math.nan if self.figure is None else needed(self.figure, self.bound, every)


def needed(figure: Measured, bound: float, n: int) -> float:
    """About how many items would show, in half of all cases, that a figure is above a bound; inf
    beyond MOST_NEEDED.
    """
    items = figure.needed(bound, n)
    return items if items < MOST_NEEDED * n else math.inf


def limit(figure: Measured, bound: float, n: float, statement: str, items: float = 0.0) -> Clause:
    """A clause that a figure is shown to be above a bound.

    items: the number of items of the cell, if the figure uses only n of them.
    """
    return Clause(figure.low() > bound, statement, figure.high() < bound, figure, bound, n, items)


def clauses_on_classes(beside: Standing) -> Iterator[Clause]:
    """The clauses of rule 3 on a scale of classes, for a judge compared with people; see
    metal.auditing.verdict.
    """
    settings, n = beside.cell.settings, beside.items
    lead = beside.recalls.lead
    yield limit(
        lead,
        0.0,
        n,
        f"a person is not shown to beat a constant answer ({in_bounds(lead, signed)})",
    )
    yield not_below(beside.below, settings.margin, n, "below a person")
    if beside.near:
        yield not_below(
            beside.near, settings.margin, n, "below a person when near misses count in part"
        )
    yield keeps(beside.beyond(settings.keep), n, f"{settings.keep:.0%} of what a person knows")
    if beside.order:
        kappa = beside.order.kappa
        what = f"{settings.keep:.0%} of a person's quadratic kappa"
        share = f" ({in_bounds(kappa.share, percent)})" if kappa.share else ""
        yield keeps(kappa.beyond(settings.keep), n, what + share)
    yield _plain(beside)
    if beside.cell.bad_end is not None:
        yield from _bad_end(beside, beside.cell.bad_end)
    yield from _other_labels(beside)
    if beside.thin():
        yield Clause(False, "fewer than two answers have 10 items each")
    yield from on_people(beside)


def not_below(figure: Measured, margin: float, n: float, what: str) -> Clause:
    """A clause that a difference to a person is shown to be above -margin."""
    how = "is" if figure.high() < -margin else "could be"
    return limit(
        figure, -margin, n, f"{how} more than {margin:g} {what} ({in_bounds(figure, signed)})"
    )


def keeps(figure: Measured, n: float, what: str) -> Clause:
    """A clause that the judge is shown to keep enough of what a person has."""
    how = "keeps less than" if figure.high() < 0 else "not shown to keep"
    return limit(figure, 0.0, n, f"{how} {what}")


def _plain(beside: Standing) -> Clause:
    """The clause on plain accuracy, where all items count alike and a refusal counts as wrong.

    Recalls do not show it if a judge always gives one class.
    """
    side, margin = beside.with_refusals, beside.cell.settings.margin
    figure, refused = side.plain, beside.asked - beside.items
    how = "is" if figure.high() < -margin else "could be"
    statement = (
        f"{how} more than {margin:g} less often right than a person ({in_bounds(figure, signed)},"
        " all items alike)"
    )
    if refused:
        statement = f"counting {plural(refused, 'refusal')} as not right it {statement}"
    return limit(figure, -margin, side.items, statement)


def _bad_end(beside: Standing, bad: int) -> Iterator[Clause]:
    """The clauses on whether the judge finds what people call bad."""
    side, label = beside.paired, repr(beside.cell.criterion.scale.levels[bad].label)
    items = float(side.items_of_label[bad])
    if items < LEAST_OF_CLASS - 1e-9:
        often = f"never tested on {label} outputs"
        if items:
            often = f"people call only {in_items(items)} {label}"
        yield Clause(False, often, bad_end=True)
        return
    _, judge, person = (float(each[bad]) for each in side.sums.recalls)
    half = side.sums.of(np.array([bad])).measured(1, HALF)
    how = "less than half as much"
    if half.high() >= 0:
        how = "too few outputs to rule out that it finds less than half as much"
    statement = (
        f"it finds {judge:.0%} of what people call {label}, and people find {person:.0%} of each"
        f" other's: {how}"
    )
    more = needed(half, 0.0, beside.items)
    odds = beside.items < more < math.inf
    remark = f" (about {more:,.0f} items give even odds of ruling it out)" if odds else ""
    clause = limit(half, 0.0, min(items, beside.items), statement, beside.items)
    yield replace(clause, plain=True, bad_end=True, remark=remark)
    agreed, judge, person = side.unanimous(bad)
    if agreed >= AGREED - 1e-9:
        statement = (
            f"where others agree on {label} ({in_items(agreed)}), it finds {judge:.0%}, people"
            f" {person:.0%}"
        )
        yield Clause(judge >= FOUND * person, statement, plain=True)


def _other_labels(beside: Standing) -> Iterator[Clause]:
    """A clause that the judge finds every label, unless it is very rare, at least half as often as
    people do.
    """
    weight, judge, person = beside.paired.sums.recalls
    for level in range(beside.cell.levels):
        if (
            level == beside.cell.bad_end
            or weight[level] < LEAST_SHARE * weight.sum()
            or not person[level] > 0
        ):
            continue
        items = in_items(float(beside.paired.items_of_label[level]))
        statement = (
            f"it finds {judge[level]:.0%} of {beside.label(level)} ({items}), people"
            f" {person[level]:.0%}"
        )
        yield Clause(bool(judge[level] > HALF * person[level]), statement, plain=True)


def on_people(beside: Standing) -> Iterator[Clause]:
    """The clauses on people's agreement and on the judge's answers, for any scale."""
    alpha, floor = beside.people.alpha, beside.cell.settings.people_floor
    statement = f"people's {beside.measure} is below {floor:g} ({in_bounds(alpha)})"
    yield Clause(alpha.value >= floor, statement, shown=alpha.high < floor)
    yield answered(beside)


def answered(beside: Standing) -> Clause:
    """The clause on coverage: the share of questions that the judge answered."""
    share = beside.items / beside.asked
    statement = f"{ANSWERED_ONLY} {coverage(share)} of the questions ({MIN_COVERAGE:.0%} needed)"
    return Clause(share >= MIN_COVERAGE - 1e-9, statement, shown=True, plain=True)
