"""How far each rater goes with the reference people: the rows of the board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metal.billboard.cells import BoardRater, Cell
from metal.billboard.ensemble import NAME
from metal.errors import Undefined
from metal.records import Estimate
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.correlation import (
    kendall,
    pearson,
    pearson_from_sums,
    source_sums,
    spearman,
    system_pearson,
    system_pearson_from_sums,
    system_sums,
)
from metal.stats.pairwise import calibrate_ties, soft_pairwise_accuracy
from metal.stats.patterns import Codes, Numbers
from metal.stats.rater_comparison import correlates_better, significance_clusters

WITH_INTERVAL = ("pearson", "system_pearson")
FOR_EACH = 40  # permutations, at least, for each rater that another is compared with


@dataclass(frozen=True)
class Ranked:
    """The raters of a cell with their figures, best first.

    rows: one a rater. better: (raters, raters) one-sided p that i correlates better than j, in the order of rows.
    """

    rows: list[dict[str, Any]]
    better: Numbers


def ranking(cell: Cell, bootstrap: SourceBootstrap, permutations: int) -> Ranked:
    """Every rater's agreement with the reference people, with ranks and clusters."""
    rated = cell.rated
    human, scores = cell.human[rated], cell.scores[:, rated]
    people = cell.only(rated)
    instance = correlations(scores, human, people.source, bootstrap)
    system = system_correlations(scores, human, people.source, people.generator, bootstrap)
    rows = [
        _row(people, rater, mine, {"pearson": one, "system_pearson": other}, bootstrap.seed, permutations)
        for rater, mine, one, other in zip(cell.raters, scores, instance, system, strict=True)
    ]
    values = np.array([row["pearson"] for row in rows], dtype=np.float64)
    rng = np.random.default_rng([bootstrap.seed, len(human)])
    enough = max(permutations, FOR_EACH * len(rows))  # with fewer, Holm's least p of so many would be above any level
    better = correlates_better(human, scores, rng, resamples=enough)
    try:
        clusters = significance_clusters(values, better)
    except Undefined:
        clusters = np.zeros(len(rows), dtype=np.int64)
    order = sorted(range(len(rows)), key=lambda at: (np.isnan(values[at]), -values[at], rows[at]["rater"]))
    for rank, at in enumerate(order, 1):
        defined = not np.isnan(values[at])
        rows[at] |= {"rank": rank if defined else None, "cluster": int(clusters[at]) if defined else None}
    return Ranked([rows[at] for at in order], better[np.ix_(order, order)])


def _row(
    cell: Cell, rater: BoardRater, scores: Numbers, found: dict[str, Estimate], seed: int, permutations: int
) -> dict[str, Any]:
    """One rater's row; scores: (items,), all rated by people; found: its figures with intervals."""
    answered = ~np.isnan(scores)
    outputs, asked = int(answered.sum()), len(scores)
    mine = cell.only(answered)
    own = scores[answered]
    found |= {
        "spearman": estimate(lambda: spearman(own, mine.human), outputs),
        "kendall": estimate(lambda: kendall(own, mine.human), outputs),
    }
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
        "sources": len(np.unique(mine.source)),
        "generators": len(np.unique(mine.generator)),
        "cost_per_thousand": _cost(cell, rater),
    }
    pairs = _of_pairs(mine, own, seed, permutations)
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


def _cost(cell: Cell, rater: BoardRater) -> float | None:
    """US dollars for a thousand outputs, where it is known what a rating costs."""
    dollars = (rater.about or {}).get("dollars_per_thousand")
    return dollars * cell.criteria if isinstance(dollars, int | float) else None


def _of_pairs(mine: Cell, scores: Numbers, seed: int, permutations: int) -> dict[str, Any]:
    """What comes from pairs of generators: soft pairwise accuracy, and pairwise accuracy with its ties."""
    by_people, by_rater = mine.by_generator(mine.human), mine.by_generator(scores)
    there = ~np.isnan(by_rater).all(axis=1)
    by_people, by_rater = by_people[there], by_rater[there]
    rng = np.random.default_rng([seed, len(scores)])
    soft = estimate(lambda: soft_pairwise_accuracy(by_people, by_rater, rng, resamples=permutations), len(scores))
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


