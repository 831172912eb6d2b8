"""Agreement of two raters, or of a judge with the people's aggregate, from their confusion matrix.

Every function takes confusion matrices (..., levels, levels), truth in rows and answers in columns, and
returns (...). An empty matrix gives NaN. The examples use three classes of 10, 12 and 4 items, and the judge answers
them 11, 12 and 3 times:

            answer: 0   1   2
    truth 0:        8   2   0     F1 of class 0: 16/21
    truth 1:        3   9   0                 1: 18/24
    truth 2:        0   1   3                 2:  6/7
"""

from __future__ import annotations

import numpy as np

from metal.stats.patterns import Numbers, ratio


def percent_agreement(confusion: Numbers) -> Numbers:
    """Share of items given the same class.

    >>> percent_agreement(np.array([[8, 2, 0], [3, 9, 0], [0, 1, 3]])).round(4).item()  # 20/26
    0.7692
    """
    return ratio(np.trace(confusion, axis1=-2, axis2=-1), confusion.sum(axis=(-2, -1)))


def class_f1(confusion: Numbers) -> Numbers:
    """(..., levels) F1 of each class, 2 hits / (truths + answers); NaN for a class nobody used.

    >>> class_f1(np.array([[8, 2, 0], [3, 9, 0], [0, 1, 3]])).round(4).tolist()
    [0.7619, 0.75, 0.8571]
    """
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    return ratio(2 * hits, confusion.sum(axis=-1) + confusion.sum(axis=-2))


def weighted_f1(confusion: Numbers) -> Numbers:
    """F1 averaged over classes by their share of the truth (scikit-learn's average="weighted").

    Not symmetric: weighted_f1(a, b) + weighted_f1(b, a) = 2 x percent agreement, so the symmetrised
    figure is percent agreement and corrects for no imbalance (METAL section 4.4.1).
    >>> weighted_f1(np.array([[8, 2, 0], [3, 9, 0], [0, 1, 3]])).round(4).item()  # (10*16/21 + 12*18/24 + 4*6/7) / 26
    0.7711
    """
    truths = confusion.sum(axis=-1)
    f1 = np.nan_to_num(class_f1(confusion), nan=0.0)  # a class without truths has no weight
    return ratio((truths * f1).sum(axis=-1), truths.sum(axis=-1))


def macro_f1(confusion: Numbers) -> Numbers:
    """The plain mean of F1 over the classes that occur on either side (average="macro").

    >>> macro_f1(np.array([[8, 2, 0], [3, 9, 0], [0, 1, 3]])).round(4).item()  # (16/21 + 18/24 + 6/7) / 3
    0.7897
    """
    f1 = class_f1(confusion)
    used = ~np.isnan(f1)
    return ratio(np.where(used, f1, 0.0).sum(axis=-1), used.sum(axis=-1))


def disagreement_weights(levels: int, weights: str) -> Numbers:
    """(levels, levels) the cost of answering a for t: 0/1 ("none"), |t - a| ("linear"), (t - a)^2 ("quadratic").

    >>> disagreement_weights(3, "quadratic")[0].tolist()
    [0.0, 1.0, 4.0]
    """
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

    weights: see disagreement_weights. NaN when both used only one and the same class (0/0).
    A constant judge has kappa 0, however high its F1 is.
    Source: Cohen (1960; weighted 1968).
    >>> table = np.array([[8, 2, 0], [3, 9, 0], [0, 1, 3]])
    >>> cohen_kappa(table).round(4).item()  # observed 6/26, expected 1 - (10*11 + 12*12 + 4*3) / 26^2
    0.6195
    >>> cohen_kappa(table, "quadratic").round(4).item()  # observed 6/26, expected 632 / 26^2
    0.7532
    """
    cost = disagreement_weights(confusion.shape[-1], weights)
    total = confusion.sum(axis=(-2, -1))
    by_chance = confusion.sum(axis=-1)[..., :, None] * confusion.sum(axis=-2)[..., None, :]
    observed = (cost * confusion).sum(axis=(-2, -1)) * total
    expected = (cost * by_chance).sum(axis=(-2, -1))
    return 1 - ratio(observed, expected)


def constant_confusion(confusion: Numbers, answer: int) -> Numbers:
    """The confusion matrix of a judge that always answers `answer`, over the same truths.

    >>> constant_confusion(np.array([[8, 2, 0], [3, 9, 0], [0, 1, 3]]), 1).tolist()
    [[0, 10, 0], [0, 12, 0], [0, 4, 0]]
    """
    constant = np.zeros_like(confusion)
    constant[..., answer] = confusion.sum(axis=-1)
    return constant
