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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from metal.data.records import Estimate
from metal.data.text import MINUS, interval, signed
from metal.stats.significance import benjamini_yekutieli, by_family

if TYPE_CHECKING:
    from metal.auditing.judging import JudgeFigures  # its statistics take a second to import, and the rules need none

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


COLUMNS = (*(field.name for field in fields(Verdict)), "signature")


def verdicts(judges: Sequence[JudgeFigures], people: Mapping[tuple[str, str], float]) -> list[Verdict]:
    """A verdict for each judge in each cell, in the order given.

    people: (language, criterion) -> lower end of the interval of the people's Fleiss' kappa, NaN where there is none.
    """
    result = []
    leads, families = [judge.lead_p for judge in judges], [(judge.judge, judge.criterion) for judge in judges]
    for judge, p in zip(judges, by_family(leads, families, benjamini_yekutieli), strict=True):
        verdict, reason = _decide(judge, p, people[judge.language, judge.criterion])
        result.append(Verdict(judge.language, judge.criterion, judge.judge, verdict, reason, p))
    return result


def _decide(judge: JudgeFigures, lead_p: float, people_low: float) -> tuple[str, str]:
    lead, kappa = judge.figures["lead_over_majority"], judge.figures["kappa"]
    problem = _too_few(judge, lead, kappa)
    if problem:
        return TOO_FEW, problem
    problem = _not_better(judge, lead, kappa, lead_p)
    if problem:
        return NOT_BETTER, problem
    doubts = _doubts(judge, people_low)
    if doubts:
        return WITH_CARE, "better than the majority class, but " + "; ".join(doubts)
    assert judge.test is not None
    return USABLE, (
        f"better than the majority class by {_interval(lead)}; "
        f"passes the alternative annotator test (winning rate {judge.test.winning_rate:.2f})"
    )


def _too_few(judge: JudgeFigures, lead: Estimate, kappa: Estimate) -> str:
    if judge.asked < MIN_ITEMS:
        return f"{judge.asked} items with a human aggregate, {MIN_ITEMS} needed"
    if judge.sources < MIN_SOURCES:
        return f"{judge.sources} sources, {MIN_SOURCES} needed for an interval"
    if judge.answered == 0:
        return "the judge never answered"
    if kappa.value is None:
        return f"kappa is undefined: {kappa.reason}"
    if lead.low is None or lead.high is None or kappa.low is None:
        return "no interval: " + "; ".join((lead.caveats + kappa.caveats)[:1] or ("undefined",))
    if lead.low <= 0 and lead.high >= USEFUL_LEAD:
        return f"the lead over the majority class, {_interval(lead)}, is too uncertain"
    return ""


def _not_better(judge: JudgeFigures, lead: Estimate, kappa: Estimate, lead_p: float) -> str:
    assert lead.low is not None
    assert kappa.low is not None
    if sum(count > 0 for count in judge.answers) == 1:
        return "a constant judge: it gave one answer only, so its F1 says nothing (kappa 0)"
    if lead.low <= 0:
        return f"lead over always answering the most frequent class: {_interval(lead)}"
    if not lead_p < ALPHA:
        return f"its lead is not significant over all languages together (corrected p {lead_p:.3f})"
    if kappa.low <= 0:
        return f"agreement beyond chance not shown: kappa {_interval(kappa)}"
    return ""


def _doubts(judge: JudgeFigures, people_low: float) -> list[str]:
    doubts = []
    if judge.test is None:
        doubts.append(f"the alternative annotator test could not be run ({judge.test_reason})")
    elif not judge.test.passed:
        doubts.append(
            f"fails the alternative annotator test (winning rate {judge.test.winning_rate:.2f}, "
            f"epsilon {judge.test.epsilon:g})"
        )
    if judge.coverage < MIN_COVERAGE:
        doubts.append(f"answers only {judge.coverage:.0%} of the questions")
    if not people_low > 0:
        doubts.append("the people do not agree beyond chance among themselves")
    return doubts


def _interval(estimate: Estimate) -> str:
    """`+0.12 [-0.03, +0.27]`"""
    return f"{signed(estimate.value)} {interval(estimate.low, estimate.high, signed)}".replace(MINUS, "-")
