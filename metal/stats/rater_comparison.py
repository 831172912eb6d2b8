"""Does one rater correlate better with people than another? Paired permutation tests, and clusters from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metal.errors import Undefined
from metal.stats.multiplicity import holm
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.sign_flips import SignFlips, draw_flips, signed

# Correlations nearer than this differ by rounding.
_ROUNDING = 1e-12


def correlates_better(
    people: Numbers,
    raters: Numbers,
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
    wanted: Codes | None = None,
) -> Numbers:
    """(raters, raters) one-sided p that rater i's Pearson correlation with people is higher than rater j's.

    people: (items,), raters: (raters, items), NaN where one gave no answer: each pair is compared on the items that
    both and the people answered. Scores are z-scored; in each resample the two exchange theirs on each item with
    probability 1/2; p = (1 + resamples with at least the observed difference) / (1 + resamples). NaN on the diagonal
    and where a correlation is undefined. The swaps are drawn once for all pairs (metal.stats.sign_flips): at least
    `resamples` of them, the next power of two less one. wanted: (raters, raters) the pairs to compare, either way
    round; all of them by default. Source: PERM-BOTH, Deutsch, Dror and Roth (2021), section 4.
    """
    people, raters = np.asarray(people, dtype=np.float64), np.asarray(raters, dtype=np.float64)
    p = np.full((len(raters), len(raters)), np.nan)
    if not len(raters):
        return p
    asked = np.ones(p.shape, dtype=bool) if wanted is None else np.asarray(wanted) | np.asarray(wanted).T
    answered, which = _distinct(~np.isnan(raters) & ~np.isnan(people))
    flips = draw_flips(np.random.default_rng(int(rng.integers(2**63))), len(people), resamples)
    for first in range(len(answered)):
        for second in range(first, len(answered)):
            across = (which == first)[:, None] & (which == second) & asked
            across |= across.T
            mine = np.flatnonzero(across.any(axis=1))
            if not len(mine):
                continue
            items = np.flatnonzero(answered[first] & answered[second])
            pairs = across[np.ix_(mine, mine)]
            found = _all_pairs(people[items], [raters[place, items] for place in mine], flips.only(items), pairs)
            p[np.ix_(mine, mine)] = np.where(pairs, found, p[np.ix_(mine, mine)])
    return p


def _distinct(rows: Codes) -> tuple[Codes, Codes]:
    """The distinct rows, in order of appearance, and which of them each row is."""
    places: dict[bytes, int] = {}
    which = [places.setdefault(row.tobytes(), len(places)) for row in np.packbits(rows, axis=1)]
    first = [which.index(place) for place in range(len(places))]
    return rows[first], np.array(which, dtype=np.int64)


def _all_pairs(people: Numbers, raters: Sequence[Numbers], flips: SignFlips, pairs: Codes) -> Numbers:
    """`correlates_better` of some pairs, (raters, raters), without missing answers.

    A swap moves numbers from one rater's sums of z, z^2 and z*y to the other's: all that chance does is decide which,
    so that the sums of every resample follow from the differences of the two by class of the flips.
    """
    p = np.full(pairs.shape, np.nan)
    items = len(people)
    varies = np.array([items > 1 and (rater != rater[0]).any() for rater in raters], dtype=bool)
    if items < 2 or (people == people[0]).all() or varies.sum() < 2:
        return p
    centred = people - people.mean()
    centred /= np.sqrt((centred**2).sum())
    by_class = np.zeros((len(raters), 3, flips.count))
    for place in np.flatnonzero(varies).tolist():
        z = (raters[place] - raters[place].mean()) / raters[place].std()
        by_class[place] = flips.class_sums(np.stack([z, z**2, z * centred]))
    total = by_class.sum(axis=2)
    for i, j in zip(*np.nonzero(np.triu(pairs & varies & varies[:, None], 1)), strict=True):
        apart = total[j] - total[i]
        change = (apart[:, None] - signed(by_class[j] - by_class[i])) / 2  # a flip exchanges what it turns
        lead = _pearson(total[i][:, None] + change, items) - _pearson(total[j][:, None] - change, items)
        p[i, j] = (lead >= lead[0] - _ROUNDING).mean()  # the first flip turns nothing: what was observed
        p[j, i] = (lead <= lead[0] + _ROUNDING).mean()
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
