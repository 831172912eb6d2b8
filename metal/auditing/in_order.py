"""Whether a judge puts outputs in people's order: quadratic kappa, Spearman's and Pearson's
correlation, for the judge and for a person.

Judge and person face the same other people on the same seats (metal.stats.seats), so that the two
may be compared. The person's figures are pooled over all seats.
"""

from __future__ import annotations

import numpy as np

from metal.auditing.side import SeatedJudge
from metal.auditing.standing import Standing
from metal.data.records import Estimate
from metal.stats.measured import Measured
from metal.stats.order import FigurePair, pair_sums, with_answer

NAMES = (
    *("kappa_with_others", "person_kappa_with_others"),
    *("spearman", "person_spearman"),
    *("pearson", "person_pearson"),
)
P = 0.975  # of each end of a 95% interval


def order_figures(beside: Standing) -> dict[str, Estimate]:
    """The figures of NAMES for the judge, and for a person on the same seats.

    spearman: Pearson's correlation of midranks with the mean of the others' levels. pearson: the
    correlation of the levels themselves. kappa_with_others: with the others' most frequent label,
    ties weighted. Undefined if fewer than three levels are in use. Intervals are 95%, by Student's
    t on the delete-one-source jackknife, with ranks kept fixed. Source: Spearman (1904), Cohen
    (1968), Efron and Stein (1981).
    """
    reason = _undefined(beside)
    order = None if reason else beside.order
    if order is None:
        reason = reason or "fewer than three levels in use, or people's mean is the same everywhere"
        return dict.fromkeys(NAMES, Estimate.undefined(reason, beside.items))
    pairs = {
        "kappa_with_others": order.kappa,
        "spearman": order.ranks,
        "pearson": _levels(beside.paired),
    }
    figures = {}
    for name, pair in pairs.items():
        figures[name] = _estimate(pair.beyond(0.0), beside)
        of_person = _estimate(pair.of_a_person, beside)
        if beside.gold:
            of_person = Estimate.undefined("one person per item", beside.items)
        figures[f"person_{name}"] = of_person
    return figures


def _undefined(beside: Standing) -> str:
    """Why no order can be measured; empty if it can."""
    if not beside.cell.ordered:
        return "nominal scale"
    return "" if beside.items else "no answer to an output that two people rated"


def _levels(side: SeatedJudge) -> FigurePair:
    """Judge and person compared with the mean of the others, in values of the levels centred on
    their middle.
    """
    seats = side.seats
    values = side.values - side.values.mean()
    others = seats.rest @ values / np.maximum(seats.rest.sum(axis=1), 1)
    of_people = seats.by_item(pair_sums(np.ones(len(others)), others, values[seats.own]))[side.kind]
    of_judge = with_answer(of_people, seats.numbers()[side.kind], values[side.answer])
    return FigurePair(side.by, side.by.rows(of_judge), side.by.rows(of_people), "order")


def _estimate(measured: Measured, beside: Standing) -> Estimate:
    """A figure between -1 and 1 with its interval."""
    if np.isnan(measured.value):
        return Estimate.undefined("one level on both sides", beside.items)
    value = float(measured.value)
    if beside.n_sources < 2 or not measured.error > 1e-12:
        return Estimate(
            value, n=beside.items, reason=("the same whichever source is left out: no interval")
        )
    low, high = max(measured.low(P), -1.0), min(measured.high(P), 1.0)
    method = f"jackknife over {beside.n_sources} sources"
    return Estimate(value, min(low, value), max(high, value), n=beside.items, method=method)
