"""Agreement of two raters, or of a judge with the people's aggregate, from their confusion matrix.

Every function takes confusion matrices (..., levels, levels), truth in rows, answers in columns, and
returns (...). An empty matrix gives NaN.
"""

from __future__ import annotations

import numpy as np

from metal.stats.patterns import Numbers, ratio


def percent_agreement(confusion: Numbers) -> Numbers:
    """Share of items given the same class."""
    return ratio(np.trace(confusion, axis1=-2, axis2=-1), confusion.sum(axis=(-2, -1)))


def class_f1(confusion: Numbers) -> Numbers:
    """(..., levels) F1 of each class, 2 hits / (truths + answers); NaN for a class nobody used."""
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    return ratio(2 * hits, confusion.sum(axis=-1) + confusion.sum(axis=-2))


def weighted_f1(confusion: Numbers) -> Numbers:
    """F1 averaged over classes by their share of the truth (scikit-learn's average="weighted").

    Not symmetric: weighted_f1(a, b) + weighted_f1(b, a) = 2 x percent agreement, so the symmetrised
    figure is percent agreement and corrects for no imbalance (METAL section 4.4.1).
    >>> weighted_f1(np.array([[20.0, 5.0], [10.0, 15.0]])).round(4).item()
    0.697
    """
    truths = confusion.sum(axis=-1)
    f1 = np.nan_to_num(class_f1(confusion), nan=0.0)  # a class without truths has no weight
    return ratio((truths * f1).sum(axis=-1), truths.sum(axis=-1))


def macro_f1(confusion: Numbers) -> Numbers:
    """F1 averaged alike over the classes that occur on either side (average="macro")."""
    f1 = class_f1(confusion)
    used = ~np.isnan(f1)
    return ratio(np.where(used, f1, 0.0).sum(axis=-1), used.sum(axis=-1))


def disagreement_weights(levels: int, weights: str) -> Numbers:
    """(levels, levels) cost of answering a for t: 0/1 ("none"), |t - a| ("linear"), (t - a)^2 ("quadratic")."""
    distance = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels))).astype(np.float64)
    if weights == "none":
        return (distance > 0).astype(np.float64)
    if weights == "linear":
        return distance
    if weights == "quadratic":
        return distance**2
    raise ValueError(f"weights {weights!r}: 'none', 'linear' or 'quadratic'")


def cohen_kappa(confusion: Numbers, weights: str = "none") -> Numbers:
    """Agreement of two raters beyond chance: 1 - observed / expected disagreement.

    weights: see disagreement_weights. NaN when both used one and the same class only (0/0).
    A constant judge has kappa 0 whatever its F1.
    Source: Cohen (1960; weighted 1968).
    >>> cohen_kappa(np.array([[20.0, 5.0], [10.0, 15.0]])).round(4).item()
    0.4
    """
    cost = disagreement_weights(confusion.shape[-1], weights)
    total = confusion.sum(axis=(-2, -1))
    by_chance = confusion.sum(axis=-1)[..., :, None] * confusion.sum(axis=-2)[..., None, :]
    observed = (cost * confusion).sum(axis=(-2, -1)) * total
    expected = (cost * by_chance).sum(axis=(-2, -1))
    return 1 - ratio(observed, expected)


def constant_confusion(confusion: Numbers, answer: int) -> Numbers:
    """The confusion matrix of a judge that always answers `answer`, over the same truths."""
    constant = np.zeros_like(confusion)
    constant[..., answer] = confusion.sum(axis=-1)
    return constant
