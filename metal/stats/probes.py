"""Whether a rater notices changes: scores of original outputs compared with scores of changed
outputs.

Higher scores are better. Pairs of one source are not independent, so intervals and p-values are
over sources. A probe can only show that a rater is blind to a change; it cannot show that a rater
is good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.interval import Bounds, Interval
from metal.stats.intervals import interval_of_mean
from metal.stats.leniency import mean_shift
from metal.stats.patterns import Codes, Numbers
from metal.stats.permutation import draw_flips
from metal.stats.significance import t_test

LEAST = 10  # pairs, below which nothing is said
# a rater is blind that surely notices fewer of the changes than this, and guesses the rest
NOTICED = 0.5


@dataclass(frozen=True)
class Detection:
    """How a rater scores a change, over n pairs of `sources` sources.

    a: P(clean > changed) + P(tie) / 2; 0.5 is chance. strict: P(clean > changed). raised: P(changed
    is at the best level, clean is not). room: share of pairs whose clean score can fall. change:
    mean of (changed minus clean), with the ends of its 90% and 95% intervals.

    All p-values are of null hypotheses. p: the rater does not notice the change at all (by flips of
    the sign of each source's difference). blind_p: it notices at least half of the changes.
    raised_p: it does not score changed outputs higher. moved_p: the mean does not change.
    """

    n: int
    sources: int
    a: Bounds
    strict: Bounds
    raised: Bounds
    room: float
    change: Bounds
    change_90: Interval
    p: float
    blind_p: float
    raised_p: float
    moved_p: float


def detection(
    clean: Numbers, changed: Numbers, source: Codes, ends: tuple[float, float], *, seed: int = 0
) -> Detection:
    """Measure how scores change. clean, changed: (n,) scores of the same pairs, n > 0; source:
    (n,); ends: worst and best score.

    If the clean score is already the worst, it cannot fall. If the share r of pairs can fall, a
    rater that notices half of the changes and guesses the rest has a = 1/2 + r / 4. blind_p is
    one-sided against this value.

    >>> seen = detection(
    ...     np.array([2.0, 2.0, 1.0]), np.array([0.0, 2.0, 0.0]), np.array([0, 1, 2]), (0.0, 2.0)
    ... )
    >>> round(seen.a.value, 3), round(seen.strict.value, 3), seen.change.value, seen.room
    (0.833, 0.667, -1.0, 1.0)
    """
    _, source = np.unique(source, return_inverse=True)
    change = changed - clean
    fell = (change < 0).astype(np.float64)
    ranked = fell + (change == 0) / 2
    room = clean > ends[0]
    change_90, change_95, moved_p = _mean(change, source)
    raised = ((changed >= ends[1]) & (clean < ends[1])).astype(np.float64)
    return Detection(
        len(change),
        int(source.max()) + 1,
        _share(ranked, source),
        _share(fell, source),
        _share(raised, source),
        float(room.mean()),
        Bounds(float(change.mean()), *change_95),
        change_90,
        _flipped_p(-change, source, seed),
        _below(ranked - 0.5 - room * NOTICED / 2, source),
        _below(-change, source),
        moved_p,
    )


def _share(values: Numbers, source: Codes) -> Bounds:
    totals, counts = (
        np.asarray(np.bincount(source, each), dtype=np.float64)
        for each in (values, np.ones(len(values)))
    )
    return Bounds(float(values.mean()), *interval_of_mean(totals, counts))


def _mean(values: Numbers, source: Codes) -> tuple[Interval, Interval, float]:
    """The 90% and 95% intervals of a mean over sources, and the two-sided p-value that it is 0."""
    shift = mean_shift(values, source)
    p = t_test(float(shift.value[0]), float(shift.variance[0]), int(shift.df[0]) + 1)
    return shift.interval(0, 0.95), shift.interval(0), p


def _below(values: Numbers, source: Codes) -> float:
    """The one-sided p-value for a mean below 0."""
    p = _mean(values, source)[2]
    return p / 2 if values.mean() < 0 else 1 - p / 2


def _flipped_p(values: Numbers, source: Codes, seed: int, flips: int = 999) -> float:
    """The one-sided p-value of the hypothesis that sums by source are as likely below 0 as above
    it; never below 1 / (flips + 1).
    """
    sums = np.asarray(np.bincount(source, values), dtype=np.float64)
    drawn = draw_flips(np.random.default_rng(seed), len(sums), flips).sums(sums)
    return float((drawn >= drawn[0] - 1e-9).mean())


@dataclass(frozen=True)
class Trend:
    """Whether scores fall with the dose. fall: 1 if every output's score falls with every dose, 0
    if there is no trend, -1 if every score rises. p: one-sided, of the hypothesis that scores do
    not fall.
    """

    fall: Bounds
    p: float


def dose_trend(scores: Numbers, source: Codes) -> Trend:
    """Page's test with outputs as blocks. scores: (n, doses); the first column is the clean output.
    source: (n,).

    Ranks are taken within each output; equal scores share the mean rank. L is the sum of ranks
    weighted by the position of the dose. The value is L minus its mean, divided by the largest
    possible difference. Interval and p-value are over sources, and NaN with one source. Source:
    Page (1963).
    >>> trend = dose_trend(np.array([[3.0, 2.0, 1.0], [3.0, 3.0, 1.0]]), np.array([0, 1]))
    >>> round(trend.fall.value, 3)
    0.875
    """
    doses = np.arange(scores.shape[1]) - (scores.shape[1] - 1) / 2
    below = (scores[:, :, None] > scores[:, None, :]).sum(axis=2)
    tied = (scores[:, :, None] == scores[:, None, :]).sum(axis=2)
    ranks = below + (tied + 1) / 2
    values = -(ranks - ranks.mean(axis=1, keepdims=True)) @ doses / (doses**2).sum()
    shift = mean_shift(values, source)
    return Trend(Bounds(float(values.mean()), *shift.interval(0)), _below(-values, source))
