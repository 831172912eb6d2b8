"""Rank the generators of the board by mean score, with intervals of scores (over sources) and of
ranks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metal.boards.cells import BoardCell
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.pairwise import generator_pairs
from metal.stats.patterns import Numbers, ratio


def generator_rows(
    cell: BoardCell,
    by: str,
    scores: Numbers,
    bootstrap: SourceBootstrap,
    permutations: int,
    people: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Rank the generators that have a score, best first, with intervals from a bootstrap over
    sources. Equal scores share a rank.

    by: the rater whose scores these are. scores: (items,). people: the generators that are human.
    Intervals of ranks come from paired tests. Each test uses the sources for which both generators
    have a score; a pair without such a source counts as not different. With one source, the score
    has no interval.
    """
    table = cell.by_generator(scores)
    scored = ~np.isnan(table).all(axis=1)
    names = [cell.generators[index] for index in np.flatnonzero(scored)]
    table = table[scored]
    if not len(table):
        return []
    means = np.nanmean(table, axis=1)
    drawn = resampled_means(table, bootstrap)
    rng = np.random.default_rng([bootstrap.seed, int((~np.isnan(table).any(axis=0)).sum())])
    rows = []
    sources = (~np.isnan(table)).sum(axis=1)
    for at, ranks in generator_pairs(table, rng, resamples=permutations).in_order(means):
        low, high = (percentile_interval(drawn[:, at]) if sources[at] > 1 else None) or (None, None)
        rows.append(
            {
                **cell.place,
                "by": by,
                **ranks,
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
    """(resamples, generators) means over the drawn sources. table: (generators, sources), NaN if
    there is none.
    """
    scored = ~np.isnan(table)
    # blocks of sources differ in size
    counts = bootstrap.totals(scored[:1].T if scored.all() else scored.T)
    return np.asarray(ratio(bootstrap.totals(np.where(scored, table, 0.0).T), counts))
