"""A sparse linear ensemble of metrics, fitted to people's scores by the exact lasso from second
moments.

Metrics are z-scored over the rows (ddof 0), the target is centred, and the coefficients are the
lasso's (no refit). Minimising (1/2n) ||y - Xb||^2 + alpha ||b||_1 needs only the correlations of
the columns (`gram`, X'X/n) and their covariances with y (X'y/n). It needs neither rows nor
iterations up to a tolerance. At a large alpha, all coefficients are 0. As alpha falls, the solution
moves on straight lines between *knots*, at which a column joins or leaves. To leave a generator
out, its matrix of moments is subtracted; scaler, intercept and coefficients are then exactly those
of the remaining rows. Source: Kasai et al., Bidimensional Leaderboards (2022), section 2.2;
Osborne, Presnell and Turlach (2000); Efron et al. (2004), section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.correlation import pearson_from_sums
from metal.stats.patterns import Codes, Numbers

Interval = tuple[float, float]
Rule = Literal["smallest", "middle"]

# A column is a linear combination of those in the model if they leave less than this share of its
# square.
_DEPENDENT = 1e-9
# Knots closer to each other than this share of alpha are one knot.
_SAME = 1e-12
# A column whose variance is below this share of its variance over all rows is constant.
_CONSTANT = 1e-12


@dataclass(frozen=True)
class GeneratorMoments:
    """Everything about the rows that the fits need.

    products: (generators, metrics + 2, metrics + 2) sums over each generator's rows of the products
    of (1, metrics..., target), with metrics z-scored and the target centred over all rows;
    generators in rising order of names. centre, spread: (metrics + 1,) the values by which columns
    were centred and scaled; the target is last.
    """

    products: Numbers
    centre: Numbers
    spread: Numbers


@dataclass(frozen=True)
class Ensemble:
    """A linear ensemble. coefficients, mean, spread: (metrics,). Its score is intercept + sum of
    coefficients * (x - mean) / spread.
    """

    coefficients: Numbers
    intercept: float
    mean: Numbers
    spread: Numbers

    def score(self, metrics: Numbers) -> Numbers:
        """(rows,) the ensemble's scores from (rows, metrics) raw scores. Metrics with coefficient 0
        may be NaN.
        """
        used = self.coefficients != 0
        standard = (np.asarray(metrics, dtype=np.float64)[:, used] - self.mean[used]) / self.spread[
            used
        ]
        return np.asarray(self.intercept + standard @ self.coefficients[used])


@dataclass(frozen=True)
class _Fits:
    """The lasso path over some rows, in units of `GeneratorMoments`; spread is 1 for a constant
    metric.
    """

    path: LassoPath
    mean: Numbers
    spread: Numbers
    target_mean: float


def generator_moments(metrics: Numbers, target: Numbers, generator: Codes) -> GeneratorMoments:
    """The moments of metrics (rows, metrics), target (rows,) and generator (rows,).

    Raises ValueError if a number is missing.
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
    return _fits(moments.products.sum(axis=0)).path


def fit_ensemble(moments: GeneratorMoments, alpha: float) -> Ensemble:
    """The ensemble over all rows at one alpha."""
    fits = _fits(moments.products.sum(axis=0))
    metric_spread = moments.spread[:-1]
    return Ensemble(
        fits.path.at(alpha),
        float(moments.centre[-1] + fits.target_mean),
        moments.centre[:-1] + metric_spread * fits.mean,
        metric_spread * fits.spread,
    )


def leave_one_out_correlation(moments: GeneratorMoments, alphas: Numbers) -> Numbers:
    """(alphas,) Pearson's r of the target with predictions for generators that were not in the fit.

    For each generator, an ensemble is fitted to the rows of all others at the same alpha; the
    predictions for all generators are pooled. NaN if they are constant. Raises Undefined with
    fewer than two generators.
    """
    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    sums = np.zeros((len(alphas), 6))
    for held_out, rest in zip(moments.products, _without_each(moments), strict=True):
        slopes = rest.path.at(alphas) / rest.spread
        weights = np.column_stack([rest.target_mean - slopes @ rest.mean, slopes])
        sums += _prediction_sums(weights, held_out)
    return pearson_from_sums(sums)


def leave_one_out_predictions(
    moments: GeneratorMoments, metrics: Numbers, generator: Codes, alpha: float
) -> Numbers:
    """(rows,) the predictions behind `leave_one_out_correlation` at one alpha; each comes from a
    fit to the other generators.

    metrics, generator: as given to `generator_moments`. Raises Undefined with fewer than two
    generators.
    """
    _, which = np.unique(np.asarray(generator), return_inverse=True)
    standard = (np.asarray(metrics, dtype=np.float64) - moments.centre[:-1]) / moments.spread[:-1]
    predicted = np.empty(len(which))
    for left_out, rest in enumerate(_without_each(moments)):
        slopes = rest.path.at(alpha) / rest.spread
        rows = which == left_out
        predicted[rows] = (
            moments.centre[-1] + rest.target_mean + (standard[rows] - rest.mean) @ slopes
        )
    return predicted


