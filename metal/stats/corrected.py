"""Estimate people's mean from a judge's scores of all sources and people's labels of some sources.

The method is prediction-powered inference with a tuned weight (PPI++: Angelopoulos et al. 2023).
Weights are cross-fitted over sources. Intervals use Student's t, which stays valid with few labels,
unlike the normal quantile (see tests/stats/test_corrected.py). The labelled sources may have been
drawn with unequal probabilities. If the labels come from a separate test set, shares of classes are
corrected for the mistakes that the judge makes on it (Rogan and Gladen 1978).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from metal.errors import Undefined
from metal.stats.interval import NO_INTERVAL, Bounds, Interval
from metal.stats.intervals import wilson
from metal.stats.patterns import Numbers
from metal.stats.significance import t_quantile

FOLDS = 10
LEAST = 4  # labelled sources that a weight can be fitted on
MOST_GAIN = 2.0  # of labels by a judge, near an end, where variances are hardly known
NEAR_END = 0.1  # of a share: there Wilson's interval is used


@dataclass(frozen=True)
class Mean:
    """A mean with its variance and degrees of freedom. worth: the number of independent labels with
    the same information.
    """

    value: float
    variance: float
    df: float
    worth: float = math.nan

    def interval(self, *, share: bool = False) -> Interval:
        """The 95% interval. share: whether the values are from 0 to 1. Then, near an end, this is
        Wilson's interval for as many labels as the mean is worth, because a variance estimated near
        an end may be 0.
        """
        if not (math.isfinite(self.variance) and self.df >= 1):
            return NO_INTERVAL
        quantile = t_quantile(0.975, self.df)
        if share and not NEAR_END < self.value < 1 - NEAR_END:
            return wilson(min(max(self.value, 0.0), 1.0), self.worth, quantile)
        return Interval.around(self.value, quantile * math.sqrt(self.variance))


@dataclass(frozen=True)
class Corrected:
    """Means of people and judge.

    people: people's mean on labelled sources alone. judge: the judge's mean on all sources.
    corrected: the mean from both. weight: the weight of the judge, 0 to 1. bias: the judge's mean
    minus people's mean on labelled sources. rho: their correlation there.
    """

    people: Mean
    judge: Mean
    corrected: Mean
    weight: float
    bias: Mean
    rho: float

    @property
    def labels_saved(self) -> float:
        """How many labels without a judge each label is worth; NaN if a variance is 0."""
        return (
            self.people.variance / self.corrected.variance
            if self.corrected.variance > 0
            else math.nan
        )


def mean_of(values: Numbers) -> Mean:
    """The plain mean with Student's variance."""
    n = len(values)
    variance = float(values.var(ddof=1)) / n if n > 1 else math.nan
    return Mean(float(values.mean()) if n else math.nan, variance, float(n - 1), float(n))


def corrected_mean(
    labels: Numbers,
    judged: Numbers,
    others: Numbers,
    *,
    weight: float | None = None,
    probabilities: Numbers | None = None,
    seed: int = 0,
) -> Corrected:
    """The mean that people would give all sources.

    labels, judged: (n,) scores of people and of the judge for the labelled sources; others: (m,)
    the judge's scores for the other sources. weight: the weight of the judge. If it is not given,
    it is fitted for each source on the folds without this source, so that no label both chooses the
    weight and is measured with it. A constant judge has weight 0, and the mean is then people's.
    probabilities: (n,) the probability, above 0, with which each labelled source was drawn; if
    these differ, a label counts 1 / probability.

    >>> labels = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    >>> alone = corrected_mean(labels, np.zeros(5), np.zeros(3))
    >>> bool(alone.corrected.value == labels.mean()), alone.weight
    (True, 0.0)
    """
    n, m = len(labels), len(others)
    drawn = np.ones(n) if probabilities is None else probabilities
    unequal = n > 0 and bool(np.ptp(drawn) > 0)
    counts = 1 / drawn / (1 / drawn).sum() if unequal else np.full(n, 1 / max(n, 1))
    every = np.concatenate([judged, others])
    weights = np.full(n, weight or 0.0)
    if weight is None and m and n >= LEAST:
        order = np.random.default_rng(seed).permutation(n)
        for fold in np.array_split(order, min(FOLDS, n)):
            rest = np.setdiff1d(order, fold)
            weights[fold] = _weight(
                labels[rest], judged[rest], every, counts[rest], 0 if unequal else n / m
            )
    used = float(counts @ weights)
    residuals = labels - weights * judged
    if unequal:
        people, bias = _weighed(labels, counts), _weighed(judged - labels, counts)
        corrected = _of_drawn(residuals, counts, used * every)
    else:
        people, bias = mean_of(labels), mean_of(judged - labels)
        corrected = _of_equal(labels, residuals, others, used) if m else people
    variance, gain = corrected.variance, 1.0
    if n > 2 and variance > 0 and people.variance > 0:
        gain = people.variance / variance
    worth = people.worth * min(max(gain, 1 / MOST_GAIN), MOST_GAIN)
    rho = _correlation(labels, judged, counts)
    return Corrected(people, mean_of(every), replace(corrected, worth=worth), used, bias, rho)


