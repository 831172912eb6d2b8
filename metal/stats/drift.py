"""Whether a judge has changed: paired differences between before and after, and whether they are
small enough.

A paired difference lies between -1 and 1. It is the difference of agreement with people, before and
after, on the same output, or of scores as shares of the scale. Its limits come from inverting a
score test. For each possible true difference, the variance is the observed one, but at least the
variance that rare changes of the full range would have. So a few unchanged outputs do not count as
proof that the judge has not changed.

Sources: Tango (1998), paired shares; Schuirmann (1987), two one-sided tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from metal.stats.interval import Interval
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import t_quantile, t_tail

_GRID = np.linspace(-1, 1, 20001)


@dataclass(frozen=True)
class PairedDifference:
    """The mean of paired differences. value: the mean; square: the mean square; n, sources: the
    numbers of pairs and sources; worth: how many independent pairs they are worth.
    """

    value: float
    square: float
    n: int
    sources: int
    worth: float

    def interval(self, alpha: float) -> Interval:
        """The differences that two one-sided tests at `alpha` do not reject; with fewer than two
        sources, all differences.
        """
        if self.sources < 2:
            return Interval(-1.0, 1.0)
        spread = np.maximum(
            self.square - 2 * _GRID * self.value + _GRID**2, np.abs(_GRID) - _GRID**2
        )
        far = np.abs(self.value - _GRID) - 0.5 / self.worth  # counts move in steps of 1
        kept = _GRID[far <= t_quantile(1 - alpha, self.sources - 1) * np.sqrt(spread / self.worth)]
        return Interval(float(min(kept[0], self.value)), float(max(kept[-1], self.value)))

    @property
    def p(self) -> float:
        """The two-sided p-value for a difference of 0: McNemar's with correction if differences are
        -1, 0 and 1.
        """
        if self.sources < 2:
            return math.nan
        far = abs(self.value) - 1 / self.worth
        return (
            min(1.0, 2 * t_tail(far * math.sqrt(self.worth / self.square), self.sources - 1))
            if far > 0
            else 1.0
        )

    def needed(self, margin: float, alpha: float, power: float) -> int:
        """About how many pairs show with probability `power` that the difference is within the
        margin, if it is truly 0.

        The number is (z_{1-a} + z_{1-b/2})^2 times the mean square / margin^2 (for answers, the
        mean square is the share of discordant pairs). It is at least the number that even equal
        answers need. If there are already so many pairs, it is the number for the observed
        difference instead.
        """
        pairs = self.for_none(margin, alpha, power)
        if pairs > self.n:
            return pairs
        gap = (
            max(abs(margin - abs(self.value)), 1e-3)
            if abs(self.value) < margin
            else abs(self.value)
        )
        return math.ceil(
            max(_both_sides(alpha, power) * self.square / gap**2 * self._per_pair, self.n + 1)
        )

    def for_none(self, margin: float, alpha: float, power: float) -> int:
        """About how many pairs with the same mean square show that a true difference of 0 is within
        the margin.
        """
        pairs = max(_both_sides(alpha, power) * self.square / margin**2, least_pairs(margin, alpha))
        return math.ceil(pairs * self._per_pair)

    @property
    def _per_pair(self) -> float:
        """How many pairs are worth one independent pair."""
        return self.n / self.worth if self.worth else 1.0


def _both_sides(alpha: float, power: float) -> float:
    """(z_{1-a} + z_{1-b/2})^2, the factor of two one-sided tests."""
    return (NormalDist().inv_cdf(1 - alpha) + NormalDist().inv_cdf(0.5 + power / 2)) ** 2


def paired_difference(differences: Numbers, sources: Codes) -> PairedDifference:
    """The mean of differences (n,) from -1 to 1, and how many independent pairs they are worth over
    their sources.

    >>> difference = paired_difference(np.array([1.0, 0.0, 0.0, -1.0, 1.0]), np.arange(5))
    >>> difference.value, difference.square, round(difference.worth, 9)
    (0.2, 0.6, 5.0)
    """
    n = len(differences)
    if not n:
        return PairedDifference(math.nan, math.nan, 0, 0, 0.0)
    _, source = np.unique(sources, return_inverse=True)
    sizes = np.bincount(source)
    value, square = float(differences.mean()), float((differences**2).mean())
    clustered = float(((np.bincount(source, differences) - value * sizes) ** 2).sum())
    alone = n * (square - value**2)
    worth = n * min(1.0, alone / clustered) if clustered > 1e-12 else float(len(sizes))
    return PairedDifference(value, square, n, len(sizes), worth)


@lru_cache
def least_pairs(margin: float, alpha: float) -> int:
    """How many pairs without any difference show that the true difference is within the margin.

    >>> least_pairs(0.1, 0.05), least_pairs(0.05, 0.05)
    (36, 72)
    """
    pairs = 2
    while paired_difference(np.zeros(pairs), np.arange(pairs)).interval(alpha)[1] >= margin:
        pairs = max(pairs + 1, int(pairs * 1.02))
    return pairs
