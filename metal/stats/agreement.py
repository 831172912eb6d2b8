"""Agreement of two raters (or of a judge with people's aggregate), agreement within a panel, and
human ceilings.

Functions of two raters take margins (..., 3, levels) and return (...). The margins are how often
each class was answered rightly, was true, and was answered (patterns.margins). Without items, the
functions return NaN. The examples use three classes of 10, 12 and 4 items, and the judge answers
them 11, 12 and 3 times:

            answer: 0   1   2
    truth 0:        8   2   0     F1 of class 0: 16/21
    truth 1:        3   9   0                 1: 18/24
    truth 2:        0   1   3                 2:  6/7

Functions of a panel take counts (patterns, levels) and weights (..., patterns), and return (...).
The counts are how many raters gave each class (patterns.class_counts); the weights are how often
each pattern occurs. The examples have 7 items with three ratings each, in two classes:

    items     counts    agreeing pairs
      4        3  0        3 of 3
      2        2  1        1 of 3
      1        0  3        3 of 3

The three human ceilings are weighted F1, because "how well do people do" is not one number. They
take weights and rows (patterns, raters) of class codes, and return (...). The result is a mean over
those of the given raters or pairs that have items in common, NaN if there are none. In this mean, a
rater who shares three items with another has the same weight as a rater who shares three hundred;
`raters_with` leaves the first out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from metal.stats.patterns import (
    Codes,
    Counts,
    Numbers,
    class_counts,
    margins_of_pairs,
    mean_of_defined,
    one_hot,
    ratio,
    total,
)

MOST_COMPARED = 200  # raters who are compared one by one: of more, whose pairs are millions,
STANDING_IN = 50  # those with the most ratings stand for all
Measure = Literal["nominal", "ordinal", "interval"]


def percent_agreement(margins: Numbers) -> Numbers:
    """Share of items given the same class.

    >>> percent_agreement(np.array([[8, 9, 3], [10, 12, 4], [11, 12, 3]])).round(4).item()  # 20/26
    0.7692
    """
    return ratio(margins[..., 0, :].sum(axis=-1), margins[..., 1, :].sum(axis=-1))


def class_f1(margins: Numbers) -> Numbers:
    """(..., levels) F1 of each class, 2 hits / (truths + answers); NaN for a class that nobody
    used.

    >>> class_f1(np.array([[8, 9, 3], [10, 12, 4], [11, 12, 3]])).round(4).tolist()
    [0.7619, 0.75, 0.8571]
    """
    return ratio(2 * margins[..., 0, :], margins[..., 1, :] + margins[..., 2, :])


def weighted_f1(margins: Numbers) -> Numbers:
    """F1 averaged over classes by their share of the truth (scikit-learn's average="weighted").

    Not symmetric: weighted_f1(a, b) + weighted_f1(b, a) = 2 x percent agreement, so the symmetrised
    figure is percent agreement and corrects for no imbalance (METAL section 4.4.1).
    >>> # (160/21 + 9 + 24/7) / 26
    >>> weighted_f1(np.array([[8, 9, 3], [10, 12, 4], [11, 12, 3]])).round(4).item()
    0.7711
    """
    truths = margins[..., 1, :]
    f1 = np.nan_to_num(class_f1(margins), nan=0.0)  # a class without truths has no weight
    return ratio((truths * f1).sum(axis=-1), truths.sum(axis=-1))


def macro_f1(margins: Numbers) -> Numbers:
    """The plain mean of F1 over the classes that occur on either side (average="macro").

    >>> # (16/21 + 18/24 + 6/7) / 3
    >>> macro_f1(np.array([[8, 9, 3], [10, 12, 4], [11, 12, 3]])).round(4).item()
    0.7897
    """
    f1 = class_f1(margins)
    used = ~np.isnan(f1)
    return ratio(np.where(used, f1, 0.0).sum(axis=-1), used.sum(axis=-1))


@dataclass(frozen=True)
class Disagreement:
    """Observed and chance-expected disagreement, (...) each, as shares of the largest possible
    disagreement.
    """

    observed: Numbers
    expected: Numbers

    @property
    def beyond_chance(self) -> Numbers:
        """(...) agreement beyond chance, 1 - observed / expected; NaN if the expected disagreement
        is 0 (0/0).
        """
        return 1 - ratio(self.observed, self.expected)


def cohen_kappa(margins: Numbers) -> Numbers:
    """Agreement of two raters beyond chance: 1 - observed / expected disagreement.

    NaN if both raters used only one class, the same one (0/0). A constant judge has kappa 0,
    however high its F1 is. Source: Cohen (1960).
    >>> # 6/26 of 1 - 266/26^2
    >>> cohen_kappa(np.array([[8, 9, 3], [10, 12, 4], [11, 12, 3]])).round(4).item()
    0.6195
    """
    return cohen_disagreement(margins).beyond_chance


def cohen_disagreement(margins: Numbers) -> Disagreement:
    """The disagreement behind `cohen_kappa`."""
    hits, truths, answers = np.moveaxis(np.asarray(margins, dtype=np.float64), -2, 0)
    items = truths.sum(axis=-1)
    by_chance = items * items - (truths * answers).sum(axis=-1)
    return Disagreement(ratio(items - hits.sum(axis=-1), items), ratio(by_chance, items * items))


def quadratic_disagreement(sums: Numbers, span: float) -> Disagreement:
    """The disagreement behind Cohen's kappa with squared distances between the values of truth and
    answer.

    sums: (..., 6) of metal.stats.skill.moments. span: the distance of the ends of the scale.
    Source: Cohen (1968).
    >>> sums = np.array([4, 2, 4, 4, 8, 4])  # truth 0, 0, 0, 2 and answer 0, 0, 2, 2
    >>> # 1/4 of (1 - 2 x 1/2 x 1 + 2) / 4
    >>> quadratic_disagreement(sums, 2).beyond_chance.round(4).item()
    0.5
    """
    n, t, tt, x, xx, tx = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    expected = ratio(tt + xx, n) - 2 * ratio(t, n) * ratio(x, n)
    # of one class, rounding alone
    expected = np.where(expected > 1e-12 * ratio(tt + xx, n), expected, 0.0)
    return Disagreement(ratio(tt - 2 * tx + xx, n) / span**2, expected / span**2)


def constant_margins(margins: Numbers, answer: int) -> Numbers:
    """The margins of a judge that always answers `answer`, over the same truths.

    >>> constant_margins(np.array([[8, 9, 3], [10, 12, 4], [11, 12, 3]]), 1).tolist()
    [[0, 12, 0], [10, 12, 4], [0, 26, 0]]
    """
    constant = np.zeros_like(margins)
    constant[..., 1, :] = margins[..., 1, :]
    constant[..., 0, answer] = margins[..., 1, answer]
    constant[..., 2, answer] = margins[..., 1, :].sum(axis=-1)
    return constant


def pooled_agreement(weights: Counts, counts: Codes) -> Numbers:
    """Share of agreeing pairs among all pairs of ratings of one item, pooled over items. NaN
    without pairs.

    >>> # 17/21
    >>> pooled_agreement(np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]])).round(4).item()
    0.8095
    """
    sizes = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    pairs = total(weights, np.stack([agreeing, sizes * (sizes - 1)], axis=1))
    return ratio(pairs[..., 0], pairs[..., 1])


def fleiss_disagreement(weights: Counts, counts: Codes) -> Disagreement:
    """The disagreement behind Fleiss' kappa, the agreement of a panel beyond chance.

    Items may have different numbers of ratings, but at least two. Observed agreement is the share
    of an item's pairs that agree, averaged over items. Chance agreement comes from all ratings. If
    all items have the same number of ratings, this is Fleiss' kappa. NaN if only one class was ever
    used (0/0); METAL's Table 6 prints those as 0.0. Source: Fleiss (1971).
    >>> # of 21 ratings, 16 are of class 0 and 5 of class 1
    >>> observed, expected = 17 / 21, (16**2 + 5**2) / 21**2
    >>> kappa = fleiss_disagreement(
    ...     np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]])
    ... ).beyond_chance
    >>> kappa.round(4).item(), round((observed - expected) / (1 - expected), 4)
    (0.475, 0.475)
    """
    sizes = counts.sum(axis=1)
    disagreeing = 1 - ratio((counts * (counts - 1)).sum(axis=1), sizes * (sizes - 1))
    sums = total(weights, np.column_stack([disagreeing, np.ones(len(counts)), counts]))
    share = ratio(sums[..., 2:], sums[..., 2:].sum(axis=-1, keepdims=True))
    # 1 - sum(p^2) is exactly 0 for one class; rounding must not turn it into a number.
    one_class = (sums[..., 2:] > 0).sum(axis=-1) < 2
    return Disagreement(
        ratio(sums[..., 0], sums[..., 1]), np.where(one_class, 0.0, 1 - (share**2).sum(axis=-1))
    )


def gwet_disagreement(weights: Counts, counts: Codes) -> Disagreement:
    """The disagreement behind Gwet's AC1, which assumes that raters guess only on hard items.

    Under this assumption, chance agreement does not rise if one class is far more frequent than the
    others. Items with one rating count for the shares of the classes, but not for agreement. NaN
    without an item rated twice. Source: Gwet, Handbook of Inter-Rater Reliability (2014), chapters
    4 and 5.
    >>> observed, expected = 17 / 21, 2 * (16 / 21) * (5 / 21)
    >>> ac1 = gwet_disagreement(
    ...     np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]])
    ... ).beyond_chance
    >>> ac1.round(4).item(), round((observed - expected) / (1 - expected), 4)
    (0.7011, 0.7011)
    """
    levels = counts.shape[1]
    sizes = counts.sum(axis=1)
    agreeing = ratio((counts * (counts - 1)).sum(axis=1), sizes * (sizes - 1))
    paired = sizes >= 2
    item_share = np.nan_to_num(ratio(counts, sizes[:, None]), nan=0.0)
    sums = total(
        weights, np.column_stack([np.where(paired, agreeing, 0.0), paired, sizes > 0, item_share])
    )
    share = ratio(sums[..., 3:], sums[..., 2:3])
    expected = 1 / (levels - 1) * (share * (1 - share)).sum(axis=-1)
    return Disagreement(1 - ratio(sums[..., 0], sums[..., 1]), 1 - expected)


def raters_with(weights: Codes, rows: Codes, items: int) -> list[int]:
    """The raters with at least `items` ratings; all raters if fewer than two have so many.

    If there are more than MOST_COMPARED, only the STANDING_IN raters with the most ratings are
    taken; among equals, the first.
    """
    rated = np.asarray(weights @ (rows >= 0))
    enough = np.flatnonzero(rated >= items)
    raters = list(map(int, enough if len(enough) > 1 else range(rows.shape[1])))
    if len(raters) > MOST_COMPARED:
        raters = sorted(sorted(raters, key=lambda rater: -int(rated[rater]))[:STANDING_IN])
    return raters


def pairs_of(raters: Sequence[int]) -> list[tuple[int, int]]:
    """METAL's pairs: A1-A2, A2-A3, A3-A1 for three raters; otherwise, each rater with all later
    ones (section 5.1).

    >>> pairs_of([0, 2, 5]), pairs_of([0, 2])
    ([(0, 2), (2, 5), (5, 0)], [(0, 2)])
    """
    if len(raters) == 3:
        first, second, third = raters
        return [(first, second), (second, third), (third, first)]
    return list(combinations(raters, 2))


def pairwise(
    weights: Counts, rows: Codes, levels: int, pairs: Sequence[tuple[int, int]]
) -> Numbers:
    """Person against person: the mean F1 over pairs, with the first of each pair as truth (METAL
    section 5.1).
    """
    return _mean_f1(weights, [(rows[:, first], rows[:, second]) for first, second in pairs], levels)


def leave_one_out(
    weights: Counts,
    rows: Codes,
    levels: int,
    raters: Sequence[int],
    f1: Callable[[Numbers], Numbers] = weighted_f1,
) -> Numbers:
    """Each person against the majority of the *others*: the fair ceiling for a judge.

    f1: `weighted_f1` or `macro_f1`. At least two others must have rated. Items without a majority
    of the others are left out, because the mean of two different answers is nobody's answer. The
    majority is used even if the audit's aggregate is a model. A model would have to be fitted again
    without each person, and could not weigh two others.
    """
    counts = class_counts(rows, levels)
    pairs = [(majority_of_others(counts, rows[:, rater]), rows[:, rater]) for rater in raters]
    return _mean_f1(weights, pairs, levels, f1)


def majority_of_others(counts: Codes, own: Codes) -> Codes:
    """(patterns,) the majority class of all raters but one; negative without a majority or without
    two others.

    counts: (patterns, levels) of all raters. own: (patterns,) codes of the rater to leave out.
    """
    others = counts - one_hot(own, counts.shape[1])
    most = others.max(axis=1, keepdims=True)
    settled = ((others == most).sum(axis=1) == 1) & (others.sum(axis=1) >= 2)
    return np.where(settled, others.argmax(axis=1), -1)


def against_all(
    weights: Counts, rows: Codes, truth: Codes, levels: int, raters: Sequence[int]
) -> Numbers:
    """Each person against an aggregate that contains their own answer, so the figure is optimistic.

    truth: (patterns,) the aggregate's class codes.
    """
    return _mean_f1(weights, [(truth, rows[:, rater]) for rater in raters], levels)


def _mean_f1(
    weights: Counts,
    pairs: Sequence[tuple[Codes, Codes]],
    levels: int,
    f1: Callable[[Numbers], Numbers] = weighted_f1,
) -> Numbers:
    """F1 of each pair of truth and answer, averaged over the pairs for which it is defined."""
    if not pairs:
        return np.full(np.shape(weights)[:-1], np.nan)
    each = f1(margins_of_pairs(weights, pairs, levels))
    return mean_of_defined(list(np.moveaxis(each, -1, 0)))
