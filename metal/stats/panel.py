"""Agreement within a panel of any number of raters, from how many of them gave each class.

counts: (patterns, levels) whole numbers (patterns.class_counts); weights: (..., patterns) how often each
pattern occurs. Results have shape (...). The examples are of 7 items with three ratings each, on two classes:

    items     counts    agreeing pairs
      4        3  0        3 of 3
      2        2  1        1 of 3
      1        0  3        3 of 3
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Counts, Numbers, ratio, total

Measure = Literal["nominal", "ordinal", "interval"]


def pooled_agreement(weights: Counts, counts: Codes) -> Numbers:
    """Share of agreeing pairs among all pairs of ratings of one item, pooled over items. NaN without pairs.

    >>> pooled_agreement(np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]])).round(4).item()  # 17/21
    0.8095
    """
    sizes = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    pairs = total(weights, np.stack([agreeing, sizes * (sizes - 1)], axis=1))
    return ratio(pairs[..., 0], pairs[..., 1])


def fleiss_kappa(weights: Counts, counts: Codes) -> Numbers:
    """Agreement of a fixed number of raters beyond chance.

    Every row of counts sums to the number of raters (>= 2; ValueError otherwise). NaN when only one class
    was ever used (0/0); METAL's Table 6 prints those as 0.0. Source: Fleiss (1971).
    >>> observed, expected = 17 / 21, (16**2 + 5**2) / 21**2  # of 21 ratings, 16 are of class 0 and 5 of class 1
    >>> kappa = fleiss_kappa(np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]]))
    >>> kappa.round(4).item(), round((observed - expected) / (1 - expected), 4)
    (0.475, 0.475)
    """
    sizes = np.unique(counts.sum(axis=1))
    if len(sizes) > 1 or (len(sizes) == 1 and sizes[0] < 2):
        raise ValueError(f"Fleiss' kappa needs the same number of raters (>= 2) on every item, not {sizes.tolist()}")
    observed = pooled_agreement(weights, counts)
    ratings_of_class = total(weights, counts)
    share = ratio(ratings_of_class, ratings_of_class.sum(axis=-1, keepdims=True))
    expected = (share**2).sum(axis=-1)
    # 1 - sum(p^2) is exactly 0 for one class; rounding must not turn it into a number.
    one_class = (ratings_of_class > 0).sum(axis=-1) < 2
    return ratio(observed - expected, np.where(one_class, 0.0, 1 - expected))


def gwet_ac1(weights: Counts, counts: Codes) -> Numbers:
    """Gwet's AC1: agreement beyond that of raters who guess on hard items only.

    Such chance agreement does not rise when one class is far more frequent than the others. Items with one rating
    count for the shares of the classes, but not for agreement. NaN without an item rated twice.
    Source: Gwet, Handbook of Inter-Rater Reliability (2014), chapters 4 and 5.
    >>> observed, expected = 17 / 21, 2 * (16 / 21) * (5 / 21)
    >>> ac1 = gwet_ac1(np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]]))
    >>> ac1.round(4).item(), round((observed - expected) / (1 - expected), 4)
    (0.7011, 0.7011)
    """
    levels = counts.shape[1]
    sizes = counts.sum(axis=1)
    agreeing = ratio((counts * (counts - 1)).sum(axis=1), sizes * (sizes - 1))
    paired = sizes >= 2
    item_share = np.nan_to_num(ratio(counts, sizes[:, None]), nan=0.0)
    sums = total(weights, np.column_stack([np.where(paired, agreeing, 0.0), paired, sizes > 0, item_share]))
    observed = ratio(sums[..., 0], sums[..., 1])
    share = ratio(sums[..., 3:], sums[..., 2:3])
    expected = 1 / (levels - 1) * (share * (1 - share)).sum(axis=-1)
    return ratio(observed - expected, 1 - expected)


def krippendorff_alpha(weights: Codes, counts: Codes, values: Numbers, measure: Measure) -> float:
    """Krippendorff's alpha on all items rated at least twice; missing ratings are allowed.

    weights: (patterns,) observed counts. values: (levels,) what each level stands for.
    Raises Undefined when no item has two ratings, or when only one class was used (0/0).
    Computed by the `krippendorff` package. Source: Krippendorff, Content Analysis (2004), chapter 11.
    >>> observed, expected = 1 - 17 / 21, 2 * 16 * 5 / (21 * 20)  # disagreement within items, and of any two ratings
    >>> alpha = krippendorff_alpha(np.array([4, 2, 1]), np.array([[3, 0], [2, 1], [0, 3]]), [0, 1], "nominal")
    >>> round(alpha, 4), 1 - observed / expected
    (0.5, 0.5)
    """
    import krippendorff

    table = np.repeat(counts, np.asarray(weights, dtype=np.int64), axis=0)
    table = table[table.sum(axis=1) >= 2]
    if not len(table):
        raise Undefined("no item with two ratings")
    if ((table > 0).any(axis=0)).sum() < 2:
        raise Undefined("one class")
    domain: Any = np.asarray(values, dtype=np.float64)
    return float(krippendorff.alpha(value_counts=table, value_domain=domain, level_of_measurement=measure))
