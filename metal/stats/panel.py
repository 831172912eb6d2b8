"""Agreement within a panel: any number of raters, from how many gave each class.

counts: (patterns, levels) whole numbers (patterns.class_counts); weights: (..., patterns) how often each
pattern occurs. Results have shape (...).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Counts, Numbers, ratio, total

Measure = Literal["nominal", "ordinal", "interval"]


def pooled_agreement(weights: Counts, counts: Codes) -> Numbers:
    """Share of agreeing pairs among all pairs of ratings of one item, pooled over items. NaN without pairs."""
    sizes = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    pairs = total(weights, np.stack([agreeing, sizes * (sizes - 1)], axis=1))
    return ratio(pairs[..., 0], pairs[..., 1])


def fleiss_kappa(weights: Counts, counts: Codes) -> Numbers:
    """Agreement of a fixed number of raters beyond chance.

    Every row of counts sums to the number of raters (>= 2; ValueError otherwise). NaN when only one class
    was ever used (0/0); METAL's Table 6 prints those as 0.0. Source: Fleiss (1971).
    >>> fleiss_kappa(np.array([1, 1]), np.array([[3, 0], [0, 3]])).item()
    1.0
    """
    sizes = np.unique(counts.sum(axis=1))
    if len(sizes) > 1 or (len(sizes) == 1 and sizes[0] < 2):
        raise ValueError(f"Fleiss' kappa needs the same number of raters (>= 2) on every item, not {sizes.tolist()}")
    observed = pooled_agreement(weights, counts)
    ratings_of_class = total(weights, counts)
    share = ratio(ratings_of_class, ratings_of_class.sum(axis=-1, keepdims=True))
    expected = (share**2).sum(axis=-1)
    # 1 - sum(p^2) is exactly 0 for one class; rounding must not make a number of it.
    one_class = (ratings_of_class > 0).sum(axis=-1) < 2
    return ratio(observed - expected, np.where(one_class, 0.0, 1 - expected))


def gwet_ac(weights: Counts, counts: Codes, level_weights: Numbers | None = None) -> Numbers:
    """Gwet's AC1, or AC2 with level_weights (levels, levels) of agreement in 0..1 (1 on the diagonal).

    Chance is the agreement of raters who guess on hard items only, so that it does not rise with a
    lopsided class. Items with one rating count for the class shares, not for agreement. NaN without an
    item rated twice. Source: Gwet, Handbook of Inter-Rater Reliability (2014), chapters 4 and 5.
    """
    levels = counts.shape[1]
    agreement = np.eye(levels) if level_weights is None else level_weights
    sizes = counts.sum(axis=1)
    close = counts @ agreement
    agreeing = ratio((counts * (close - 1)).sum(axis=1), sizes * (sizes - 1))
    paired = sizes >= 2
    item_share = np.nan_to_num(ratio(counts, sizes[:, None]), nan=0.0)
    sums = total(weights, np.column_stack([np.where(paired, agreeing, 0.0), paired, sizes > 0, item_share]))
    observed = ratio(sums[..., 0], sums[..., 1])
    share = ratio(sums[..., 3:], sums[..., 2:3])
    expected = agreement.sum() / (levels * (levels - 1)) * (share * (1 - share)).sum(axis=-1)
    return ratio(observed - expected, 1 - expected)


def quadratic_agreement(values: Numbers) -> Numbers:
    """(levels, levels) agreement 1 - ((a - b) / range)^2 for AC2 on an ordinal or interval scale."""
    values = np.asarray(values, dtype=np.float64)
    return np.asarray(1 - (np.subtract.outer(values, values) / (values.max() - values.min())) ** 2)


def krippendorff_alpha(weights: Codes, counts: Codes, values: Numbers, measure: Measure) -> float:
    """Krippendorff's alpha on all items rated at least twice; missing ratings are allowed.

    weights: (patterns,) observed counts. values: (levels,) what each level stands for.
    Raises Undefined when no item has two ratings, or when only one class was used (0/0).
    Computed by the `krippendorff` package. Source: Krippendorff, Content Analysis (2004), chapter 11.
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
