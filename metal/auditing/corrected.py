"""People's mean of each generator, from a judge on all sources and people on some."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.errors import UsageError
from metal.stats.corrected import Corrected, Mean, corrected_mean
from metal.stats.patterns import Codes, Numbers
from metal.stats.significance import holm, t_cdf

LEAST = 20  # labelled sources
NOT_RANDOM = 0.001  # p, below which the labelled sources are not taken for a random subset
MOST_LEFT_OUT = 20  # people who are left out in turn
ALL = "(all)"
CORRECTED = (
    *("language", "criterion", "judge", "generator", "sources", "labelled"),
    *(f"{name}{end}" for name in ("corrected", "people_only", "judge_only", "bias") for end in ("", "_low", "_high")),
    *("any_people_low", "any_people_high", "weight", "rho", "labels_saved", "undefined"),
)
DIFFERENCES = (
    *("language", "criterion", "judge", "first", "second", "labelled", "difference", "difference_low"),
    *("difference_high", "people_only", "p_adjusted"),
)


@dataclass(frozen=True)
class CorrectedTables:
    """What `corrected` found: tables `corrected` and `differences`, and warnings."""

    tables: dict[str, pd.DataFrame]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Sources:
    """The outputs of a generator, a row for each source. panel: (sources, people) and judge: (sources,) shares of the
    scale, NaN without an answer.
    """

    panel: Numbers
    judge: Numbers
    names: tuple[int, ...]

    @property
    def people(self) -> Numbers:
        """(sources,) people's mean, NaN without one."""
        given = ~np.isnan(self.panel)
        counts = given.sum(axis=1)
        return np.where(counts > 0, np.nansum(self.panel, axis=1) / np.maximum(counts, 1), np.nan)

    def corrected(self, panel: Numbers, seed: int) -> Corrected:
        """The corrected mean with these people's means."""
        has, judged = ~np.isnan(panel), ~np.isnan(self.judge)
        both = has & judged
        return corrected_mean(panel[both], self.judge[both], self.judge[judged & ~has], seed=seed)


def corrected(
    dataset: Dataset, settings: AuditSettings, *, labels: int = 0, progress: Callable[[int, int], None]
) -> CorrectedTables:
    """Corrected means and differences. labels: take people's ratings of so many random sources of a language; 0: all.

    Raises UsageError where there is no judge, or nothing that people and a judge rated.
    """
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    every = list(cells(dataset, settings, continuous=True))
    for done, cell in enumerate(every):
        progress(done, len(every))
        generators = _generators(dataset, cell)
        if cell.criterion.scale.measure == "nominal" and not cell.criterion.scale.ends:
            continue
        for judge in cell.judges if cell.people else ():
            by_generator = _by_generator(cell, judge, generators, labels, settings.seed)
            of_judge = [
                _row(cell, judge, generator, sources, settings.seed) for generator, sources in by_generator.items()
            ]
            rows += of_judge
            sure = {row["generator"] for row in of_judge if math.isfinite(row["corrected"])} - {ALL}
            sure_ones = {name: sources for name, sources in by_generator.items() if name in sure}
            differences += _differences(cell, judge, sure_ones, settings.seed)
    progress(len(every), len(every))
    if not rows:
        raise UsageError("no criterion with an order that people and a judge rated: nothing to correct")
    kept = [row for row in rows if math.isfinite(row["corrected"])]
    poor = [row for row in kept if row["labels_saved"] < 1]
    warnings = [f"in {len(poor)} of {len(kept)} cases the judge does not pay: people alone are as sure"] if poor else []
    tables = {
        "corrected": pd.DataFrame(rows, columns=list(CORRECTED)),
        "differences": pd.DataFrame(differences, columns=list(DIFFERENCES)),
    }
    return CorrectedTables(tables, tuple(warnings))


def _generators(dataset: Dataset, cell: AuditCell) -> list[str]:
    """(items,) who wrote each output."""
    return [dataset.outputs[output].generator for output in cell.matrix.outputs]


