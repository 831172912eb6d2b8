"""Ranking generators: pairs of generators on one source, and pairs of generators over all sources.

Scores are (generators, sources), NaN if a score is missing. Randomness is passed in as a numpy
Generator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.stats.grouped import best_threshold
from metal.stats.patterns import Numbers, ratio
from metal.stats.permutation import draw_flips, flip_count, signed
from metal.stats.ranks import Pairs, paired_t

# Sums of the same numbers in a different order differ by less than this share of their size.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class TieCalibration:
    """The result of calibrating ties. epsilon: differences up to epsilon are ties. accuracy: with
    this epsilon; uncalibrated: with epsilon 0.

    pairs: how many pairs were compared, on how many sources. variance: of the accuracy over
    sources, with this epsilon; NaN from one source.
    """

    epsilon: float
    accuracy: float
    uncalibrated: float
    pairs: int
    sources: int
    variance: float


@dataclass(frozen=True)
class SoftAccuracy:
    """Soft pairwise accuracy. accuracy: its value. variance: its variance over sources; NaN with
    one source.
    """

    accuracy: float
    variance: float


def calibrate_ties(people: Numbers, rater: Numbers) -> TieCalibration:
    """The smallest epsilon >= 0 for which pairwise accuracy is largest.

    Pairwise accuracy is the share of the pairs of generators on one source that rater and people
    rank alike, as a mean over sources: both call the pair a tie, or both prefer the same generator;
    for the rater, a difference up to epsilon is a tie. Only differences that the rater itself shows
    need to be tried as epsilon: pairs are sorted by them, and turn into ties in that order. people,
    rater: (generators,
    sources). Raises Undefined if no source has two generators scored by both. Source: Deutsch,
    Foster and Freitag (2023), sections 4 (grouped by item) and 5.
    >>> people, rater = (
    ...     np.array([[1.0, 2], [1, 3], [4, 3]]),
    ...     np.array([[0.0, 5], [1, 5], [8, np.nan]]),
    ... )
    >>> # the tie of the first source is found, and nothing lost
    >>> calibrated = calibrate_ties(people, rater)
    >>> calibrated.epsilon, calibrated.accuracy, calibrated.pairs
    (1.0, 0.5, 4)
    """
    people, rater = np.asarray(people, dtype=np.float64), np.asarray(rater, dtype=np.float64)
    both = ~np.isnan(people) & ~np.isnan(rater)
    first, second = np.triu_indices(len(people), 1)
    scored = both[first] & both[second]
    on_source = scored.sum(axis=0)
    if not on_source.any():
        raise Undefined("no source with two generators scored by both")
    wanted, gaps = (people[first] - people[second])[scored], (rater[first] - rater[second])[scored]
    # Sources count alike, and the weights of all pairs sum to 1.
    weight = np.broadcast_to(ratio(1.0, on_source * (on_source > 0).sum()), scored.shape)[scored]
    gap, tied, ordered = np.abs(gaps), wanted == 0, wanted * gaps > 0
    start = float(weight[np.where(gap > 0, ordered, tied)].sum())
    matters = (gap > 0) & (tied | ordered)  # a pair ranked in the wrong order stays wrong as a tie
    best = best_threshold(gap[matters], np.where(tied, weight, -weight)[matters], start)
    right = np.where(gap > best.epsilon, ordered, tied)
    shares = ratio(np.bincount(np.nonzero(scored)[1], right, len(on_source)), on_source)[
        on_source > 0
    ]
    sources = len(shares)
    return TieCalibration(
        best.epsilon, best.accuracy, start, len(gap), sources, _variance(shares) / sources**2
    )


def _variance(added: Numbers) -> float:
    """The variance of a sum, from what each source adds to it; NaN with one source."""
    sources = len(added)
    return float(ratio(sources, sources - 1) * ((added - added.mean()) ** 2).sum())


def soft_pairwise_accuracy(
    people: Numbers, rater: Numbers, rng: np.random.Generator, *, resamples: int = 1000
) -> SoftAccuracy:
    """1 - mean over pairs of generators of |p by people - p by rater|: is the rater as sure as
    people are?

    p: one-sided paired permutation test that the first of the pair scores higher (`better_than`),
    on the sources on which people and rater scored both generators, with the same swaps for people
    and rater. Resamples with the observed lead count half, so the order of a pair does not
    matter. Pairs that share no source do not count. Raises Undefined if no pair shares a source, if
    there are fewer than two generators, or if people or rater give all generators equal scores.
    Source: Thompson,
    Mathur, Deutsch and Khayrallah (2024).
    """
    people, rater = np.asarray(people, dtype=np.float64), np.asarray(rater, dtype=np.float64)
    if len(people) < 2:
        raise Undefined("no two generators")
    both = np.where(np.isnan(people) | np.isnan(rater), np.nan, np.stack([people, rater]))
    on_source = (~np.isnan(both[0])).sum(axis=0)
    if on_source.max(initial=0) < 2:
        raise Undefined("no source on which two generators were scored")
    differ = np.fmax.reduce(both, axis=1) > np.fmin.reduce(both, axis=1)
    for side, some in zip(("people", "the rater"), differ.any(axis=1), strict=True):
        if not some:
            raise Undefined(f"{side} gave all generators the same scores")
    p = better_on_shared(both, rng, resamples=resamples)
    half = (p - p.swapaxes(1, 2)) / 2  # p with ties counted half, less 1/2
    apart = half[0] - half[1]
    pairs = np.triu(~np.isnan(apart), 1)
    added = _influences(both, np.where(pairs, np.sign(apart), 0.0)) / pairs.sum()
    return SoftAccuracy(float(1 - np.abs(apart[pairs]).mean()), _variance(added[on_source > 1]))


def _influences(both: Numbers, sign: Numbers) -> Numbers:
    """(sources,) the influence of each source on the sum over pairs of -sign x (p by people - p by
    rater).

    Under random swaps a sum of gaps has mean 0 and their sum of squares as variance: p is about the
    tail of the normal distribution above sum / sqrt(sum of squares). The influence is the
    derivative of this tail. both: (2, generators, sources); sign: (generators, generators), 0 if a
    pair does not count.
    """
    influence = np.zeros(both.shape[-1])
    for i in range(both.shape[1] - 1):
        gaps = np.nan_to_num(both[:, i, None] - both[:, i + 1 :])
        squares = (gaps**2).sum(axis=-1)
        spread = np.sqrt(np.where(squares > 0, squares, np.inf))
        z = gaps.sum(axis=-1) / spread
        slope = (
            np.stack([sign[i, i + 1 :], -sign[i, i + 1 :]])
            * np.exp(-(z**2) / 2)
            / np.sqrt(2 * np.pi)
            / spread
        )
        curve = slope * z / spread / 2
        influence += np.einsum("tp,tps->s", slope, gaps) - np.einsum("tp,tps->s", curve, gaps**2)
    return influence


def better_on_shared(
    scores: Numbers, rng: np.random.Generator, *, resamples: int = 1000
) -> Numbers:
    """Like `better_than`, but scores may be missing: each pair of generators is compared on the
    sources for which every table has both scores.

    scores: tables (generators, sources) along any leading axes, NaN if a score is missing. The
    result is NaN for a pair without a shared source. All pairs use the same random swaps.
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


