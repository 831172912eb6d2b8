"""The rows of the board: how far each rater agrees with the reference people, and generators by their mean score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.boards.agreement import agreements, estimate, figure_columns
from metal.boards.cells import BoardCell, BoardRater
from metal.boards.ensemble import NAME
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.correlation import distinct, pearson, rank_correlations
from metal.stats.pairwise import better_on_shared, calibrate_ties, soft_pairwise_accuracy
from metal.stats.patterns import Codes, Numbers, ratio
from metal.stats.permutation import correlates_better
from metal.stats.significance import significance_clusters

WITH_INTERVAL = ("pearson", "system_pearson")
FOR_EACH = 40  # least permutations for each rater that another is compared with


@dataclass(frozen=True)
class Ranked:
    """The raters of a cell with their figures, best first.

    rows: one a rater. better: (raters, raters) one-sided p that i correlates better than j, in the order of rows.
    within: rows of the table within_generators: each rater on the outputs of one generator. figures: by rater, those
    that `crowd` shows as well.
    """

    rows: list[dict[str, Any]]
    better: Numbers
    within: list[dict[str, Any]]
    figures: Mapping[str, Mapping[str, Estimate]]


def ranking(cell: BoardCell, bootstrap: SourceBootstrap, permutations: int) -> Ranked:
    """Every rater's agreement with the reference people, with ranks and clusters."""
    people = cell.only_rated()
    of_each = agreements(people.scores, people.human, people.source, people.generator, bootstrap)
    figures: dict[str, dict[str, Estimate]] = {}
    rows, human = [], distinct(people.human)
    for rater, scores, with_people in zip(people.raters, people.scores, of_each, strict=True):
        answered = int((~np.isnan(scores)).sum())
        figures[rater.name] = {"pearson": with_people.instance, "system_pearson": with_people.system}
        figures[rater.name] |= _rank_correlations(scores, human, answered)
        rows.append(_row(people, rater, scores, figures[rater.name], bootstrap.seed, permutations))
    values = np.array([row["pearson"] for row in rows], dtype=np.float64)
    rng = np.random.default_rng([bootstrap.seed, len(people.human)])
    # With fewer, Holm's smallest p of so many comparisons would be above any level.
    enough = max(permutations, FOR_EACH * len(rows))
    better = correlates_better(people.human, people.scores, rng, resamples=enough)
    try:
        clusters = significance_clusters(values, better)
    except Undefined:
        clusters = np.zeros(len(rows), dtype=np.int64)
    order = sorted(range(len(rows)), key=lambda at: (np.isnan(values[at]), -values[at], rows[at]["rater"]))
    for rank, at in enumerate(order, 1):
        defined = not np.isnan(values[at])
        rows[at] |= {"rank": rank if defined else None, "cluster": int(clusters[at]) if defined else None}
    within = [
        {
            **people.place,
            "generator": name,
            "rater": rater.name,
            "kind": rater.kind,
            "outputs": with_people.within[code].n,
            **figure_columns({"pearson": with_people.within[code]}, WITH_INTERVAL),
        }
        for code, name in enumerate(people.generators)
        for rater, with_people in zip(people.raters, of_each, strict=True)
    ]
    return Ranked([rows[at] for at in order], better[np.ix_(order, order)], within, figures)


def _rank_correlations(scores: Numbers, human: tuple[Numbers, Codes], outputs: int) -> dict[str, Estimate]:
    """Spearman's and Kendall's correlation with people. human: their scores as `distinct` gives them."""
    try:
        rho, tau = rank_correlations(scores, human)
    except Undefined as error:
        return dict.fromkeys(("spearman", "kendall"), Estimate.undefined(str(error), outputs))
    return {"spearman": Estimate(rho, n=outputs), "kendall": Estimate(tau, n=outputs)}