def _without_each(moments: GeneratorMoments) -> list[_Fits]:
    """For each generator, the fit to all rows of the other generators."""
    if len(moments.products) < 2:
        raise Undefined("fewer than two generators")
    total = moments.products.sum(axis=0)
    return [_fits(total - held_out) for held_out in moments.products]


def _prediction_sums(weights: Numbers, products: Numbers) -> Numbers:
    """(alphas, 6) the sums that pearson_from_sums needs, of predictions with `weights`, (alphas, 1
    + metrics), on some rows.
    """
    inputs, target = products[:-1, :-1], products[:-1, -1]
    count, y, yy = (
        np.full(len(weights), sum_) for sum_ in (products[0, 0], products[0, -1], products[-1, -1])
    )
    squares = ((weights @ inputs) * weights).sum(axis=1)
    return np.stack([count, weights @ inputs[0], y, squares, yy, weights @ target], axis=1)


def _fits(products: Numbers) -> _Fits:
    """The lasso path over the rows that `products` sums up."""
    count = products[0, 0]
    means = products[0, 1:] / count
    covariances = products[1:, 1:] / count - np.outer(means, means)
    variances = np.diag(covariances)[:-1]
    varies = variances > _CONSTANT
    spread = np.sqrt(np.where(varies, variances, 1.0))
    both = np.where(np.outer(varies, varies), covariances[:-1, :-1] / np.outer(spread, spread), 0.0)
    with_target = np.where(varies, covariances[:-1, -1] / spread, 0.0)
    return _Fits(lasso_path(both, with_target), means[:-1], spread, float(means[-1]))


@dataclass(frozen=True)
class LassoPath:
    """A lasso path. alphas: (knots,) falling to 0. coefficients: (knots, columns). sizes: (knots -
    1,) number of nonzero coefficients between knots.

    If columns are linear combinations of each other (two equal metrics), many solutions are equally
    good. The columns of this path are linearly independent; of two equal columns, it takes the
    first.
    """

    alphas: Numbers
    coefficients: Numbers
    sizes: tuple[int, ...]

    def at(self, alpha: Numbers | float) -> Numbers:
        """(..., columns) the coefficients at each alpha, (...) >= 0."""
        wanted = np.asarray(alpha, dtype=np.float64)
        if len(self.alphas) == 1:
            return np.zeros((*wanted.shape, self.coefficients.shape[1]))
        right = np.clip(np.searchsorted(-self.alphas, -wanted), 1, len(self.alphas) - 1)
        above, below = self.alphas[right - 1], self.alphas[right]
        way = np.clip((above - wanted) / (above - below), 0.0, 1.0)[..., None]
        return np.asarray((1 - way) * self.coefficients[right - 1] + way * self.coefficients[right])

    def intervals_with(self, nonzero: int) -> tuple[Interval, ...]:
        """The open intervals (low, high) of alpha with exactly `nonzero` nonzero coefficients,
        highest first.

        There may be several intervals, because a column can leave again, or none, because two
        columns can join at once.
        """
        intervals: list[Interval] = []
        for size, high, low in zip(self.sizes, self.alphas[:-1], self.alphas[1:], strict=True):
            if size != nonzero:
                continue
            if intervals and intervals[-1][0] == high:
                intervals[-1] = (float(low), intervals[-1][1])
            else:
                intervals.append((float(low), float(high)))
        return tuple(intervals)


