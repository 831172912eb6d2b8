"""The complete path of the lasso, exactly, from second moments: no rows, no iteration to a tolerance.

Minimising (1/2n) ||y - Xb||^2 + alpha ||b||_1 over z-scored columns X and centred y needs only the correlations of
the columns (`gram`, X'X/n) and their covariances with y (X'y/n). As alpha falls from where all coefficients are 0,
the solution moves on straight lines between *knots*, at which a column joins or leaves.
Source: Osborne, Presnell and Turlach (2000); Efron et al. (2004), section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Numbers

Interval = tuple[float, float]
Rule = Literal["smallest", "middle"]

# A column of whose square the columns in the model leave less than this share is their linear combination.
_DEPENDENT = 1e-9
# Knots closer to each other than this share of alpha are one knot.
_SAME = 1e-12


@dataclass(frozen=True)
class LassoPath:
    """alphas: (knots,) falling to 0. coefficients: (knots, columns). sizes: (knots - 1,) non-zeros between knots.

    Where columns are linear combinations of each other (two equal metrics), many solutions are equally good. This path
    has linearly independent columns; of two equal columns it has the first.
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
        """The open intervals (low, high) of alpha in which exactly `nonzero` coefficients are not 0, highest first.

        There may be several intervals, because a column can leave again, or none, because two columns can join at once.
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

    gram: (columns, columns), covariance: (columns,). A column of zeros (a constant metric) stays at 0. Every knot is
    checked against the optimality conditions. Where columns that depend on each other would join at once, it can matter
    which joins first: raises Undefined if the resulting path is not optimal.
    >>> path = lasso_path(np.eye(2), np.array([3.0, -1.0]))  # orthogonal: each is shrunk towards 0 by alpha
    >>> path.alphas.tolist(), path.at(0.5).tolist(), path.intervals_with(1)
    ([3.0, 1.0, 0.0], [2.5, -0.5], ((1.0, 3.0),))
    """
    gram, covariance = np.asarray(gram, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    path = _walk(gram, covariance)
    if path and _is_optimal(path, gram, covariance):
        return path
    raise Undefined("no lasso path: too many columns depend on each other and join at once")


def _walk(gram: Numbers, covariance: Numbers) -> LassoPath | None:
    """The path from knot to knot; None where it does not end."""
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


def _is_optimal(path: LassoPath, gram: Numbers, covariance: Numbers) -> bool:
    """Whether every knot is optimal; then all that lies between two knots is optimal too."""
    allowed = 1e-7 * float(np.abs(covariance).max(initial=0.0))
    knots = zip(path.alphas, path.coefficients, strict=True)
    return all(violation(gram, covariance, float(alpha), solution) <= allowed for alpha, solution in knots)


def _events(
    gram: Numbers, covariance: Numbers, signs: Numbers
) -> tuple[Numbers, Numbers, tuple[Numbers, Numbers], Numbers]:
    """The line that the solution is on (start, slope), and the alphas at which each column would join or leave.

    With columns A in the model, b_A = start - alpha * slope, and the covariance of column j with the residual of y
    is still + alpha * pull. Column j joins where that reaches alpha from below (or -alpha from above); 0 means never.
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
    """The alpha at which `height` = alpha * `rate`; 0 where the two move apart or the column is not free to join."""
    meeting = free & (rate > _SAME) & (height > 0)
    return np.where(meeting, height / np.where(meeting, rate, 1.0), 0.0)


def violation(gram: Numbers, covariance: Numbers, alpha: float, coefficients: Numbers) -> float:
    """How far the coefficients are from optimal: the largest breach of the lasso's optimality conditions.

    With r = covariance - gram @ b, these are r = alpha * sign(b) where b is not 0, and |r| <= alpha where b is 0.
    >>> violation(np.eye(2), np.array([3.0, -1.0]), 0.5, np.array([2.5, 0.0]))  # the second should be -0.5
    0.5
    """
    left = covariance - gram @ coefficients
    breach = np.where(coefficients != 0, np.abs(left - alpha * np.sign(coefficients)), np.abs(left) - alpha)
    return float(np.maximum(breach, 0.0).max(initial=0.0))


def choose_alpha(intervals: Sequence[Interval], rule: Rule = "smallest") -> float:
    """One alpha inside the first interval of `intervals_with`, by a rule that can be printed.

    smallest: a thousandth of the width above the low end, for the least shrinkage. middle: the geometric middle, which
    is farthest (as a ratio) from where the number of coefficients changes; the arithmetic middle if the interval
    reaches 0. Raises Undefined where there is no interval.
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
