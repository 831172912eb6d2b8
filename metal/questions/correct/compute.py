"""People's mean for each generator, from a judge's ratings of all sources and people's of some."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.analysed import Analysed
from metal.data.dataset import Dataset
from metal.data.progress import Progress, followed
from metal.data.text import plural
from metal.errors import UsageError
from metal.questions.correct.class_shares import CLASSES, class_rows
from metal.stats.corrected import Corrected, Mean, corrected_mean
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import holm, t_cdf

LEAST = 20  # labelled sources
LEAST_OTHERS = 2  # sources that only the judge rated: the spread of one is unknown
NOT_RANDOM = 0.001  # p, below which the labelled sources are not taken for a random subset
MOST_LEFT_OUT = 20  # people who are left out in turn
ALL = "(all)"
ALL_LABELLED = "people rated all sources: their mean needs no correction"
SHOWN = 0.05  # p, below which a generator is shown to be better than another
CLASSES_COMPARED = 5  # of the judge's means, labelled against the rest
CORRECTED = (
    *("language", "criterion", "judge", "generator", "sources", "labelled"),
    *(
        f"{name}{end}"
        for name in ("corrected", "people_only", "judge_only", "bias")
        for end in ("", "_low", "_high")
    ),
    *(
        "any_people_low",
        "any_people_high",
        "weight",
        "rho",
        "labels_saved",
        "rank",
        "rank_low",
        "rank_high",
    ),
    "undefined",
)
DIFFERENCES = (
    *(
        "language",
        "criterion",
        "judge",
        "first",
        "second",
        "labelled",
        "difference",
        "difference_low",
    ),
    *("difference_high", "people_only", "p_adjusted"),
)


@dataclass(frozen=True)
class SourceMeans:
    """The mean scores of a generator's outputs, a row for each source.

    panel: (sources, people) shares of the scale, NaN without an answer. judge: (sources,) the same
    for the judge. probabilities: (sources,) the probability with which people's label of the source
    was drawn; None if the labels are a random subset and all count alike.
    """

    panel: Numbers
    judge: Numbers
    names: tuple[int, ...]
    probabilities: Numbers | None = None

    @property
    def people(self) -> Numbers:
        """(sources,) people's mean, NaN without one."""
        scored = ~np.isnan(self.panel)
        counts = scored.sum(axis=1)
        return np.where(counts > 0, np.nansum(self.panel, axis=1) / np.maximum(counts, 1), np.nan)

    def corrected(self, panel: Numbers, seed: int) -> Corrected:
        """The corrected mean; its interval holds for these people as the panel."""
        has, judged = ~np.isnan(panel), ~np.isnan(self.judge)
        both = has & judged
        drawn = None if self.probabilities is None else self.probabilities[both]
        others = self.judge[judged & ~has]
        return corrected_mean(panel[both], self.judge[both], others, probabilities=drawn, seed=seed)


def corrected(
    dataset: Dataset,
    settings: AuditSettings,
    *,
    labels: int = 0,
    test_set: bool = False,
    drawn: Mapping[str, float] | None = None,
    progress: Progress,
) -> Analysed:
    """Compute corrected means and differences, or shares of classes: the tables `corrected`,
    `differences` and `classes`.

    labels: use people's ratings of this many random sources per language; 0: all. test_set: whether
    what people rated is a separate test set, not a random subset. drawn: source -> the probability
    with which it was drawn; in languages with drawn sources, labels of other sources do not count.

    Raises UsageError if there is no judge, or nothing that people and a judge rated.
    """
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    classes: list[dict[str, Any]] = []
    every = list(cells(dataset, settings, continuous=not test_set))
    for cell in followed(every, progress):
        generators = [dataset.outputs[output].generator for output in cell.matrix.outputs]
        for judge in cell.judges if cell.people else ():
            if test_set:
                classes += class_rows(cell, judge, generators)
            elif cell.criterion.scale.measure != "nominal" or cell.criterion.scale.ends:
                chances = chances_of(dataset, cell, drawn, labels, settings.seed)
                by_generator = source_means(cell, judge, generators, chances)
                of_judge, between = _compared(
                    cell, judge, by_generator, settings.seed, tested=not labels
                )
                rows += of_judge
                differences += between
    if not rows and not classes:
        what = "with classes" if test_set else "with an order"
        raise UsageError(f"no criterion {what} that people and a judge rated: nothing to correct")
    kept = [row for row in rows if math.isfinite(row["corrected"])]
    poor = sum(row["labels_saved"] < 1 for row in kept)
    warnings = []
    if poor:
        warnings.append(
            f"in {poor} of {len(kept)} cases the judge does not help: people's labels alone give "
            "an interval that is as narrow"
        )
    tables = {
        "corrected": pd.DataFrame(rows, columns=list(CORRECTED)),
        "differences": pd.DataFrame(differences, columns=list(DIFFERENCES)),
        "classes": pd.DataFrame(classes, columns=list(CLASSES)),
    }
    return Analysed(tables, tuple(warnings))


