"""May a judge take a person's place in a cell? The rules, all of them here.

A verdict looks at the judge beside each person, both facing the other people (metal.stats.standing), and at nothing
outside its cell. Ends of intervals are one-sided 5% limits. In order:

1. *undecided*, nothing to go on: fewer than MIN_ITEMS items or MIN_SOURCES sources with an answer and two people, no
   answers, people's alpha undefined, or fewer than two classes with LEAST_WEIGHT items.
2. *people disagree*: alpha or people's lead over a constant is not shown to be above 0, and one of them is shown to be
   small (alpha below `people_floor`, the lead below SMALL). Only not shown: *undecided*.
   Then people who are far below the others are left out (`_careless`).
3. *as good as a person*: at most `margin` below a person (on ordered scales also with partly right answers), keeps more
   than `keep` of what a person knows, finds the bad end, no class much worse than people, alpha at least
   `people_floor`, and at least MIN_COVERAGE of the questions answered.
4. *informative*: more than a constant, and more than one answer used.
5. *uninformative*: one answer only, or at most SMALL more than a constant.
6. *undecided*: everything else.

With one person per item there is no person beside the judge: the label is that person's, and the best verdict is
*informative*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.figures import Resampled
from metal.data.ratings import NOT_ASKED
from metal.data.text import MINUS, figure, interval, listed, signed
from metal.stats.agreement import alphas
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.intervals import few_sources, jackknife_variance, share_interval
from metal.stats.patterns import Codes, Numbers, class_counts, ratio, total
from metal.stats.standing import (
    JUDGE,
    LEAST_WEIGHT,
    WEIGHT,
    Balanced,
    balanced_agreement,
    careless,
    class_features,
)

MIN_ITEMS = 30
MIN_SOURCES = 20
MIN_COVERAGE = 0.95
MIN_CLASS_SHARE = 0.02
SMALL = 0.05
CARELESS = 0.10
P = 0.95  # of a one-sided limit

AS_GOOD = "as good as a person"
INFORMATIVE = "informative"
UNINFORMATIVE = "uninformative"
DISAGREE = "people disagree"
UNDECIDED = "undecided"
VERDICTS = (AS_GOOD, INFORMATIVE, UNINFORMATIVE, DISAGREE, UNDECIDED)


@dataclass(frozen=True)
class Bounds:
    """A figure with its one-sided 5% limits."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{figure(self.value)} {interval(self.low, self.high)}".strip().replace(MINUS, "-")