def lasso_path(gram: Numbers, covariance: Numbers) -> LassoPath:
    """The path for all alphas down to 0.

    gram: (columns, columns), covariance: (columns,). A column of zeros (a constant metric) stays at
    0. Every knot is checked against the optimality conditions. If columns that depend on each other
    would join at once, it can matter which joins first. Raises Undefined if the resulting path is
    not optimal.
    >>> # orthogonal: each is shrunk towards 0 by alpha
    >>> path = lasso_path(np.eye(2), np.array([3.0, -1.0]))
    >>> path.alphas.tolist(), path.at(0.5).tolist(), path.intervals_with(1)
    ([3.0, 1.0, 0.0], [2.5, -0.5], ((1.0, 3.0),))
    """
    gram, covariance = np.asarray(gram, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    path = _walk(gram, covariance)
    if path:  # where every knot is optimal, all that lies between two knots is optimal, too
        knots = zip(path.alphas.tolist(), path.coefficients, strict=True)
        allowed = 1e-7 * float(np.abs(covariance).max(initial=0.0))
        if all(
            violation(gram, covariance, alpha, solution) <= allowed for alpha, solution in knots
        ):
            return path
    raise Undefined("no lasso path: too many columns depend on each other and enter at once")


def _walk(gram: Numbers, covariance: Numbers) -> LassoPath | None:
    """The path from knot to knot; None if it does not end."""
    alpha, signs = np.inf, np.zeros(len(covariance))
    nothing = _SAME * float(np.abs(covariance).max(initial=0.0))
    alphas: list[float] = []
    coefficients: list[Numbers] = []
    for _ in range(50 * (len(covariance) + 1)):
        start, slope, joins, leaves = _events(gram, covariance, signs)
        events = np.minimum(np.concatenate([leaves, *joins]), alpha)
        reached = float(events.max(initial=0.0))
        reached = reached if reached > nothing else 0.0
        if not alphas or reached < alpha * (1 - _SAME):
            alpha = reached
            alphas.append(alpha)
            solution = start - alpha * slope
            rounding = _SAME * np.abs(solution).max(initial=0.0)
            coefficients.append(np.where(np.abs(solution) > rounding, solution, 0.0))
        if reached == 0:
            knots = np.array(coefficients)
            used = (knots[:-1] != 0) | (knots[1:] != 0)
            return LassoPath(np.array(alphas), knots, tuple(used.sum(axis=1).tolist()))
        # Of simultaneous events, a leave comes first, then the first column.
        which, column = divmod(int(np.argmax(events >= reached * (1 - _SAME))), len(covariance))
        signs[column] = (0.0, 1.0, -1.0)[which]
        if which == 0:
            coefficients[-1][column] = 0.0
    return None


def _events(
    gram: Numbers, covariance: Numbers, signs: Numbers
) -> tuple[Numbers, Numbers, tuple[Numbers, Numbers], Numbers]:
    """The line on which the solution moves (start, slope), and the alphas at which each column
    would join or leave.

    If the columns A are in the model, b_A = start - alpha * slope, and the covariance of column j
    with the residual of y is still + alpha * pull. Column j joins when this covariance reaches
    alpha from below (or -alpha from above). An alpha of 0 means never.
    """
    columns = len(covariance)
    inside = signs != 0
    start, slope, leaves = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    spare = np.diag(gram).copy()
    still, pull = covariance.copy(), np.zeros(columns)
    if inside.any():
        right = np.column_stack([covariance[inside], signs[inside], gram[inside]])
        solved = np.linalg.solve(gram[np.ix_(inside, inside)], right)
        start[inside], slope[inside] = solved[:, 0], solved[:, 1]
        spare -= (gram[inside] * solved[:, 2:]).sum(axis=0)
        still -= gram[:, inside] @ solved[:, 0]
        pull = gram[:, inside] @ solved[:, 1]
    shrinking = inside & (signs * slope < 0)
    leaves[shrinking] = np.maximum(start[shrinking] / slope[shrinking], 0.0)
    free = ~inside & (spare > _DEPENDENT * np.maximum(np.diag(gram), 1e-300))
    return start, slope, (_meets(still, 1 - pull, free), _meets(-still, 1 + pull, free)), leaves


def _meets(height: Numbers, rate: Numbers, free: Codes) -> Numbers:
    """The alpha at which `height` = alpha * `rate`; 0 if the two move apart or the column is not
    free to join.
    """
    meeting = free & (rate > _SAME) & (height > 0)
    return np.where(meeting, height / np.where(meeting, rate, 1.0), 0.0)


def violation(gram: Numbers, covariance: Numbers, alpha: float, coefficients: Numbers) -> float:
    """How far the coefficients are from optimal: the largest breach of the lasso's optimality
    conditions.

    With r = covariance - gram @ b, these are r = alpha * sign(b) where b is not 0, and |r| <= alpha
    where b is 0.
    >>> # the second should be -0.5
    >>> violation(np.eye(2), np.array([3.0, -1.0]), 0.5, np.array([2.5, 0.0]))
    0.5
    """
    left = covariance - gram @ coefficients
    breach = np.where(
        coefficients != 0, np.abs(left - alpha * np.sign(coefficients)), np.abs(left) - alpha
    )
    return float(np.maximum(breach, 0.0).max(initial=0.0))


def choose_alpha(intervals: Sequence[Interval], rule: Rule = "smallest") -> float:
    """Choose an alpha inside the first interval of `intervals_with`, by a rule with a name.

    smallest: a thousandth of the width above the low end, which shrinks coefficients least. middle:
    the geometric middle, which is farthest (as a ratio) from the alphas at which the number of
    coefficients changes; if the interval reaches 0, the arithmetic middle. Raises Undefined if
    there is no interval.
    >>> choose_alpha([(1.0, 4.0)]), choose_alpha([(1.0, 4.0)], "middle")
    (1.003, 2.0)
    """
    if not intervals:
        raise Undefined("no alpha gives that many non-zero coefficients")
    low, high = intervals[0]
    if rule == "smallest":
        return low + (high - low) / 1000
    if rule == "middle":
        return float(np.sqrt(low * high)) if low > 0 else high / 2
    raise ValueError(f"rule {rule!r}: one of smallest, middle")
