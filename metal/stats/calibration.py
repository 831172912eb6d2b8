"""Calibration: whether a judge is right as often as its confidence says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.patterns import Codes, Numbers, ratio

BINS = 10
FOLDS = 5


@dataclass(frozen=True)
class Calibration:
    """How confidence and correctness go together.

    ece: expected calibration error, which is the mean distance of correctness and confidence over
    bins with equal numbers of items; its interval is over sources (NaN with one source). ece_width:
    the same over bins of equal width between the smallest and the largest confidence. by_chance:
    about the value that ece would have with so many items if confidence were exactly the chance to
    be right. brier: mean squared distance of confidence and correctness. auroc: the chance that a
    right answer has more confidence than a wrong answer (half for ties); NaN if all are right or
    all wrong. mapped: (items,) the chance to be right that isotonic regression gives for the item's
    confidence, fitted on the folds without the item; NaN with fewer sources than folds. bins:
    (bins, 4) items, mean confidence, share right, mean mapped confidence.
    """

    ece: float
    ece_low: float
    ece_high: float
    ece_width: float
    by_chance: float
    brier: float
    auroc: float
    mapped: Numbers
    bins: Numbers


def calibration(
    confidence: Numbers, right: Numbers, sources: Codes, bootstrap: SourceBootstrap
) -> Calibration:
    """Measure the calibration of answers. confidence: (items,) 0 to 1; right: (items,) 0 or 1;
    sources: (items,) whole numbers.

    Source: Naeini et al. 2015 (bins of equal mass), Brier 1950, Zadrozny and Elkan 2002 (isotonic).
    >>> sure = np.repeat([0.6, 0.8], 5)
    >>> made = calibration(
    ...     sure, np.array([1, 1, 1, 0, 0, 1, 1, 0, 0, 0]), np.arange(10), SourceBootstrap(100)
    ... )
    >>> round(made.ece, 6), round(made.brier, 6), round(made.auroc, 6)
    (0.2, 0.32, 0.4)
    """
    bin_of = equal_mass(confidence)
    sums = np.stack(
        [np.bincount(bin_of, weights) for weights in (np.ones(len(bin_of)), confidence, right)],
        axis=1,
    )
    by_source = np.unique(sources, return_inverse=True)[1]
    signed = np.zeros((by_source.max(initial=0) + 1, len(sums) + 1))
    np.add.at(signed, (by_source, bin_of), right - confidence)
    signed[:, -1] = np.bincount(by_source)
    low, high = np.nan, np.nan
    if len(signed) > 1:
        drawn = bootstrap.totals(signed)
        errors = ratio(np.abs(drawn[:, :-1]).sum(axis=1), drawn[:, -1])
        low, high = percentile_interval(errors) or (np.nan, np.nan)
    spread = np.sqrt(np.bincount(bin_of, confidence * (1 - confidence)))
    mapped = isotonic_map(confidence, right, sources)
    widths = np.linspace(confidence.min(), confidence.max(), BINS + 1)[1:-1]
    bins = np.column_stack(
        [sums[:, 0], sums[:, 1:] / sums[:, :1], np.bincount(bin_of, mapped) / sums[:, 0]]
    )
    return Calibration(
        _gap(bin_of, right - confidence),
        float(low),
        float(high),
        _gap(np.searchsorted(widths, confidence), right - confidence),
        float(np.sqrt(2 / np.pi) * spread.sum() / len(bin_of)),
        float(((confidence - right) ** 2).mean()),
        auroc(confidence, right),
        mapped,
        bins,
    )


def _gap(bin_of: Codes, off: Numbers) -> float:
    """The mean over items of the absolute average error of the item's bin."""
    return float(np.abs(np.bincount(bin_of, off)).sum() / len(bin_of))


def equal_mass(confidence: Numbers) -> Codes:
    """(items,) the bin of each item, numbered from 0. The BINS bins have about equal numbers of
    items; equal confidences share a bin.
    """
    edges = np.unique(np.quantile(confidence, np.arange(1, BINS) / BINS))
    return np.asarray(
        np.unique(np.searchsorted(edges, confidence, side="right"), return_inverse=True)[1]
    )


def auroc(confidence: Numbers, right: Numbers) -> float:
    """The chance that a right answer has more confidence than a wrong answer (half for ties). NaN
    if all answers are right or all are wrong.
    """
    is_right = right > 0
    values = np.sort(confidence[~is_right])
    if not len(values) or not is_right.any():
        return float("nan")
    below, upto = (
        np.searchsorted(values, confidence[is_right], side=side) for side in ("left", "right")
    )
    return float((below + upto).mean() / 2 / len(values))


def source_folds(sources: Codes, folds: int = FOLDS, seed: int = 0) -> Codes:
    """(items,) the fold of each item. All items of a source are in one fold."""
    names, source = np.unique(sources, return_inverse=True)
    return np.asarray(
        (np.random.default_rng([seed, len(names)]).permutation(len(names)) % folds)[source]
    )


def isotonic_map(confidence: Numbers, right: Numbers, sources: Codes) -> Numbers:
    """(items,) the chance to be right, by isotonic regression on the folds without the item; NaN
    with fewer sources than folds.
    """
    from scipy.optimize import isotonic_regression

    fold = source_folds(sources)
    mapped = np.full(len(confidence), np.nan)
    if len(np.unique(fold)) < FOLDS:
        return mapped
    for held in range(FOLDS):
        learn = fold != held
        values, level, counts = np.unique(
            confidence[learn], return_inverse=True, return_counts=True
        )
        fit = isotonic_regression(np.bincount(level, right[learn]) / counts, weights=counts).x
        mapped[fold == held] = np.interp(confidence[fold == held], values, fit)
    return mapped
