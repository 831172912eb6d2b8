"""How far each rater goes with the reference people: the rows of the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.boards.agreement import Agreement, agreement, estimate
from metal.boards.cell import BoardCell, BoardRater
from metal.boards.ensemble import NAME
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.correlation import distinct, pearson, rank_correlations
from metal.stats.pairwise import calibrate_ties, soft_pairwise_accuracy
from metal.stats.patterns import Codes, Numbers
from metal.stats.rater_comparison import correlates_better, significance_clusters

WITH_INTERVAL = ("pearson", "system_pearson")
FOR_EACH = 40  # permutations, at least, for each rater that another is compared with


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
    found = agreement(people, bootstrap)
    figures = {
        rater.name: {"pearson": one.instance, "system_pearson": one.system}
        for rater, one in zip(people.raters, found, strict=True)
    }
    rows, human = [], distinct(people.human)
    for rater, mine in zip(people.raters, people.scores, strict=True):
        both = int((~np.isnan(mine)).sum())
        figures[rater.name] |= _of_ranks(mine, human, both)
        rows.append(_row(people, rater, mine, dict(figures[rater.name]), bootstrap.seed, permutations))
    values = np.array([row["pearson"] for row in rows], dtype=np.float64)
    rng = np.random.default_rng([bootstrap.seed, len(people.human)])
    enough = max(permutations, FOR_EACH * len(rows))  # with fewer, Holm's least p of so many would be above any level
    better = correlates_better(people.human, people.scores, rng, resamples=enough)
    try:
        clusters = significance_clusters(values, better)
    except Undefined:
        clusters = np.zeros(len(rows), dtype=np.int64)
    order = sorted(range(len(rows)), key=lambda at: (np.isnan(values[at]), -values[at], rows[at]["rater"]))
    for rank, at in enumerate(order, 1):
        defined = not np.isnan(values[at])
        rows[at] |= {"rank": rank if defined else None, "cluster": int(clusters[at]) if defined else None}
    return Ranked([rows[at] for at in order], better[np.ix_(order, order)], within_generators(people, found), figures)


def _of_ranks(scores: Numbers, human: tuple[Numbers, Codes], outputs: int) -> dict[str, Estimate]:
    """Spearman's and Kendall's correlation with people, human being what `distinct` gives of them."""
    try:
        rho, tau = rank_correlations(scores, human)
    except Undefined as error:
        return dict.fromkeys(("spearman", "kendall"), Estimate.undefined(str(error), outputs))
    return {"spearman": Estimate(rho, n=outputs), "kendall": Estimate(tau, n=outputs)}


def _row(
    cell: BoardCell, rater: BoardRater, scores: Numbers, found: dict[str, Estimate], seed: int, permutations: int
) -> dict[str, Any]:
    """One rater's row; scores: (items,), all rated by people; found: its figures with intervals."""
    answered = ~np.isnan(scores)
    outputs, asked = int(answered.sum()), len(scores)
    row: dict[str, Any] = {
        "language": cell.language,
        "criterion": cell.criterion,
        "rater": rater.name,
        "kind": rater.kind,
        "group": rater.group,
        "people": len(rater.people) or None,
        "outputs": outputs,
        "asked": asked,
        "coverage": outputs / asked,
        "sources": cell.sources(answered),
        "generators": int((np.bincount(cell.generator[answered]) > 0).sum()),
        "cost_per_thousand": _cost(cell, rater),
    }
    pairs = _of_pairs(cell, scores, seed, permutations)
    if rater.name == NAME:
        unlike = Estimate.undefined("each generator's scores come from another fit", outputs)
        found["system_pearson"] = pairs["soft_pairwise_accuracy"] = pairs["pairwise_accuracy"] = unlike
        pairs |= {"tie_epsilon": None, "pairwise_accuracy_without_ties": None}
    row |= {key: value for key, value in pairs.items() if not isinstance(value, Estimate)}
    found |= {key: value for key, value in pairs.items() if isinstance(value, Estimate)}
    for name, figure in found.items():
        row[name] = figure.value
        if name in WITH_INTERVAL:
            row |= {f"{name}_low": figure.low, f"{name}_high": figure.high}
    row["undefined"] = "; ".join(f"{name}: {figure.reason}" for name, figure in found.items() if figure.reason)
    return row


def _cost(cell: BoardCell, rater: BoardRater) -> float | None:
    """US dollars for a thousand outputs, where it is known what a rating costs."""
    dollars = (rater.about or {}).get("dollars_per_thousand")
    return dollars * cell.criteria if isinstance(dollars, int | float) else None


def _of_pairs(cell: BoardCell, scores: Numbers, seed: int, permutations: int) -> dict[str, Any]:
    """What comes from pairs of generators: soft pairwise accuracy, and pairwise accuracy with its ties."""
    answered = ~np.isnan(scores)
    outputs = int(answered.sum())
    by_people = cell.by_generator(np.where(answered, cell.human, np.nan))
    by_rater = cell.by_generator(scores)
    there = ~np.isnan(by_rater).all(axis=1)
    by_people, by_rater = by_people[there], by_rater[there]
    rng = np.random.default_rng([seed, outputs])
    soft = estimate(lambda: soft_pairwise_accuracy(by_people, by_rater, rng, resamples=permutations), outputs)
    try:
        ties = calibrate_ties(by_people, by_rater)
    except Undefined as error:
        undefined = Estimate.undefined(str(error))
        return {"soft_pairwise_accuracy": soft, "pairwise_accuracy": undefined, "tie_epsilon": None, "pairs": 0}
    accuracy = Estimate(ties.accuracy, n=ties.pairs)
    return {
        "soft_pairwise_accuracy": soft,
        "pairwise_accuracy": accuracy,
        "tie_epsilon": ties.epsilon,
        "pairwise_accuracy_without_ties": ties.uncalibrated,
        "pairs": ties.pairs,
    }


def ceiling(cell: BoardCell) -> Estimate:
    """One reference person against the mean of the others, pooled over people: what a person reaches."""
    try:
        return Estimate(pearson(cell.alone, cell.others), n=int((~np.isnan(cell.others)).sum()))
    except Undefined as error:
        return Estimate.undefined(str(error) if len(cell.alone) else "no ratings by single people")


def within_generators(cell: BoardCell, found: Sequence[Agreement]) -> list[dict[str, Any]]:
    """Each rater's correlation with people on the outputs of one generator. cell: of items that people rated."""
    return [
        {
            "language": cell.language,
            "criterion": cell.criterion,
            "generator": name,
            "rater": rater.name,
            "kind": rater.kind,
            "outputs": one.within[code].n,
            "pearson": one.within[code].value,
            "pearson_low": one.within[code].low,
            "pearson_high": one.within[code].high,
            "undefined": f"pearson: {one.within[code].reason}" if one.within[code].reason else "",
        }
        for code, name in enumerate(cell.generators)
        for rater, one in zip(cell.raters, found, strict=True)
    ]


def comparisons(cell: BoardCell, ranked: Ranked) -> list[dict[str, Any]]:
    """Every pair of raters: the p-value that the first, who correlates better, does so by chance."""
    rows = []
    for i, first in enumerate(ranked.rows):
        for j, second in enumerate(ranked.rows[i + 1 :], i + 1):
            rows.append(
                {
                    "language": cell.language,
                    "criterion": cell.criterion,
                    "first": first["rater"],
                    "second": second["rater"],
                    "p": float(ranked.better[i, j]),
                }
            )
    return rows
