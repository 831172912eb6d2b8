"""Numeric scores compared with the mean of other people: how much of its variance they explain.

Everything follows from sums over items, so a resample is a sum over the drawn sources. The skill of
scores is 1 - (their mean squared error / the mean squared error of a constant). It is 0 for a
constant and 1 for perfect scores, and it can be negative. The constant, the shift and the line are
fitted on the sources of the other folds.
"""

from __future__ import annotations

import numpy as np

from metal.stats.patterns import Numbers, ratio

FOLDS = 5


def mean_of_others(people: Numbers, person: int) -> Numbers:
    """(items,) the mean score of all people but one; NaN without other people. people: (items,
    people), NaN without a score.
    """
    rated = ~np.isnan(people)
    own = np.where(rated[:, person], people[:, person], 0.0)
    return ratio(
        np.where(rated, people, 0.0).sum(axis=1) - own, rated.sum(axis=1) - rated[:, person]
    )


def standardised(scores: Numbers) -> Numbers:
    """(items, raters) each rater's scores scaled to mean 0 and spread 1, or 0 if they are all
    equal; NaN stays NaN.

    >>> standardised(np.array([[1.0, 5], [3, 5], [np.nan, 5]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [nan, 0.0]]
    """
    n = (~np.isnan(scores)).sum(axis=0)
    # sums of sorted numbers: no digit hangs on the order of items
    away = scores - ratio(np.nansum(np.sort(scores, axis=0), axis=0), n)
    spread = np.sqrt(ratio(np.nansum(np.sort(away**2, axis=0), axis=0), n))
    return np.asarray(away / np.where(spread > 0, spread, 1.0))


def moments(target: Numbers, scores: Numbers) -> Numbers:
    """(items, 6) what each item adds to the sums of 1, target, target^2, score, score^2 and target
    x score.

    An item adds nothing if its target or score is NaN.
    """
    both = ~np.isnan(target) & ~np.isnan(scores)
    t, x = np.where(both, target, 0.0), np.where(both, scores, 0.0)
    return np.stack([both, t, t * t, x, x * x, t * x], axis=1)


def skill(sums: Numbers) -> Numbers:
    """(..., 3) the skill of scores as given, after a fitted shift, and after a fitted line; NaN if
    all targets are equal.

    A fitted line never falls; scores in reversed order become a constant.

    sums: (..., FOLDS, 6) of moments.
    >>> target, folds = np.arange(10.0), np.arange(10) % FOLDS
    >>> each = moments(target, 2 * target + 3)
    >>> skill(np.stack([each[folds == fold].sum(axis=0) for fold in range(FOLDS)])).round(
    ...     2
    ... ).tolist()
    [-5.88, 0.0, 1.0]
    """
    n, t, tt, x, xx, tx = np.moveaxis(sums, -1, 0)
    train = np.moveaxis(sums.sum(axis=-2, keepdims=True) - sums, -1, 0)
    mean_t, mean_x = ratio(train[1], train[0]), ratio(train[3], train[0])
    variance, covariance = (
        ratio(train[4], train[0]) - mean_x**2,
        ratio(train[5], train[0]) - mean_t * mean_x,
    )
    constant_scores = variance <= 1e-12 * np.maximum(mean_x**2, 1e-300)
    rising = np.where(constant_scores, 0.0, covariance / np.where(constant_scores, 1.0, variance))
    slope = np.maximum(rising, 0.0)

    def error(slope: Numbers, start: Numbers) -> Numbers:
        of_fold = (
            tt
            - 2 * slope * tx
            - 2 * start * t
            + slope**2 * xx
            + 2 * slope * start * x
            + start**2 * n
        )
        return np.asarray(np.maximum(of_fold, 0.0).sum(axis=-1))

    as_given, none = np.ones_like(slope), np.zeros_like(slope)
    constant = error(none, mean_t)
    errors = (
        error(as_given, none),
        error(as_given, mean_t - mean_x),
        error(slope, mean_t - slope * mean_x),
    )
    constant = np.where(constant > 1e-12 * np.maximum(tt.sum(axis=-1), 1e-300), constant, 0.0)
    return np.stack([1 - ratio(each, constant) for each in errors], axis=-1)