def _by_generator(
    cell: AuditCell, judge: str, generators: Sequence[str], labels: int, seed: int
) -> dict[str, _Sources]:
    """The sources of each generator, and of all together where there are several."""
    low, high = cell.criterion.scale.ends or (float(cell.values.min()), float(cell.values.max()))
    codes = cell.matrix.of([judge, *cell.people])
    shares = np.where(codes >= 0, (np.append(cell.values, np.nan)[codes] - low) / (high - low), np.nan)
    names = np.unique(cell.matrix.sources)
    if labels:
        chosen = np.random.default_rng(seed).permutation(names)[:labels]
        shares[~np.isin(cell.matrix.sources, chosen), 1:] = np.nan
    every = sorted(set(generators))
    together = {ALL: _means(shares, cell.matrix.sources)} if len(every) > 1 else {}
    of = np.array(generators, dtype=object)
    return together | {name: _means(shares[of == name], cell.matrix.sources[of == name]) for name in every}


def _means(shares: Numbers, source: Codes) -> _Sources:
    """The mean of each rater over the outputs of a source."""
    names, place = np.unique(source, return_inverse=True)
    given = ~np.isnan(shares)
    sums, counts = np.zeros((len(names), shares.shape[1])), np.zeros((len(names), shares.shape[1]))
    np.add.at(sums, place, np.where(given, shares, 0.0))
    np.add.at(counts, place, given)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return _Sources(means[:, 1:], means[:, 0], tuple(names.tolist()))


def _row(cell: AuditCell, judge: str, generator: str, sources: _Sources, seed: int) -> dict[str, Any]:
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
    if why := _refused(sources.judge, labelled, others):
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


def _refused(judge: Numbers, labelled: Any, others: Any) -> str:
    """Why nothing is corrected; empty where it can be."""
    if not labelled.any():
        return "people and the judge rated no source in common"
    if not others.any():
        return "people rated all sources: their mean needs no correction"
    if labelled.sum() < LEAST:
        return f"{int(labelled.sum())} labelled sources, {LEAST} needed"
    p = _differs(judge[labelled], judge[others])
    if p < NOT_RANDOM:
        return f"the labelled sources are no random subset: the judge scores them otherwise than the rest (p {p:.1g})"
    return ""


def _differs(first: Numbers, second: Numbers) -> float:
    """Welch's two-sided p for equal means; 1 where nothing varies."""
    if len(second) < 2:
        return 1.0
    parts = [values.var(ddof=1) / len(values) for values in (first, second)]
    if not sum(parts):
        return 1.0
    df = sum(parts) ** 2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (first, second), strict=True))
    return 2 * t_cdf(-abs(float(first.mean() - second.mean())) / math.sqrt(sum(parts)), float(df))


def _ends(name: str, mean: Mean, *, share: bool = False) -> dict[str, float]:
    low, high = mean.interval(share=share)
    return {name: mean.value, f"{name}_low": low, f"{name}_high": high}


def _for_any_people(sources: _Sources, mean: Mean, seed: int) -> dict[str, float]:
    """The wider interval for people like these: with the jackknife over persons added."""
    people = np.flatnonzero((~np.isnan(sources.panel)).any(axis=0))
    if not 3 <= len(people) <= MOST_LEFT_OUT:
        return {}
    without = []
    for person in people:
        rest = _Sources(np.delete(sources.panel, person, axis=1), sources.judge, sources.names)
        without.append(rest.corrected(rest.people, seed).corrected.value)
    added = (len(people) - 1) / len(people) * float(((np.array(without) - np.mean(without)) ** 2).sum())
    low, high = Mean(mean.value, mean.variance + added, min(mean.df, len(people) - 1.0)).interval()
    return {"any_people_low": low, "any_people_high": high}


def _differences(cell: AuditCell, judge: str, by_generator: dict[str, _Sources], seed: int) -> Iterator[dict[str, Any]]:
    """A row for each two generators, on the sources that both have."""
    estimates = []
    for first, second in combinations(by_generator, 2):
        ours, theirs = by_generator[first], by_generator[second]
        shared = sorted(set(ours.names) & set(theirs.names))
        rows = [[each.names.index(name) for name in shared] for each in (ours, theirs)]
        panel = ours.people[rows[0]] - theirs.people[rows[1]]
        judged = ours.judge[rows[0]] - theirs.judge[rows[1]]
        if int((~np.isnan(panel) & ~np.isnan(judged)).sum()) >= LEAST:
            estimate = _Sources(panel[:, None], judged, ()).corrected(panel, seed)
            estimates.append((first, second, int((~np.isnan(panel)).sum()), estimate))
    p_values = [
        2 * t_cdf(-abs(each.corrected.value) / math.sqrt(each.corrected.variance), each.corrected.df)
        if each.corrected.variance > 0
        else math.nan
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
