"""How far a judge can be trusted in a cell: the rules, all of them here.

The rules look at intervals and at the alternative annotator test, never at a point value alone. In order:

1. *too few ratings to say*: fewer than MIN_ITEMS items or MIN_SOURCES sources, a judge that never answered,
   figures that are undefined (people or judge used one class only), or a lead over the majority class whose
   95% interval holds 0 and USEFUL_LEAD both.
2. *not better than the majority class*: the interval of the lead in weighted F1 over always answering the
   people's most frequent class holds 0 or lies below it; or the lead is not significant after Benjamini-
   Yekutieli correction over the languages of this judge and criterion; or the interval of Cohen's kappa
   holds 0.
3. *usable*: better than the majority class, the alternative annotator test is passed, at least MIN_COVERAGE
   of the questions are answered, and the people agree beyond chance themselves (interval of Fleiss' kappa
   above 0).
4. *usable with care*: better than the majority class, but not all of rule 3 holds; the reason says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metal.auditing.layouts import UNDEFINED
from metal.data.records import Estimate
from metal.stats.multiplicity import benjamini_yekutieli

if TYPE_CHECKING:
    from metal.auditing.judging import JudgeFigures  # its statistics take a second to import, the rules need them not

MIN_ITEMS = 30
MIN_SOURCES = 10
MIN_COVERAGE = 0.95
USEFUL_LEAD = 0.1
ALPHA = 0.05

USABLE = "usable"
WITH_CARE = "usable with care"
NOT_BETTER = "not better than the majority class"
TOO_FEW = "too few ratings to say"
VERDICTS = (USABLE, WITH_CARE, NOT_BETTER, TOO_FEW)


@dataclass(frozen=True)
class Verdict:
    """A verdict with the reason for it, in words."""

    language: str
    criterion: str
    judge: str
    verdict: str
    reason: str
    lead_p_adjusted: float


def verdicts(figures: Sequence[JudgeFigures], people: dict[tuple[str, str], Estimate]) -> list[Verdict]:
    """A verdict for each judge in each cell, in the order given.

    people: (language, criterion) -> Fleiss' kappa of the people there.
    """
    adjusted = _adjusted_leads(figures)
    result = []
    for one, p in zip(figures, adjusted, strict=True):
        verdict, reason = _decide(one, p, people[one.language, one.criterion])
        result.append(Verdict(one.language, one.criterion, one.judge, verdict, reason, p))
    return result


def _adjusted_leads(figures: Sequence[JudgeFigures]) -> list[float]:
    """Each lead's p-value, corrected over the languages of its judge and criterion ("which languages?")."""
    adjusted = [float("nan")] * len(figures)
    families: dict[tuple[str, str], list[int]] = {}
    for position, one in enumerate(figures):
        families.setdefault((one.judge, one.criterion), []).append(position)
    for members in families.values():
        corrected = benjamini_yekutieli([figures[member].lead_p for member in members])
        for member, p in zip(members, corrected, strict=True):
            adjusted[member] = float(p)
    return adjusted


def _decide(one: JudgeFigures, lead_p: float, people: Estimate) -> tuple[str, str]:
    problem = _too_few(one)
    if problem:
        return TOO_FEW, problem
    problem = _not_better(one, lead_p)
    if problem:
        return NOT_BETTER, problem
    doubts = _doubts(one, people)
    if doubts:
        return WITH_CARE, "better than the majority class, but " + "; ".join(doubts)
    assert one.test is not None
    return USABLE, (
        f"better than the majority class by {_interval(one.lead)}; "
        f"passes the alternative annotator test (winning rate {one.test.winning_rate:.2f})"
    )


def _too_few(one: JudgeFigures) -> str:
    if one.asked < MIN_ITEMS:
        return f"{one.asked} items with a human aggregate, {MIN_ITEMS} needed"
    if one.sources < MIN_SOURCES:
        return f"{one.sources} sources, {MIN_SOURCES} needed for an interval"
    if one.answered == 0:
        return "the judge never answered"
    if one.kappa.value is None:
        return f"kappa is undefined: {one.kappa.reason}"
    if one.lead.low is None or one.lead.high is None or one.kappa.low is None:
        return "no interval: " + "; ".join((one.lead.caveats + one.kappa.caveats)[:1] or ("undefined",))
    if one.lead.low <= 0 and one.lead.high >= USEFUL_LEAD:
        return f"the lead over the majority class, {_interval(one.lead)}, is too uncertain"
    return ""


def _not_better(one: JudgeFigures, lead_p: float) -> str:
    assert one.lead.low is not None
    assert one.kappa.low is not None
    if sum(count > 0 for count in one.answers) == 1:
        return "a constant judge: it gave one answer only, so its F1 says nothing (kappa 0)"
    if one.lead.low <= 0:
        return f"lead over always answering the most frequent class: {_interval(one.lead)}"
    if not lead_p < ALPHA:
        return f"its lead is not significant over all languages together (corrected p {lead_p:.3f})"
    if one.kappa.low <= 0:
        return f"agreement beyond chance not shown: kappa {_interval(one.kappa)}"
    return ""


def _doubts(one: JudgeFigures, people: Estimate) -> list[str]:
    doubts = []
    if one.test is None:
        doubts.append(f"the alternative annotator test could not be run ({one.test_reason})")
    elif not one.test.passed:
        doubts.append(
            f"fails the alternative annotator test (winning rate {one.test.winning_rate:.2f}, "
            f"epsilon {one.test.epsilon:g})"
        )
    if one.coverage < MIN_COVERAGE:
        doubts.append(f"answers only {one.coverage:.0%} of the questions")
    if people.low is None or people.low <= 0:
        doubts.append("the people do not agree beyond chance among themselves")
    return doubts


def _interval(estimate: Estimate) -> str:
    return f"{_signed(estimate.value)} [{_signed(estimate.low)}, {_signed(estimate.high)}]"


def _signed(value: float | None) -> str:
    """Two digits with a sign; a value that rounds to zero has none."""
    if value is None:
        return UNDEFINED
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}"