def _row(
    cell: BoardCell,
    rater: BoardRater,
    scores: Numbers,
    correlations: Mapping[str, Estimate],
    seed: int,
    permutations: int,
) -> dict[str, Any]:
    """One rater's row. cell: of items that people rated; scores: (items,)."""
    answered = ~np.isnan(scores)
    outputs, asked = int(answered.sum()), len(scores)
    dollars = (rater.about or {}).get("dollars_per_thousand")
    pairs = _pair_figures(cell, scores, seed, permutations)
    figures = {**correlations, **{name: figure for name, figure in pairs.items() if isinstance(figure, Estimate)}}
    if rater.name == NAME:
        unlike = Estimate.undefined("each generator's scores come from another fit", outputs)
        figures |= dict.fromkeys(("system_pearson", "soft_pairwise_accuracy", "pairwise_accuracy"), unlike)
        pairs |= {"tie_epsilon": None, "pairwise_accuracy_without_ties": None}
    return {
        **cell.row_of(rater),
        "people": len(rater.people) or None,
        "outputs": outputs,
        "asked": asked,
        "coverage": outputs / asked,
        "sources": cell.sources(answered),
        "generators": int((np.bincount(cell.generator[answered]) > 0).sum()),
        "cost_per_thousand": dollars * cell.criteria if isinstance(dollars, int | float) else None,
        **{name: value for name, value in pairs.items() if not isinstance(value, Estimate)},
        **figure_columns(figures, WITH_INTERVAL),
    }


def _pair_figures(cell: BoardCell, scores: Numbers, seed: int, permutations: int) -> dict[str, Any]:
    """Figures from pairs of generators: soft pairwise accuracy, and pairwise accuracy with its ties."""
    answered = ~np.isnan(scores)
    outputs = int(answered.sum())
    by_people = cell.by_generator(np.where(answered, cell.human, np.nan))
    by_rater = cell.by_generator(scores)
    scored = ~np.isnan(by_rater).all(axis=1)
    by_people, by_rater = by_people[scored], by_rater[scored]
    rng = np.random.default_rng([seed, outputs])
    soft = estimate(soft_pairwise_accuracy, by_people, by_rater, n=outputs, rng=rng, resamples=permutations)
    try:
        ties = calibrate_ties(by_people, by_rater)
    except Undefined as error:
        undefined = Estimate.undefined(str(error))
        return {"soft_pairwise_accuracy": soft, "pairwise_accuracy": undefined, "tie_epsilon": None, "pairs": 0}
    return {
        "soft_pairwise_accuracy": soft,
        "pairwise_accuracy": Estimate(ties.accuracy, n=ties.pairs),
        "tie_epsilon": ties.epsilon,
        "pairwise_accuracy_without_ties": ties.uncalibrated,
        "pairs": ties.pairs,
    }


def ceiling(cell: BoardCell) -> Estimate:
    """One reference person against the mean of the others, pooled over people: what a person reaches."""
    if not len(cell.alone):
        return Estimate.undefined("no ratings by single people")
    pairs = int((~np.isnan(cell.others)).sum())
    figure = estimate(pearson, cell.alone, cell.others, n=pairs)
    return Estimate.undefined(figure.reason) if figure.reason else figure


def comparisons(cell: BoardCell, ranked: Ranked) -> list[dict[str, Any]]:
    """Every pair of raters: the p-value that the first, who correlates better, does so by chance."""
    return [
        {**cell.place, "first": first["rater"], "second": second["rater"], "p": float(ranked.better[i, j])}
        for i, first in enumerate(ranked.rows)
        for j, second in enumerate(ranked.rows[i + 1 :], i + 1)
    ]


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
    from paired permutation tests, each pair on the sources on which both were scored; None where no pair has such a
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
    better = better_on_shared(table, rng, resamples=permutations)
    if len(table) > 1 and np.isnan(better[np.triu_indices(len(table), 1)]).all():
        return None
    try:
        return significance_clusters(means, better)
    except Undefined:
        return None
