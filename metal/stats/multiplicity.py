"""Many tests at once: adjusted p-values. NaN (a test that could not be run) is passed through and not counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metal.stats.patterns import Numbers


def holm(p_values: Any) -> Numbers:
    """Holm's step-down: for claims that *any* of the hypotheses is false. Source: Holm (1979).

    The smallest of m p-values is multiplied by m, the next by m - 1, and so on; none falls below an earlier one.
    >>> holm([0.01, 0.04, np.nan, 0.03, 0.9]).round(3).tolist()  # 0.01 * 4, 0.03 * 3, 0.04 * 2 raised to 0.09, 0.9 * 1
    [0.04, 0.09, nan, 0.09, 0.9]
    """
    return _adjust(p_values, _holm)


def benjamini_yekutieli(p_values: Any) -> Numbers:
    """Control of the false discovery rate under any dependence: for claims *which* hypotheses are false.

    The p-value of rank r of m is multiplied by m * (1 + 1/2 + ... + 1/m) / r; none rises above a later one.
    Source: Benjamini and Yekutieli (2001), theorem 1.3.
    >>> benjamini_yekutieli([0.01, 0.04, np.nan, 0.03]).round(4).tolist()  # 5.5 * (0.01, 0.03 / 2, 0.04 / 3)
    [0.055, 0.0733, nan, 0.0733]
    """
    return _adjust(p_values, _benjamini_yekutieli)


def _holm(rising: Numbers) -> Numbers:
    tests = len(rising)
    return np.asarray(np.maximum.accumulate(rising * (tests - np.arange(tests))))


def _benjamini_yekutieli(rising: Numbers) -> Numbers:
    ranks = np.arange(1, len(rising) + 1)
    scaled = rising * len(rising) * (1 / ranks).sum() / ranks
    return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])


def _adjust(p_values: Any, rule: Callable[[Numbers], Numbers]) -> Numbers:
    """Apply `rule` to the defined p-values in rising order, and cap the result at 1."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    adjusted[order] = np.minimum(rule(p[order]), 1.0)
    return adjusted