NO_BOUNDS = Bounds(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Verdict:
    """A verdict with its number and the reason for it, in words.

    share_kept: of what a person knows beyond a constant, the share that the judge keeps: 0 is a constant, 1 a person.
    below_person: class-balanced agreement of the judge minus a person's. above_constant: minus that of a constant.
    items, sources: with an answer and two people. items_needed: about how many would decide, NaN where more would not.
    left_out: people whose ratings did not count.
    """

    language: str
    criterion: str
    judge: str
    verdict: str
    reason: str
    share_kept: Bounds = NO_BOUNDS
    below_person: Bounds = NO_BOUNDS
    above_constant: Bounds = NO_BOUNDS
    items: int = 0
    sources: int = 0
    items_needed: float = math.nan
    left_out: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Its row of the table of verdicts."""
        row: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Bounds):
                row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            else:
                row[name] = ", ".join(value) if isinstance(value, tuple) else value
        return row


COLUMNS = (*Verdict("", "", "", "", "").row(), "signature")


class Standing:
    """A judge beside the people of a cell, with everything that the rules look at.

    Items: with an answer of the judge and two people; with one person per item, with that person.
    """

    def __init__(self, cell: AuditCell, judge: str, bootstrap: SourceBootstrap, without: Sequence[int] = ()) -> None:
        self.cell, self.judge, self.bootstrap = cell, judge, bootstrap
        self.gold = cell.one_person
        self.who = [seat for seat in range(len(cell.people)) if seat not in without]
        people, answers = cell.by_people[:, self.who], cell.by_judge(judge)
        rated = (people >= 0).sum(axis=1) >= (1 if self.gold else 2)
        self.asked = int((rated & (answers != NOT_ASKED)).sum())
        self.items = np.flatnonzero(rated & (answers >= 0))
        self.drawn = Resampled(
            np.column_stack([people[self.items], answers[self.items]]), cell.matrix.sources[self.items], bootstrap
        )
        self.people, self.answers = self.drawn.rows[:, :-1], self.drawn.rows[:, -1]
        if self.gold:  # the judge sits beside itself, facing the person
            self.people = self.drawn.rows
        self.seats = [len(self.who)] if self.gold else range(len(self.who))

    def say(self, verdict: str, reason: str, **figures: Any) -> Verdict:
        """A verdict on this judge in this cell."""
        where = self.cell.language, self.cell.criterion.name, self.judge
        return Verdict(*where, verdict, reason, items=len(self.items), sources=self.drawn.n_sources, **figures)

    def upper(self, values: Numbers) -> float:
        """The one-sided 99% upper limit of a figure."""
        return self.limits(values, 0.99).high

    def draw(self, features: Numbers) -> tuple[Numbers, Numbers]:
        """Sums of features (patterns, ...) as observed and in each resample."""
        flat = features.reshape(len(features), -1)
        shape = features.shape[1:]
        observed, resamples = total(self.drawn.observed, flat), total(self.drawn.resamples, flat)
        return observed.reshape(shape), resamples.reshape(-1, *shape)

    def limits(self, values: Numbers, p: float = P, sources: int = 0) -> Bounds:
        """The one-sided limits of a figure, from its values as observed and in each resample.

        sources: how many were resampled; by default those of the items.
        """
        sources = sources or self.drawn.n_sources
        value, drawn = float(values[0]), values[1:][~np.isnan(values[1:])]
        if 2 * len(drawn) < len(values) - 1 or sources < 2:
            return Bounds(value, -math.inf, math.inf)
        low, high = np.quantile(drawn, [1 - p, p])
        wider = few_sources(p, sources) / NormalDist().inv_cdf(p) if sources < 30 else 1.0
        return Bounds(value, value + (float(low) - value) * wider, value + (float(high) - value) * wider)

    @cached_property
    def balanced(self) -> Balanced | None:
        """Class-balanced agreement; None where fewer than two classes count."""
        return balanced_agreement(
            self.people, self.answers, self.cell.values, self.cell.ordered, self.draw, list(self.seats)
        )

    @cached_property
    def alpha(self) -> Bounds:
        """People's alpha on all items with two ratings; NaN where it is undefined."""
        codes = self.cell.by_people[:, self.who]
        rated = (codes >= 0).sum(axis=1) >= 2
        drawn = Resampled(codes[rated], self.cell.matrix.sources[rated], self.bootstrap)
        if not drawn.n:
            return NO_BOUNDS
        counts, scale = class_counts(drawn.rows, self.cell.levels), self.cell.criterion.scale
        about = drawn.observed, counts, self.cell.values, scale.measure
        values = np.concatenate([alphas(drawn.observed[None], *about), alphas(drawn.resamples, *about)])
        return self.limits(values, sources=drawn.n_sources)

    @cached_property
    def recalls(self) -> Numbers:
        """(patterns, sums, levels) WEIGHT, JUDGE and PERSON of each class, added up over the people."""
        votes = class_counts(self.people, self.cell.levels)
        sums = np.zeros((len(self.answers), 3, self.cell.levels))
        for seat in self.seats:
            sums += class_features(self.people, seat, self.answers, self.cell.values, False, votes)
        return sums

    @cached_property
    def items_of_class(self) -> Numbers:
        """(levels,) the items of each class: an item's weight is 1 in all, however many people it is counted for."""
        weight = self.recalls[:, WEIGHT]
        return np.asarray(self.drawn.observed @ (weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)))

    def recall_low(self, level: int) -> float:
        """The lower limit of the judge's recall of a class."""
        added, times = self.drawn.kinds(self.recalls[:, [JUDGE, WEIGHT], level])
        return _of_share(added, times, float(self.items_of_class[level]))[0]


def _of_share(added: Numbers, times: Codes, items: float) -> tuple[float, float]:
    """The limits of a share; added: (kinds, 2) what a source of each kind adds to its top and bottom."""
    holds = added[:, 1] > 0
    added, times = added[holds], times[holds]
    top, bottom = times @ added
    sources = int(times.sum())
    if sources < 2:
        return 0.0, 1.0
    without = (top - added[:, 0]) / (bottom - added[:, 1])
    return share_interval(top / bottom, jackknife_variance(without, times), items, sources, P)


