"""Correlation of one rater's scores with another rater's: over outputs, by rank, and between
systems.

Pearson's coefficient is a function of six sums: the number of pairs, and the sums of x, y, xx, yy
and xy over them. `deviation_sums` gives them for each source, so a bootstrap over sources is
one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.patterns import Codes, Numbers, ratio

# A variance below this share of the mean square is rounding, not variation.
_ROUNDING = 1e-12
# Up to this many distinct values, looking each value up in a list of them is faster than sorting
# with places.
_FEW = 1_000
# Up to this many cells, a table of two raters' distinct scores is faster than sorting.
_LARGEST_TABLE = 500_000
# Kendall's influences are taken from scores in at most this many steps, which changes their sum of
# squares by under 1%.
_STEPS = 256


def pearson(x: Numbers, y: Numbers) -> float:
    """Pearson's r over the items that have both scores (NaN means no answer).

    x, y: (items,). Raises Undefined if there are fewer than two pairs, or if one side is constant.
    >>> round(pearson(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 5.0])), 4)
    0.982
    """
    x, y = map(_shifted, _pairs(x, y))
    together = np.zeros(len(x), dtype=np.int64)
    columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    return float(
        pearson_from_sums(np.concatenate([np.bincount(together, column) for column in columns]))
    )


def kendall(x: Numbers, y: Numbers) -> float:
    """Kendall's tau-b: (concordant - discordant pairs) / geometric mean of the numbers of untied
    pairs of both sides.

    Takes n steps if there are few distinct scores (from a table of them), else n log n. Only
    exactly equal numbers are tied, so average in a way that gives equal averages exactly (from the
    sum of the ratings, not as a mean of means). Undefined if `pearson` is. Source: Kendall (1945).
    >>> tau = kendall(np.array([1.0, 2.0, 3.0, 3.0, 5.0]), np.array([1.0, 4.0, 2.0, 4.0, 3.0]))
    >>> round(tau, 4), round((5 - 3) / (9 * 9) ** 0.5, 4)  # of 10 pairs, one is tied on either side
    (0.2222, 0.2222)
    """
    return rank_correlations(x, distinct(np.asarray(y, dtype=np.float64)))[1].value


@dataclass(frozen=True)
class Correlation:
    """A coefficient, and (items,) the influence of each item on it, NaN if a score is missing.

    The influence of an item is the derivative of the coefficient as the item occurs more often (the
    infinitesimal jackknife, Jaeckel 1972). Influences sum to 0. The sum of squares of their totals
    by source is the variance of the coefficient over sources.
    """

    value: float
    influence: Numbers


def pearson_influence(x: Numbers, y: Numbers) -> Correlation:
    """`pearson`, with influences."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    r, scored = pearson(x, y), ~np.isnan(x) & ~np.isnan(y)
    left, right = _shifted(x[scored]), _shifted(y[scored])
    influence = np.full(len(x), np.nan)
    influence[scored] = _influence(left * right, left * left, right * right)
    return Correlation(r, influence)


def rank_correlations(x: Numbers, y: tuple[Numbers, Codes]) -> tuple[Correlation, Correlation]:
    """Spearman's rho and Kendall's tau-b (see `kendall`), with influences. Undefined if
    `pearson` is.

    Spearman's rho is Pearson's r of the ranks, where equal values share the mean of their ranks. y:
    the other side as `distinct` returns it, so it is sorted once for many x.
    >>> y = distinct(np.array([1.0, 3.0, 2.0, 2.0]))  # ranks 1, 4, 2.5, 2.5
    >>> rho, tau = rank_correlations(np.array([1.0, 2.0, 4.0, 9.0]), y)
    >>> round(rho.value, 4), round(1.5 / (5 * 4.5) ** 0.5, 4)
    (0.3162, 0.3162)
    """
    x, (values, which) = np.asarray(x, dtype=np.float64), y
    scored = ~np.isnan(x) & ~np.isnan(values)[which]
    _pairs(x[scored], values[which[scored]])
    left, right = distinct(x[scored])[1], which[scored]
    influences = np.full((2, len(x)), np.nan)
    influences[:, scored] = _spearman_influence(left, right), _kendall_influence(left, right)
    rho, tau = pearson(_ranks(left), _ranks(right)), _tau_of(left, right)
    return Correlation(rho, influences[0]), Correlation(tau, influences[1])


def _influence(together: Codes, left: Codes, right: Codes, degree: int = 1) -> Numbers:
    """The influences on r = sum(together) / sqrt(sum(left) sum(right)). The arguments are what each
    item adds to the three sums.

    degree: the sums grow with this power of the number of items, because an item can also change
    what the other items add.
    """
    squares = np.sqrt(left.sum()) * np.sqrt(right.sum())
    r = together.sum() / squares
    return np.asarray(
        degree * (together / squares - r / 2 * (left / left.sum() + right / right.sum()))
    )


