"""The generators of the board by their mean score, with intervals by source and clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from metal.boards.cells import BoardCell
from metal.boards.ranking import FOR_EACH
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.pairwise import better_on_shared
from metal.stats.patterns import Numbers, ratio
from metal.stats.significance import significance_clusters


def generator_rows(
    cell: BoardCell,
    by: str,
    scores: Numbers,
    bootstrap: SourceBootstrap,
    permutations: int,
    people: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """The generators with a score, best first (equal scores share a rank), with intervals by source and clusters.

    by: whose scores these are, for the table. scores: (items,). people: the generators that are human. Clusters come
    from paired permutation tests, each pair on the sources on which both were scored; None where no pair shares a
    source. From one source there is no interval.
    """
    table = cell.by_generator(scores)
    scored = ~np.isnan(table).all(axis=1)
    names = [cell.generators[place] for place in np.flatnonzero(scored)]
    table = table[scored]
    if not len(table):
        return []
    means = np.nanmean(table, axis=1)
    drawn = resampled_means(table, bootstrap)
    clusters = _clusters(table, means, bootstrap.seed, permutations)
    rows = []
    sources = (~np.isnan(table)).sum(axis=1)
    for at in np.argsort(-means, kind="stable"):
        low, high = (percentile_interval(drawn[:, at]) if sources[at] > 1 else None) or (None, None)
        rows.append(
            {
                **cell.place,
                "by": by,
                "rank": 1 + int((means > means[at]).sum()),
                "cluster": int(clusters[at]) if clusters is not None else None,
                "generator": names[at],
                "human": names[at] in people,
                "score": float(means[at]),
                "score_low": low,
                "score_high": high,
                "sources": int(sources[at]),
            }
        )
    return rows


def resampled_means(table: Numbers, bootstrap: SourceBootstrap) -> Numbers:
    """(resamples, generators) means over the drawn sources. table: (generators, sources), NaN for none."""
    given = ~np.isnan(table)
    counts = bootstrap.totals(given[:1].T if given.all() else given.T)  # blocks of sources differ in size
    return np.asarray(ratio(bootstrap.totals(np.where(given, table, 0.0).T), counts))


def _clusters(table: Numbers, means: Numbers, seed: int, permutations: int) -> Numbers | None:
    rng = np.random.default_rng([seed, int((~np.isnan(table).any(axis=0)).sum())])
    better = better_on_shared(table, rng, resamples=max(permutations, FOR_EACH * len(table)))
    if len(table) > 1 and np.isnan(better[np.triu_indices(len(table), 1)]).all():
        return None
    try:
        return significance_clusters(means, better)
    except Undefined:
        return None