def verdict(cell: AuditCell, judge: str, bootstrap: SourceBootstrap) -> Verdict:
    """The verdict on a judge in a cell. It depends on nothing outside the cell."""
    beside = Standing(cell, judge, bootstrap)
    early = _nothing_to_go_on(beside) or _people(beside)
    if early:
        return beside.say(*early)
    far = () if beside.gold else careless(beside.people, beside.answers, cell.values, beside.draw, beside.upper)
    if not far:
        return _decide(beside)
    beside = Standing(cell, judge, bootstrap, far)
    early = _nothing_to_go_on(beside)
    without = beside.say(*early) if early else _decide(beside)
    names = tuple(cell.people[seat] for seat in sorted(far))
    note = f"without {listed(list(names))}, who agrees with the others far less than they do"
    return replace(without, reason=f"{without.reason}; {note}", left_out=names)


def _nothing_to_go_on(beside: Standing) -> tuple[str, str] | None:
    """Rule 1: the verdict and reason where nothing can be said; None where something can."""
    reason = _missing(beside)
    return (UNDECIDED, reason) if reason else None


def _missing(beside: Standing) -> str:
    """What is missing, and how many; empty where nothing is."""
    people = "a person's label" if beside.gold else "two people"
    if not beside.asked:
        return f"no item with {people} was put to the judge"
    if not len(beside.items):
        return f"the judge answered none of {beside.asked} items with {people}"
    if len(beside.items) < MIN_ITEMS:
        return f"{len(beside.items)} items with an answer and {people}, {MIN_ITEMS} needed"
    if beside.drawn.n_sources < MIN_SOURCES:
        return f"{beside.drawn.n_sources} sources, {MIN_SOURCES} needed for an interval"
    if not beside.gold and math.isnan(beside.alpha.value):
        return "people's alpha is undefined: they used one class"
    levels = beside.cell.criterion.scale.levels
    enough = [level.shown for level, items in zip(levels, beside.items_of_class, strict=True) if items >= LEAST_WEIGHT]
    if len(enough) < 2 or beside.balanced is None:
        have = f"only {enough[0]!r} has" if len(enough) == 1 else "fewer than two classes have"
        return f"{have} {LEAST_WEIGHT:.0f} items: nothing to tell apart"
    return ""


def _people(beside: Standing) -> tuple[str, str] | None:
    """Rule 2: the verdict and reason where people do not agree, or are not shown to; None where they are."""
    balanced = beside.balanced
    if beside.gold or balanced is None:
        return None
    lead, alpha = beside.limits(balanced.person - balanced.constant), beside.alpha
    if alpha.low > 0 and lead.low > 0:
        return None
    words = f"alpha {alpha}, beyond a constant {lead}"
    if alpha.high < beside.cell.settings.people_floor or lead.high < SMALL:
        return DISAGREE, f"people do not agree among themselves enough to judge anybody by: {words}"
    return UNDECIDED, f"people's agreement is not shown: {words}"


