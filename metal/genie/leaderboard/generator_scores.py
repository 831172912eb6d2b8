"""Generators by what people gave their outputs: scores with their doubts, and who is better than whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.genie.leaderboard.output_scores import DIGITS, Outputs, OutputScores
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.pairwise import better_on_shared
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.rater_comparison import significance_clusters

# With fewer sources in common no exchange of scores can have p below 0.05: 1 / 2^4 is more.
LEAST_SHARED = 5


@dataclass(frozen=True)
class Means:
    """Of each generator: score, standard_error and worst_error (generators,), and low, high of the interval."""

    score: Numbers
    standard_error: Numbers
    worst_error: Numbers
    low: Numbers
    high: Numbers

    def row(self, at: int) -> dict[str, float]:
        """The figures of one generator, as they stand in a table."""
        return {
            "score": float(self.score[at]),
            "score_low": float(self.low[at]),
            "score_high": float(self.high[at]),
            "standard_error": float(self.standard_error[at]),
            "worst_error": float(self.worst_error[at]),
        }


def generator_means(sums: Numbers, counts: Numbers, bootstrap: SourceBootstrap) -> Means:
    """Means over outputs, with intervals and errors by source.

    sums, counts: (generators, sources) the sum of a generator's shares on a source and how many outputs they are of.
    score: sum / count over all sources. interval: 95%, percentile bootstrap over the generator's own sources;
    generators with the same sources share the draws, and no generator's interval depends on another's. standard_error:
    sqrt(sum over sources of (sum - score * count)^2) / outputs, the plug-in error of a ratio of sums by cluster; with
    one output a source it is the standard deviation over sqrt(n), GENIE's sigma / sqrt(n). worst_error: what it is at
    most, sqrt(score (1 - score) sum of count^2) / outputs, which is sqrt(score (1 - score) / n) with one output a
    source. Of one source standard error and interval are NaN. Source: GENIE, Appendix C; Bhatia and Davis (2000).
    """
    outputs = counts.sum(axis=1)
    score = np.asarray(np.round(ratio(sums.sum(axis=1), outputs), DIGITS))
    several = (counts > 0).sum(axis=1) > 1
    off = sums - score[:, None] * counts
    error = np.asarray(np.where(several, ratio(np.sqrt((off**2).sum(axis=1)), outputs), np.nan).round(DIGITS))
    most = np.maximum(score * (1 - score), 0.0) * (counts**2).sum(axis=1)
    worst = np.asarray(ratio(np.sqrt(most), outputs).round(DIGITS))
    low, high = np.full(len(sums), np.nan), np.full(len(sums), np.nan)
    there, which = np.unique(counts > 0, axis=0, return_inverse=True)
    for group, mask in enumerate(there):
        mine = np.flatnonzero((which.reshape(-1) == group) & several)
        if not len(mine):
            continue
        drawn = ratio(bootstrap.totals(sums[mine][:, mask].T), bootstrap.totals(counts[mine][:, mask].T))
        for place, generator in enumerate(mine):
            found = percentile_interval(drawn[:, place])
            low[generator], high[generator] = np.round(found, DIGITS) if found else (np.nan, np.nan)
    return Means(score, error, worst, low, high)


def rank(
    scores: OutputScores, outputs: Outputs, asked: Codes, bootstrap: SourceBootstrap, permutations: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the generators, best first, and of every two of them, on the outputs `asked` (a mask).

    Equal scores share a rank. cluster: those from the best on that are not shown to be worse than the first of them,
    by paired permutation tests on shared sources with Holm's correction; None for a generator that shares fewer than
    LEAST_SHARED sources with others, with the reason in `undefined`.
    """
    items = asked & ~np.isnan(scores.share)
    there, generator = np.unique(outputs.generator[items], return_inverse=True)
    names = [outputs.generators[code] for code in there]
    known, source = np.unique(outputs.source[items], return_inverse=True)
    place = generator * len(known) + source
    size = len(names) * len(known)
    counts = np.bincount(place, minlength=size).astype(np.float64).reshape(len(names), -1)
    sums = np.bincount(place, scores.share[items], minlength=size).astype(np.float64).reshape(len(names), -1)
    means = generator_means(sums, counts, bootstrap)
    table = ratio(sums, counts)
    better = _better(table, bootstrap.seed, permutations)
    clusters, alone = _clusters(means.score, better, names)
    given = _given(scores, outputs, asked, there)
    order = [int(at) for at in np.argsort(-means.score, kind="stable")]
    rows = [
        {
            "rank": 1 + int((means.score > means.score[at]).sum()),
            "cluster": int(clusters[at]) or None,
            "generator": names[at],
            **means.row(at),
            "outputs": int(counts[at].sum()),
            "sources": int((counts[at] > 0).sum()),
            **{key: int(values[at]) for key, values in given.items()},
            "undefined": _undefined((counts[at] > 0).sum() == 1, alone.get(at)),
        }
        for at in order
    ]
    return rows, [_pair(table, better, names, i, j) for place, i in enumerate(order) for j in order[place + 1 :]]


