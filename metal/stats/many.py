"""Many tests at once: p-values corrected so that few of those called significant are wrong.

Among all tests whose corrected p-value is at most q, a share of at most q is expected to be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metal.stats.patterns import Numbers


def benjamini_hochberg(p: Sequence[float] | Numbers) -> Numbers:
    """p-values corrected for many tests, which are independent or go together.

    p: (tests,). Returns (tests,) in the same order, at most 1. Source: Benjamini and Hochberg (1995).
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    given = np.asarray(p, dtype=float)
    order = np.argsort(given, kind="stable")
    number = len(given)
    scaled = given[order] * number / np.arange(1, number + 1)
    least_from_here = np.minimum.accumulate(scaled[::-1])[::-1]
    corrected = np.empty(number)
    corrected[order] = np.minimum(least_from_here, 1.0)
    return corrected


def benjamini_yekutieli(p: Sequence[float] | Numbers) -> Numbers:
    """The same however the tests depend on each other, which costs a factor of 1 + 1/2 + ... + 1/tests.

    Source: Benjamini and Yekutieli (2001).
    >>> benjamini_yekutieli([0.01, 0.04]).round(3).tolist()
    [0.03, 0.06]
    """
    given = np.asarray(p, dtype=float)
    factor = float((1 / np.arange(1, len(given) + 1)).sum())
    return np.asarray(np.minimum(benjamini_hochberg(given) * factor, 1.0))