def _spearman_influence(left: Codes, right: Codes) -> Numbers:
    """(items,) influences, from codes in the order of the scores. An item moves the ranks above it
    up, and those below it down.
    """
    x, y = (_shifted(_ranks(codes)) for codes in (left, right))

    def moved(codes: Codes, weights: Numbers) -> Numbers:
        upto = np.cumsum(sums := np.bincount(codes, weights))
        return np.asarray((upto[-1] - 2 * upto + sums)[codes] / 2)

    together = x * y + moved(left, y) + moved(right, x)
    return _influence(together, x * x + 2 * moved(left, x), y * y + 2 * moved(right, y), 3)


def _kendall_influence(left: Codes, right: Codes) -> Numbers:
    """(items,) influences on Kendall's tau-b, from codes in the order of scores."""
    left, right = (
        codes * min(_STEPS, top) // top for codes in (left, right) for top in [int(codes.max()) + 1]
    )
    height, width = int(left.max()) + 1, int(right.max()) + 1
    table = np.bincount(left * width + right, minlength=height * width).reshape(height, width)
    upto = np.cumsum(table, axis=0)
    # for each score on the right: items lower on the left, less those higher
    lower = 2 * upto - table - upto[-1]
    upto = np.cumsum(lower, axis=1)
    concordant_less_discordant = (2 * upto - lower - upto[:, -1:])[left, right]
    # how many items each is untied with
    x, y = (len(codes) - np.bincount(codes)[codes] for codes in (left, right))
    return _influence(concordant_less_discordant, x, y, 2)


