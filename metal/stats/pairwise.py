"""Ranking generators: pairs of generators on one source, and pairs of generators over all sources.

Scores are (generators, sources), NaN where a score is missing. Randomness is passed in as a numpy Generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.correlation import distinct
from metal.stats.patterns import Numbers, ratio
from metal.stats.permutation import draw_flips, signed

# Sums of the same numbers in a different order differ by less than this share of their size.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class TieCalibration:
    """epsilon: differences up to it are ties. accuracy: with this epsilon; uncalibrated: with epsilon 0.

    pairs: how many pairs were compared.
    """

    epsilon: float
    accuracy: float
    uncalibrated: float
    pairs: int


def calibrate_ties(people: Numbers, rater: Numbers) -> TieCalibration:
    """The smallest epsilon >= 0 for which pairwise accuracy is largest.

    Pairwise accuracy is the share of the pairs of generators on one source that rater and people rank alike, as a mean
    over sources: both call the pair a tie, or both prefer the same generator; for the rater, a difference up to epsilon
    is a tie. Only the rater's own differences can matter: pairs are sorted by them, and turn into ties in that order.
    people, rater: (generators, sources). Raises Undefined where no source has two generators scored by both.
    Source: Deutsch, Foster and Freitag (2023), sections 4 (grouped by item) and 5.
    >>> people, rater = np.array([[1.0, 2], [1, 3], [4, 3]]), np.array([[0.0, 5], [1, 5], [8, np.nan]])
    >>> calibrate_ties(people, rater)  # the tie of the first source is found, and nothing lost
    TieCalibration(epsilon=1.0, accuracy=0.5, uncalibrated=0.3333333333333333, pairs=4)
    """
    people, rater = np.asarray(people, dtype=np.float64), np.asarray(rater, dtype=np.float64)
    both = ~np.isnan(people) & ~np.isnan(rater)
    first, second = np.triu_indices(len(people), 1)
    scored = both[first] & both[second]
    on_source = scored.sum(axis=0)
    if not on_source.any():
        raise Undefined("no source with two generators scored by both")
    wanted, given = (people[first] - people[second])[scored], (rater[first] - rater[second])[scored]
    # Sources count alike, and the weights of all pairs sum to 1.
    weight = np.broadcast_to(ratio(1.0, on_source * (on_source > 0).sum()), scored.shape)[scored]
    gap, tied, ordered = np.abs(given), wanted == 0, wanted * given > 0
    start = float(weight[np.where(gap > 0, ordered, tied)].sum())
    matters = (gap > 0) & (tied | ordered)  # a pair ranked in the wrong order stays wrong as a tie
    rising, gain = gap[matters], np.where(tied, weight, -weight)[matters]
    epsilons, which = distinct(rising)
    accuracies = np.append(start, start + np.cumsum(np.bincount(which, gain, len(epsilons))))
    epsilons = np.append(0.0, epsilons)  # of equal differences, all become ties
    best = int(np.argmax(accuracies > accuracies.max() - _ROUNDING))
    return TieCalibration(float(epsilons[best]), float(accuracies[best]), start, len(gap))


def soft_pairwise_accuracy(
    people: Numbers, rater: Numbers, rng: np.random.Generator, *, resamples: int = 1000
) -> float:
    """1 - mean over pairs of generators of |p by people - p by rater|: is the rater as sure as people are?

    p: one-sided paired permutation test that the first of the pair scores higher (`better_than`), on the sources on
    which people and rater scored both generators, with the same swaps for people and rater. Pairs that share no source
    do not count. Raises Undefined where no pair has one, and with fewer than two generators.
    Source: Thompson, Mathur, Deutsch and Khayrallah (2024).
    """
    people, rater = np.asarray(people, dtype=np.float64), np.asarray(rater, dtype=np.float64)
    if len(people) < 2:
        raise Undefined("no two generators")
    both = np.where(np.isnan(people) | np.isnan(rater), np.nan, np.stack([people, rater]))
    by_people, by_rater = better_on_shared(both, rng, resamples=resamples)
    apart = np.abs(by_people - by_rater)[np.triu_indices(len(people), 1)]
    if np.isnan(apart).all():
        raise Undefined("no source on which two generators were scored")
    return float(1 - np.nanmean(apart))


def better_on_shared(scores: Numbers, rng: np.random.Generator, *, resamples: int = 1000) -> Numbers:
    """`better_than` with gaps: each pair of generators on the sources for which all tables have both scores.

    scores: (..., generators, sources), NaN where a score is missing. The result is NaN for a pair without a shared
    source. One set of swaps serves all pairs.
    """
    scores = np.asarray(scores, dtype=np.float64)
    *outer, generators, sources = scores.shape
    tables = scores.reshape(-1, generators, sources)
    scored = np.asarray(~np.isnan(tables).any(axis=0))
    used = scored.any(axis=0)
    if scored[:, used].all() and used.any():
        return better_than(scores[..., used], rng, resamples=resamples)
    flips = draw_flips(rng, sources, resamples)
    p = np.full((len(tables), generators, generators), np.nan)
    for i in range(generators - 1):
        shared = scored[i] & scored[i + 1 :]
        gaps = np.where(shared, tables[:, i, None] - tables[:, i + 1 :], 0.0)
        lead, behind = _leads(signed(flips.class_sums(gaps)), np.abs(gaps).sum(axis=-1))
        compared = shared.any(axis=1)
        p[:, i, i + 1 :] = np.where(compared, lead, np.nan)
        p[:, i + 1 :, i] = np.where(compared, behind, np.nan)
    return p.reshape(*outer, generators, generators)


def better_than(scores: Numbers, rng: np.random.Generator, *, resamples: int = 1000) -> Numbers:
    """(..., generators, generators) one-sided p that generator i scores higher than j, by swapping their scores.

    scores: (..., generators, sources), complete. In each resample, the two generators exchange their scores on each
    source with probability 1/2; p is the share of resamples in which i's lead is at least the observed one. All pairs
    share the swaps; their number is the next power of two, minus one (`draw_flips`).
    >>> p = better_than(np.array([[3.0, 2.0], [1.0, 1.0], [0.0, 4.0]]), np.random.default_rng(0), resamples=3)
    >>> p.round(2).tolist()  # three swaps: of the first source, of the second, of both
    [[1.0, 0.0, 0.33], [1.0, 1.0, 0.67], [0.67, 0.33, 1.0]]
    """
    scores = np.asarray(scores, dtype=np.float64)
    *outer, generators, sources = scores.shape
    tables = scores.reshape(-1, generators, sources)
    tables = tables - tables.mean(axis=1, keepdims=True)  # keeps the differences and reduces rounding
    swapped = draw_flips(rng, sources, resamples).sums(tables)
    size = np.abs(tables).sum(axis=(1, 2))[:, None]
    p = np.empty((len(tables), generators, generators))
    for i in range(generators):
        p[:, i] = _leads(swapped[:, i, None] - swapped, size)[0]
    return p.reshape(*outer, generators, generators)


def _leads(swapped: Numbers, size: Numbers) -> tuple[Numbers, Numbers]:
    """(...) shares of the resamples in which a lead is at least, and at most, the observed one.

    swapped: (..., flips), where the first flip changes nothing and so holds the observed lead; size: (...) the sum of
    the absolute values that were added up.
    """
    observed, slack = swapped[..., :1], _ROUNDING * size[..., None]
    resampled = swapped[..., 1:]
    return (resampled >= observed - slack).mean(axis=-1), (resampled <= observed + slack).mean(axis=-1)
