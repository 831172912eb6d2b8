"""The rows of the board: how well each rater agrees with the reference people.

All correlations and their intervals follow from one table of sums by source and generator. One
bootstrap sample of sources serves all raters and figures of a cell. It is multiplied with the table
once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from metal.boards.cells import BoardCell, BoardRater
from metal.boards.ensemble import GROUP, NAME
from metal.data.records import Estimate
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.correlation import (
    Correlation,
    deviation_sums,
    distinct,
    moved_sums,
    pearson,
    pearson_from_sums,
    pearson_influence,
    rank_correlations,
    system_pearson,
    system_pearson_from_sums,
)
from metal.stats.intervals import correlation_interval, share_interval
from metal.stats.pairwise import calibrate_ties, soft_pairwise_accuracy
from metal.stats.patterns import Codes, Numbers
from metal.stats.permutation import correlation_pairs
from metal.stats.ranks import Pairs

# Most numbers held at once: the sums of some raters and the resamples of these.
_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class RaterAgreement:
    """One rater's Pearson correlations with people, with intervals from a bootstrap over sources.
    within: generator's code -> correlation on the outputs of this generator.
    """

    instance: Estimate
    system: Estimate
    within: tuple[Estimate, ...]


def agreements(
    scores: Numbers, human: Numbers, source: Codes, generator: Codes, bootstrap: SourceBootstrap
) -> list[RaterAgreement]:
    """The agreement of each rater with people, on items that people rated.

    scores: (raters, items); human, source, generator: (items,), codes from 0 without gaps. For
    figures within one generator, only sources with an output of this generator are drawn. Source:
    Bidimensional Leaderboards, section 2.1.
    """
    if not len(scores) or not len(human):
        return []
    names, source_codes = np.unique(source, return_inverse=True)
    width = int(generator.max()) + 1
    wrote = (
        np.bincount(source_codes * width + generator, minlength=len(names) * width).reshape(
            len(names), width
        )
        > 0
    )
    step = max(1, _AT_ONCE // (6 * width * max(len(names), bootstrap.resamples)))
    return [
        rater
        for start in range(0, len(scores), step)
        for rater in _agreements(
            scores[start : start + step], human, source_codes, generator, wrote, bootstrap
        )
    ]


def _agreements(
    scores: Numbers,
    human: Numbers,
    source_codes: Codes,
    generator: Codes,
    wrote: Codes,
    bootstrap: SourceBootstrap,
) -> Iterator[RaterAgreement]:
    """Compute `agreements` for some raters. source_codes: (items,) position of the source; wrote:
    (sources, generators) whether the generator has an output for the source.
    """
    # (sources, generators, raters, 6)
    table, means = deviation_sums(scores, human, source_codes, generator)
    totals, drawn = table.sum(axis=0), bootstrap.totals(table)
    within, within_drawn = pearson_from_sums(totals), pearson_from_sums(drawn)
    for code in np.flatnonzero(~wrote.all(axis=0)).tolist():
        within_drawn[:, code] = pearson_from_sums(bootstrap.totals(table[wrote[:, code], code]))
    instance, system = _instance_and_system(moved_sums(totals, means))
    drawn_values = (*_instance_and_system(moved_sums(drawn, means)), within_drawn)
    instance_ends, system_ends, within_ends = (
        np.stack(intervals(values), axis=-1) for values in drawn_values
    )
    answered = table[..., 0] > 0
    sources, by_generator = answered.any(axis=1).sum(axis=0), answered.sum(axis=0)
    for at, own in enumerate(scores):
        pairs = totals[:, at, 0].astype(np.int64)
        both, figures = int(pairs.sum()), []
        for code in range(len(within)):
            inside = generator == code if np.isnan(within[code, at]) else slice(0)
            value, ends, least = (
                within[code, at],
                within_ends[code, at],
                int(by_generator[code, at]),
            )
            figures.append(
                _figure(
                    value,
                    ends,
                    least,
                    int(pairs[code]),
                    pearson,
                    own[inside],
                    human[inside],
                )
            )
        yield RaterAgreement(
            _figure(
                instance[at],
                instance_ends[at],
                int(sources[at]),
                both,
                pearson,
                own,
                human,
            ),
            _figure(
                system[at],
                system_ends[at],
                int(sources[at]),
                both,
                system_pearson,
                own,
                human,
                generator,
            ),
            tuple(figures),
        )


def _instance_and_system(sums: Numbers) -> tuple[Numbers, Numbers]:
    """Instance-level and system-level correlation, (..., raters) each, from sums (..., generators,
    raters, 6).
    """
    return pearson_from_sums(sums.sum(axis=-3)), system_pearson_from_sums(
        np.moveaxis(sums[..., :3], -3, -2)
    )


def _figure(
    value: float,
    ends: Numbers,
    sources: int,
    pairs: int,
    statistic: Callable[..., float],
    *arrays: Codes,
) -> Estimate:
    """Make an Estimate of a figure computed from sums. If the sums give NaN, compute the plain
    statistic, which gives a value or a reason.

    ends: (2,) the ends of the interval. sources: the sources that the rater answered; with one
    source there is no interval.
    """
    figure = (
        estimate(statistic, *arrays, n=pairs)
        if np.isnan(value)
        else Estimate(float(value), n=pairs)
    )
    if figure.value is None or sources < 2:
        return figure
    low, high = (None, None) if np.isnan(ends).any() else (float(ends[0]), float(ends[1]))
    return replace(figure, low=low, high=high, method="percentile bootstrap over sources")


def intervals(drawn: Numbers) -> tuple[Numbers, Numbers]:
    """(...) lows and highs of (resamples, ...), each computed by `percentile_interval`; NaN if
    there is none.
    """
    flat = drawn.reshape(len(drawn), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    complete = ~np.isnan(flat).any(axis=0)
    if complete.any():
        ends[:, complete] = np.quantile(flat[:, complete], [0.025, 0.975], axis=0)
    for column in np.flatnonzero(~complete):
        ends[:, column] = percentile_interval(flat[:, column]) or np.nan
    low, high = ends.reshape(2, *drawn.shape[1:])
    return low, high


def estimate(statistic: Callable[..., float], *arrays: Codes, n: int, **options: Any) -> Estimate:
    """Compute a statistic without an interval, or say why it is undefined."""
    try:
        return Estimate(float(statistic(*arrays, **options)), n=n)
    except Undefined as error:
        return Estimate.undefined(str(error), n)


def table_of(
    records: Sequence[Mapping[str, Any]], first: Sequence[str], names: Collection[str] = ()
) -> pd.DataFrame:
    """The records as a table. The columns in `first` come first; a table without records has only
    these and `signature`.

    names: columns of text. Any other column without values becomes a column of numbers that are all
    NaN.
    """
    if not records:
        return pd.DataFrame(columns=[*first, "signature"])
    table = pd.DataFrame(list(records))
    empty = [str(column) for column in table if table[column].isna().all() and column not in names]
    table = table.astype(dict.fromkeys(empty, np.float64))
    present = [column for column in first if column in table]
    return table[[*present, *(column for column in table if column not in present)]]


def figure_columns(
    figures: Mapping[str, Estimate | float | None], with_interval: Collection[str]
) -> dict[str, Any]:
    """Columns of a row: each figure, _low and _high for figures with an interval, and `undefined`
    with all reasons.
    """
    row: dict[str, Any] = {}
    reasons = []
    for name, figure in figures.items():
        row[name] = figure.value if isinstance(figure, Estimate) else figure
        if isinstance(figure, Estimate) and name in with_interval:
            row |= {f"{name}_low": figure.low, f"{name}_high": figure.high}
        if isinstance(figure, Estimate) and figure.reason:
            reasons.append(f"{name}: {figure.reason}")
    return row | {"undefined": "; ".join(reasons)}


WITH_INTERVAL = (
    *("pearson", "spearman", "kendall", "system_pearson"),
    *("soft_pairwise_accuracy", "pairwise_accuracy", "one_against_others"),
)
JACKKNIFE = "infinitesimal jackknife over sources"
IN_SAMPLE = "rank: an ensemble that may have been fitted to these very outputs"


@dataclass(frozen=True)
class Ranked:
    """The raters of a cell with their figures, best first.

    rows: one per rater. pairs: all pairs of ranked raters, in the order of rows. within: rows of
    the table within_generators, one for each rater and generator. figures: rater -> the figures
    that `crowd` shows as well.
    """

    rows: list[dict[str, Any]]
    pairs: Pairs
    within: list[dict[str, Any]]
    figures: Mapping[str, Mapping[str, Estimate]]


def ranking(cell: BoardCell, bootstrap: SourceBootstrap, permutations: int) -> Ranked:
    """Every rater's agreement with the reference people, with ranks and their intervals.

    Ensembles that came with the data may have been fitted to the very scores that they are compared
    with. So they come last, without a rank.
    """
    people = cell.only_rated()
    of_each = agreements(people.scores, people.human, people.source, people.generator, bootstrap)
    figures: dict[str, dict[str, Estimate]] = {}
    rows, human = [], distinct(people.human)
    for rater, scores, with_people in zip(people.raters, people.scores, of_each, strict=True):
        figures[rater.name] = {
            "pearson": with_people.instance,
            "system_pearson": with_people.system,
        }
        figures[rater.name] |= rank_figures(scores, human, people.source)
        rows.append(_row(people, rater, scores, figures[rater.name], bootstrap.seed, permutations))
    in_sample = [rater.group == GROUP and rater.name != NAME for rater in people.raters]
    values = np.array([row["pearson"] for row in rows], dtype=np.float64)
    values[in_sample] = np.nan
    order = sorted(
        range(len(rows)), key=lambda at: (np.isnan(values[at]), -values[at], rows[at]["rater"])
    )
    ranked = [at for at in order if not np.isnan(values[at])]
    rng = np.random.default_rng([bootstrap.seed, len(people.human)])
    scores = people.scores[np.array(ranked, dtype=np.int64)]
    pairs = correlation_pairs(people.human, scores, rng, people.source, resamples=permutations)
    for at in order:
        rows[at] |= {"rank": None, "rank_low": None, "rank_high": None}
        if in_sample[at]:
            rows[at]["undefined"] = "; ".join(filter(None, [rows[at]["undefined"], IN_SAMPLE]))
    low, high = pairs.ranks()
    for position, at in enumerate(ranked):
        rows[at] |= {
            "rank": position + 1,
            "rank_low": int(low[position]),
            "rank_high": int(high[position]),
        }
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
    return Ranked([rows[at] for at in order], pairs, within, figures)


def rank_figures(
    scores: Numbers, human: tuple[Numbers, Codes], source: Codes
) -> dict[str, Estimate]:
    """Spearman's and Kendall's correlation with people. human: people's scores as returned by
    `distinct`.
    """
    try:
        rho, tau = rank_correlations(scores, human)
    except Undefined as error:
        undefined = Estimate.undefined(str(error), int((~np.isnan(scores)).sum()))
        return dict.fromkeys(("spearman", "kendall"), undefined)
    return {"spearman": _over_sources(rho, source), "kendall": _over_sources(tau, source)}


def _over_sources(correlation: Correlation, source: Codes) -> Estimate:
    ends = correlation_interval(correlation.value, correlation.influence, source) or ()
    n = int((~np.isnan(correlation.influence)).sum())
    return Estimate(correlation.value, *ends, n=n, method=JACKKNIFE)


def _row(
    cell: BoardCell,
    rater: BoardRater,
    scores: Numbers,
    correlations: Mapping[str, Estimate],
    seed: int,
    permutations: int,
) -> dict[str, Any]:
    """One rater's row. cell: must have only items that people rated. scores: (items,)."""
    answered = ~np.isnan(scores)
    outputs, asked = int(answered.sum()), len(scores)
    dollars = (rater.about or {}).get("dollars_per_thousand")
    pairs = _pair_figures(cell, scores, seed, permutations)
    figures = {
        **correlations,
        **{name: figure for name, figure in pairs.items() if isinstance(figure, Estimate)},
    }
    if rater.name == NAME:
        unlike = Estimate.undefined("each generator's scores come from another fit", outputs)
        figures |= dict.fromkeys(
            ("system_pearson", "soft_pairwise_accuracy", "pairwise_accuracy"), unlike
        )
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
    """Figures from pairs of generators: soft pairwise accuracy, and pairwise accuracy with its
    threshold for ties.
    """
    answered = ~np.isnan(scores)
    outputs = int(answered.sum())
    by_people = cell.by_generator(np.where(answered, cell.human, np.nan))
    by_rater = cell.by_generator(scores)
    scored = ~np.isnan(by_rater).all(axis=1)
    by_people, by_rater = by_people[scored], by_rater[scored]
    rng = np.random.default_rng([seed, outputs])
    try:
        ties = calibrate_ties(by_people, by_rater)
    except Undefined as error:
        undefined = dict.fromkeys(
            ("soft_pairwise_accuracy", "pairwise_accuracy"), Estimate.undefined(str(error))
        )
        return {**undefined, "tie_epsilon": None, "pairs": 0}

    def figure(accuracy: float, variance: float) -> Estimate:
        if ties.sources < 2:
            return Estimate(accuracy, n=ties.pairs)
        ends = share_interval(accuracy, variance, ties.pairs, ties.sources)
        return Estimate(accuracy, *ends, n=ties.pairs, method=JACKKNIFE)

    try:
        soft = soft_pairwise_accuracy(by_people, by_rater, rng, resamples=permutations)
        soft_figure = figure(soft.accuracy, soft.variance)
    except Undefined as error:
        soft_figure = Estimate.undefined(str(error), ties.pairs)
    return {
        "soft_pairwise_accuracy": soft_figure,
        "pairwise_accuracy": figure(ties.accuracy, ties.variance),
        "tie_epsilon": ties.epsilon,
        "pairwise_accuracy_without_ties": ties.uncalibrated,
        "pairs": ties.pairs,
    }


def ceiling(cell: BoardCell) -> Estimate:
    """The agreement that a person reaches: the correlation of one reference person with the mean of
    the others, pooled over people.
    """
    if not len(cell.alone):
        return Estimate.undefined("no ratings by single people")
    try:
        return _over_sources(pearson_influence(cell.alone, cell.others), cell.alone_source)
    except Undefined as error:
        return Estimate.undefined(str(error))


def comparisons(cell: BoardCell, ranked: Ranked) -> list[dict[str, Any]]:
    """Every pair of raters, the one with the higher correlation first, with the p-value of their
    difference.

    If a rater has no correlation, its pairs have no p-value.
    """
    adjusted, tested = ranked.pairs.adjusted, len(ranked.pairs.p)
    rows = []
    for i, first in enumerate(ranked.rows):
        for j, second in enumerate(ranked.rows[i + 1 :], i + 1):
            if second["rank"] or IN_SAMPLE not in second["undefined"]:
                p = {"p": math.nan, "p_adjusted": math.nan}
                if j < tested:
                    p = {"p": float(ranked.pairs.p[i, j]), "p_adjusted": float(adjusted[i, j])}
                rows.append({**cell.place, "first": first["rater"], "second": second["rater"], **p})
    return rows
