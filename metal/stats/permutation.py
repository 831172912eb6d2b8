"""Paired permutation tests whose cost hardly grows with the data, by a random subgroup of all sign
flips.

A paired permutation test flips the sign of each item's difference with probability 1/2 and looks at
the sum. The flips of N items are a group, (Z/2)^N, and a test by *any* subgroup of it is exact as
well: a distribution that is invariant under all flips is invariant under the flips of the subgroup.
Here the subgroup
is drawn at random: each item gets a *class*, a number of k random bits, and flip g (0 to 2^k - 1)
turns the items whose class has an odd number of bits in common with g. All 2^k sums are then the
Walsh-Hadamard transform of the sums by class: one pass over the items and k 2^k additions, where
independent flips take N 2^k.

Every flip except the first is uniform over all flips, and any two of them are independent: a
p-value has the Monte Carlo error of as many independent flips. With no more items than bits, the
subgroup is the whole group. Source: Koning and Hemerik, More efficient exact group-invariance
testing (2024); Chung and Fraser (1958).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.ranks import Pairs

# Correlations closer than this differ by rounding; for scores of variance 1, variances below it are
# rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SignFlips:
    """Flips of signs. classes: (items,) the class of each item. count: how many flips there are,
    which is a power of two.
    """

    classes: Codes
    count: int

    def only(self, items: Codes) -> SignFlips:
        """The same flips for only some of the items, given as a mask or as positions."""
        return SignFlips(self.classes[items], self.count)

    def class_sums(self, values: Numbers) -> Numbers:
        """(..., count) from (..., items): the sum over the items of each class."""
        values = np.asarray(values, dtype=np.float64)
        rows = values.reshape(math.prod(values.shape[:-1]), len(self.classes))
        sums = [np.bincount(self.classes, row, minlength=self.count) for row in rows]
        return np.array(sums, dtype=np.float64).reshape(*values.shape[:-1], self.count)

    def sums(self, values: Numbers) -> Numbers:
        """(..., count) from (..., items): the sum over all items under each flip; the first flip
        changes nothing.

        >>> SignFlips(np.array([1, 2]), 4).sums(np.array([5.0, 3.0])).tolist()
        [8.0, -2.0, 2.0, -8.0]
        """
        return signed(self.class_sums(values))


def flip_count(resamples: int) -> int:
    """How many flips are used for at least so many resamples; a power of two."""
    return 1 << max(resamples, 1).bit_length()


def resolution(resamples: int) -> float:
    """The smallest p that a one-sided test with so many resamples can give; the true p may be
    smaller.
    """
    return 1 / flip_count(resamples)


def draw_flips(rng: np.random.Generator, items: int, resamples: int) -> SignFlips:
    """Flips of `items` items, as many as the smallest power of two above `resamples`; the first
    changes nothing.
    """
    count = flip_count(resamples)
    if items < count.bit_length():
        return SignFlips(np.left_shift(1, np.arange(items)), count)
    return SignFlips(rng.integers(0, count, items, dtype=np.int64), count)


def signed(class_sums: Numbers) -> Numbers:
    """(..., count) from (..., count) sums by class: the total under each flip (the Walsh-Hadamard
    transform).

    Each step removes the lowest bit of the class and adds the bit of the flip on top, which ends in
    the right order.
    """
    sums = np.asarray(class_sums, dtype=np.float64)
    half = sums.shape[-1] // 2
    for _ in range(sums.shape[-1].bit_length() - 1):
        even, odd = sums[..., 0::2], sums[..., 1::2]
        following = np.empty_like(sums)
        np.add(even, odd, out=following[..., :half])
        np.subtract(even, odd, out=following[..., half:])
        sums = following
    return sums


def correlates_better(
    people: Numbers,
    raters: Numbers,
    rng: np.random.Generator,
    *,
    source: Codes | None = None,
    resamples: int = 1000,
    wanted: Codes | None = None,
) -> Numbers:
    """(raters, raters) one-sided p that rater i's Pearson correlation with people is higher than
    rater j's.

    people: (items,), raters: (raters, items), NaN if there is no answer: each pair is compared
    on the items that both raters and the people answered. Scores are z-scored; in each resample the
    two exchange their scores on each source (each item, where `source` is None) with probability
    1/2; p = (1 + resamples with at least the observed difference) / (1 + resamples). NaN on the
    diagonal and where a correlation is undefined. The swaps are drawn once for all pairs: at least
    `resamples` of them, the next power of two, minus one. wanted: (raters, raters) the pairs to
    compare, in either direction; all pairs by default. Source: PERM-BOTH, Deutsch, Dror and Roth
    (2021), section 4.
    """
    p = np.full((len(raters), len(raters)), np.nan)
    for i, j, lead in _every_two(people, raters, rng, source, resamples, wanted):
        p[i, j] = (lead >= lead[0] - _ROUNDING).mean()
        p[j, i] = (lead <= lead[0] + _ROUNDING).mean()
    return p


def correlation_pairs(
    people: Numbers,
    raters: Numbers,
    rng: np.random.Generator,
    source: Codes,
    *,
    resamples: int = 1000,
) -> Pairs:
    """Compare every two raters by their correlations with people. Like `correlates_better`, but
    two-sided.

    t: z sqrt((n - 1) / (n - z^2)), where z is the observed lead divided by the root of the mean
    square of all leads under flips.
    """
    people, raters = np.asarray(people, dtype=np.float64), np.asarray(raters, dtype=np.float64)
    better, t = np.full((2, len(raters), len(raters)), np.nan)
    flips = 1
    for i, j, lead in _every_two(people, raters, rng, source, resamples):
        better[i, j] = (lead >= lead[0] - _ROUNDING).mean()
        better[j, i] = (lead <= lead[0] + _ROUNDING).mean()
        t[i, j] = t[j, i] = ratio(lead[0], math.sqrt(float(np.nanmean(lead**2))))
        flips = len(lead)
    _, code = np.unique(source, return_inverse=True)
    answered = np.zeros((len(raters), int(code.max(initial=-1)) + 1))
    for rater, scores in enumerate(raters):
        answered[rater, code[~np.isnan(scores) & ~np.isnan(people)]] = 1
    sources = np.rint(answered @ answered.T)
    left = np.maximum(sources - t**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(t * np.sqrt((sources - 1) / left), nan=0.0)
    return Pairs.tested(better, t, sources, flips)


def pearson_leads(
    people: Numbers, raters: Numbers, rng: np.random.Generator, *, resamples: int = 1000
) -> Numbers:
    """(pairs of raters, flips) how much better the first of each two raters correlates with people,
    in the order of `itertools.combinations`; the first flip changes nothing. NaN where a
    correlation is undefined.

    people: (items,), raters: (raters, items). Scores are exchanged item by item; see
    `correlates_better`.
    """
    leads = np.full((len(raters), len(raters), flip_count(resamples)), np.nan)
    for i, j, lead in _every_two(people, raters, rng, None, resamples):
        leads[i, j] = np.resize(lead, leads.shape[2])
    return np.asarray(leads[np.triu_indices(len(raters), 1)])


def _every_two(
    people: Numbers,
    raters: Numbers,
    rng: np.random.Generator,
    source: Codes | None,
    resamples: int,
    wanted: Codes | None = None,
) -> Iterator[tuple[int, int, Numbers]]:
    """(i, j, (flips,) leads of rater i over rater j) for pairs whose correlations are defined; the
    first lead is the observed one.
    """
    people, raters = np.asarray(people, dtype=np.float64), np.asarray(raters, dtype=np.float64)
    if not len(raters):
        return
    compared = np.ones((len(raters), len(raters)), dtype=bool)
    if wanted is not None:
        compared = np.asarray(wanted) | np.asarray(wanted).T
    answered = ~np.isnan(raters) & ~np.isnan(people)
    flips = _flips_of(np.arange(len(people)) if source is None else source, rng, resamples)
    y = _standard(people, np.asarray(answered.any(axis=0)))
    x = [_standard(rater, items) for rater, items in zip(raters, answered, strict=True)]
    moments = [_moments(scores, y, flips, items) for scores, items in zip(x, answered, strict=True)]

    def shared(i: int, j: int) -> Numbers:
        """Rater i's moments over the items that both i and j answered: those over all of i's items,
        minus those over the items that j lacks.
        """
        alone = answered[i] & ~answered[j]
        return moments[i] - _moments(x[i], y, flips, alone) if alone.any() else moments[i]

    for i, j in np.argwhere(np.triu(compared, 1)).tolist():
        lead = _leads(shared(i, j), shared(j, i))
        if lead is not None:
            yield i, j, lead


def _flips_of(source: Codes, rng: np.random.Generator, resamples: int) -> SignFlips:
    """Flips of items in which all items of a source are turned together."""
    _, code = np.unique(source, return_inverse=True)
    flips = draw_flips(
        np.random.default_rng(int(rng.integers(2**63))), int(code.max(initial=-1)) + 1, resamples
    )
    return flips.only(code)


def _standard(values: Numbers, items: Codes) -> Numbers:
    """(items,) z-scores over the items of a mask, 0 for all other items, and if the values do not
    vary.
    """
    scores = np.zeros(len(values))
    used = values[items]
    if len(used) and (used != used[0]).any():
        scores[items] = (used - used.mean()) / used.std()
    return scores


def _moments(x: Numbers, y: Numbers, flips: SignFlips, items: Codes) -> Numbers:
    """(6, flips) sums by class, over the items of a mask, of 1, y, y^2, x, x^2 and x*y."""
    x, y = x[items], y[items]
    return flips.only(items).class_sums(np.stack([np.ones(len(x)), y, y * y, x, x * x, x * y]))


def _leads(first: Numbers, second: Numbers) -> Numbers | None:
    """(flips,) leads of the first of two raters, from their moments by class over the items that
    both answered.

    A swap moves an item's numbers from one rater's sums of z, z^2 and z*y to the other's. The sums
    of every resample therefore follow from the differences between the two raters, added up by
    class of the flips.
    """
    z_first, z_second = _z_sums(first), _z_sums(second)
    if z_first is None or z_second is None:
        return None
    items = float(first[0].sum())
    left, right = z_first.sum(axis=1)[:, None], z_second.sum(axis=1)[:, None]
    # a flip exchanges the items whose sign it turns
    change = (right - left - signed(z_second - z_first)) / 2
    return _pearson(left + change, items) - _pearson(right - change, items)


def _z_sums(moments: Numbers) -> Numbers | None:
    """(3, flips) sums by class of z, z^2 and z*y, with y centred and of length 1; None if either
    side does not vary.
    """
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
    """The correlation from (3, ...) sums of z, z^2 and z*y, with y centred and of length 1; NaN
    if z is constant.
    """
    z, zz, zy = sums
    squares = zz - z * z / items
    return ratio(zy, np.sqrt(np.where(squares > _ROUNDING * zz, squares, 0.0)))
