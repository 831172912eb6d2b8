"""Does one rater correlate better with people than another? Paired permutation tests, and clusters from them."""

from __future__ import annotations

import numpy as np

from metal.errors import Undefined
from metal.stats.multiplicity import holm
from metal.stats.pairwise import coin_flips
from metal.stats.patterns import Codes, Numbers, ratio

# Correlations nearer than this differ by rounding.
_ROUNDING = 1e-12
# Flips that are multiplied at a time, few enough for a processor's cache.
_CACHED = 400_000


def correlates_better(people: Numbers, raters: Numbers, rng: np.random.Generator, *, resamples: int = 1000) -> Numbers:
    """(raters, raters) one-sided p that rater i's Pearson correlation with people is higher than rater j's.

    people: (items,), raters: (raters, items), NaN where one gave no answer: each pair is compared on the items that
    both and the people answered. Scores are z-scored; in each resample the two exchange theirs on each item with
    probability 1/2; p = (1 + resamples with at least the observed difference) / (1 + resamples). NaN on the diagonal
    and where a correlation is undefined. One set of swaps serves all pairs that answered the same items.
    Source: PERM-BOTH, Deutsch, Dror and Roth (2021), section 4.
    """
    people, raters = np.asarray(people, dtype=np.float64), np.asarray(raters, dtype=np.float64)
    p = np.full((len(raters), len(raters)), np.nan)
    if not len(raters):
        return p
    answered, which = _distinct(~np.isnan(raters) & ~np.isnan(people))
    seed = int(rng.integers(2**63))
    for first in range(len(answered)):
        for second in range(first, len(answered)):
            items = answered[first] & answered[second]
            mine = np.flatnonzero((which == first) | (which == second))
            found = _all_pairs(people[items], raters[np.ix_(mine, items)], np.random.default_rng(seed), resamples)
            across = (which[mine] == first)[:, None] & (which[mine] == second)
            across |= across.T
            p[np.ix_(mine, mine)] = np.where(across, found, p[np.ix_(mine, mine)])
    return p


def _distinct(rows: Codes) -> tuple[Codes, Codes]:
    """The distinct rows, in order of appearance, and which of them each row is."""
    places: dict[bytes, int] = {}
    which = [places.setdefault(row.tobytes(), len(places)) for row in np.packbits(rows, axis=1)]
    first = [which.index(place) for place in range(len(places))]
    return rows[first], np.array(which, dtype=np.int64)


def _all_pairs(people: Numbers, raters: Numbers, rng: np.random.Generator, resamples: int) -> Numbers:
    """`correlates_better` without missing answers.

    A swap moves n numbers from one rater's sums of z, z^2 and z*y to the other's: all that chance does is decide
    which, so that the sums of every resample are one product of the flips with the items.
    """
    count, items = raters.shape
    p = np.full((count, count), np.nan)
    varies = np.array([items > 1 and (rater != rater[0]).any() for rater in raters], dtype=bool)
    if items < 2 or (people == people[0]).all() or varies.sum() < 2:
        return p
    spread = np.where(varies, raters.std(axis=1), 1.0)
    standard = (raters - raters.mean(axis=1, keepdims=True)) / spread[:, None]
    centred = people - people.mean()
    parts = np.stack([standard, standard**2, standard * (centred / np.sqrt((centred**2).sum()))])
    total = parts.sum(axis=2)
    columns = parts.reshape(3 * count, items).T
    step = max(1, _CACHED // items)
    moved = np.concatenate(
        [
            flips[start : start + step].astype(np.float64) @ columns
            for flips in coin_flips(rng, resamples, items)
            for start in range(0, len(flips), step)
        ]
    )
    moved = moved.reshape(resamples, 3, count).transpose(1, 2, 0)
    for i, j in zip(*np.triu_indices(count, 1), strict=True):
        if not (varies[i] and varies[j]):
            continue
        change = moved[:, j] - moved[:, i]
        lead = _pearson(total[:, i, None] + change, items) - _pearson(total[:, j, None] - change, items)
        observed = float(_pearson(total[:, i], items) - _pearson(total[:, j], items))
        p[i, j] = (1 + (lead >= observed - _ROUNDING).sum()) / (1 + resamples)
        p[j, i] = (1 + (lead <= observed + _ROUNDING).sum()) / (1 + resamples)
    return p


def _pearson(sums: Numbers, items: int) -> Numbers:
    """From (3, ...) sums of z, z^2 and z*y, y being centred and of length 1."""
    z, zz, zy = sums
    return ratio(zy, np.sqrt(np.maximum(zz - z * z / items, 0.0)))


def significance_clusters(values: Numbers, better: Numbers, level: float = 0.05) -> Codes:
    """(raters,) the cluster of each rater, from 1: the best and those after it not significantly worse, and so on.

    values: (raters,) higher is better, NaN for 0 (no cluster); better: (raters, raters) p that i is better than j,
    NaN where not tested (then not significantly worse). The best is compared with all below it, adjusted by Holm;
    the first that is significantly worse opens the next cluster, so that clusters follow the order of the values.
    Raises Undefined where no rater has a value.
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
