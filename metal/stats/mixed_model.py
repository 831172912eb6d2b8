"""A linear mixed model with one random intercept, fitted by REML over the ratio of variances.

y = X b + u[source] + e, with u and e normal. Given the ratio of variances t = var(u) / var(e),
everything else follows from sums by source, because V^-1 of a source with m rows is I - t / (1 + t
m) 11' (Woodbury). So only t has to be found, on the profile of the restricted likelihood. Source:
Harville (1977); Bates et al. (2015), section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Numbers

Z90 = 1.645  # half of a 90% interval, in standard errors

# The ratios that are tried before the best of them is refined. Beyond the last, nothing varies
# within sources.
_RATIOS = np.concatenate([[0.0], np.logspace(-7, 9, 97)])


@dataclass(frozen=True)
class MixedModel:
    """A fitted model. effects, errors: (columns of X,) estimates and standard errors.

    The errors are those of least squares weighted by the estimated variances, as in lme4. The
    errors in statsmodels also include how the effects vary with the ratio of variances; the
    difference vanishes as the number of sources grows.
    """

    effects: Numbers
    errors: Numbers
    source_variance: float
    residual_variance: float


@dataclass(frozen=True)
class Overrating:
    """How much machines are overrated. value: in standard deviations; value -/+ half_width is the
    90% interval.
    """

    value: float
    half_width: float


@dataclass(frozen=True)
class _Sums:
    """Products of the orthonormal columns and the target: summed over all rows, and, for each size
    of source, over sums by source.
    """

    total: Numbers  # (columns + 1, columns + 1)
    size: Numbers  # (sizes,) the numbers of rows that sources have
    sources: Numbers  # (sizes,) how many sources have that size
    by_size: Numbers  # (sizes, columns + 1, columns + 1)
    rows: int


def random_intercept(target: Numbers, columns: Numbers, source: Codes) -> MixedModel:
    """Fit target ~ columns + (1 | source) by REML; balanced or not.

    target: (rows,); columns: (rows, columns), including the intercept; source: (rows,). If the
    restricted likelihood is highest without variance between sources, this variance is 0 and the
    fit is least squares. Raises Undefined if columns are linearly dependent or explain the target
    completely, if there are fewer than two sources, if every source has only one row, or if nothing
    varies within sources. Raises ValueError if a number is missing.
    >>> # between: means 2 and 7; within: +-1 -> 12.5 = 2 / 2 + 11.5
    >>> y = np.array([1.0, 3.0, 6.0, 8.0])
    >>> fit = random_intercept(y, np.ones((4, 1)), np.array([0, 0, 1, 1]))
    >>> (
    ...     round(fit.source_variance, 6),
    ...     round(fit.residual_variance, 6),
    ...     fit.effects.round(6).tolist(),
    ... )
    (11.5, 2.0, [4.5])
    """
    target, columns = np.asarray(target, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    if not (np.isfinite(target).all() and np.isfinite(columns).all()):
        raise ValueError("a row without a number")
    names, which = np.unique(np.asarray(source), return_inverse=True)
    _check_design(columns, len(names))
    basis, triangle = np.linalg.qr(columns)
    least_squares = basis.T @ target
    left = target - basis @ least_squares
    if (left**2).sum() <= 1e-20 * (target**2).sum():
        raise Undefined("the effects explain every score")
    sums = _sum_by_source(np.column_stack([basis, left]), which, len(names))
    ratio = _best_ratio(sums)
    inverse, shift, residual = _solve(sums, ratio)
    to_effects = np.linalg.inv(triangle)
    covariance = residual * to_effects @ inverse @ to_effects.T
    errors = np.sqrt(np.diag(covariance))
    return MixedModel(to_effects @ (least_squares + shift), errors, ratio * residual, residual)


def overrating(score: Numbers, human: Numbers, machine: Codes, source: Codes) -> Overrating:
    """How much higher a rater scores machines than human writers whom people score alike.

    score, human: (rows,) the rater's and the people's scores; machine: (rows,) true where the
    generator is a machine; source: (rows,). The score is z-scored over all rows (ddof 1, like R's
    scale). The value is the coefficient of machine in s ~ 1 + machine + human + (1 | source). If
    `machine` marks generators of the judge's own family instead, the value is self-preference.
    Raises Undefined for a constant score, and whenever `random_intercept` does (if all generators
    are machines, columns are dependent). Source: Kasai et al., Bidimensional Leaderboards (2022),
    section 2.3.
    """
    score = np.asarray(score, dtype=np.float64)
    if not len(score) or (score == score[0]).all():
        raise Undefined("constant scores")
    columns = np.column_stack([np.ones(len(score)), np.asarray(machine, dtype=np.float64), human])
    model = random_intercept((score - score.mean()) / score.std(ddof=1), columns, source)
    return Overrating(float(model.effects[1]), float(Z90 * model.errors[1]))


def _check_design(columns: Numbers, sources: int) -> None:
    rows, width = columns.shape
    if sources < 2:
        raise Undefined("fewer than two sources")
    if rows == sources:
        raise Undefined("only one row per source")
    if rows <= width:
        raise Undefined("not more rows than effects")
    length = np.sqrt((columns**2).sum(axis=0))
    # The triangle of the decomposition has the singular values of all rows, and is small.
    least = np.finfo(np.float64).eps * rows
    if (
        not length.all()
        or np.linalg.matrix_rank(np.linalg.qr(columns / length, mode="r"), rtol=least) < width
    ):
        raise Undefined("effects that depend on each other linearly")


def _sum_by_source(table: Numbers, which: Codes, sources: int) -> _Sums:
    sizes = np.bincount(which, minlength=sources)
    sums = np.stack([np.bincount(which, column, minlength=sources) for column in table.T], axis=1)
    distinct, of_size, many = np.unique(sizes, return_inverse=True, return_counts=True)
    parts = [sums[of_size == size] for size in range(len(distinct))]
    by_size = np.stack([part.T @ part for part in parts])
    return _Sums(
        table.T @ table, distinct.astype(np.float64), many.astype(np.float64), by_size, len(table)
    )


def _weighed(sums: _Sums, ratio: Numbers | float) -> Numbers:
    """(..., columns + 1, columns + 1): [X y]' V^-1 [X y] at each ratio, in units of the residual
    variance.
    """
    ratio = np.asarray(ratio, dtype=np.float64)[..., None]
    return np.asarray(sums.total - np.tensordot(ratio / (1 + ratio * sums.size), sums.by_size, 1))


def _deviance(sums: _Sums, ratio: Numbers | float) -> Numbers:
    """-2 log restricted likelihood at each ratio, with the best residual variance and without the
    constants.
    """
    weighed = _weighed(sums, ratio)
    design = np.linalg.slogdet(weighed[..., :-1, :-1])[1]
    residual = np.linalg.slogdet(weighed)[1] - design
    freedom = sums.rows - (weighed.shape[-1] - 1)
    spread = np.log1p(np.asarray(ratio)[..., None] * sums.size) @ sums.sources
    return np.asarray(freedom * residual + design + spread)


def _slope(sums: _Sums, ratio: float) -> float:
    """The derivative of `_deviance` with respect to the ratio."""
    weighed = _weighed(sums, ratio)
    change = -np.tensordot(1 / (1 + ratio * sums.size) ** 2, sums.by_size, 1)
    total = float(np.trace(np.linalg.solve(weighed, change)))
    design = float(np.trace(np.linalg.solve(weighed[:-1, :-1], change[:-1, :-1])))
    freedom = sums.rows - (len(weighed) - 1)
    return (
        freedom * (total - design)
        + design
        + float((sums.size / (1 + ratio * sums.size)) @ sums.sources)
    )


def _best_ratio(sums: _Sums) -> float:
    """The ratio with the highest restricted likelihood: the best of a coarse list, then the root of
    the slope.
    """
    from scipy.optimize import brentq

    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = _deviance(sums, _RATIOS)
    best = int(np.nanargmin(deviance))
    if best == len(_RATIOS) - 1:
        raise Undefined("nothing varies within sources")
    low, high = float(_RATIOS[max(best - 1, 0)]), float(_RATIOS[best + 1])
    if _slope(sums, low) >= 0:
        return low
    # the deviance still falls where the list says that it rises: it is flat up to rounding
    if _slope(sums, high) <= 0:
        raise Undefined("nothing varies within sources")
    return float(brentq(lambda ratio: _slope(sums, ratio), low, high, xtol=1e-15, rtol=1e-13))


def _solve(sums: _Sums, ratio: float) -> tuple[Numbers, Numbers, float]:
    """(X' V^-1 X)^-1, the effects, and the residual variance at a ratio."""
    weighed = _weighed(sums, ratio)
    inverse: Numbers = np.asarray(np.linalg.inv(weighed[:-1, :-1]), dtype=np.float64)
    shift: Numbers = np.asarray(inverse @ weighed[:-1, -1], dtype=np.float64)
    squares = float(weighed[-1, -1] - weighed[-1, :-1] @ shift)
    return inverse, shift, squares / (sums.rows - len(shift))
