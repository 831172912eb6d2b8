"""What people would say on average, from a judge on all sources and people on some of them.

Prediction-powered inference with a tuned weight (PPI++: Angelopoulos et al. 2023), weights cross-fitted over sources
and intervals by Student's t, which hold with few labels where the normal quantile does not (see
tests/stats/test_corrected.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metal.stats.intervals import wilson
from metal.stats.patterns import Numbers
from metal.stats.significance import t_quantile

FOLDS = 10
LEAST = 4  # labelled sources that a weight can be fitted on
MOST_GAIN = 2.0  # of labels by a judge, near an end, where variances are hardly known
NEAR_END = 0.1  # of a share: there Wilson's interval is used


@dataclass(frozen=True)
class Mean:
    """A mean with its variance and degrees of freedom. worth: the number of plain labels that it is worth."""

    value: float
    variance: float
    df: float
    worth: float = math.nan

    def interval(self, *, share: bool = False) -> tuple[float, float]:
        """Of 95%. share: the mean is one of values from 0 to 1; near an end Wilson's interval is given, at the number
        of labels that it is worth, because a variance that is estimated there may be 0."""
        if not (math.isfinite(self.variance) and self.df >= 1):
            return math.nan, math.nan
        quantile = t_quantile(0.975, self.df)
        if share and not NEAR_END < self.value < 1 - NEAR_END:
            return wilson(min(max(self.value, 0.0), 1.0), self.worth, quantile)
        half = quantile * math.sqrt(self.variance)
        return self.value - half, self.value + half


@dataclass(frozen=True)
class Corrected:
    """people: of the labelled sources alone; judge: of all; corrected: both. weight: the judge's, 0 to 1. bias: the
    judge's mean less people's on labelled sources. rho: their correlation there.
    """

    people: Mean
    judge: Mean
    corrected: Mean
    weight: float
    bias: Mean
    rho: float

    @property
    def labels_saved(self) -> float:
        """Labels that would have been needed without the judge, per label; NaN where a variance is 0."""
        return self.people.variance / self.corrected.variance if self.corrected.variance > 0 else math.nan


def mean_of(values: Numbers) -> Mean:
    """The plain mean with Student's variance."""
    n = len(values)
    variance = float(values.var(ddof=1)) / n if n > 1 else math.nan
    return Mean(float(values.mean()) if n else math.nan, variance, float(n - 1), float(n))


def corrected_mean(
    labels: Numbers, judged: Numbers, others: Numbers, *, weight: float | None = None, seed: int = 0
) -> Corrected:
    """The mean that people would give all sources.

    labels, judged: (n,) what people and the judge say of the labelled sources; others: (m,) what the judge says of the
    others. weight: the judge's; where not given it is fitted on the folds that a source is not in, so that the same
    labels do not choose the weight and measure with it. A constant judge has weight 0: then the mean is people's.

    >>> labels = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    >>> alone = corrected_mean(labels, np.zeros(5), np.zeros(3))
    >>> bool(alone.corrected.value == labels.mean()), alone.weight
    (True, 0.0)
    """
    n, m = len(labels), len(others)
    every = np.concatenate([judged, others])
    fitted = np.zeros(n)
    if weight is not None:
        fitted[:] = weight
    elif m and n >= LEAST:
        order = np.random.default_rng(seed).permutation(n)
        for fold in np.array_split(order, min(FOLDS, n)):
            rest = np.setdiff1d(order, fold)
            fitted[fold] = _weight(labels[rest], judged[rest], every, n / m)
    used = float(fitted.mean()) if n else 0.0
    residuals = labels - fitted * judged
    value = float(residuals.mean() + used * others.mean()) if m else float(labels.mean())
    variance = math.nan
    if n > 2:
        own = float(residuals.var(ddof=1)) / (n - 1) if used else float(labels.var(ddof=1)) / n
        variance = own + (used**2 * float(others.var(ddof=1)) / m if m > 1 else 0.0)
    spread = labels.std() * judged.std() if n > 1 else 0.0
    rho = float(np.mean((labels - labels.mean()) * (judged - judged.mean())) / spread) if spread > 0 else math.nan
    people = mean_of(labels)
    gain = people.variance / variance if n > 2 and variance > 0 and people.variance > 0 else 1.0
    worth = n * min(max(gain, 1 / MOST_GAIN), MOST_GAIN)
    corrected = Mean(value, variance, float(n - 2) if used else float(n - 1), worth) if m else people
    return Corrected(people, mean_of(every), corrected, used, mean_of(judged - labels), rho)


def _weight(labels: Numbers, judged: Numbers, every: Numbers, ratio: float) -> float:
    """The weight with the smallest variance, between 0 and 1."""
    spread = float(every.var(ddof=1)) if len(every) > 1 else 0.0
    if spread <= 0 or len(labels) < 2:
        return 0.0
    covariance = float(((labels - labels.mean()) * (judged - judged.mean())).sum()) / (len(labels) - 1)
    return min(max(covariance / ((1 + ratio) * spread), 0.0), 1.0)