def _undefined(one_source: bool, alone: str | None) -> str:
    """Which figures of a generator have no value, with the reasons."""
    reasons = [f"{figure}: one source" for figure in ("interval", "standard error") if one_source]
    return "; ".join([*reasons, *([f"cluster: {alone}"] if alone else [])])


def _given(scores: OutputScores, outputs: Outputs, items: Codes, there: Codes) -> dict[str, Codes]:
    """(generators,) ratings, people who gave them, and ratings without a score, of each of the generators `there`."""
    size = len(outputs.generators)
    kept = items[scores.output]
    generator, rater = outputs.generator[scores.output[kept]], scores.rater[kept]
    width = int(rater.max(initial=0)) + 1
    people = np.bincount(np.unique(generator * width + rater) // width, minlength=size)
    unanswered = np.bincount(outputs.generator[items], scores.unanswered[items], minlength=size)
    return {
        "ratings": np.bincount(generator, minlength=size)[there],
        "people": people[there],
        "unanswered": unanswered.astype(np.int64)[there],
    }


def _better(table: Numbers, seed: int, permutations: int) -> Numbers:
    """(generators, generators) p that one scores higher, NaN where two share too few sources.

    (1 + k) / (1 + permutations), k of which have at least the observed lead.
    """
    rng = np.random.default_rng([seed, table.shape[1]])
    share = better_on_shared(table, rng, resamples=permutations)
    p = (1 + np.round(share * permutations)) / (1 + permutations)
    there = (~np.isnan(table)).astype(np.float64)
    return np.where(there @ there.T < LEAST_SHARED, np.nan, p)


def _clusters(score: Numbers, better: Numbers, names: list[str]) -> tuple[Codes, dict[int, str]]:
    """(generators,) clusters, 0 for none, and why a generator is in none.

    Whoever cannot be compared with the most others is left out, until all that are left can be compared.
    """
    unknown = np.isnan(better)
    np.fill_diagonal(unknown, False)
    left = np.ones(len(names), dtype=bool)
    alone = {}
    while (missing := (unknown & left & left[:, None]).sum(axis=1)).any():
        out = int(np.flatnonzero(missing == missing.max())[-1])
        others = [names[one] for one in np.flatnonzero(unknown[out] & left)]
        named = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        alone[out] = f"fewer than {LEAST_SHARED} sources shared with {named}"
        left[out] = False
    clusters = np.zeros(len(names), dtype=np.int64)
    kept = np.flatnonzero(left)
    if len(kept) == 1 < len(names):  # nobody to compare the last one with
        alone[int(kept[0])] = f"fewer than {LEAST_SHARED} sources shared with any other"
    elif len(kept):
        clusters[kept] = significance_clusters(score[kept], better[np.ix_(kept, kept)])
    return clusters, alone


def _pair(table: Numbers, better: Numbers, names: list[str], first: int, second: int) -> dict[str, Any]:
    shared = ~np.isnan(table[first]) & ~np.isnan(table[second])
    gap = float((table[first] - table[second])[shared].mean()) if shared.any() else float("nan")
    few = int(shared.sum()) < LEAST_SHARED
    return {
        "first": names[first],
        "second": names[second],
        "sources": int(shared.sum()),
        "difference": round(gap, DIGITS),
        "p": float(better[first, second]),
        "undefined": f"p: fewer than {LEAST_SHARED} shared sources" if few else "",
    }
