"""The rules of a verdict: whether a judge agrees with people as people agree with each other.

A verdict compares a judge with people who face the same other people (metal.auditing.standing), and
depends on nothing outside its cell: no other language, judge, order of rows, seed or rater's name
changes it. It is about agreement, not truth: what all people get wrong counts as right. Limits are
one-sided 5% limits over sources. In order:

1. *undecided*, because there are too few data: fewer than 30 items or 20 sources with an answer and
   two people, no answers, people's alpha undefined, fewer than two classes, or no two labels with
   10 items.
2. *people disagree*: alpha, or people's lead over a constant, is not shown to be above 0, and one
   of them is shown to be small. If neither is shown to be small: *undecided*. Then careless people
   are left out (metal.stats.careless), and rules 1 and 2 are applied again.
3. *like a person*: every clause of metal.auditing.clauses holds.
4. *uninformative*: one answer, or shown to know hardly more than a constant and much less than a
   person.
5. *informative*: shown to know more than a constant, by its answers or by their order.
6. *undecided*: everything else.

For scores without classes the rules use concordance (metal.auditing.scores). With one person per
item there is no person to compare the judge with: it is at best *informative*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from metal.auditing.cells import AuditCell
from metal.auditing.clauses import MIN_COVERAGE, MOST_NEEDED, Clause, answered, clauses_on_classes
from metal.auditing.clauses import needed as needed_items
from metal.auditing.figures import range_columns
from metal.auditing.panel import (
    aided_words,
    confirmations,
    left_out_words,
    on_panel,
    rank_alike,
    without_each,
)
from metal.auditing.scores import ScoreStanding, recalibrated, standing
from metal.auditing.standing import (
    MIN_ITEMS,
    MIN_SOURCES,
    NOTHING,
    UNKNOWN_PERSON,
    Standing,
    bounds,
    careless_people,
    few_with_two,
    in_bounds,
)
from metal.data.text import figure, percent, plural, signed
from metal.stats.careless import Careless
from metal.stats.interval import NO_BOUNDS, Bounds
from metal.stats.measured import P

SMALL = 0.05  # above a constant
SMALL_ORDER = 0.2  # of a person's order, or of R itself
SMALL_ORDER_ALONE = 0.15  # of R with one person an item
LEAST_SHOWN = 0.01  # of a limit above 0, which is not printed as 0.00
OF_TWO = 0.975  # a limit, or 1 minus a p-value, where either of two tests is enough (Bonferroni)
LEAST_OFF = 10  # answers other than the commonest

LIKE_A_PERSON = "like a person"
AS_GOOD = "as good as a person"  # the word of runs before version 0.2
AS_GOOD_ONCE = f"{AS_GOOD} once"  # in their reasons: a correction is made
INFORMATIVE = "informative"
UNINFORMATIVE = "uninformative"
DISAGREE = "people disagree"
UNDECIDED = "undecided"
STANDARDISED = "with each rater's mean and spread taken away"
TURNED = "it ranks outputs the other way round, as if its scale were turned"
UNSURE = "people's agreement is not shown"
VERDICTS = (LIKE_A_PERSON, INFORMATIVE, UNINFORMATIVE, DISAGREE, UNDECIDED)


def today(word: str) -> str:
    """A verdict by its present name; runs before version 0.2 have another name for *like a
    person*.
    """
    return LIKE_A_PERSON if word == AS_GOOD else word


@dataclass(frozen=True)
class Verdict:
    """A verdict with its figures, and with its reason in words.

    share_kept: the share of a person's lead over a constant that the judge keeps (0 is a constant,
    1 a person), by exact answers over `classes`, with 90% limits. share_kept_least,
    share_kept_most: its ends when each person is left out in turn. order_kept: the judge's rank
    correlation with people as a share of a person's, on ordered scales. kappa_kept: the judge's
    quadratic kappa (kappa on nominal scales) as a share of a person's. unshown: why a share is
    missing. below_person: class-balanced agreement of the judge minus a person's. above_constant:
    the same minus that of a constant. Both have one-sided 5% limits. p_like, p_informative:
    one-sided p-values of these two verdicts, for lists of many cells. items, sources: those with an
    answer and two people. items_needed: about how many items would decide the verdict half of the
    time if the figures stay as they are; NaN if no number would. confirmed: how often a person
    gives the rating that most others give;
    confirmed_bad: the same at the bad end, on bad_items items. plainly: why an informative judge is
    not like a person, if the reason can be understood without statistics. not_like: whether it is
    shown not to be like a person, rather than just not shown to be. misses_bad: whether it is shown
    to find less than half as much of what people call bad as people themselves find; bad_open:
    whether neither this nor its opposite is shown. panel: a
    remark about the people that holds for every judge. left_out: people whose ratings did not count
    because they agree far less with the others; aided: because they saw the judge's answers.
    """

    language: str
    criterion: str
    judge: str
    verdict: str
    reason: str
    share_kept: Bounds = NO_BOUNDS
    share_kept_least: float = math.nan
    share_kept_most: float = math.nan
    order_kept: Bounds = NO_BOUNDS
    kappa_kept: Bounds = NO_BOUNDS
    classes: str = ""
    unshown: str = ""
    below_person: Bounds = NO_BOUNDS
    above_constant: Bounds = NO_BOUNDS
    p_like: float = 1.0
    p_informative: float = 1.0
    items: int = 0
    sources: int = 0
    items_needed: float = math.nan
    confirmed: float = math.nan
    confirmed_bad: float = math.nan
    bad_items: float = math.nan
    plainly: str = ""
    not_like: bool = False
    misses_bad: bool = False
    bad_open: bool = False
    panel: str = ""
    left_out: tuple[str, ...] = ()
    aided: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """The row of the table of verdicts; its column of people left out has all who did not
        count.
        """
        row: dict[str, Any] = {}
        every = {**vars(self), "left_out": (*self.aided, *self.left_out)}
        del every["aided"]
        for name, value in every.items():
            if isinstance(value, Bounds):
                ends = (end if math.isfinite(end) else math.nan for end in value)
                row |= Bounds(*ends).columns(name)
            else:
                row[name] = ", ".join(value) if isinstance(value, tuple) else value
        return row


COLUMNS = (*Verdict("", "", "", "", "").row(), "signature")


def verdict(cell: AuditCell, judge: str, *, ranges: bool = True) -> Verdict:
    """The verdict on a judge in a cell, which depends on nothing outside the cell.

    ranges: whether to compute figures also with each person left out in turn; no verdict depends on
    these. With the setting `standardise` the reason adds the verdict that would hold if everybody
    used the scale alike; the verdict itself stays the same.
    """
    if aided := cell.aided([judge]):
        return _unaided_verdict(cell, judge, aided, ranges)
    cell = cell.seen_by(judge)
    if not cell.settings.standardise or not cell.ordered:
        return _verdict(cell, judge, ranges)
    as_given = replace(cell, settings=replace(cell.settings, standardise=False))
    decided, alike = _verdict(as_given, judge, ranges), _verdict(cell, judge, False)
    return replace(
        decided, reason=f"{decided.reason}; {STANDARDISED}: {alike.verdict} ({alike.reason})"
    )


def _unaided_verdict(cell: AuditCell, judge: str, aided: tuple[str, ...], ranges: bool) -> Verdict:
    """The verdict without people who saw the judge's answers, with a remark on these people."""
    unaided, remark = cell.unaided(judge), aided_words(cell, judge)
    if not unaided.ratings_per_item.any():
        nobody = f"nobody is left to compare it with: {remark}"
        case = cell.language, cell.criterion.name, judge
        return Verdict(*case, UNDECIDED, nobody, unshown=nobody, aided=aided)
    decided = verdict(unaided, judge, ranges=ranges)
    return replace(decided, reason=f"{decided.reason}; leaving out {remark}", aided=aided)


