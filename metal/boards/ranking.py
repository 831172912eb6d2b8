"""How far each rater agrees with the reference people: the rows of the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.boards.agreement import RaterAgreement, agreement, estimate, figure_columns
from metal.boards.cell import BoardCell, BoardRater
from metal.boards.ensemble import NAME
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.correlation import distinct, pearson, rank_correlations
from metal.stats.pairwise import calibrate_ties, soft_pairwise_accuracy
from metal.stats.patterns import Codes, Numbers
from metal.stats.permutation import correlates_better
from metal.stats.significance import significance_clusters

WITH_INTERVAL = ("pearson", "system_pearson")
FOR_EACH = 40  # least permutations for each rater that another is compared with


@dataclass(frozen=True)
class Ranked:
    """The raters of a cell with their figures, best first.

    rows: one a rater. better: (raters, raters) one-sided p that i correlates better than j, in the order of rows.
    within: rows of the table within_generators. figures: by rater, those that `crowd` shows as well.
    """

    rows: list[dict[str, Any]]
    better: Numbers
    within: list[dict[str, Any]]
    figures: Mapping[str, Mapping[str, Estimate]]


def ranking(cell: BoardCell, bootstrap: SourceBootstrap, permutations: int) -> Ranked:
    """Every rater's agreement with the reference people, with ranks and clusters."""
    people = cell.only_rated()
    agreements = agreement(people, bootstrap)
    figures: dict[str, dict[str, Estimate]] = {}
    rows, human = [], distinct(people.human)
    for rater, scores, with_people in zip(people.raters, people.scores, agreements, strict=True):
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
    return Ranked(
        [rows[at] for at in order], better[np.ix_(order, order)], within_generators(people, agreements), figures
    )


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


def within_generators(cell: BoardCell, agreements: Sequence[RaterAgreement]) -> list[dict[str, Any]]:
    """Each rater's correlation with people on the outputs of one generator. cell: of items that people rated."""
    return [
        {
            **cell.place,
            "generator": name,
            "rater": rater.name,
            "kind": rater.kind,
            "outputs": agreement.within[code].n,
            **figure_columns({"pearson": agreement.within[code]}, WITH_INTERVAL),
        }
        for code, name in enumerate(cell.generators)
        for rater, agreement in zip(cell.raters, agreements, strict=True)
    ]


def comparisons(cell: BoardCell, ranked: Ranked) -> list[dict[str, Any]]:
    """Every pair of raters: the p-value that the first, who correlates better, does so by chance."""
    return [
        {**cell.place, "first": first["rater"], "second": second["rater"], "p": float(ranked.better[i, j])}
        for i, first in enumerate(ranked.rows)
        for j, second in enumerate(ranked.rows[i + 1 :], i + 1)
    ]