def correlations(scores: Numbers, human: Numbers, source: Codes, bootstrap: SourceBootstrap) -> list[Estimate]:
    """Instance-level Pearson of each rater, scores (raters, items), with its interval by source.

    All raters share the sources that are drawn. Source: Bidimensional Leaderboards, section 2.1.
    """
    if not len(scores):
        return []
    sums = np.stack([source_sums(mine, human, source) for mine in scores], axis=1)
    drawn = pearson_from_sums(bootstrap.totals(sums))
    whole = sums.sum(axis=0)
    found = [
        Estimate(float(r), n=int(pairs)) if r == r else estimate(lambda mine=mine: pearson(mine, human), int(pairs))  # type: ignore[misc]
        for mine, r, pairs in zip(scores, pearson_from_sums(whole), whole[:, 0], strict=True)
    ]
    sources = (sums[..., 0] > 0).sum(axis=0)
    return [_with_interval(one, drawn[:, place], int(sources[place])) for place, one in enumerate(found)]


def system_correlations(
    scores: Numbers, human: Numbers, source: Codes, system: Codes, bootstrap: SourceBootstrap
) -> list[Estimate]:
    """Pearson between the generators' means of people and of each rater, with its interval by source."""
    if not len(scores):
        return []
    sums = np.stack([system_sums(mine, human, source, system) for mine in scores], axis=1)
    drawn = system_pearson_from_sums(bootstrap.totals(sums))
    whole = [
        estimate(lambda mine=mine: system_pearson(mine, human, system), int((~np.isnan(mine)).sum()))  # type: ignore[misc]
        for mine in scores
    ]
    sources = (sums[..., 0] > 0).any(axis=2).sum(axis=0)
    return [_with_interval(found, drawn[:, place], int(sources[place])) for place, found in enumerate(whole)]


def _with_interval(found: Estimate, drawn: Numbers, sources: int) -> Estimate:
    """sources: of the rater's own answers; every resample of one is that one, which is no interval."""
    if found.value is None or sources < 2:
        return found
    low, high = percentile_interval(drawn) or (None, None)
    return replace(found, low=low, high=high, method="percentile bootstrap over sources")


def ceiling(cell: Cell) -> Estimate:
    """One reference person against the mean of the others, pooled over people: what a person reaches."""
    try:
        return Estimate(pearson(cell.alone, cell.others), n=int((~np.isnan(cell.others)).sum()))
    except Undefined as error:
        return Estimate.undefined(str(error) if len(cell.alone) else "no ratings by single people")


def within_generators(cell: Cell, bootstrap: SourceBootstrap) -> list[dict[str, Any]]:
    """Each rater's correlation with people on the outputs of one generator."""
    rows = []
    for code, name in enumerate(cell.generators):
        mine = (cell.generator == code) & cell.rated
        if not mine.any():
            continue
        found = correlations(cell.scores[:, mine], cell.human[mine], cell.source[mine], bootstrap)
        for rater, one in zip(cell.raters, found, strict=True):
            rows.append(
                {
                    "language": cell.language,
                    "criterion": cell.criterion,
                    "generator": name,
                    "rater": rater.name,
                    "kind": rater.kind,
                    "outputs": one.n,
                    "pearson": one.value,
                    "pearson_low": one.low,
                    "pearson_high": one.high,
                    "undefined": f"pearson: {one.reason}" if one.reason else "",
                }
            )
    return rows


def comparisons(cell: Cell, ranked: Ranked) -> list[dict[str, Any]]:
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


def estimate(compute: Callable[[], float], outputs: int) -> Estimate:
    """A figure without interval, or the reason why it is undefined."""
    try:
        return Estimate(float(compute()), n=outputs)
    except Undefined as error:
        return Estimate.undefined(str(error), outputs)
