"""Whether a mean differs from 0 where the values of one source are not independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.patterns import Codes, Numbers, ratio


@dataclass(frozen=True)
class ClusteredMean:
    """mean: over all values; low, high: 95% percentile bootstrap over sources; p: two-sided, for a mean of 0.

    NaN where undefined: all of these without values, interval and p with one source. n: the number of values; sources:
    the number of their sources.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int
    sources: int


def clustered_mean(values: Numbers, sources: Codes, bootstrap: SourceBootstrap) -> ClusteredMean:
    """The mean of the defined values, with an interval and a p-value over their sources.

    values: (n,), NaN is left out; sources: (n,) the source of each value, as any whole number.
    p: from a t test on the sources' totals, with their residuals from the mean as variance. It is never below
    2^(1 - sources), the smallest p-value from flipping the signs of that many sources: equal totals have no variance,
    but are no stronger evidence than that.
    >>> score = clustered_mean(np.array([1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 1, 2]), SourceBootstrap(100))
    >>> score.mean, score.n, score.sources
    (0.5, 4, 3)
    """
    defined = ~np.isnan(values)
    values, sources = values[defined], np.asarray(sources)[defined]
    if not len(values):
        return ClusteredMean(np.nan, np.nan, np.nan, np.nan, 0, 0)
    names, source = np.unique(sources, return_inverse=True)
    totals = np.bincount(source, weights=values)
    sizes = np.bincount(source)
    mean, clusters = float(totals.sum() / sizes.sum()), len(names)
    if clusters < 2:
        return ClusteredMean(mean, np.nan, np.nan, np.nan, len(values), clusters)
    drawn = bootstrap.totals(np.stack([totals, sizes], axis=1))
    low, high = percentile_interval(ratio(drawn[:, 0], drawn[:, 1])) or (np.nan, np.nan)
    return ClusteredMean(mean, low, high, _t_test_p(totals, sizes, mean), len(values), clusters)


def _t_test_p(totals: Codes, sizes: Codes, mean: float) -> float:
    """Two-sided p of a mean of 0, from the total and the number of values of each source."""
    from scipy.stats import t

    clusters = len(totals)
    spread = float(np.sqrt(clusters / (clusters - 1) * ((totals - mean * sizes) ** 2).sum()))
    if abs(mean) < 1e-12:
        return 1.0
    least = 2.0 ** (1 - clusters)
    return float(max(least, 2 * t.sf(abs(totals.sum()) / spread, clusters - 1))) if spread > 0 else least
