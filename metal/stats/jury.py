"""Juries: how alike the mistakes of judges are, and weights that are learnt and used on different
sources.
"""

from __future__ import annotations

import numpy as np

from metal.stats.calibration import FOLDS, source_folds
from metal.stats.patterns import Codes, Numbers

PENALTIES = 10.0 ** np.arange(-1, 5)


def alike(wrong: Numbers) -> tuple[float, float]:
    """The mean correlation of members' mistakes, and how many independent members they are worth.

    wrong: (items, members) 0 or 1; items with a NaN are left out. The number of independent members
    is k / (1 + (k - 1) r), where r is at least 0 (Kish 1965). Both figures are NaN if the mistakes
    of fewer
    than two members vary.
    >>> wrong = np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    >>> [round(figure, 3) for figure in alike(wrong.astype(float))]
    [0.333, 1.8]
    """
    complete = wrong[~np.isnan(wrong).any(axis=1)]
    members = wrong.shape[1]
    varying = complete[:, np.ptp(complete, axis=0) > 0] if len(complete) else complete[:, :0]
    if varying.shape[1] < 2:
        return float("nan"), float("nan")
    first, second = np.triu_indices(varying.shape[1], 1)
    mean = float(np.asarray(np.corrcoef(varying, rowvar=False))[first, second].mean())
    return mean, members / (1 + (members - 1) * max(mean, 0.0))


def ridge(features: Numbers, target: Numbers) -> tuple[Numbers, Numbers]:
    """Ridge regression (Hoerl and Kennard 1970): slopes (features, targets) and intercepts
    (targets,).

    features: (rows, features); the penalty applies to features divided by their spread. target:
    (rows, targets). The penalty is the one in PENALTIES with the smallest squared error when one
    row is left out.
    """
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    standard, mean = (features - centre) / spread, target.mean(axis=0)
    values, vectors = np.linalg.eigh(standard.T @ standard)
    rotated = standard @ vectors
    products = rotated.T @ (target - mean)
    errors, slopes = [], []
    for penalty in PENALTIES:
        inverse = 1 / (np.maximum(values, 0) + penalty)
        fitted = inverse[:, None] * products
        leverage = (rotated**2 @ inverse + 1 / len(features))[:, None]
        errors.append((((target - mean - rotated @ fitted) / (1 - leverage)) ** 2).sum())
        slopes.append(vectors @ fitted / spread[:, None])
    best = slopes[int(np.argmin(errors))]
    return best, mean - centre @ best


def stacked(features: Numbers, target: Numbers, sources: Codes) -> tuple[Numbers, Numbers]:
    """Predictions (items, targets), each by a ridge regression on the folds without the item's
    source, and the slopes (features, targets) as means over folds.

    features: (items, features), NaN if one is missing; the feature's mean then takes its place.
    target: (items, targets), NaN if it is unknown; such items are predicted but not used in the
    fit. Predictions are NaN if the fit has fewer than three items per feature (Wolpert 1992;
    Breiman 1996).
    """
    taught = ~np.isnan(target).any(axis=1)
    fold = source_folds(sources)
    predicted, slopes = np.full(target.shape, np.nan), []
    for held in range(FOLDS):
        learn = taught & (fold != held)
        if learn.sum() < 3 * features.shape[1]:
            return np.full(target.shape, np.nan), np.full(
                (features.shape[1], target.shape[1]), np.nan
            )
        present = ~np.isnan(features[learn])
        means = np.where(present, features[learn], 0.0).sum(axis=0) / np.maximum(
            present.sum(axis=0), 1
        )
        filled = np.where(np.isnan(features), means, features)
        slope, intercept = ridge(filled[learn], target[learn])
        predicted[fold == held] = intercept + filled[fold == held] @ slope
        slopes.append(slope)
    return predicted, np.mean(slopes, axis=0)