def _verdict(cell: AuditCell, judge: str, ranges: bool) -> Verdict:
    """The verdict by scores or by classes, as the settings say."""
    beside, stop, careless_ones = looked_at(cell, judge)
    decided = _said(beside, *stop) if stop else _decide(beside, ranges)
    if beside.alone:
        decided = replace(decided, reason=f"{decided.reason} (items with two people: {UNSURE})")
    if beside.asked and not cell.by_scores and not beside.gold:
        decided = replace(decided, panel=on_panel(cell, careless_ones), **confirmations(beside))
    if not careless_ones.people:
        return decided
    names = tuple(cell.people[seat] for seat in sorted(careless_ones.people))
    reason = f"{decided.reason}; leaving out {left_out_words(cell, careless_ones)}"
    return replace(decided, reason=reason, left_out=names)


def looked_at(cell: AuditCell, judge: str) -> tuple[Standing, tuple[str, str] | None, Careless]:
    """Compare the judge with the people who count, and apply rules 1 and 2.

    Returns the comparison, the verdict and reason if these rules settle it, and who was left out.
    """
    beside, stop = _asked(cell, judge)
    careless_ones = Careless() if stop or cell.by_scores or beside.gold else careless_people(cell)
    if careless_ones.people:
        beside, stop = _asked(cell, judge, careless_ones.people)
    return beside, stop, careless_ones


