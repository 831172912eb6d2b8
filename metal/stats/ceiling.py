"""Three human ceilings, as weighted F1, because "how well do people do" is not one number.

rows: (patterns, raters) class codes; weights: (..., patterns). Results have shape (...). A mean over raters
or pairs takes those that are passed in (`raters`, `pairs`; by default all) and have common items, NaN when
none is left. One who shares three items with somebody would weigh as much as one who shares three hundred:
see `raters_with`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metal.stats.aggregate import aggregate, others, rater_pairs
from metal.stats.classification import weighted_f1
from metal.stats.patterns import Codes, Counts, Numbers, confusions, mean_of_defined


def raters_with(weights: Codes, rows: Codes, items: int) -> list[int]:
    """The raters with at least `items` ratings; all of them where nobody has so many."""
    given = weights @ (rows >= 0)
    enough = np.flatnonzero(given >= items)
    return [int(rater) for rater in (enough if len(enough) > 1 else range(rows.shape[1]))]


def pairs_of(raters: Sequence[int]) -> list[tuple[int, int]]:
    """METAL's pairs (aggregate.rater_pairs) among these raters."""
    return [(raters[first], raters[second]) for first, second in rater_pairs(len(raters))]


def pairwise(weights: Counts, rows: Codes, levels: int, pairs: Sequence[tuple[int, int]] | None = None) -> Numbers:
    """Person against person: the mean over pairs, the first of a pair taken as truth (METAL section 5.1)."""
    chosen = pairs_of(range(rows.shape[1])) if pairs is None else pairs
    return _mean_f1(weights, [(rows[:, first], rows[:, second]) for first, second in chosen], levels)


def leave_one_out(weights: Counts, rows: Codes, levels: int, raters: Sequence[int] | None = None) -> Numbers:
    """Each person against the majority of the *others*: the fair ceiling for a judge.

    At least two others must have rated; items on which they have no majority are left out, because a
    mean of two different answers is nobody's answer. It is a majority whatever rule the audit aggregates by: a model
    fitted without a person would be another model for each, and two others give it nothing to weigh.
    """
    return _mean_f1(
        weights, [(majority_of_others(rows, rater, levels), rows[:, rater]) for rater in _chosen(rows, raters)], levels
    )


def majority_of_others(rows: Codes, rater: int, levels: int) -> Codes:
    """(patterns,) the majority class of everybody but `rater`, negative without two others or a majority."""
    remaining = others(rows, rater)
    settled = aggregate(remaining, np.arange(levels, dtype=np.float64), "majority")
    return np.where((remaining >= 0).sum(axis=1) < 2, -1, settled)


def against_all(
    weights: Counts, rows: Codes, truth: Codes, levels: int, raters: Sequence[int] | None = None
) -> Numbers:
    """Each person against an aggregate that contains their own answer: optimistic.

    truth: (patterns,) the aggregate's class codes.
    """
    return _mean_f1(weights, [(truth, rows[:, rater]) for rater in _chosen(rows, raters)], levels)


def _chosen(rows: Codes, raters: Sequence[int] | None) -> Sequence[int]:
    return range(rows.shape[1]) if raters is None else raters


def _mean_f1(weights: Counts, pairs: Sequence[tuple[Codes, Codes]], levels: int) -> Numbers:
    """Weighted F1 of each pair of truth and answer, averaged over those where it is defined."""
    if not pairs:
        return np.full(np.shape(weights)[:-1], np.nan)
    f1 = weighted_f1(confusions(weights, pairs, levels))
    return mean_of_defined(list(np.moveaxis(f1, -1, 0)))