def _of_equal(labels: Numbers, residuals: Numbers, others: Numbers, used: float) -> Mean:
    """The mean of the residuals plus weight x the judge's mean on the others, for labels that were
    drawn with equal probability.
    """
    n, m, variance = len(labels), len(others), math.nan
    if n > 2:
        variance = float(residuals.var(ddof=1)) / (n - 1) if used else float(labels.var(ddof=1)) / n
        if m > 1:
            variance += used**2 * float(others.var(ddof=1)) / m
    value = float(residuals.mean() + used * others.mean())
    return Mean(value, variance, float(n - 2) if used else float(n - 1))


def _weight(
    labels: Numbers, judged: Numbers, every: Numbers, counts: Numbers, ratio: float
) -> float:
    """The weight with the smallest variance, between 0 and 1."""
    spread = float(every.var(ddof=1)) if len(every) > 1 else 0.0
    if spread <= 0 or len(labels) < 2:
        return 0.0
    counts = counts / counts.sum()
    covariance = _covariance(labels, judged, counts) / (1 - float(counts @ counts))
    return min(max(covariance / ((1 + ratio) * spread), 0.0), 1.0)


def _covariance(first: Numbers, second: Numbers, counts: Numbers) -> float:
    return float(counts @ ((first - counts @ first) * (second - counts @ second)))


def _correlation(labels: Numbers, judged: Numbers, counts: Numbers) -> float:
    """The correlation of labels with the judge's scores; NaN if either does not vary."""
    if len(labels) < 2:
        return math.nan
    spread = _covariance(labels, labels, counts) * _covariance(judged, judged, counts)
    return _covariance(labels, judged, counts) / math.sqrt(spread) if spread > 0 else math.nan


def _weighed(values: Numbers, counts: Numbers) -> Mean:
    """The weighted mean of values. counts: the weights, which sum to 1. The variance is Horvitz and
    Thompson's, of the values minus their mean, as if each source had been drawn independently.
    worth: Kish's number of equally weighted values.
    """
    n, worth = len(values), 1 / float(counts @ counts)
    mean = float(counts @ values)
    variance = n / (n - 1) * float(((counts * (values - mean)) ** 2).sum()) if n > 1 else math.nan
    return Mean(mean, variance, worth - 1, worth)


def _of_drawn(residuals: Numbers, counts: Numbers, judged: Numbers) -> Mean:
    """Mean of (weight x judge) over all sources, labelled sources first, plus the weighted mean of
    (label minus weight x judge).
    """
    n, rectifier = len(residuals), _weighed(residuals, counts)
    influence = (judged - judged.mean()) / len(judged)
    influence[:n] += counts * (residuals - rectifier.value)
    variance = n / (n - 1) * float((influence**2).sum()) if n > 2 else math.nan
    return Mean(float(judged.mean()) + rectifier.value, variance, rectifier.df - 1)


def rogan_gladen(
    share: tuple[float, float], sensitivity: tuple[float, float], specificity: tuple[float, float]
) -> tuple[Bounds, Bounds]:
    """Correct a judge's share of a class for the mistakes that it makes on a separate test set.

    Each argument is a share and the number of independent items that it is worth. share: how many
    of all items the judge puts into the class. sensitivity: how many items of the class it gets
    right; specificity: how many items of other classes it gets right. The result is (share +
    specificity - 1) / (sensitivity + specificity - 1), with Lang and Reiczigel's interval, whose
    ends are kept between 0 and 1. Raises Undefined if the interval of sensitivity + specificity - 1
    is not above 0. Source: Rogan and Gladen (1978); Lang and Reiczigel (2014).

    >>> # (.3 + .9 - 1) / (.8 + .9 - 1)
    >>> round(rogan_gladen((0.3, 1000), (0.8, 1e6), (0.9, 1e6))[0].value, 3)
    0.286
    """
    z = NormalDist().inv_cdf(0.975)
    (p, n), (q1, n1), (q0, n0) = share, sensitivity, specificity
    p_near, n_near = (n * p + z * z / 2) / (n + z * z), n + z * z
    (q1_near, v1), (q0_near, v0) = (_plus_one(*each) for each in (sensitivity, specificity))
    informed = q1_near + q0_near - 1
    half = z * math.sqrt(v1 + v0)
    if informed - half <= 0:
        raise Undefined(
            f"sensitivity {q1:.2f} and specificity {q0:.2f} on {n1:.0f} and {n0:.0f} independent"
            " test items do not show that the judge tells the class from the others"
        )
    near = (p_near + q0_near - 1) / informed
    shift = 2 * z * z * (near * v1 - (1 - near) * v0)
    spread = (
        math.sqrt(p_near * (1 - p_near) / n_near + (1 - near) ** 2 * v0 + near**2 * v1) / informed
    )
    low, high = (min(max(near + shift + sign * z * spread, 0.0), 1.0) for sign in (-1, 1))
    value = min(max((p + q0 - 1) / (q1 + q0 - 1), 0.0), 1.0)
    return Interval(low, high).holding(value), Bounds(q1 + q0 - 1, *Interval.around(informed, half))


def _plus_one(share: float, size: float) -> tuple[float, float]:
    """A share with one success and one failure added, and its variance."""
    near = (share * size + 1) / (size + 2)
    return near, near * (1 - near) / (size + 2)
