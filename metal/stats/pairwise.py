"""Ranking generators: pairs of them on one source, and pairs of them over all sources.

Scores are (generators, sources), NaN where one has none. Chance is handed in as a numpy Generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.correlation import distinct
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.sign_flips import draw_flips, signed

# Sums of the same numbers in another order differ by less than this share of them.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class TieCalibration:
    """epsilon: differences up to it are ties. accuracy: with it; uncalibrated: with epsilon 0. pairs: compared."""

    epsilon: float
    accuracy: float
    uncalibrated: float
    pairs: int


def pairwise_accuracy(people: Numbers, rater: Numbers, epsilon: float = 0.0) -> float:
    """Share of the pairs of generators on one source that rater and people rank alike, the mean over sources.

    A pair is alike when both call it a tie or both prefer the same; the rater calls a difference up to epsilon a tie.
    people, rater: (generators, sources). Raises Undefined where no source has two generators scored by both.
    Source: Deutsch, Foster and Freitag (2023), section 4 (grouped by item).
    >>> pairwise_accuracy(np.array([[1.0], [1.0], [4.0]]), np.array([[0.0], [1.0], [8.0]])).__round__(4)
    0.6667
    """
    gap, tied, ordered, weight = _compare(people, rater)
    return float(weight @ np.where(gap > epsilon, ordered, tied))


def calibrate_ties(people: Numbers, rater: Numbers) -> TieCalibration:
    """The epsilon >= 0 with which `pairwise_accuracy` is largest, the smallest of several. Undefined as there.

    Only the rater's own differences can matter: pairs are sorted by theirs, and turn into ties in that order.
    Source: Deutsch, Foster and Freitag (2023), section 5.
    """
    gap, tied, ordered, weight = _compare(people, rater)
    start = float(weight[np.where(gap > 0, ordered, tied)].sum())
    matters = (gap > 0) & (tied | ordered)  # a pair ranked the wrong way round stays wrong as a tie
    rising, gain = gap[matters], np.where(tied, weight, -weight)[matters]
    epsilons, which = distinct(rising)
    accuracies = np.append(start, start + np.cumsum(np.bincount(which, gain, len(epsilons))))
    epsilons = np.append(0.0, epsilons)  # of equal differences, all become ties
    best = int(np.argmax(accuracies > accuracies.max() - _ROUNDING))
    return TieCalibration(float(epsilons[best]), float(accuracies[best]), start, len(gap))


def _compare(people: Numbers, rater: Numbers) -> tuple[Numbers, Codes, Codes, Numbers]:
    """For each pair on each source, where both scored both: the rater's absolute difference, whether people tie,
    whether the two prefer the same, and the pair's weight (each source counts once, weights sum to 1).
    """
    people, rater = np.asarray(people, dtype=np.float64), np.asarray(rater, dtype=np.float64)
    both = ~np.isnan(people) & ~np.isnan(rater)
    first, second = np.triu_indices(len(people), 1)
    there = both[first] & both[second]
    on_source = there.sum(axis=0)
    if not on_source.any():
        raise Undefined("no source with two generators scored by both")
    wanted, given = people[first] - people[second], rater[first] - rater[second]
    weight = np.broadcast_to(ratio(1.0, on_source * (on_source > 0).sum()), there.shape)
    if there.all():
        wanted, given, weight = wanted.ravel(), given.ravel(), weight.ravel()
    else:
        wanted, given, weight = wanted[there], given[there], weight[there]
    return np.abs(given), wanted == 0, wanted * given > 0, weight


def soft_pairwise_accuracy(
    people: Numbers, rater: Numbers, rng: np.random.Generator, *, resamples: int = 1000
) -> float:
    """1 - mean over pairs of generators of |p by people - p by rater|: is the rater as sure as people are?

    p: one-sided paired permutation test that the first of the pair scores higher (`better_than`), on the sources on
    which people and rater scored both, with the same swaps for people and rater. Pairs without such a source do not
    count. Raises Undefined where no pair has one, and with fewer than two generators. Source: Thompson, Mathur,
    Deutsch and Khayrallah (2024).
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
    """`better_than` with gaps: each pair of generators on the sources on which all tables have both.

    scores: (..., generators, sources), NaN where one was not scored. NaN for a pair without such a source. One set of
    swaps serves all pairs.
    """
    scores = np.asarray(scores, dtype=np.float64)
    *outer, generators, sources = scores.shape
    tables = scores.reshape(-1, generators, sources)
    there = np.asarray(~np.isnan(tables).any(axis=0))
    somewhere = there.any(axis=0)
    if there[:, somewhere].all() and somewhere.any():
        return better_than(scores[..., somewhere], rng, resamples=resamples)
    flips = draw_flips(rng, sources, resamples)
    p = np.full((len(tables), generators, generators), np.nan)
    for i in range(generators - 1):
        shared = there[i] & there[i + 1 :]
        gaps = np.where(shared, tables[:, i, None] - tables[:, i + 1 :], 0.0)
        lead, behind = _leads(signed(flips.class_sums(gaps)), np.abs(gaps).sum(axis=-1))
        compared = shared.any(axis=1)
        p[:, i, i + 1 :] = np.where(compared, lead, np.nan)
        p[:, i + 1 :, i] = np.where(compared, behind, np.nan)
    return p.reshape(*outer, generators, generators)


def better_than(scores: Numbers, rng: np.random.Generator, *, resamples: int = 1000) -> Numbers:
    """(..., generators, generators) one-sided p that generator i scores higher than j, by swapping their scores.

    scores: (..., generators, sources), complete. p: share of resamples, in each of which the two exchange their
    scores on each source with probability 1/2, where i's lead is at least the observed one. All share the swaps, of
    which there are the next power of two less one (metal.stats.sign_flips).
    """
    scores = np.asarray(scores, dtype=np.float64)
    *outer, generators, sources = scores.shape
    tables = scores.reshape(-1, generators, sources)
    tables = tables - tables.mean(axis=1, keepdims=True)  # differences stay, rounding shrinks
    swapped = draw_flips(rng, sources, resamples).sums(tables)
    size = np.abs(tables).sum(axis=(1, 2))[:, None]
    p = np.empty((len(tables), generators, generators))
    for i in range(generators):
        p[:, i] = _leads(swapped[:, i, None] - swapped, size)[0]
    return p.reshape(*outer, generators, generators)


def _leads(swapped: Numbers, size: Numbers) -> tuple[Numbers, Numbers]:
    """(...) shares of the resamples in which a lead is at least, and at most, the observed one.

    swapped: (..., flips), the first flips nothing: what was observed; size: (...) the sum of what was added up.
    """
    observed, slack = swapped[..., :1], _ROUNDING * size[..., None]
    resampled = swapped[..., 1:]
    return (resampled >= observed - slack).mean(axis=-1), (resampled <= observed + slack).mean(axis=-1)
