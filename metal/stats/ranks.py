"""Who is better than whom: a p-value for every pair, corrected over all pairs, and intervals of
ranks.

The p of a pair is two-sided, from sign flips of paired differences by source
(metal.stats.permutation). If too few flips reach the observed difference, p comes from Student's t
of the same differences instead, but is never below 2^(1 - n), the smallest p that n sources can
give. So the number of permutations does not limit how many can be compared.

The 95% interval of a rank among G goes from 1 + (how many are shown to be better) to G - (how many
are shown to be worse), with p-values adjusted by Holm over all pairs. All intervals hold together.
A pair without a test counts as not different. Source: Mogstad, Romano, Shaikh and Wilhelm (2024),
Inference for ranks; Holm (1979).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.significance import holm

FEW = 10  # flips that reach the observed difference, below which their share is not taken for p
LEVEL = 0.05
DIGITS = 9  # to which scores are equal; means of rounded scores differ beyond


@dataclass(frozen=True)
class Pairs:
    """Every pair of G compared. ahead: (G, G) whether i is better than j. p: (G, G) two-sided, NaN
    if not tested.
    """

    ahead: Codes
    p: Numbers

    @classmethod
    def tested(cls, better: Numbers, t: Numbers, sources: Numbers, flips: int) -> Pairs:
        """Make pairs from tests. better: (G, G) one-sided p by so many flips. t: (G, G) Student's
        t, or 0. sources: (G, G) how many sources i and j share.
        """
        return cls(np.asarray(better < better.T), two_sided(better, t, sources, flips))

    @property
    def adjusted(self) -> Numbers:
        """(G, G) p adjusted by Holm over all pairs that were tested."""
        above = np.triu_indices(len(self.p), 1)
        adjusted = np.full(self.p.shape, np.nan)
        adjusted[above] = holm(self.p[above])
        adjusted.T[above] = adjusted[above]
        return adjusted

    def ranks(self, level: float = LEVEL) -> tuple[Codes, Codes]:
        """(G,) the first and the last rank that are not ruled out for each.

        >>> p = np.array([[np.nan, 0.3, 0.001], [0.3, np.nan, np.nan], [0.001, np.nan, np.nan]])
        >>> low, high = Pairs(np.triu(np.ones((3, 3), dtype=bool), 1), p).ranks()
        >>> low.tolist(), high.tolist()  # only the first is shown to be better than the last
        ([1, 1, 2], [2, 3, 3])
        """
        shown = (self.adjusted <= level) & self.ahead
        return 1 + shown.sum(axis=0), len(shown) - shown.sum(axis=1)

    def in_order(self, scores: Numbers) -> list[tuple[int, dict[str, int]]]:
        """The index of each, the highest score first, with its rank (equal scores share a rank) and
        the first and last rank that are not ruled out.
        """
        scores = np.round(scores, DIGITS)  # equal means may differ in their last digits
        low, high = self.ranks()
        return [
            (
                int(at),
                {
                    "rank": 1 + int((scores > scores[at]).sum()),
                    "rank_low": int(low[at]),
                    "rank_high": int(high[at]),
                },
            )
            for at in np.argsort(-scores, kind="stable")
        ]

    def only(self, places: Codes) -> Pairs:
        """The pairs among the items at `places`."""
        both = np.ix_(places, places)
        return Pairs(self.ahead[both], self.p[both])


def two_sided(better: Numbers, t: Numbers, sources: Numbers, flips: int) -> Numbers:
    """(G, G) two-sided p, 2 min(tail, 1 - tail) and at most 1, from one-sided p `better`; from t if
    fewer than FEW flips are beyond.

    If there are no more sources than bits of `flips`, these are all possible flips, and their share
    is exact.
    >>> better = np.array([[np.nan, 0.03], [0.98, np.nan]])
    >>> float(two_sided(better, np.zeros((2, 2)), np.full((2, 2), 6), 64)[0, 1])
    0.06
    """
    from scipy.special import stdtr

    tail = np.minimum(better, better.T)
    p = np.minimum(2 * tail, 1.0)
    by_t = np.minimum(2 * stdtr(np.maximum(sources - 1, 1), -np.abs(t)), 2 * FEW / flips)
    sampled = sources >= flips.bit_length()
    p = np.where(sampled & (tail * flips < FEW), by_t, p)
    return np.asarray(np.maximum(p, np.exp2(1.0 - sources)))


def paired_t(scores: Numbers) -> tuple[Numbers, Numbers]:
    """(G, G) Student's t of the paired differences of every pair, and on how many sources both have
    a score.

    scores: (G, sources), NaN if there is none. If all differences are equal, t is infinite, or 0 if
    they are 0.
    >>> t, sources = paired_t(np.array([[3.0, 2.0, 4.0], [1.0, 1.0, 1.0], [1.0, 1.0, np.nan]]))
    >>> # gaps 2, 1, 3: 2 / (1 / sqrt(3)); 2, 1: 1.5 / (1 / 2)
    >>> t.round(2).tolist()[0], sources.tolist()[0]
    ([0.0, 3.46, 3.0], [3.0, 3.0, 2.0])
    """
    t = np.zeros((len(scores), len(scores)))
    scored = (~np.isnan(scores)).astype(np.float64)
    sources = np.rint(scored @ scored.T)
    for i, row in enumerate(scores[:-1]):
        gaps = row - scores[i + 1 :]
        shared = sources[i, i + 1 :]
        mean = ratio(np.nansum(gaps, axis=1), shared)
        squares = np.nansum((gaps - mean[:, None]) ** 2, axis=1)
        t[i, i + 1 :] = student_t(mean, ratio(squares, shared * (shared - 1)))
        t[i + 1 :, i] = -t[i, i + 1 :]
    return t, sources


def student_t(mean: Numbers, variance: Numbers) -> Numbers:
    """Mean / sqrt(variance). Without variance, infinite, or 0 if the mean is 0 or undefined."""
    rounding = 1e-24 * mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / np.sqrt(np.where(variance > rounding, variance, 0.0))
    return np.where(np.isnan(t), 0.0, t)