def _asked(
    cell: AuditCell, judge: str, without: Sequence[int] = ()
) -> tuple[Standing, tuple[str, str] | None]:
    """The judge compared with people, and the verdict and reason if rules 1 and 2 settle it.

    If only some items have two people, and these do not show that people agree, all items are
    treated as items with one person. Such a judge is at best *informative*, just as if no item had
    two people.
    """
    beside = standing(cell, judge, without)
    stop = _missing(beside) or _people(beside)
    if stop and stop[0] == UNDECIDED and beside.mixed:
        beside = standing(cell, judge, without, alone=True)
        stop = _missing(beside)
    return beside, stop


def _said(beside: Standing, verdict: str, reason: str, **figures: Any) -> Verdict:
    """The Verdict on a judge in its cell, from the word and the reason."""
    key = beside.cell.language, beside.cell.criterion.name, beside.judge
    if 0 < beside.asked < MIN_COVERAGE * beside.rated:
        reason += f"; the judge was asked about {beside.asked:,} of {beside.rated:,} items"
    figures.setdefault("unshown", f"{verdict}: no figure of the judge is looked at")
    return Verdict(*key, verdict, reason, items=beside.items, sources=beside.n_sources, **figures)


# ---------------------------------------------------------------- rules 1 and 2


def _missing(beside: Standing) -> tuple[str, str] | None:
    """Rule 1: *undecided* and what is missing; None if nothing is."""
    people = "a person's label" if beside.gold else "two people"
    reason = ""
    if not beside.asked:
        reason = f"the judge was asked about no item with {people}"
    elif not beside.items:
        reason = f"the judge answered none of {beside.asked} items with {people}"
    elif beside.items < MIN_ITEMS:
        reason = f"{beside.items} items with an answer and {people}, {MIN_ITEMS} needed"
    elif beside.n_sources < MIN_SOURCES:
        reason = f"{plural(beside.n_sources, 'source')}, {MIN_SOURCES} needed for an interval"
    elif not beside.gold and math.isnan(beside.people.alpha.value):
        reason = (
            f"people always gave the same answer, so that {beside.measure} is undefined: {NOTHING}"
        )
    else:
        reason = beside.nothing_to_tell()
    return (UNDECIDED, reason) if reason else None


def _people(beside: Standing) -> tuple[str, str] | None:
    """Rule 2: the verdict and reason if people do not agree, or are not shown to agree; None if
    they are shown to agree.
    """
    lead = beside.lead
    if lead is None:
        return None
    alpha, order = beside.people.alpha, beside.order
    lead_shown = lead.low() > 0 or (order is not None and order.person_p <= 1 - OF_TWO)
    if alpha.low > 0 and lead_shown:
        return None
    small = lead.high() < SMALL and (order is None or order.ranks.of_a_person.high() < SMALL_ORDER)
    statement = (
        f"{beside.measure} {in_bounds(alpha)},"
        f" {beside.person_knows(lead)}{rank_alike(beside)}{without_each(beside)}"
    )
    if alpha.high < beside.cell.settings.people_floor or small:
        return DISAGREE, (
            f"people agree too little with each other to judge anybody by them: {statement}"
        )
    return UNDECIDED, f"{UNSURE}: {statement}"


# ---------------------------------------------------------------- rules 3 to 6


