"""Paired permutation tests whose cost does not grow with the data: a random subgroup of all sign flips.

A paired permutation test flips the sign of each item's difference with probability 1/2 and looks at the sum. The flips
of N items are a group, (Z/2)^N, and a test by *any* subgroup of it is exact as well: what is invariant under all flips
is invariant under those of the subgroup. Here the subgroup is drawn at random: each item gets a *class*, a number of k
random bits, and flip g (0 to 2^k - 1) turns the items whose class has an odd number of bits in common with g. All 2^k
sums are then the Walsh-Hadamard transform of the sums by class: one pass over the items and k 2^k additions, where
independent flips take N 2^k.

Every flip except the first is uniform over all flips, and any two of them are independent: a p-value has the Monte
Carlo error of as many independent flips. With no more items than bits, the subgroup is the whole group.
Source: Koning and Hemerik, More efficient exact group-invariance testing (2024); Chung and Fraser (1958).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers


@dataclass(frozen=True)
class SignFlips:
    """classes: (items,) the class of each item. count: how many flips there are, a power of two."""

    classes: Codes
    count: int

    def only(self, items: Codes) -> SignFlips:
        """The same flips, for some of the items only (a mask or places)."""
        return SignFlips(self.classes[items], self.count)

    def class_sums(self, values: Numbers) -> Numbers:
        """(..., count) from (..., items): the sum over the items of each class."""
        values = np.asarray(values, dtype=np.float64)
        rows = values.reshape(math.prod(values.shape[:-1]), len(self.classes))
        sums = [np.bincount(self.classes, row, minlength=self.count) for row in rows]
        return np.array(sums, dtype=np.float64).reshape(*values.shape[:-1], self.count)

    def sums(self, values: Numbers) -> Numbers:
        """(..., count) from (..., items): the sum over all items under each flip; the first flip changes nothing.

        >>> SignFlips(np.array([1, 2]), 4).sums(np.array([5.0, 3.0])).tolist()
        [8.0, -2.0, 2.0, -8.0]
        """
        return signed(self.class_sums(values))


def draw_flips(rng: np.random.Generator, items: int, resamples: int) -> SignFlips:
    """Flips of `items` items: the smallest power of two above `resamples`. The first flip changes nothing."""
    bits = max(resamples, 1).bit_length()
    if items <= bits:
        return SignFlips(np.left_shift(1, np.arange(items)), 1 << bits)
    return SignFlips(rng.integers(0, 1 << bits, items, dtype=np.int64), 1 << bits)


def signed(class_sums: Numbers) -> Numbers:
    """(..., count) from (..., count) sums by class: the total under each flip (the Walsh-Hadamard transform).

    Each step removes the lowest bit of the class and adds the bit of the flip on top, which ends in the right order.
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
