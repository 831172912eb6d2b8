"""Remarks about the people of a cell that go with a verdict: who is careless, and how often people
confirm each other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.standing import LEAST_OF_CLASS, Standing
from metal.data.text import MINUS, figure, listed, plural, within
from metal.stats.careless import ENOUGH_SEATS, Careless
from metal.stats.order import correlation_of, midranks, pair_sums
from metal.stats.patterns import Codes

# mean rank correlation of two people, where their scores differ in the use of the scale
ALIKE = 0.3
ALIKE_IN_ORDER = 0.10  # of a rank correlation


def confirmations(beside: Standing) -> dict[str, Any]:
    """How often a person gives the rating that most others give, overall and at the bad end.

    The figure at the bad end is NaN if people call too few items bad.
    """
    if not beside.items:
        return {}
    bad, at_the_end, items = beside.cell.bad_end, float("nan"), float("nan")
    if bad is not None:
        items = float(beside.paired.items_of_label[bad])
    if bad is not None and items >= LEAST_OF_CLASS - 1e-9:
        at_the_end = float(beside.paired.sums.recalls[2][bad])
    return {"confirmed": beside.confirmed, "confirmed_bad": at_the_end, "bad_items": items}


def on_panel(cell: AuditCell, careless_ones: Careless) -> str:
    """A remark about the people that holds for every judge of the cell; empty if there is none."""
    if careless_ones.many:
        return "most of these people differ from each other, so nobody can be called careless"
    if (
        len(cell.people) >= 3
        and not careless_ones.people
        and careless_ones.median_seats < ENOUGH_SEATS
    ):
        return (
            f"these {len(cell.people):,} people have too few items each (median"
            f" {careless_ones.median_seats:g}) to see who is careless: “a person” is the mean of"
            " whoever rated"
        )
    return ""


def aided_words(cell: AuditCell, judge: str) -> str:
    """A phrase for the people left out because they saw the judge's answers: `anna, who saw its
    answers (120 ratings)`.
    """
    ratings = cell.ratings_per_item.sum() - cell.unaided(judge).ratings_per_item.sum()
    named = listed(list(map(within, cell.aided([judge]))))
    return f"{named}, who saw its answers ({plural(int(ratings), 'rating')})"


def left_out_words(cell: AuditCell, careless_ones: Careless) -> str:
    """A phrase for the careless people who are left out: `p3, who agrees far less with the others`.

    If such a person ranks outputs like the others, the words say so.
    """
    described = []
    for person in sorted(careless_ones.people):
        how = _ranks_alike(cell, person) if cell.ordered and cell.levels > 2 else ""
        described.append(within(cell.people[person]) + (f" ({how})" if how else ""))
    agree = "agree" if len(described) > 1 else "agrees"
    return f"{listed(described)}, who {agree} far less with the others"


def without_each(beside: Standing) -> str:
    """The range of alpha without each person, which shows whether one person spoils the agreement.

    For example `; alpha without each person .02 to .31 (without p3)`.
    """
    without = beside.people.alpha_without_each()
    values = [value for value in without if not math.isnan(value)]
    if not values:
        return ""
    least, most = min(values), max(values)
    seats = [seat for seat, value in enumerate(without) if math.isclose(value, most)]
    whom = f"any one of {len(seats)} people"  # a name would be the first of these in the table
    if len(seats) == 1:
        whom = within(beside.cell.people[beside.people.who[seats[0]]])
    span = f"{figure(least)} to {figure(most)}".replace(MINUS, "-")
    return f"; {beside.measure} without each person {span} (without {whom})"


def rank_alike(beside: Standing) -> str:
    """A hint if people rank outputs alike and only use the scale differently; otherwise empty."""
    cell = beside.cell
    rho = beside.rank_agreement() if cell.ordered and not cell.settings.standardise else math.nan
    if not rho > ALIKE:
        return ""
    return (
        f"; they still rank outputs alike (Spearman {figure(rho)}), so they use the scale"
        " differently: `standardise` takes away each rater's mean and spread"
    )


def _ranks_alike(cell: AuditCell, person: int) -> str:
    """A remark on a person who ranks outputs like the others but uses the scale differently;
    otherwise empty.

    For example `ranks like the others (order .93, theirs .95) but answers .6 levels higher`.
    """
    own, others = (
        _order(cell, [person]),
        _order(cell, [seat for seat in range(len(cell.people)) if seat != person]),
    )
    if own is None or others is None or own[0] < others[0] - ALIKE_IN_ORDER:
        return ""
    how = "higher" if own[1] > 0 else "lower"
    return (
        f"who ranks like the others (order {figure(own[0])}, theirs {figure(others[0])}) but"
        f" answers {figure(abs(own[1]))} levels {how}"
    )


def _order(cell: AuditCell, people: list[int]) -> tuple[float, float] | None:
    """The rank correlation of some people with the mean of all others, and how much higher their
    answers are.
    """
    values: Any = np.where(cell.by_people >= 0, cell.values[np.maximum(cell.by_people, 0)], np.nan)
    rated = ~np.isnan(values)
    number = rated.sum(axis=1, keepdims=True)
    rest = (np.nansum(values, axis=1, keepdims=True) - values) / np.maximum(number - 1, 1)
    seats: Codes = rated[:, people] & (number >= 2)
    ratings, theirs = values[:, people][seats], np.round(rest[:, people][seats], 9)
    if len(ratings) < 2:
        return None
    ones = np.ones(len(ratings))
    ranked = pair_sums(ones, midranks(theirs, ones), midranks(ratings, ones)).sum(axis=0)
    return float(correlation_of(ranked)), float((ratings - theirs).mean())
