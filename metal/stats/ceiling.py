"""Three human ceilings, as weighted F1, because "how well do people do" is not one number.

rows: (patterns, raters) class codes; weights: (..., patterns). Results have shape (...). A mean over raters or pairs
is over those that are passed in (`raters`, `pairs`; all by default) and have items in common; NaN when none is left.
In such a mean, somebody who shares three items with another would weigh as much as somebody who shares three hundred:
see `raters_with`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from metal.stats.aggregate import aggregate
from metal.stats.classification import weighted_f1
from metal.stats.patterns import Codes, Counts, Numbers, confusions, mean_of_defined


def raters_with(weights: Codes, rows: Codes, items: int) -> list[int]:
    """The raters with at least `items` ratings; all raters when fewer than two have so many."""
    given = weights @ (rows >= 0)
    enough = np.flatnonzero(given >= items)
    return [int(rater) for rater in (enough if len(enough) > 1 else range(rows.shape[1]))]


def pairs_of(raters: Sequence[int]) -> list[tuple[int, int]]:
    """METAL's pairs: A1-A2, A2-A3, A3-A1 for three raters; for any other number, each with all after it (section 5.1).

    >>> pairs_of([0, 2, 5]), pairs_of([0, 2])
    ([(0, 2), (2, 5), (5, 0)], [(0, 2)])
    """
    if len(raters) == 3:
        first, second, third = raters
        return [(first, second), (second, third), (third, first)]
    return list(combinations(raters, 2))


def pairwise(weights: Counts, rows: Codes, levels: int, pairs: Sequence[tuple[int, int]] | None = None) -> Numbers:
    """Person against person: the mean over pairs, with the first of a pair as truth (METAL section 5.1)."""
    pairs = pairs_of(range(rows.shape[1])) if pairs is None else pairs
    return _mean_f1(weights, [(rows[:, first], rows[:, second]) for first, second in pairs], levels)


def leave_one_out(weights: Counts, rows: Codes, levels: int, raters: Sequence[int] | None = None) -> Numbers:
    """Each person against the majority of the *others*: the fair ceiling for a judge.

    At least two others must have rated. Items without a majority of the others are left out, because the mean of two
    different answers is nobody's answer. The majority is used whatever the audit's aggregate: a model fitted without
    one person would be a different model for each person, and with two others it would have nothing to weigh.
    """
    raters = range(rows.shape[1]) if raters is None else raters
    pairs = [(majority_of_others(rows, rater, levels), rows[:, rater]) for rater in raters]
    return _mean_f1(weights, pairs, levels)


def majority_of_others(rows: Codes, rater: int, levels: int) -> Codes:
    """(patterns,) the majority class of everybody except `rater`; negative without two others or a majority."""
    others = np.delete(rows, rater, axis=1)
    majority = aggregate(others, np.arange(levels, dtype=np.float64), "majority")
    return np.where((others >= 0).sum(axis=1) < 2, -1, majority)


def against_all(
    weights: Counts, rows: Codes, truth: Codes, levels: int, raters: Sequence[int] | None = None
) -> Numbers:
    """Each person against an aggregate that contains their own answer: optimistic.

    truth: (patterns,) the aggregate's class codes.
    """
    raters = range(rows.shape[1]) if raters is None else raters
    return _mean_f1(weights, [(truth, rows[:, rater]) for rater in raters], levels)


def _mean_f1(weights: Counts, pairs: Sequence[tuple[Codes, Codes]], levels: int) -> Numbers:
    """Weighted F1 of each pair of truth and answer, averaged over the pairs for which it is defined."""
    if not pairs:
        return np.full(np.shape(weights)[:-1], np.nan)
    f1 = weighted_f1(confusions(weights, pairs, levels))
    return mean_of_defined(list(np.moveaxis(f1, -1, 0)))