def chances_of(
    dataset: Dataset,
    cell: AuditCell,
    drawn: Mapping[str, float] | None,
    labels: int = 0,
    seed: int = 0,
) -> Numbers | None:
    """(items,) the probability with which people were asked about the source, NaN if they were not
    asked. None if the language has no drawn sources, so that every label counts alike.
    """
    if labels:
        chosen = np.random.default_rng(seed).permutation(np.unique(cell.matrix.sources))[:labels]
        return np.where(np.isin(cell.matrix.sources, chosen), 1.0, np.nan)
    names = [dataset.outputs[output].source for output in cell.matrix.outputs]
    chances = np.array([(drawn or {}).get(name, math.nan) for name in names])
    return None if np.isnan(chances).all() else chances


def source_means(
    cell: AuditCell, judge: str, generators: Sequence[str], chances: Numbers | None = None
) -> dict[str, SourceMeans]:
    """The source means of each generator and, if there are several, of all together (ALL).

    generators: (items,) who wrote each output. chances: (items,) the probability of a label, NaN if
    people's labels do not count.
    """
    low, high = cell.criterion.scale.ends or (float(cell.values.min()), float(cell.values.max()))
    people = cell.unaided(judge).people
    shares = (cell.values_of(cell.matrix.of([judge, *people])) - low) / (high - low)
    if chances is not None:
        shares[np.isnan(chances), 1:] = np.nan
    every = sorted(set(generators))
    of = np.array(generators, dtype=object)
    groups = {ALL: np.ones(len(of), dtype=bool)} if len(every) > 1 else {}
    groups |= {name: of == name for name in every}
    sources = cell.matrix.sources
    return {
        name: _means(shares[rows], sources[rows], None if chances is None else chances[rows])
        for name, rows in groups.items()
    }


def _means(shares: Numbers, source: Codes, chances: Numbers | None) -> SourceMeans:
    """The mean of each rater over the outputs of a source."""
    names, first, source_of = np.unique(source, return_index=True, return_inverse=True)
    scored = ~np.isnan(shares)
    sums, counts = np.zeros((len(names), shares.shape[1])), np.zeros((len(names), shares.shape[1]))
    np.add.at(sums, source_of, np.where(scored, shares, 0.0))
    np.add.at(counts, source_of, scored)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return SourceMeans(
        means[:, 1:],
        means[:, 0],
        tuple(names.tolist()),
        None if chances is None else chances[first],
    )


