"""What adjudication says about a judge, how many answers would decide, and what errors would
change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from metal.questions.adjudicate.compute import (
    LEVEL,
    STRATA,
    BadEnd,
    Difference,
    JudgeBeside,
    degrees_of_freedom,
    difference,
    gains,
    share_of_people,
    weights_of,
)
from metal.stats.measured import Measured
from metal.stats.patterns import Flags, Numbers
from metal.stats.significance import t_quantile

ERRS = 0.1  # how often the adjudicator errs, for sensitivity
AS_ACCURATE = "as accurate as a person"
BETTER = "better than these people"
LESS = "less accurate"
UNDECIDED = "undecided"
NEAR = "its accuracy is near a person's"  # begins the reason if the bad end is not


def verdict(compared: Difference, bad: BadEnd | None, margin: float) -> tuple[str, str]:
    """The verdict, and the reason why there is none or what limits it.

    A judge may be `margin` less accurate than a person. A judge that finds less than half as much
    of the bad end as a person, or is right there less than half as often, is never *as accurate*.
    """
    figure = compared.figure
    if figure is None:
        return UNDECIDED, compared.undefined
    if figure.low() > -margin and bad is not None and bad.too_little:
        return UNDECIDED, f"{NEAR}, but {bad.too_little}"
    if figure.low() > 0:
        return BETTER, ""
    if figure.low() > -margin:
        return AS_ACCURATE, ""
    if figure.high() < -margin:
        return LESS, ""
    if figure.high() < 0:
        return LESS, f"by {-figure.high():.2f} to {-figure.low():.2f}"
    return UNDECIDED, _needed(compared, margin)


def items_needed(compared: Difference, margin: float) -> float:
    """About how many decided items would show whether the judge is as accurate as a person, if the
    difference stays as it is. If no smaller number would show it, it is the number of all disputed
    items. Infinite if all of them are decided.
    """
    figure = compared.figure
    if figure is None or not 0 < compared.decided < compared.disputed:
        return math.inf
    wanted = ((figure.value + margin) / t_quantile(LEVEL, figure.df)) ** 2 - compared.by_items
    if wanted <= 0 or not compared.by_draw:
        return float(compared.disputed)
    # the variance of the draw is nearly (1 / decided - 1 / disputed) times a constant
    left = 1 / compared.decided - 1 / compared.disputed
    return 1 / (1 / compared.disputed + wanted * left / compared.by_draw)


def _needed(compared: Difference, margin: float) -> str:
    needed = items_needed(compared, margin)
    if math.isinf(needed):
        return "all disputed items are decided, but too few items are rated to tell"
    if needed >= compared.disputed:
        return f"up to all {compared.disputed:,} disputed items may have to be decided"
    return (
        f"about {max(needed, compared.decided + 1):,.0f} decided items of {compared.disputed:,}"
        " would tell"
    )


def power(beside: JudgeBeside, drawn: Flags, margin: float) -> float:
    """How often decisions on the `drawn` items show that a judge is *as accurate*, if it is exactly
    as accurate as a person.

    It is then right in as many disputed items as a person, whoever is wrong. NaN if too little is
    drawn.
    """
    answered = beside.people >= 0
    same = share_of_people((beside.people == beside.judge[:, None]).astype(float), answered)
    other = share_of_people((beside.people != beside.judge[:, None]).astype(float), answered)
    total, strata = len(same), beside.strata
    decided = drawn & beside.disputed
    one_source = len(np.unique(beside.sources[decided])) < 2
    if one_source or decided.sum() < 2:
        return math.nan
    # an item is worth 1 - same where the judge is right, -other where the others are
    right = (other[beside.disputed].mean()) / (1 - same + other)[beside.disputed].mean()
    spread = right * (1 - same) ** 2 + (1 - right) * other**2
    by_draw = 0.0
    for stratum in STRATA:
        every = strata == stratum
        number, of = int((every & decided).sum()), int(every.sum())
        if number:
            by_draw += of**2 * (1 - number / of) * float(spread[every].mean()) / number
    by_items = float(np.where(beside.disputed, spread, 0.0).sum()) / total**2
    error = math.sqrt(by_draw / total**2 + by_items)
    return NormalDist().cdf(margin / error - t_quantile(LEVEL, degrees_of_freedom(beside, decided)))


def if_wrong(beside: JudgeBeside, right: Numbers, *, with_crowd: bool) -> Measured | None:
    """The difference if the adjudicator erred in ERRS of the items; None if the difference is
    undefined.

    Its standard error allows for not knowing in which items the adjudicator erred.
    """
    erring = with_errors(beside, right, with_crowd=with_crowd)
    figure = difference(beside, erring).figure
    plain = difference(beside, right)
    if figure is None or plain.figure is None:
        return None
    moved = gains(beside, erring) - gains(beside, right)
    decided = beside.disputed & ~np.isnan(moved)
    weights = weights_of(beside.strata, decided)
    # an item's gain changes by moved / ERRS, with the chance ERRS
    by_errors = float(((weights * np.where(decided, moved, 0.0)) ** 2).sum())
    by_errors *= (1 - ERRS) / ERRS / len(moved) ** 2
    error = math.sqrt(plain.by_draw + plain.by_items + by_errors)
    return replace(figure, error=error)


def with_errors(beside: JudgeBeside, right: Numbers, *, with_crowd: bool) -> Numbers:
    """(items, levels) `right` as it would be if the adjudicator erred in ERRS of the items.

    Errors are at random, so that another candidate is right; or always with most people, if most
    were wrong.
    """
    levels = right.shape[1]
    counts = np.zeros((len(right), levels))
    for codes in (*beside.people.T, beside.judge):
        rows = np.flatnonzero(codes >= 0)
        counts[rows, codes[rows]] += 1
    decided = beside.disputed & ~np.isnan(right[:, 0])
    share, chosen = ERRS, right > 0
    if with_crowd:
        votes = counts.copy()
        rows = np.flatnonzero(beside.judge >= 0)
        votes[rows, beside.judge[rows]] -= 1
        chosen &= votes == votes.max(axis=1, keepdims=True)
        sided = decided & chosen.any(axis=1)
        share = min(1.0, ERRS * decided.sum() / max(sided.sum(), 1))
        decided = sided
    others = (counts > 0) & ~chosen
    decided &= others.any(axis=1)
    instead = others / np.maximum(others.sum(axis=1, keepdims=True), 1)
    return np.where(decided[:, None], (1 - share) * right + share * instead, right)
