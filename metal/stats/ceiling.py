"""Three human ceilings, as weighted F1, because "how well do people do" is not one number.

rows: (patterns, raters) class codes; weights: (..., patterns). Results have shape (...); raters or pairs
without a common item are left out of the mean, NaN when none is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metal.stats.aggregate import aggregate, others, rater_pairs
from metal.stats.classification import weighted_f1
from metal.stats.patterns import Codes, Counts, Numbers, confusion, mean_of_defined


def pairwise(weights: Counts, rows: Codes, levels: int, pairs: Sequence[tuple[int, int]] | None = None) -> Numbers:
    """Person against person: the mean over pairs, the first of a pair taken as truth (METAL section 5.1)."""
    chosen = rater_pairs(rows.shape[1]) if pairs is None else pairs
    if not chosen:
        return np.full(np.shape(weights)[:-1], np.nan)
    return mean_of_defined(
        [weighted_f1(confusion(weights, rows[:, first], rows[:, second], levels)) for first, second in chosen]
    )


def leave_one_out(weights: Counts, rows: Codes, levels: int) -> Numbers:
    """Each person against the majority of the *others*: the fair ceiling for a judge.

    At least two others must have rated; items on which they have no majority are left out, because a
    mean of two different answers is nobody's answer.
    """
    results = [
        weighted_f1(confusion(weights, majority_of_others(rows, rater, levels), rows[:, rater], levels))
        for rater in range(rows.shape[1])
    ]
    return mean_of_defined(results) if results else np.full(np.shape(weights)[:-1], np.nan)


def majority_of_others(rows: Codes, rater: int, levels: int) -> Codes:
    """(patterns,) the majority class of everybody but `rater`, negative without two others or a majority."""
    remaining = others(rows, rater)
    settled = aggregate(remaining, np.arange(levels, dtype=np.float64), "majority")
    return np.where((remaining >= 0).sum(axis=1) < 2, -1, settled)


def against_all(weights: Counts, rows: Codes, truth: Codes, levels: int) -> Numbers:
    """Each person against an aggregate that contains their own answer: optimistic.

    truth: (patterns,) the aggregate's class codes.
    """
    results = [weighted_f1(confusion(weights, truth, rows[:, rater], levels)) for rater in range(rows.shape[1])]
    return mean_of_defined(results) if results else np.full(np.shape(weights)[:-1], np.nan)
