"""PERM-BOTH for any statistic: does one rater agree better with the gold standard than another?

Two raters' standardised scores are exchanged on each item with probability 1/2; the lead of one
over the other is the difference of their statistics. p is the share of exchanges with a lead at
least as large as the observed one; the observed lead counts as one exchange. All pairs of raters
share the exchanges, so adding a rater does not change the p-values of the others. Source: Deutsch,
Dror and Roth (2021), section 4.

leads: (pairs, swaps) the lead of the first of each two raters, in the order of
`itertools.combinations`; the first swap exchanges nothing, so it holds the observed leads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from metal.stats.patterns import Codes, Flags, Numbers
from metal.stats.permutation import draw_flips

# Leads closer than this differ by rounding.
_ROUNDING = 1e-12
# Variances below this share of the squares are rounding, in single precision.
_SINGLE = 1e-6
# Scores that are looked at together, which bounds the memory.
_BLOCK = 2_000_000
# A costly test ends early if p is below or above these bounds after so many exchanges.
_FIRST_LOOK = 128
_CLEAR = (0.02, 0.25)

SetStatistic = Callable[[Numbers], Numbers]


def every_two(raters: int) -> list[tuple[int, int]]:
    """The pairs of raters, in the order of `leads`."""
    return [(i, j) for i in range(raters - 1) for j in range(i + 1, raters)]


def standardised(scores: Numbers) -> Numbers:
    """(raters, items) z-scores; NaN for a rater whose scores are all equal."""
    scores = np.asarray(scores, dtype=np.float64)
    spread = scores.std(axis=1, keepdims=True)
    spread[np.ptp(scores, axis=1) == 0] = np.nan
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / spread)


def drawn_swaps(rng: np.random.Generator, items: int, swaps: int) -> Flags:
    """(swaps, items) which items are exchanged in each swap; the first swap exchanges nothing."""
    exchanged = rng.random((swaps, items)) < 0.5
    exchanged[0] = False
    return exchanged


def leads_by_score(
    statistic: SetStatistic,
    scores: Numbers,
    rng: np.random.Generator,
    swaps: int,
    *,
    early: bool = False,
    dtype: type[np.floating[Any]] = np.float64,
) -> Numbers:
    """Leads when scores are exchanged. statistic: (sets,) from (sets, items) scores; scores:
    (raters, items), complete.

    NaN for pairs with a rater whose scores are all equal. early: whether to end a test whose result
    is clear after 128 exchanges (WMT's tasks do this after 100); the leads are then repeated.
    dtype: the type in which scores are computed.
    >>> scores = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
    >>> gold = np.array([0.0, 0.0, 1.0])
    >>> leads = leads_by_score(lambda sets: sets @ gold, scores, np.random.default_rng(0), 4)
    >>> leads[0, 0].round(4).item()  # z-scores of 3 and 2: sqrt(3/2) - 0
    1.2247
    """
    z: Codes = standardised(scores).astype(dtype)
    exchanged = drawn_swaps(rng, scores.shape[1], swaps)
    pairs = every_two(len(z))
    leads = np.full((len(pairs), swaps), np.nan)
    going = [pair for pair, (i, j) in enumerate(pairs) if not np.isnan(z[[i, j], 0]).any()]
    size = _FIRST_LOOK if early else max(1, _BLOCK // max(scores.shape[1], 1))
    for begin in range(0, swaps, size):
        # a product with 0 or 1 is exact, and faster than a choice
        taken: Codes = exchanged[begin : begin + size].astype(dtype)
        kept = 1 - taken
        for pair in going:
            i, j = pairs[pair]
            first, second = kept * z[i] + taken * z[j], kept * z[j] + taken * z[i]
            leads[pair, begin : begin + size] = statistic(first) - statistic(second)
        for pair in [*going] if early else []:
            tried = leads[pair, : begin + size]
            p = min(p_of_leads(np.stack([tried, -tried])))
            if not _CLEAR[0] <= p <= _CLEAR[1]:
                leads[pair] = np.resize(tried, swaps)
                going.remove(pair)
    return leads


def leads_by_outcome(outcomes: Numbers, rng: np.random.Generator, swaps: int) -> Numbers:
    """Leads of sums of outcomes if single outcomes of two raters are exchanged. An outcome is, for
    example, whether a pair of generators was ranked alike.

    outcomes: (raters, outcomes), complete. The sums under all swaps are a transform of each rater's
    outcomes (metal.stats.permutation), so further raters cost almost nothing. swaps: a power
    of two. Source for pairs with calibrated ties: Deutsch, Foster and Freitag (2023).
    >>> outcomes = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> leads = leads_by_outcome(outcomes, np.random.default_rng(0), 8)
    >>> leads[0, 0].item(), sorted({*leads[0].tolist()})  # only the first outcome differs
    (1.0, [-1.0, 1.0])
    """
    sums = draw_flips(rng, outcomes.shape[1], swaps - 1).sums(outcomes)
    leads = [sums[i] - sums[j] for i, j in every_two(len(outcomes))]
    return np.array(leads).reshape(-1, sums.shape[1])


def p_of_leads(leads: Numbers) -> Numbers:
    """(pairs,) one-sided p that the first of two raters leads; NaN if the lead is undefined.

    >>> p_of_leads(np.array([[0.2, 0.1, 0.3, -0.1]])).tolist()
    [0.5]
    """
    p = (leads >= leads[:, :1] - _ROUNDING).mean(axis=1)
    return np.where(np.isnan(leads[:, 0]), np.nan, p)


def p_matrix(leads: Numbers, raters: int) -> Numbers:
    """(raters, raters) one-sided p that rater i leads rater j; NaN on the diagonal."""
    p = np.full((raters, raters), np.nan)
    for (i, j), ahead, behind in zip(
        every_two(raters), p_of_leads(leads), p_of_leads(-leads), strict=True
    ):
        p[i, j], p[j, i] = ahead, behind
    return p


def cluster_ranks(p: Numbers, level: float = 0.05) -> list[int]:
    """WMT's ranks of raters, the best first: a new cluster begins at the first rater whom some
    rater of the current cluster leads with p <= `level`.

    p: (raters, raters), p[i, j] is for rater i leading j; raters are in the order of their rank. An
    undefined p begins no cluster. Source: the metrics tasks of WMT, since Freitag et al. (2022).
    >>> p = np.array([[1, 0.3, 0.04], [1, 1, 0.2], [1, 1, 1]])
    >>> cluster_ranks(p)  # the third is led by the first, though not by the second
    [1, 1, 2]
    """
    ranks: list[int] = []
    begin = 0
    for at in range(len(p)):
        if (p[begin:at, at] <= level).any():
            begin = at
            ranks.append(ranks[-1] + 1)
        else:
            ranks.append(ranks[-1] if ranks else 1)
    return ranks


def averaged_leads(leads: Sequence[Numbers], weights: Sequence[float]) -> Numbers:
    """Leads of a weighted mean of several tasks' statistics, from the leads of each task; each task
    has its own exchanges.
    """
    swaps = min(each.shape[1] for each in leads)
    parts = [weight * each[:, :swaps] for each, weight in zip(leads, weights, strict=True)]
    return np.asarray(sum(parts))


def soft_accuracy_leads(
    gold: Numbers, scores: Numbers, rng: np.random.Generator, swaps: int
) -> Numbers:
    """Leads of soft pairwise accuracy if scores of outputs are exchanged.

    gold: (generators, sources), scores: (raters, generators, sources), complete. For each set of
    exchanged scores, two generators would need a permutation test of their own. Its p-value is
    approximated by a normal distribution with the variance of that test, which is the sum of the
    squared differences.
    """
    raters, generators, sources = scores.shape
    upper = np.triu_indices(generators, 1)
    by_gold = _tails(gold[None].astype(np.float32), upper)

    def accuracy(sets: Numbers) -> Numbers:
        tables = sets.reshape(-1, generators, sources)
        return np.asarray(1 - np.abs(_tails(tables, upper) - by_gold).mean(axis=1))

    flat = scores.reshape(raters, -1)
    return leads_by_score(accuracy, flat, rng, swaps, early=True, dtype=np.float32)


def _tails(tables: Numbers, upper: tuple[Codes, ...]) -> Numbers:
    """(sets, pairs) the p-value that the first of two generators scores higher. tables: (sets,
    generators, sources).
    """
    from scipy.special import ndtr

    totals = tables.sum(axis=2, dtype=np.float64)
    products = tables @ tables.transpose(0, 2, 1)
    squares = np.einsum("sgg->sg", products)
    first, second = upper
    spread = squares[:, first] + squares[:, second] - 2 * products[:, first, second]
    gaps = totals[:, first] - totals[:, second]
    rounding = _SINGLE * (squares[:, first] + squares[:, second])
    return np.asarray(ndtr(-gaps / np.sqrt(np.where(spread > rounding, spread, np.inf))))


def williams(with_gold: float, others_with_gold: float, between: float, items: int) -> float:
    """One-sided p of Williams' test for two dependent Pearson correlations with the gold standard:
    that the larger one is truly larger.

    with_gold, others_with_gold: the two raters' correlations with gold; between: the correlation of
    the two raters with each other; items: the number of scores, more than 3. Source: Williams
    (1959); Graham and
    Baldwin (2014), equation 1.
    >>> round(williams(0.9, 0.8, 0.85, 30), 4)  # t = 2.178 with 27 degrees of freedom
    0.0191
    """
    from scipy.special import stdtr

    r1, r2, r12 = with_gold, others_with_gold, between
    if items <= 3:
        return math.nan
    determinant = 1 - r1**2 - r2**2 - r12**2 + 2 * r1 * r2 * r12
    mean = (r1 + r2) / 2
    spread = 2 * determinant * (items - 1) / (items - 3) + mean**2 * (1 - r12) ** 3
    if spread <= 0:
        return math.nan
    t = (r1 - r2) * math.sqrt((items - 1) * (1 + r12) / spread)
    return float(stdtr(items - 3, -abs(t)))
