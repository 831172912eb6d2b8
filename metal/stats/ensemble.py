"""A sparse linear ensemble of metrics, fitted to people's scores, from one matrix of moments for each generator.

Metrics are z-scored over the rows (ddof 0), the target is centred, and the coefficients are the lasso's (no refit).
To leave a generator out, its matrix is subtracted: scaler, intercept and coefficients are exactly those of the
remaining rows.
Source: Kasai et al., Bidimensional Leaderboards (2022), section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.correlation import pearson_from_sums
from metal.stats.lasso import LassoPath, lasso_path
from metal.stats.patterns import Codes, Numbers

# A column whose variance is below this share of its variance over all rows is constant.
_CONSTANT = 1e-12


@dataclass(frozen=True)
class GeneratorMoments:
    """What the fits need to know about the rows.

    products: (generators, metrics + 2, metrics + 2) sums over each generator's rows of the products of (1, metrics...,
    target), with metrics z-scored and the target centred over all rows; generators in rising order of names.
    centre, spread: (metrics + 1,) what was subtracted and divided by, the target last.
    """

    products: Numbers
    centre: Numbers
    spread: Numbers


@dataclass(frozen=True)
class Ensemble:
    """coefficients, mean, spread: (metrics,). A score is intercept + sum of coefficients * (x - mean) / spread."""

    coefficients: Numbers
    intercept: float
    mean: Numbers
    spread: Numbers

    def score(self, metrics: Numbers) -> Numbers:
        """(rows,) the ensemble's scores from (rows, metrics) raw scores. Metrics with coefficient 0 may be NaN."""
        used = self.coefficients != 0
        standard = (np.asarray(metrics, dtype=np.float64)[:, used] - self.mean[used]) / self.spread[used]
        return np.asarray(self.intercept + standard @ self.coefficients[used])


@dataclass(frozen=True)
class _Standardised:
    """The lasso's input over some rows, in units of `GeneratorMoments`; spread is 1 where a metric is constant."""

    gram: Numbers
    covariance: Numbers
    mean: Numbers
    spread: Numbers
    target_mean: float


def generator_moments(metrics: Numbers, target: Numbers, generator: Codes) -> GeneratorMoments:
    """The moments of metrics (rows, metrics), target (rows,) and generator (rows,).

    Raises ValueError where a number is missing.
    """
    table = np.column_stack([metrics, target]).astype(np.float64)
    if not len(table) or not np.isfinite(table).all():
        raise ValueError("every row needs every metric and the target")
    centre, spread = table.mean(axis=0), table.std(axis=0)
    spread[(table == table[0]).all(axis=0)] = 0.0
    varies = spread > 0
    spread[~varies] = 1.0
    spread[-1] = 1.0
    standard = np.where(varies, (table - centre) / spread, 0.0)
    rows = np.column_stack([np.ones(len(table)), standard])
    _, which = np.unique(np.asarray(generator), return_inverse=True)
    ordered = rows[np.argsort(which, kind="stable")]
    parts = np.split(ordered, np.cumsum(np.bincount(which))[:-1])
    return GeneratorMoments(np.stack([part.T @ part for part in parts]), centre, spread)


def ensemble_path(moments: GeneratorMoments) -> LassoPath:
    """The lasso path over all rows, alpha in units of the target."""
    standard = _standardise(moments.products.sum(axis=0))
    return lasso_path(standard.gram, standard.covariance)


def fit_ensemble(moments: GeneratorMoments, alpha: float) -> Ensemble:
    """The ensemble over all rows at one alpha."""
    standard = _standardise(moments.products.sum(axis=0))
    metric_spread = moments.spread[:-1]
    return Ensemble(
        lasso_path(standard.gram, standard.covariance).at(alpha),
        float(moments.centre[-1] + standard.target_mean),
        moments.centre[:-1] + metric_spread * standard.mean,
        metric_spread * standard.spread,
    )


def leave_one_out_correlation(moments: GeneratorMoments, alphas: Numbers) -> Numbers:
    """(alphas,) Pearson's r of the target with predictions for generators that the fit has not seen.

    For each generator, an ensemble is fitted to the rows of all others at the same alpha; the predictions for all
    generators are pooled. NaN where they are constant. Raises Undefined with fewer than two generators.
    """
    if len(moments.products) < 2:
        raise Undefined("fewer than two generators")
    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    total = moments.products.sum(axis=0)
    sums = np.zeros((len(alphas), 6))
    for held_out in moments.products:
        rest = _standardise(total - held_out)
        slopes = lasso_path(rest.gram, rest.covariance).at(alphas) / rest.spread
        weights = np.column_stack([rest.target_mean - slopes @ rest.mean, slopes])
        sums += _prediction_sums(weights, held_out)
    return pearson_from_sums(sums)


def leave_one_out_predictions(moments: GeneratorMoments, metrics: Numbers, generator: Codes, alpha: float) -> Numbers:
    """(rows,) the predictions behind `leave_one_out_correlation` at one alpha: each by a fit to the other generators.

    metrics, generator: as given to `generator_moments`. Raises Undefined with fewer than two generators.
    """
    if len(moments.products) < 2:
        raise Undefined("fewer than two generators")
    _, which = np.unique(np.asarray(generator), return_inverse=True)
    total = moments.products.sum(axis=0)
    standard = (np.asarray(metrics, dtype=np.float64) - moments.centre[:-1]) / moments.spread[:-1]
    predicted = np.empty(len(which))
    for place, held_out in enumerate(moments.products):
        rest = _standardise(total - held_out)
        slopes = lasso_path(rest.gram, rest.covariance).at(alpha) / rest.spread
        rows = which == place
        predicted[rows] = moments.centre[-1] + rest.target_mean + (standard[rows] - rest.mean) @ slopes
    return predicted


def _prediction_sums(weights: Numbers, products: Numbers) -> Numbers:
    """(alphas, 6) sums for pearson_from_sums of the predictions by `weights`, (alphas, 1 + metrics), on some rows."""
    inputs, target = products[:-1, :-1], products[:-1, -1]
    count, y, yy = (np.full(len(weights), sum_) for sum_ in (products[0, 0], products[0, -1], products[-1, -1]))
    squares = ((weights @ inputs) * weights).sum(axis=1)
    return np.stack([count, weights @ inputs[0], y, squares, yy, weights @ target], axis=1)


def _standardise(products: Numbers) -> _Standardised:
    """Correlations of the metrics, and their covariances with the target, over the rows summed in `products`."""
    count = products[0, 0]
    means = products[0, 1:] / count
    covariances = products[1:, 1:] / count - np.outer(means, means)
    variances = np.diag(covariances)[:-1]
    varies = variances > _CONSTANT
    spread = np.sqrt(np.where(varies, variances, 1.0))
    both = np.where(np.outer(varies, varies), covariances[:-1, :-1] / np.outer(spread, spread), 0.0)
    with_target = np.where(varies, covariances[:-1, -1] / spread, 0.0)
    return _Standardised(both, with_target, means[:-1], spread, float(means[-1]))
