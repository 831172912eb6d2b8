"""Who is better than whom: a p-value for every two, corrected over all of them, and the ranks that
these leave open.

The p of two is two-sided, from paired sign flips by source (metal.stats.permutation). Where so few
flips reach the observed difference that their share says little, it is Student's t of the same
paired differences; never below 2^(1 - n), the smallest that n sources can give. So the number of
permutations does not limit how many are compared.

Rank interval at 95%: from 1 + the number of those shown to be better, to G - the number of those
shown to be worse, by p-values adjusted by Holm over all pairs. All intervals hold at once. A pair
without a test counts as not different. Source: Mogstad, Romano, Shaikh and Wilhelm (2024),
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
    """Every two of G. ahead: (G, G) whether i is the better of i and j. p: (G, G) two-sided, NaN
    if not tested.
    """

    ahead: Codes
    p: Numbers

    @classmethod
    def tested(cls, better: Numbers, t: Numbers, sources: Numbers, flips: int) -> Pairs:
        """better: (G, G) one-sided p by so many flips. t: (G, G) Student's, or 0. sources: (G, G)
        shared by the two.
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
        """(G,) the first and the last rank of each that are not ruled out.

        >>> p = np.array([[np.nan, 0.3, 0.001], [0.3, np.nan, np.nan], [0.001, np.nan, np.nan]])
        >>> low, high = Pairs(np.triu(np.ones((3, 3), dtype=bool), 1), p).ranks()
        >>> low.tolist(), high.tolist()  # only the first is shown to be better than the last
        ([1, 1, 2], [2, 3, 3])
        """
        shown = (self.adjusted <= level) & self.ahead
        return 1 + shown.sum(axis=0), len(shown) - shown.sum(axis=1)

    def in_order(self, scores: Numbers) -> list[tuple[int, dict[str, int]]]:
        """The place of each of the G, the highest score first, with its rank, which equal scores
        share, and the first and the last that are not ruled out.
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
        """The pairs of some of the G."""
        both = np.ix_(places, places)
        return Pairs(self.ahead[both], self.p[both])


def two_sided(better: Numbers, t: Numbers, sources: Numbers, flips: int) -> Numbers:
    """(G, G) 2 min(tail, 1 - tail), at most 1, of one-sided p `better`; by t where fewer than FEW
    flips are beyond.

    With no more sources than bits of `flips` these are all flips that there are, and their share is
    exact.
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
    """(G, G) Student's t of the paired differences of every two, and on how many sources both have
    a score.

    scores: (G, sources), NaN if there is none. Differences that are all alike give infinity, or
    0 where they are 0.
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
    """Mean / sqrt(variance); infinite without variance, 0 where the mean is 0, too, or
    undefined.
    """
    rounding = 1e-24 * mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / np.sqrt(np.where(variance > rounding, variance, 0.0))
    return np.where(np.isnan(t), 0.0, t)