def _decide(beside: Standing) -> Verdict:
    """Rules 3 to 6."""
    settings, items, balanced = beside.cell.settings, len(beside.items), beside.balanced
    assert balanced is not None  # rule 1
    above = _above(beside, balanced)
    number, below = f"{above[0]} more than a constant", NO_BOUNDS
    clauses = [Clause("one person per item, so that it is unknown how good a person is")]
    say = partial(beside.say, above_constant=above[0])
    if not beside.gold:
        below = beside.limits(balanced.judge - balanced.person)
        kept = beside.limits(ratio(balanced.judge - balanced.constant, balanced.person - balanced.constant))
        number = f"keeps {kept} of what a person knows"
        say = partial(say, share_kept=kept, below_person=below)
        clauses = _open(beside, balanced, below)
    distinct = len(np.unique(beside.answers))
    if not clauses:
        return say(AS_GOOD, f"{number}; {_beside_person(below)}")
    if above[0].low > 0 and distinct > 1:
        needed, how = math.nan, "" if beside.gold else "may be as good as a person, but "
        if any(clause.shown for clause in clauses):
            how = "not as good as a person: "
        elif below.value > -settings.margin >= below.low:
            needed = items * ((below.value - below.low) / (below.value + settings.margin)) ** 2
            how = f"may be as good as a person (about {needed:,.0f} items would tell), but "
        reason = "; ".join(clause.words for clause in sorted(clauses, key=lambda clause: not clause.shown))
        return say(INFORMATIVE, f"{number}; {how}{reason}", items_needed=needed)
    if distinct == 1:
        return say(UNINFORMATIVE, "it gave one answer only")
    if max(limits.high for limits in above) < SMALL:
        worse = above[0].high < 0
        most = "less" if worse else f"at most {figure(above[0].high)} more"
        return say(UNINFORMATIVE, f"it knows {most} than a constant")
    if above[0].value <= 0:
        return say(UNDECIDED, f"not shown to know more than a constant: {above[0]}")
    needed = items * ((above[0].value - above[0].low) / above[0].value) ** 2
    reason = f"not shown to know more than a constant: {above[0]}; about {needed:,.0f} items would tell"
    return say(UNDECIDED, reason, items_needed=needed)


def _above(beside: Standing, balanced: Balanced) -> list[Bounds]:
    """How far the judge is above a constant; on ordered scales also with partly right answers."""
    above = [beside.limits(balanced.judge - balanced.constant)]
    if balanced.near_judge is not None:
        above.append(beside.limits(balanced.near_judge - balanced.near_constant))
    return above


def _beside_person(below: Bounds) -> str:
    """`-0.09 [-0.12, -0.04] beside a person`"""
    return f"{signed(below.value)} {interval(below.low, below.high, signed)} beside a person".replace(MINUS, "-")


@dataclass(frozen=True)
class Clause:
    """A clause of rule 3 that does not hold. shown: whether it is shown not to hold, or only not shown to hold."""

    words: str
    shown: bool = False


def _open(beside: Standing, balanced: Balanced, below: Bounds) -> list[Clause]:
    """The clauses of rule 3 that do not hold."""
    settings = beside.cell.settings
    bounds = [(below, "below a person")]
    if balanced.near_judge is not None and balanced.near_person is not None:
        bounds.append((beside.limits(balanced.near_judge - balanced.near_person), "below with partly right answers"))
    clauses = []
    for limits, where in bounds:
        if limits.low <= -settings.margin:
            shown = limits.high < -settings.margin
            how = "is" if shown else "may be"
            clauses.append(Clause(f"{how} more than {settings.margin:g} {where} ({_beside_person(limits)})", shown))
    person = balanced.person - balanced.constant
    beyond = beside.limits(balanced.judge - balanced.constant - settings.keep * person)
    if beyond.low <= 0:
        how = "keeps less than" if beyond.high < 0 else "not shown to keep"
        clauses.append(Clause(f"{how} {settings.keep:.0%} of what a person knows", beyond.high < 0))
    clauses += map(Clause, _classes(beside, balanced))
    if beside.alpha.value < settings.people_floor:
        clauses.append(Clause(f"people's alpha is below {settings.people_floor:g} ({beside.alpha})"))
    coverage = len(beside.items) / beside.asked
    if coverage < MIN_COVERAGE:
        clauses.append(Clause(f"answers {coverage:.1%} of the questions, {MIN_COVERAGE:.0%} needed", shown=True))
    return clauses


def _classes(beside: Standing, balanced: Balanced) -> list[str]:
    """Which classes the judge misses, beside people."""
    weight, judge, person = np.tensordot(beside.drawn.observed, beside.recalls, axes=1)
    clauses = []
    for place, level in enumerate(beside.cell.criterion.scale.levels):
        is_bad = place == beside.cell.bad_end
        common = balanced.classes[place] and weight[place] >= MIN_CLASS_SHARE * weight.sum()
        if is_bad and not weight[place]:
            clauses.append(f"never tested on {level.shown!r} outputs")
        elif is_bad or common:
            finds, people_find = judge[place] / weight[place], person[place] / weight[place]
            if finds <= people_find / 2 or (is_bad and beside.recall_low(place) <= people_find / 3):
                clauses.append(f"finds {finds:.0%} of {level.shown!r}, people {people_find:.0%}")
    return clauses
