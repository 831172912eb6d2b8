"""May a judge take a person's place in a cell? The rules, all of them here.

A verdict looks at the judge beside each person, both facing the other people (metal.stats.standing), and at nothing
outside its cell. Ends of intervals are one-sided 5% limits. In order:

1. *undecided*, nothing to go on: fewer than MIN_ITEMS items or MIN_SOURCES sources with an answer and two people, no
   answers, people's alpha undefined, or fewer than two classes with LEAST_WEIGHT items.
2. *people disagree*: alpha or people's lead over a constant is not shown to be above 0, and one of them is shown to be
   small (alpha below `people_floor`, the lead below SMALL). Only not shown: *undecided*.
   Then people who are far below the others are left out (`_careless`); if alpha is then shown to be below
   `people_floor`: *people disagree*.
3. *as good as a person*: at most `margin` below a person (on ordered scales also with partly right answers), keeps more
   than `keep` of what a person knows, finds the bad end, no class much worse than people, alpha at least
   `people_floor`, and at least MIN_COVERAGE of the questions answered.
4. *uninformative*: one answer only, or shown to be at most SMALL above a constant.
5. *informative*: more than a constant.
6. *undecided*: everything else.

Where scores have no classes, or are standardised, skill takes the place of agreement, ICC(1) that of alpha, and 0 that
of a constant's agreement (metal.stats.skill). There are no classes to look at. A judge that would be as good as a
person after a shift, or a line, fitted on other sources, is *informative*, and that is said; so is one that is better
than a constant only after that, or whose scores are shown to correlate with people's.

With one person per item there is no person beside the judge: the label is that person's, and the best verdict is
*informative*. Where most items have one person and MIN_ITEMS have two, the items with two decide whether it is as good
as a person and whether people disagree, and all items, in this way, whether it is informative: once, since a judge that
knows nothing has a chance of 5% each time it is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.figures import range_columns
from metal.auditing.scores import ScoreStanding, standing
from metal.auditing.standing import MIN_ITEMS, NO_BOUNDS, NOTHING, Bounds, Standing, careless_people
from metal.data.text import coverage, figure, listed, percent, signed, within
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import Numbers, ratio
from metal.stats.standing import Balanced

MIN_SOURCES = 20
MIN_COVERAGE = 0.95
MIN_CLASS_SHARE = 0.02
SMALL = 0.05
ALIKE = 0.5  # mean rank correlation of two people, where their scores differ in the use of the scale

AS_GOOD = "as good as a person"
INFORMATIVE = "informative"
UNINFORMATIVE = "uninformative"
DISAGREE = "people disagree"
UNDECIDED = "undecided"
ONCE = "as good as a person once"  # a correction is made: in the reason of a judge that is informative as given
RECALIBRATED = "recalibrated"  # the same, of a judge whose scores as given are not shown to tell anything
UNSURE = "people's agreement is not shown"
VERDICTS = (AS_GOOD, INFORMATIVE, UNINFORMATIVE, DISAGREE, UNDECIDED)


@dataclass(frozen=True)
class Verdict:
    """A verdict with its number and the reason for it, in words.

    share_kept: of what a person knows beyond a constant, the share that the judge keeps: 0 is a constant, 1 a person.
    share_kept_least, share_kept_most: without each person in turn.
    below_person: class-balanced agreement of the judge minus a person's. above_constant: minus that of a constant.
    items, sources: with an answer and two people. items_needed: about how many would decide half the time, were the
    figures to stay; NaN where more would not.
    left_out: people whose ratings did not count.
    """

    language: str
    criterion: str
    judge: str
    verdict: str
    reason: str
    share_kept: Bounds = NO_BOUNDS
    share_kept_least: float = math.nan
    share_kept_most: float = math.nan
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
                ends = (end if math.isfinite(end) else math.nan for end in (value.value, value.low, value.high))
                row |= zip((name, f"{name}_low", f"{name}_high"), ends, strict=True)
            else:
                row[name] = ", ".join(value) if isinstance(value, tuple) else value
        return row


COLUMNS = (*Verdict("", "", "", "", "").row(), "signature")


def verdict(cell: AuditCell, judge: str, bootstrap: SourceBootstrap, *, ranges: bool = True) -> Verdict:
    """The verdict on a judge in a cell. It depends on nothing outside the cell.

    ranges: whether figures without each person in turn are wanted too; no verdict depends on them.
    """
    beside = standing(cell, judge, bootstrap)
    decided = _with_panel(beside, ranges)
    if beside.gold or not beside.mostly_alone or decided.verdict in (AS_GOOD, DISAGREE):
        return decided
    key = "standing", judge, bootstrap
    panel = cell.shared[key]
    far = [cell.people.index(name) for name in decided.left_out]
    cell.shared[key] = type(beside)(cell, judge, bootstrap, far, gold=True)
    by_label = _with_panel(cell.shared[key], ranges)
    if by_label.verdict == decided.verdict != UNINFORMATIVE:
        cell.shared[key] = panel
        return decided
    reason = f"{by_label.reason} (by the {len(beside.items)} items with two: {decided.reason})"
    return replace(by_label, reason=reason, left_out=decided.left_out)


def _with_panel(beside: Standing, ranges: bool) -> Verdict:
    """The verdict by a panel; people who are far below the others are left out of it."""
    cell, judge, bootstrap = beside.cell, beside.judge, beside.bootstrap
    missing = _missing(beside)
    early = (UNDECIDED, missing) if missing else _people(beside, final=False)
    far = [] if early or beside.gold or cell.by_scores else careless_people(cell, bootstrap)
    if far:
        beside = cell.shared["standing", judge, bootstrap] = Standing(cell, judge, bootstrap, far)
        missing = _missing(beside)
    early = early or ((UNDECIDED, missing) if missing else _people(beside, final=True))
    decided = _said(beside, *early) if early else _decide(beside, ranges)
    if not far:
        return decided
    names = tuple(cell.people[seat] for seat in sorted(far))
    who = f"{listed([within(name) for name in names])}, who {'agree' if len(far) > 1 else 'agrees'}"
    return replace(decided, reason=f"{decided.reason}; leaving out {who} far less with the others", left_out=names)


def _said(beside: Standing, verdict: str, reason: str, **figures: Any) -> Verdict:
    """A verdict on a judge in its cell."""
    where = beside.cell.language, beside.cell.criterion.name, beside.judge
    if 0 < beside.asked < MIN_COVERAGE * beside.rated:
        reason += f"; {beside.asked:,} of {beside.rated:,} items were put to it"
    return Verdict(*where, verdict, reason, items=len(beside.items), sources=beside.n_sources, **figures)


def _missing(beside: Standing) -> str:
    """Rule 1: what is missing, and how many; empty where nothing is."""
    people = "a person's label" if beside.gold else "two people"
    if not beside.asked:
        return f"no item with {people} was put to the judge"
    if not len(beside.items):
        return f"the judge answered none of {beside.asked} items with {people}"
    if len(beside.items) < MIN_ITEMS:
        return f"{len(beside.items)} items with an answer and {people}, {MIN_ITEMS} needed"
    if beside.n_sources < MIN_SOURCES:
        return f"{beside.n_sources} sources, {MIN_SOURCES} needed for an interval"
    if not beside.gold and math.isnan(beside.alpha.value):
        return f"people always gave the same answer, so that {beside.measure} is undefined: {NOTHING}"
    return beside.nothing_to_tell()


def _people(beside: Standing, final: bool) -> tuple[str, str] | None:
    """Rule 2: the verdict and reason where people do not agree, or are not shown to; None where they are.

    final: whether nobody is left out any more: until then, people who agree a little may agree enough without one.
    """
    balanced = beside.balanced
    if beside.gold or balanced is None:
        return None
    alpha, floor = beside.alpha, beside.cell.settings.people_floor
    # Of scores a person's skill is below 0 wherever ICC is below a half.
    lead = None if beside.cell.by_scores else beside.limits(balanced.person - balanced.constant)
    shown = alpha.low > 0 and (not lead or lead.low > 0)
    if shown and (alpha.high >= floor or not final):
        return None
    words = f"{beside.measure} {alpha}" + (f", a person knows {lead.text(signed)} more than a constant" if lead else "")
    words += _rank_alike(beside)
    if alpha.high < floor or (lead and lead.high < SMALL):
        return DISAGREE, f"people do not agree among themselves enough to judge anybody by: {words}"
    return UNDECIDED, f"{UNSURE}: {words}"


def _rank_alike(beside: Standing) -> str:
    """A hint where people rank outputs alike, and so only use the scale differently; empty elsewhere."""
    cell = beside.cell
    rho = beside.rank_agreement() if cell.ordered and not cell.settings.standardise else math.nan
    if not rho > ALIKE:
        return ""
    return (
        f"; they rank outputs alike all the same (Spearman {figure(rho)}), so they use the scale differently: "
        "`standardise` takes away each rater's mean and spread"
    )


def _decide(beside: Standing, ranges: bool) -> Verdict:
    """Rules 3 to 6."""
    cell, items, balanced = beside.cell, len(beside.items), beside.balanced
    assert balanced is not None  # rule 1
    above = beside.above
    number, below = f"{above[0].text(signed)} more than a constant", NO_BOUNDS
    few = "one person per item" if (cell.ratings_per_item < 2).all() else "most items have one person"
    clauses = [Clause(f"{few}, so that it is unknown how good a person is"), *_unanswered(beside)]
    say = partial(_said, beside, above_constant=above[0])
    if beside.gold and isinstance(beside, ScoreStanding) and above[0].low <= 0 and beside.correlates:
        number += f", correlation with people {beside.limits(beside.figures['correlation'])}"
    if not beside.gold:
        below = beside.limits(balanced.judge - balanced.person)
        clauses = _open(beside, balanced, below)
        say, number = partial(say, below_person=below), _number(beside, balanced)
        if beside.limits(balanced.person - balanced.constant).low > 0:
            say = partial(say, share_kept=beside.limits(kept(balanced)))
            if ranges:
                fewer = (kept(balanced)[0] for balanced in beside.without_one if balanced)
                say = partial(say, **range_columns("share_kept", fewer))
            recalibrated = _once_recalibrated(beside) if clauses and isinstance(beside, ScoreStanding) else ""
            if recalibrated:
                return say(INFORMATIVE, f"{number}; {recalibrated}")
    if not clauses:
        return say(AS_GOOD, f"{number}; {below.text(signed)} beside a person")
    if beside.answers_used == 1:
        return say(UNINFORMATIVE, "it gave one answer only")
    most = max(limits.high for limits in above)
    if most < SMALL:
        return say(UNINFORMATIVE, f"it knows {'less' if most < 0 else f'at most {figure(most)} more'} than a constant")
    if above[0].low > 0 or beside.correlates:
        how, needed = "" if beside.gold else "may be as good as a person, but ", math.nan
        if any(clause.shown for clause in clauses):
            how = "not as good as a person: "
        elif all(clause.needed > 0 for clause in clauses):
            needed = max(clause.needed for clause in clauses)
            how = f"may be as good as a person (about {needed:,.0f} items would tell half the time), but "
        reason = "; ".join(clause.words for clause in sorted(clauses, key=lambda clause: not clause.shown))
        return say(INFORMATIVE, f"{number}; {how}{reason}", items_needed=needed)
    needed = above[0].needed(0.0, items)
    more = f"; about {needed:,.0f} items would tell half the time" if needed > 0 else ""
    also = f", {above[1].text(signed)} when near misses count in part" if len(above) > 1 else ""
    reason = f"not shown to know more than a constant: {above[0].text(signed)}{also}{more}"
    return say(UNDECIDED, reason, items_needed=needed)


def _number(beside: Standing, balanced: Balanced) -> str:
    """The share kept, in words; of scores not shown above a constant, what there is once they are recalibrated."""
    bounds = beside.limits(kept(balanced))
    share = bounds.text(percent)
    if not isinstance(beside, ScoreStanding) or bounds.low > 0:
        return f"keeps {share} of what a person knows{' as given' if isinstance(beside, ScoreStanding) else ''}"
    how = "not shown better than a constant"
    if beside.limits(balanced.judge).high < 0:
        how = "worse than a constant"
    elif beside.limits(balanced.person).low > 0:
        how += f" (keeps {share} of what a person knows)"
    more = f"{beside.above[0].text(signed)} better than one once {RECALIBRATED}"
    if beside.above[0].low <= 0:  # what a line gains is not shown, and that it rises is
        more += f", correlation with people {beside.limits(beside.figures['correlation'])}"
    return f"as given {how}; {more}"


def kept(balanced: Balanced) -> Numbers:
    """The share that the judge keeps of what a person knows beyond a constant."""
    return ratio(balanced.judge - balanced.constant, balanced.person - balanced.constant)


def _once_recalibrated(beside: ScoreStanding) -> str:
    """What makes the judge as good as a person, as given it is not; empty where a line through its scores does not."""
    shift = f"{-beside.figures['shift'][0]:+.3g}"
    remedies = {"skill_shifted": f"{shift} is added to its scores", "skill_recalibrated": "a line corrects its scores"}
    for name, remedy in remedies.items():
        after = beside.after(name)
        below = beside.limits(after.judge - after.person)
        if not _open(beside, after, below):
            return f"{ONCE} {remedy} ({below.text(signed)})"
    return ""


@dataclass(frozen=True)
class Clause:
    """A clause of rule 3 that does not hold. shown: whether it is shown not to hold, or only not shown to hold.

    needed: about how many items would show that it holds; NaN where that is not known.
    """

    words: str
    shown: bool = False
    needed: float = math.nan


def _open(beside: Standing, balanced: Balanced, below: Bounds) -> list[Clause]:
    """The clauses of rule 3 that do not hold."""
    settings = beside.cell.settings
    items = len(beside.items)
    bounds = [(below, "below a person")]
    if balanced.near_judge is not None and balanced.near_person is not None:
        bounds.append(
            (beside.limits(balanced.near_judge - balanced.near_person), "below a person when near misses count in part")
        )
    clauses = []
    for limits, where in bounds:
        if limits.low <= -settings.margin:
            shown = limits.high < -settings.margin
            words = f"{'is' if shown else 'may be'} more than {settings.margin:g} {where} ({limits.text(signed)})"
            clauses.append(Clause(words, shown, limits.needed(-settings.margin, items)))
    person = balanced.person - balanced.constant
    beyond = beside.limits(balanced.judge - balanced.constant - settings.keep * person)
    if beyond.low <= 0:
        how = "keeps less than" if beyond.high < 0 else "not shown to keep"
        words = f"{how} {settings.keep:.0%} of what a person knows"
        clauses.append(Clause(words, beyond.high < 0, beyond.needed(0.0, items)))
    if not beside.cell.by_scores:
        clauses += _classes(beside)
    elif beside.limits(person).low <= 0:
        clauses.append(Clause(f"a person's scores as given know no more than a constant{_rank_alike(beside)}"))
    if beside.alpha.value < settings.people_floor:
        clauses.append(Clause(f"people's {beside.measure} is below {settings.people_floor:g} ({beside.alpha})"))
    return [*clauses, *_unanswered(beside)]


def _unanswered(beside: Standing) -> list[Clause]:
    """The clause on coverage, if it does not hold."""
    answered = len(beside.items) / beside.asked
    words = f"it answered only {coverage(answered)} of the questions ({MIN_COVERAGE:.0%} needed)"
    return [Clause(words)] if answered < MIN_COVERAGE else []


def _classes(beside: Standing) -> list[Clause]:
    """Which classes the judge misses, beside people: the bad end, and every class that is not very rare."""
    weight, judge, person = np.tensordot(beside.drawn.observed, beside.recalls, axes=1)
    clauses = []
    for place, level in enumerate(beside.cell.criterion.scale.levels):
        is_bad = place == beside.cell.bad_end
        called = level.shown if beside.cell.ordered else level.label
        if is_bad and not weight[place]:
            clauses.append(Clause(f"never tested on {called!r} outputs"))
        elif weight[place] and (is_bad or weight[place] >= MIN_CLASS_SHARE * weight.sum()):
            finds, people_find = judge[place] / weight[place], person[place] / weight[place]
            low, high = beside.recall_limits(place)
            if finds <= people_find / 2:
                words = f"finds {finds:.0%} of {called!r}, people {people_find:.0%}"
                clauses.append(Clause(words, high < people_find / 2))
            elif is_bad and low <= people_find / 3:
                words = f"{called!r} was rarely tested (finds {finds:.0%}, people {people_find:.0%})"
                clauses.append(Clause(words))
    return clauses