def _tau_of(left: Codes, right: Codes) -> float:
    """Kendall's tau-b of codes that are in the order of the scores."""
    height, width = int(left.max()) + 1, int(right.max()) + 1
    if height * width > _LARGEST_TABLE:
        from scipy.stats import kendalltau

        return float(kendalltau(left, right).statistic)
    # How many items have which two scores, in rising order on both sides.
    table = np.bincount(left * width + right, minlength=height * width).reshape(height, width)
    # for each score on the right, how many have a smaller one on the left
    below = np.cumsum(table, axis=0) - table
    upto = np.cumsum(below, axis=1)
    concordant_less_discordant = int((table * (2 * upto - below - upto[:, -1:])).sum())
    pairs = int(table.sum()) * (int(table.sum()) - 1) // 2
    untied = [
        pairs - int((count * (count - 1) // 2).sum())
        for count in (table.sum(axis=1), table.sum(axis=0))
    ]
    return float(
        np.clip(concordant_less_discordant / np.sqrt(untied[0]) / np.sqrt(untied[1]), -1.0, 1.0)
    )


def distinct(values: Numbers) -> tuple[Numbers, Codes]:
    """The distinct values in rising order, and the position of each value among them. NaN counts as
    the last value.

    >>> names, place = distinct(np.array([4.0, 1.0, 4.0, 2.5]))
    >>> names.tolist(), place.tolist()
    ([1.0, 2.5, 4.0], [2, 0, 2, 1])
    """
    names = np.unique(values)
    if len(names) <= _FEW:
        return names, np.searchsorted(names, values)
    return np.unique(values, return_inverse=True)


def _ranks(codes: Codes) -> Numbers:
    """(items,) ranks, from 1, of codes in the order of the values; equal codes share the mean of
    their ranks.
    """
    count = np.bincount(codes)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[codes], dtype=np.float64)


def system_pearson(x: Numbers, y: Numbers, system: Codes) -> float:
    """Pearson's r between the systems' means of x and of y, over the items that have both scores.

    x, y, system: (items,). Raises Undefined if there are fewer than two systems, or if their means
    do not differ.
    >>> x, y = np.array([0.0, 2.0, 2.0, 6.0]), np.array([1.0, 3.0, 2.0, 5.0])
    >>> r = system_pearson(x, y, np.array([7, 7, 8, 9]))
    >>> # means 1, 2, 6 and 2, 2, 5; centred -2, -1, 3 and -1, -1, 2
    >>> round(r, 4), round(9 / (14 * 6) ** 0.5, 4)
    (0.982, 0.982)
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    names, system_of = np.unique(np.asarray(system), return_inverse=True)
    scored = ~np.isnan(x) & ~np.isnan(y)
    columns = (np.ones(int(scored.sum())), _shifted(x[scored]), _shifted(y[scored]))
    sums = [np.bincount(system_of[scored], column, minlength=len(names)) for column in columns]
    r = float(system_pearson_from_sums(np.stack(sums, axis=1)))
    if np.isnan(r):
        raise Undefined("fewer than two generators, or generators with equal means")
    return r


def deviation_sums(
    scores: Numbers, y: Numbers, source: Codes, system: Codes
) -> tuple[Numbers, Numbers]:
    """(sources, systems, raters, 6) the six sums of the deviations of x and y from their means
    within the system; and (systems, raters, 2) these means minus the rater's mean over all systems.

    scores: (raters, items), y: (items,), NaN means no answer; source, system: (items,) codes from 0
    without gaps. If all scores of a system are equal, their deviations are exactly 0. `moved_sums`
    computes the sums of x and y themselves from these.
    """
    order = np.argsort(system, kind="stable")
    starts = np.searchsorted(system[order], np.arange(int(system.max()) + 1))
    scores, y, source, system = (
        np.asarray(scores)[:, order],
        np.asarray(y)[order],
        source[order],
        system[order],
    )
    shape = int(source.max()) + 1, len(starts)
    cell = source * len(starts) + system
    scored = ~np.isnan(scores) & ~np.isnan(y)
    count = np.add.reduceat(scored, starts, axis=1, dtype=np.int64)
    table = np.zeros((*shape, len(scores), 6))
    means = np.zeros((len(starts), len(scores), 2))
    for rater, paired in enumerate(scored):
        sides = []
        for index, side in enumerate((scores[rater], y)):
            used = np.where(paired, side, np.nan)
            low, high = np.fmin.reduceat(used, starts), np.fmax.reduceat(used, starts)
            total = np.add.reduceat(np.where(paired, side, 0.0), starts)
            mean = np.where(
                count[rater] > 0, np.where(low == high, low, ratio(total, count[rater])), 0.0
            )
            sides.append(np.where(paired, side - mean[system], 0.0))
            means[:, rater, index] = _less_their_mean(mean, count[rater])
        left, right = sides
        for index, column in enumerate(
            (paired, left, right, left * left, right * right, left * right)
        ):
            table[:, :, rater, index] = np.bincount(
                cell, column, minlength=shape[0] * shape[1]
            ).reshape(shape)
    return table, means


def _less_their_mean(means: Numbers, count: Codes) -> Numbers:
    """Means of groups with `count` items, minus the mean of all items; 0 for empty groups, and
    exactly 0 if all means are equal.
    """
    used = count > 0
    if not used.any() or (means[used] == means[used][0]).all():
        return np.zeros(len(means))
    return np.where(used, means - (means * count).sum() / count.sum(), 0.0)


def moved_sums(sums: Numbers, means: Numbers) -> Numbers:
    """(..., 6) the sums of x + a and y + b, from those of x and y; means: (..., 2), a and b."""
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    a, b = np.moveaxis(means, -1, 0)
    moved = (
        count,
        x + a * count,
        y + b * count,
        xx + 2 * a * x + a * a * count,
        yy + 2 * b * y + b * b * count,
        xy + a * y + b * x + a * b * count,
    )
    return np.stack(moved, axis=-1)


def pearson_from_sums(sums: Numbers) -> Numbers:
    """(...) Pearson's r from six sums (..., 6): the number of pairs, and the sums of x, y, xx, yy
    and xy.

    (n Sxy - Sx Sy) / sqrt((n Sxx - Sx Sx) (n Syy - Sy Sy)). NaN if there are fewer than two pairs,
    or if a side is constant.
    >>> pearson_from_sums(np.array([2.0, 0.0, 1.0, 2.0, 1.0, 1.0])).item()
    1.0
    """
    count, x, y, xx, yy, xy = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    return _correlation(
        count * xy - x * y, _varying(count * xx, x * x), _varying(count * yy, y * y)
    )


def system_pearson_from_sums(sums: Numbers) -> Numbers:
    """(...) system-level Pearson's r from (..., systems, 3): each system's number of pairs and sums
    of x and y.

    Systems without a pair do not count. NaN if there are fewer than two systems, or if their means
    do not differ.
    """
    count, x, y = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    paired = count > 0
    means = [np.where(paired, ratio(total, count), 0.0) for total in (x, y)]
    systems = paired.sum(axis=-1, keepdims=True)
    left, right = (
        np.where(paired, mean - ratio(mean.sum(axis=-1, keepdims=True), systems), 0.0)
        for mean in means
    )
    squares = [
        _varying((mean * mean).sum(axis=-1), (mean * mean - part * part).sum(axis=-1))
        for mean, part in zip(means, (left, right), strict=True)
    ]
    return _correlation((left * right).sum(axis=-1), *squares)


def _pairs(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Keep the complete pairs. Raises Undefined if there are fewer than two, or if one side is
    constant.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    scored = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[scored], y[scored]
    if len(x) < 2:
        raise Undefined("fewer than two pairs")
    for side in (x, y):
        if (side == side[0]).all() or not _shifted(side).any():
            raise Undefined("constant scores")
    return x, y


def _shifted(values: Numbers) -> Numbers:
    """The values minus their mean; exactly 0 if all values are equal."""
    if not len(values) or (values == values[0]).all():
        return np.zeros(len(values))
    return np.asarray(values - values.mean())


def _varying(squares: Numbers, of_mean: Numbers) -> Numbers:
    """squares - of_mean; 0 if the difference is only a rounding error."""
    left = squares - of_mean
    return np.where(left > _ROUNDING * squares, left, 0.0)


def _correlation(cross: Numbers, x: Numbers, y: Numbers) -> Numbers:
    return np.clip(ratio(cross, np.sqrt(x) * np.sqrt(y)), -1.0, 1.0)