def root_mean_squared_error(sums: Numbers) -> Numbers:
    """(...) the root mean squared error of scores against the target, from sums (..., 6) of
    moments.
    """
    n, _, tt, _, xx, tx = np.moveaxis(sums, -1, 0)
    return np.sqrt(np.maximum(ratio(tt - 2 * tx + xx, n), 0.0))


def concordance(sums: Numbers) -> Numbers:
    """(...) Lin's concordance of scores and target, from sums (..., 6) of moments. NaN if all are
    equal to each other.

    Source: Lin (1989).
    >>> # 4/3 / 7/3
    >>> concordance(moments(np.array([1.0, 2, 3]), np.array([2.0, 3, 4])).sum(axis=0)).round(
    ...     4
    ... ).item()
    0.5714
    """
    n, t, tt, x, xx, tx = np.moveaxis(sums, -1, 0)
    mean_t, mean_x = ratio(t, n), ratio(x, n)
    covariance = ratio(tx, n) - mean_t * mean_x
    return ratio(
        2 * covariance, ratio(tt, n) - mean_t**2 + ratio(xx, n) - mean_x**2 + (mean_t - mean_x) ** 2
    )


def correlation(sums: Numbers) -> Numbers:
    """(...) Pearson's r of scores and target, from sums (..., 6) of moments. NaN if all scores or
    all targets are equal.

    >>> correlation(moments(np.array([1.0, 2, 4]), np.array([1.0, 3, 5])).sum(axis=0)).round(
    ...     4
    ... ).item()
    0.982
    """
    n, t, tt, x, xx, tx = np.moveaxis(sums, -1, 0)
    spread = np.maximum(n * tt - t * t, 0.0) * np.maximum(n * xx - x * x, 0.0)
    return ratio(
        n * tx - t * x,
        np.sqrt(np.where(spread > 1e-12 * np.maximum(n * tt * n * xx, 1e-300), spread, 0.0)),
    )


def panel_features(people: Numbers) -> Numbers:
    """(items, 7) what each item with two scores adds to the sums of `intraclass` and
    `interval_alpha`.

    people: (items, people), NaN without a score.
    """
    rated = ~np.isnan(people)
    k = rated.sum(axis=1) * (rated.sum(axis=1) >= 2)
    scores = np.where(rated & (k > 0)[:, None], people, 0.0)
    total = scores.sum(axis=1)
    mean = total / np.maximum(k, 1)
    within = np.where(rated & (k > 0)[:, None], (people - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.stack(
        [k > 0, k, k * k, total, k * mean**2, within, k * within / np.maximum(k - 1, 1)], axis=1
    )


def intraclass(sums: Numbers) -> Numbers:
    """(...) ICC(1), the share of a score's variance that lies between items, from sums (..., 7) of
    panel_features.

    The figure ignores who gave a score, so a person's severity counts as error. Items may have
    different numbers of scores. NaN if all scores are equal. Source: Shrout and Fleiss (1979);
    Donner (1986) for uneven panels.
    >>> scores = np.array([[1.0, 2], [3, 3], [5, 6]])
    >>> # (8.1667 - 1/3) / (8.1667 + 1/3)
    >>> intraclass(panel_features(scores).sum(axis=0)).round(4).item()
    0.9216
    """
    items, k, kk, total, between, within, _ = np.moveaxis(sums, -1, 0)
    mean_between = ratio(between - ratio(total**2, k), items - 1)
    mean_within = ratio(within, k - items)
    usual = ratio(k - ratio(kk, k), items - 1)
    return ratio(mean_between - mean_within, mean_between + (usual - 1) * mean_within)


def interval_alpha(sums: Numbers) -> Numbers:
    """(...) Krippendorff's alpha with squared distances, from sums (..., 7) of panel_features; NaN
    without variance.

    >>> interval_alpha(panel_features(np.array([[1.0, 2], [3, 3], [5, 6]])).sum(axis=0)).round(
    ...     4
    ... ).item()
    0.9038
    """
    _, k, _, total, between, within, disagreeing = np.moveaxis(sums, -1, 0)
    about_mean = between - ratio(total**2, k) + within
    return 1 - ratio(ratio(disagreeing, k), ratio(about_mean, k - 1))
