"""Does one rater correlate better with people than another? Paired permutation tests, and clusters based on them."""

from __future__ import annotations

import numpy as np

from metal.errors import Undefined
from metal.stats.multiplicity import holm
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.sign_flips import SignFlips, draw_flips, signed

# Correlations closer than this differ by rounding; for scores of variance 1, variances below it are rounding.
_ROUNDING = 1e-12
# The moments of all raters are kept if they are not more numbers than this.
_KEPT = 20_000_000


def correlates_better(
    people: Numbers,
    raters: Numbers,
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
    wanted: Codes | None = None,
) -> Numbers:
    """(raters, raters) one-sided p that rater i's Pearson correlation with people is higher than rater j's.

    people: (items,), raters: (raters, items), NaN where there is no answer: each pair is compared on the items that
    both raters and the people answered. Scores are z-scored; in each resample the two exchange their scores on each
    item with probability 1/2; p = (1 + resamples with at least the observed difference) / (1 + resamples). NaN on the
    diagonal and where a correlation is undefined. The swaps are drawn once for all pairs (metal.stats.sign_flips): at
    least `resamples` of them, the next power of two, minus one. wanted: (raters, raters) the pairs to compare, in
    either direction; all pairs by default. Source: PERM-BOTH, Deutsch, Dror and Roth (2021), section 4.
    """
    people, raters = np.asarray(people, dtype=np.float64), np.asarray(raters, dtype=np.float64)
    p = np.full((len(raters), len(raters)), np.nan)
    if not len(raters):
        return p
    compared = np.ones(p.shape, dtype=bool) if wanted is None else np.asarray(wanted) | np.asarray(wanted).T
    answered = ~np.isnan(raters) & ~np.isnan(people)
    flips = draw_flips(np.random.default_rng(int(rng.integers(2**63))), len(people), resamples)
    y = _standard(people, np.asarray(answered.any(axis=0)))
    x = [_standard(rater, items) for rater, items in zip(raters, answered, strict=True)]
    moments: list[Numbers] = []  # over all of a rater's answers: those that the other rater lacks are subtracted
    if len(raters) * 6 * flips.count <= _KEPT:
        moments = [_moments(x[i], y, flips, answered[i]) for i in range(len(raters))]

    def shared(i: int, j: int) -> Numbers:
        """Rater i's moments over the items that both i and j answered."""
        if not moments:
            return _moments(x[i], y, flips, answered[i] & answered[j])
        alone = answered[i] & ~answered[j]
        return moments[i] - _moments(x[i], y, flips, alone) if alone.any() else moments[i]

    for i, j in np.argwhere(np.triu(compared, 1)).tolist():
        p[i, j], p[j, i] = _p_values(shared(i, j), shared(j, i))
    return p


def _standard(values: Numbers, items: Codes) -> Numbers:
    """(items,) z-scores over the items of a mask, 0 elsewhere and where the values do not vary."""
    scores = np.zeros(len(values))
    used = values[items]
    if len(used) and (used != used[0]).any():
        scores[items] = (used - used.mean()) / used.std()
    return scores


def _moments(x: Numbers, y: Numbers, flips: SignFlips, items: Codes) -> Numbers:
    """(6, flips) sums by class, over the items of a mask, of 1, y, y^2, x, x^2 and x*y."""
    x, y = x[items], y[items]
    return flips.only(items).class_sums(np.stack([np.ones(len(x)), y, y * y, x, x * x, x * y]))


def _p_values(first: Numbers, second: Numbers) -> tuple[float, float]:
    """One-sided p of two raters in both directions, from their moments by class over the items that both answered.

    A swap moves numbers from one rater's sums of z, z^2 and z*y to the other's. Chance only decides which numbers, so
    the sums of every resample follow from the differences between the two raters by class of the flips.
    """
    z_first, z_second = _z_sums(first), _z_sums(second)
    if z_first is None or z_second is None:
        return np.nan, np.nan
    items = float(first[0].sum())
    left, right = z_first.sum(axis=1)[:, None], z_second.sum(axis=1)[:, None]
    change = (right - left - signed(z_second - z_first)) / 2  # a flip exchanges the items whose sign it turns
    lead = _pearson(left + change, items) - _pearson(right - change, items)
    # The first flip changes nothing: its lead is the observed one.
    return float((lead >= lead[0] - _ROUNDING).mean()), float((lead <= lead[0] + _ROUNDING).mean())


def _z_sums(moments: Numbers) -> Numbers | None:
    """(3, flips) sums by class of z, z^2 and z*y, with y centred and of length 1; None where a side does not vary."""
    count, y, yy, x, xx, xy = moments
    items = count.sum()
    if items < 2:
        return None
    mean, y_mean = x.sum() / items, y.sum() / items
    variance, y_squares = xx.sum() / items - mean**2, yy.sum() - items * y_mean**2
    if variance <= _ROUNDING or y_squares <= _ROUNDING * items:
        return None
    z = (x - mean * count) / np.sqrt(variance)
    zz = (xx - 2 * mean * x + mean**2 * count) / variance
    zy = (xy - mean * y - y_mean * x + mean * y_mean * count) / np.sqrt(variance * y_squares)
    return np.stack([z, zz, zy])


def _pearson(sums: Numbers, items: float) -> Numbers:
    """The correlation from (3, ...) sums of z, z^2 and z*y, with y centred and of length 1; NaN where z is constant."""
    z, zz, zy = sums
    squares = zz - z * z / items
    return ratio(zy, np.sqrt(np.where(squares > _ROUNDING * zz, squares, 0.0)))


def significance_clusters(values: Numbers, better: Numbers, level: float = 0.05) -> Codes:
    """(raters,) the cluster of each rater, from 1: the best and the raters not significantly worse, and so on.

    values: (raters,), higher is better; a rater whose value is NaN gets 0, no cluster. better: (raters, raters) p that
    i is better than j, NaN where not tested (then not significantly worse). The best is compared with all below it,
    adjusted by Holm; the first that is significantly worse opens the next cluster, so that clusters follow the order
    of the values. Raises Undefined where no rater has a value.
    >>> p = np.array([[np.nan, 0.3, 0.001], [0.7, np.nan, 0.2], [0.999, 0.8, np.nan]])
    >>> significance_clusters(np.array([0.6, 0.5, 0.1]), p).tolist()
    [1, 1, 2]
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(-values, kind="stable")[: int((~np.isnan(values)).sum())]
    if not len(order):
        raise Undefined("no rater with a value")
    clusters = np.zeros(len(values), dtype=np.int64)
    start, cluster = 0, 0
    while start < len(order):
        cluster += 1
        worse = np.flatnonzero(holm(better[order[start], order[start + 1 :]]) <= level)
        end = start + 1 + int(worse[0]) if len(worse) else len(order)
        clusters[order[start:end]] = cluster
        start = end
    return clusters