def generator_pairs(
    scores: Numbers, rng: np.random.Generator, *, least: int = 1, resamples: int = 1000
) -> Pairs:
    """Compare every two generators by their scores (generators, sources) on the sources that both
    have; a pair needs at least `least` of these.
    """
    scores = np.asarray(scores, dtype=np.float64)
    better = better_on_shared(scores, rng, resamples=resamples)
    t, sources = paired_t(scores)
    np.fill_diagonal(better, np.nan)
    return Pairs.tested(
        np.where(sources < least, np.nan, better), t, sources, flip_count(resamples)
    )


def better_than(scores: Numbers, rng: np.random.Generator, *, resamples: int = 1000) -> Numbers:
    """(..., generators, generators) one-sided p that generator i scores higher than j, by swapping
    their scores.

    scores: (..., generators, sources), complete. In each resample, the two generators exchange
    their scores on each source with probability 1/2; p = (1 + resamples in which i's lead is at
    least the observed one) / (1 + resamples). All pairs share the swaps; their number is the next
    power of two, minus one (`draw_flips`).
    >>> p = better_than(
    ...     np.array([[3.0, 2.0], [1.0, 1.0], [0.0, 4.0]]), np.random.default_rng(0), resamples=3
    ... )
    >>> p.tolist()  # three swaps: of the first source, of the second, of both
    [[1.0, 0.25, 0.5], [1.0, 1.0, 0.75], [0.75, 0.5, 1.0]]
    """
    scores = np.asarray(scores, dtype=np.float64)
    *outer, generators, sources = scores.shape
    tables = scores.reshape(-1, generators, sources)
    # keeps the differences and reduces rounding
    tables = tables - tables.mean(axis=1, keepdims=True)
    swapped = draw_flips(rng, sources, resamples).sums(tables)
    size = np.abs(tables).sum(axis=(1, 2))[:, None]
    p = np.empty((len(tables), generators, generators))
    for i in range(generators):
        p[:, i] = _leads(swapped[:, i, None] - swapped, size)[0]
    return p.reshape(*outer, generators, generators)


def _leads(swapped: Numbers, size: Numbers) -> tuple[Numbers, Numbers]:
    """(...) shares of the flips in which a lead is at least, and at most, the observed one.

    swapped: (..., flips), where the first flip changes nothing, so that it has the observed lead;
    size: (...) the sum of the absolute values that were added up.
    """
    observed, slack = swapped[..., :1], _ROUNDING * size[..., None]
    return (swapped >= observed - slack).mean(axis=-1), (swapped <= observed + slack).mean(axis=-1)