def _decide(beside: Standing, ranges: bool) -> Verdict:
    """Apply rules 3 to 6."""
    clauses = clauses_of(beside)
    open_clauses = [clause for clause in clauses if not clause.holds]
    figures = _figures(beside, clauses, ranges)
    number = _number(beside, figures)
    if not open_clauses:
        figures["p_informative"] = min(figures["p_informative"], figures["p_like"])
        lead = in_bounds(beside.below, signed)
        return _said(beside, LIKE_A_PERSON, f"{number}; {lead} against a person", **figures)
    if isinstance(beside, ScoreStanding) and (once := recalibrated(beside)):
        return _said(beside, INFORMATIVE, f"{number}; {once}", **figures)
    if reason := _uninformative(beside):
        return _said(beside, UNINFORMATIVE, reason + _turned(beside), **figures)
    if _informative(beside):
        needed, how = _what_is_open(beside, open_clauses)
        figures["plainly"] = _plainly(open_clauses)
        # not by refusals, nor by what people are
        figures["not_like"] = any(clause.shown and clause.figure for clause in open_clauses)
        at_bad_end = [clause for clause in open_clauses if clause.bad_end]
        figures["misses_bad"] = any(clause.shown for clause in at_bad_end)
        figures["bad_open"] = bool(at_bad_end) and not figures["misses_bad"]
        return _said(beside, INFORMATIVE, f"{number}; {how}", items_needed=needed, **figures)
    needed = _needed(beside)
    return _said(beside, UNDECIDED, _not_shown(beside, needed), items_needed=needed, **figures)


def clauses_of(beside: Standing) -> list[Clause]:
    """The clauses of *like a person*."""
    if beside.gold:
        untestable = f"{few_with_two(beside)}: no judge can be shown to be like a person"
        # nor can anybody say how many of the bad outputs a person finds
        has_bad_end = isinstance(beside, ScoreStanding) or beside.cell.bad_end is not None
        return [Clause(False, untestable, bad_end=has_bad_end), answered(beside)]
    return (
        list(beside.clauses())
        if isinstance(beside, ScoreStanding)
        else list(clauses_on_classes(beside))
    )


def _figures(beside: Standing, clauses: list[Clause], ranges: bool) -> dict[str, Any]:
    """The columns that a verdict has from rule 3 on."""
    figures: dict[str, Any] = {
        "above_constant": bounds(beside.above),
        "p_like": max(clause.p for clause in clauses),
        "p_informative": _p_informative(beside),
        "classes": beside.class_words(),
        "unshown": "",
    }
    if beside.gold:
        return figures | {"unshown": f"{few_with_two(beside)}: {UNKNOWN_PERSON}"}
    figures["below_person"] = bounds(beside.below)
    share = beside.share()
    order, kappa = beside.order_share(), beside.kappa_share()
    figures |= {
        "share_kept": bounds(share),
        "order_kept": bounds(order),
        "kappa_kept": bounds(kappa),
    }
    if share is None:
        lead = beside.lead
        assert lead is not None  # of a judge beside people
        figures["unshown"] = (
            f"a person is not shown to beat a constant answer: {in_bounds(lead, signed)}"
        )
    elif math.isnan(figures["kappa_kept"].value) or (
        beside.order and math.isnan(figures["order_kept"].value)
    ):
        figures["unshown"] = "a person's order or kappa with the others is not shown to be above 0"
    if share is not None and ranges:
        figures |= range_columns("share_kept", beside.share_without_each())
    return figures


def _p_informative(beside: Standing) -> float:
    """The p-value of *informative*; if answers have an order there are two tests, and it is twice
    the smaller p.
    """
    p = beside.above.p_above(0.0, beside.items)
    order = beside.whole_order
    if order is None:
        return p
    return min(1.0, 2 * min(p, order.p)) if beside.by_either else order.p


def _number(beside: Standing, figures: dict[str, Any]) -> str:
    """The shares kept in words or, without any, the judge's lead over a constant."""
    share, order = figures.get("share_kept", NO_BOUNDS), figures.get("order_kept", NO_BOUNDS)
    if math.isnan(share.value):
        number = f"{in_bounds(beside.above, signed)} more than a constant"
        return (
            number
            if math.isnan(order.value)
            else f"{number}, order {in_bounds(order, percent)} of a person's"
        )
    over = f" ({figures['classes'].strip('()')})" if figures["classes"] else ""
    if math.isnan(order.value) or isinstance(beside, ScoreStanding):
        return f"keeps {in_bounds(share, percent)} of what a person knows{over}"
    return (
        f"keeps {in_bounds(share, percent)} of a person's exact answers{over} and"
        f" {in_bounds(order, percent)} of the order"
    )