def _compared(
    cell: AuditCell, judge: str, by_generator: Mapping[str, SourceMeans], seed: int, *, tested: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows for each generator with a judge, with its ranks, and rows for every pair of generators.

    tested: whether labels that METAL did not draw must pass the test for a random subset.
    """
    rows = [
        _row(cell, judge, name, sources, seed, tested=tested)
        for name, sources in by_generator.items()
    ]
    sure = {
        row["generator"]: row
        for row in rows
        if math.isfinite(row["corrected"]) and row["generator"] != ALL
    }
    pairs = list(_differences(cell, judge, {name: by_generator[name] for name in sure}, seed))
    better = 1 if cell.criterion.direction == "higher" else -1
    order = sorted(sure, key=lambda name: -better * sure[name]["corrected"])
    ahead, behind = Counter[str](), Counter[str]()
    for pair in pairs:
        if pair["p_adjusted"] < SHOWN:
            winner, loser = pair["first"], pair["second"]
            if better * pair["difference"] < 0:
                winner, loser = loser, winner
            behind[winner] += 1
            ahead[loser] += 1
    for rank, name in enumerate(order if len(sure) > 1 else [], 1):
        ranks = {"rank_low": 1 + ahead[name], "rank_high": len(order) - behind[name]}
        sure[name] |= {"rank": rank} | ranks
    return rows, pairs


def _row(
    cell: AuditCell, judge: str, generator: str, sources: SourceMeans, seed: int, *, tested: bool
) -> dict[str, Any]:
    people, judged = sources.people, ~np.isnan(sources.judge)
    labelled = judged & ~np.isnan(people)
    others = judged & ~labelled
    row: dict[str, Any] = dict.fromkeys(CORRECTED, math.nan) | {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": judge,
        "generator": generator,
        "sources": int(judged.sum()),
        "labelled": int(labelled.sum()),
        "undefined": "",
    }
    if why := refused(
        sources.judge, labelled, others, tested=tested and sources.probabilities is None
    ):
        return row | {"undefined": f"corrected: {why}"}
    estimate = sources.corrected(people, seed)
    row |= {
        **_ends("corrected", estimate.corrected, share=True),
        **_ends("people_only", estimate.people, share=True),
        **_ends("judge_only", estimate.judge, share=True),
        **_ends("bias", estimate.bias),
        "weight": estimate.weight,
        "rho": estimate.rho,
        "labels_saved": estimate.labels_saved,
    }
    return row | _for_any_people(sources, estimate.corrected, seed)


def refused(judge: Numbers, labelled: Any, others: Any, *, tested: bool = True) -> str:
    """The reason why nothing can be corrected; empty if it can.

    judge: (sources,) its mean scores. labelled, others: masks of the sources with and without
    people's labels.
    """
    if not labelled.any():
        return "people and the judge rated no source in common"
    if not others.any():
        return ALL_LABELLED
    if labelled.sum() < LEAST:
        return f"{plural(int(labelled.sum()), 'labelled source')}, {LEAST} needed"
    if others.sum() < LEAST_OTHERS:
        return f"{plural(int(others.sum()), 'source')} without labels, {LEAST_OTHERS} needed"
    p = _differs(judge[labelled], judge[others]) if tested else 1.0
    if p < NOT_RANDOM:
        return (
            "the labelled sources are not a random subset: the judge scores them differently from"
            f" the rest (p {p:.1g})"
        )
    return ""


def _differs(first: Numbers, second: Numbers) -> float:
    """p of Pearson's chi-square test that both samples have the same distribution; 1 if nothing
    varies.

    The classes of the test are the values that occur or, if there are many, five
    groups of about the same size. If fewer than five values of a class are expected in a sample,
    the class is merged with the next.
    """
    from scipy.special import gammaincc

    every = np.concatenate([first, second])
    values = np.unique(every)
    if len(values) > 2 * CLASSES_COMPARED:
        values = np.unique(np.quantile(every, np.arange(CLASSES_COMPARED) / CLASSES_COMPARED))
    codes = np.maximum(np.searchsorted(values, every, side="right") - 1, 0)
    both = np.stack(
        [np.bincount(part, minlength=len(values)) for part in np.split(codes, [len(first)])]
    )
    shares = both.sum(axis=1) / both.sum()
    columns: list[Numbers] = []
    for column in both.T.astype(np.float64):
        if columns and columns[-1].sum() * shares.min() < 5:
            columns[-1] = columns[-1] + column
        else:
            columns.append(column)
    if len(columns) > 1 and columns[-1].sum() * shares.min() < 5:
        columns[-2:] = [columns[-2] + columns[-1]]
    if len(columns) < 2:
        return 1.0
    table = np.stack(columns, axis=1)
    expected = shares[:, None] * table.sum(axis=0)
    return float(gammaincc((len(columns) - 1) / 2, ((table - expected) ** 2 / expected).sum() / 2))


def _ends(name: str, mean: Mean, *, share: bool = False) -> dict[str, float]:
    low, high = mean.interval(share=share)
    return {name: mean.value, f"{name}_low": low, f"{name}_high": high}


def _for_any_people(sources: SourceMeans, mean: Mean, seed: int) -> dict[str, float]:
    """The wider interval, which also holds for other people like these, because it adds the
    jackknife over persons.
    """
    people = np.flatnonzero((~np.isnan(sources.panel)).any(axis=0))
    if not 3 <= len(people) <= MOST_LEFT_OUT:
        return {}
    without = []
    for person in people:
        rest = replace(sources, panel=np.delete(sources.panel, person, axis=1))
        without.append(rest.corrected(rest.people, seed).corrected.value)
    added = (
        (len(people) - 1) / len(people) * float(((np.array(without) - np.mean(without)) ** 2).sum())
    )
    low, high = Mean(mean.value, mean.variance + added, min(mean.df, len(people) - 1.0)).interval()
    return {"any_people_low": low, "any_people_high": high}


def _differences(
    cell: AuditCell, judge: str, by_generator: Mapping[str, SourceMeans], seed: int
) -> Iterator[dict[str, Any]]:
    """A row for each pair of generators, computed on the sources that both have."""
    estimates = []
    for first, second in combinations(by_generator, 2):
        ours, theirs = by_generator[first], by_generator[second]
        shared = sorted(set(ours.names) & set(theirs.names))
        rows = [list(map(each.names.index, shared)) for each in (ours, theirs)]
        panel = ours.people[rows[0]] - theirs.people[rows[1]]
        judged = ours.judge[rows[0]] - theirs.judge[rows[1]]
        if int((~np.isnan(panel) & ~np.isnan(judged)).sum()) >= LEAST:
            drawn = None if ours.probabilities is None else ours.probabilities[rows[0]]
            estimate = SourceMeans(panel[:, None], judged, (), drawn).corrected(panel, seed)
            estimates.append((first, second, int((~np.isnan(panel)).sum()), estimate))
    p_values = [
        (
            2
            * t_cdf(
                -abs(each.corrected.value) / math.sqrt(each.corrected.variance), each.corrected.df
            )
            if each.corrected.variance > 0
            else math.nan
        )
        for *_, each in estimates
    ]
    for (first, second, labelled, each), p in zip(estimates, holm(p_values), strict=True):
        yield {
            "language": cell.language,
            "criterion": cell.criterion.name,
            "judge": judge,
            "first": first,
            "second": second,
            "labelled": labelled,
            **_ends("difference", each.corrected),
            "people_only": each.people.value,
            "p_adjusted": p,
        }