def _uninformative(beside: Standing) -> str:
    """Rule 4: the reason why the judge is *uninformative*; empty if it is not shown to be."""
    if beside.one_answer:
        return "it gave one answer only"
    above, most = beside.above, beside.above.high()
    if not most < SMALL or (not beside.gold and not beside.half_lead_lost()):
        return ""
    order, least = beside.order_beyond(SMALL_ORDER), SMALL_ORDER_ALONE if beside.gold else 0.0
    if order is not None and (not order.high() < least or beside.commonest[1] < LEAST_OFF):
        return ""
    if above.low() > 0:
        return (
            f"beats a constant answer by {in_bounds(above, signed)}, less than half of a"
            " person's lead"
        )
    if most < 0:
        return "it does worse than a constant answer"
    return f"it is at most {max(most, LEAST_SHOWN):.2f} better than a constant answer"


def _turned(beside: Standing) -> str:
    """A hint if the judge ranks outputs in reverse order; otherwise empty."""
    order = beside.whole_order
    if order is None or beside.one_answer:
        return ""
    rank = order.ranks.beyond(0.0)
    return f"; {TURNED} (order {in_bounds(rank)})" if rank.high() < -SMALL_ORDER else ""


def _informative(beside: Standing) -> bool:
    """Rule 5: whether the judge is shown to know more than a constant."""
    order = beside.whole_order
    if order is None:
        return beside.above.low() > 0
    if not beside.by_either:
        return order.p <= 1 - 0.95
    return beside.above.low(OF_TWO) > 0 or order.p <= 1 - OF_TWO


def _what_is_open(beside: Standing, clauses: list[Clause]) -> tuple[float, str]:
    """About how many items would make an *informative* judge *like a person*, and the reason why it
    is not yet.
    """
    clauses = sorted(clauses, key=lambda clause: not clause.shown)
    reason = "; ".join(clause.words + clause.remark for clause in clauses)
    shown, needed = any(clause.shown for clause in clauses), math.nan
    if _by_order_alone(beside):
        order = beside.whole_order
        assert order is not None
        how = "higher" if order.higher > 0 else "lower"
        reason = (
            "puts outputs in people's order, but its answers are not theirs: "
            f"{figure(abs(order.higher))} levels {how} on average; {reason}"
        )
    if beside.gold:
        return needed, reason
    if not shown and all(math.isfinite(clause.needed) for clause in clauses):
        needed = max(clause.needed for clause in clauses)
        items = f"(about {needed:,.0f} items give even odds)"
        if items in reason:
            return needed, f"not yet shown to be like a person: {reason}"
        return needed, f"not yet shown to be like a person {items}: {reason}"
    beginning = "not like a person:" if shown else "not yet shown to be like a person:"
    return needed, f"{beginning} {reason}"


def _plainly(clauses: list[Clause]) -> str:
    """The words of the first open clause that can be understood without statistics; empty if there
    is none.

    A clause that is shown not to hold goes before the others.
    """
    shown = [each for each in clauses if each.shown]
    plain = [each for each in shown or clauses if each.plain]
    if not plain:
        return ""
    # where another clause is shown not to hold, more items would be in vain
    return plain[0].words + plain[0].remark * (not shown)


def _by_order_alone(beside: Standing) -> bool:
    order = beside.whole_order
    return order is not None and beside.by_either and not beside.above.low(OF_TWO) > 0


def _needed(beside: Standing) -> float:
    """About how many items would show, in half of all cases, that the judge is informative; NaN if
    no number would.
    """
    needed = [needed_items(beside.above, 0.0, beside.items)]
    order = beside.whole_order
    if order is not None and order.z > 0:
        needed.append(beside.items * (beside.whole_quantile(OF_TWO) / order.z) ** 2)
    least = min(needed)
    return least if least < MOST_NEEDED * beside.items else math.nan


def _not_shown(beside: Standing, needed: float) -> str:
    """Rule 6: the words for what is not shown."""
    above = in_bounds(beside.above, signed, OF_TWO if beside.by_either else P)
    reason = f"not shown to beat a constant answer: {above}"
    order = beside.order_beyond(SMALL_ORDER)
    if beside.above.high() < 0 and order is not None:
        reason = (
            f"it does worse than a constant answer ({above}), but may put outputs in people's order"
        )
    label, off = beside.commonest
    if off < LEAST_OFF and not isinstance(beside, ScoreStanding):
        every = beside.whole.items
        reason += f"; it gave {beside.label(label)} to {every - off:,} of {every:,} items"
    return reason + (f"; about {needed:,.0f} items give even odds" if needed > 0 else "")
