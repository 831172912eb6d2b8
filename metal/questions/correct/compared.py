"""Generators compared by the mean scores of each rater, on the sources that all generators share;
people's means may be corrected by a judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import cells
from metal.auditing.figures import columns
from metal.auditing.paper_tables import PEOPLE
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.languages import check_languages
from metal.data.people import judges_in
from metal.data.progress import Progress, followed, no_progress
from metal.data.records import Estimate
from metal.data.text import signature_line
from metal.errors import UsageError, check_known
from metal.genie.output_scores import OWN
from metal.questions.correct.compute import SourceMeans, chances_of, refused, source_means
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.interval import Bounds
from metal.stats.intervals import interval_of_mean
from metal.stats.patterns import Numbers

Ends = tuple[float, float] | None


def compare(
    dataset: Dataset,
    *,
    generators: Sequence[str] = (),
    raters: Sequence[str] = (),
    criteria: Sequence[str] = (),
    languages: Sequence[str] = (),
    corrected: str = "",
    drawn: Mapping[str, float] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """One row for each language, criterion, rater and generator: the mean score with its 95%
    interval (METAL Table 4).

    An empty list of names means all. PEOPLE among the raters means the mean over the people who
    rated an output. corrected: a judge whose ratings are used to correct people's means; corrected
    means get rows of their own. drawn: as in `corrected_rows`.

    A source counts only if every compared generator has an output for it that this rater scored;
    `sources` is the number of these sources, and `paired` is true. If there is no such source, each
    mean is over the generator's own sources, and `paired` is false: a difference may come from the
    sources as well as from the generators. Raises UnknownName for names that do not occur,
    UsageError with fewer than two generators.
    """
    generators = _chosen("generator", generators, sorted(dataset.ratings["generator"].unique()))
    if len(generators) < 2:
        if dataset.ratings.empty:
            raise UsageError(f"dataset {dataset.card.name} has no ratings yet")
        raise UsageError(
            f"dataset {dataset.card.name} has one generator ({generators[0]}); a comparison"
            " needs two"
        )
    criteria = _chosen("criterion", criteria, list(dataset.criteria))
    check_languages(languages, dataset.languages)
    languages = list(languages or dataset.languages)
    judges = sorted(judges_in(dataset.raters))
    raters = _chosen("rater", raters, [PEOPLE, *judges])
    table = dataset.ratings
    table = table[table["generator"].isin(generators) & table["criterion"].isin(criteria)]
    table = table[table["language"].isin(languages)]
    human = (table["kind"] == "human").to_numpy()
    table = table.assign(by=np.where(human, PEOPLE, table["rater"].astype(object)))
    bootstrap = SourceBootstrap(resamples, seed)
    ends = {name: criterion.scale.ends for name, criterion in dataset.criteria.items()}
    rows = [
        row
        for rater in followed(raters, progress, len(raters))
        for row in _mean_rows(table[table["by"] == rater], rater, generators, ends, bootstrap)
    ]
    if corrected:
        settings = AuditSettings((corrected,), tuple(criteria), tuple(languages), seed=seed)
        rows += corrected_rows(dataset, settings, generators, drawn)
    order = {name: position for position, name in enumerate(dataset.criteria)}
    rows.sort(key=lambda row: (row["language"], order[row["criterion"]]))
    for row in rows:
        row["signature"] = signature_line(
            {
                "data": dataset.identity,
                "stat": "mean",
                "rater": row["rater"],
                "lang": row["language"],
                "crit": row["criterion"],
                "gen": row["generator"],
                "shared-by": len(generators) if row["paired"] else "none",
                "bs": resamples,
                "seed": seed,
                "n": row["sources"],
            }
        )
    return pd.DataFrame(rows)


def _mean_rows(
    table: pd.DataFrame,
    rater: str,
    generators: list[str],
    ends: Mapping[str, Ends],
    bootstrap: SourceBootstrap,
) -> Iterator[dict[str, Any]]:
    for (language, criterion), cell in table.groupby(
        ["language", "criterion"], observed=True, sort=True
    ):
        means = (
            cell.groupby(["source", "generator"], observed=True)["score"]
            .mean()
            .unstack("generator")
        )
        means = means.reindex(columns=generators).sort_index()
        shared = means.dropna()
        scores = (shared if len(shared) else means).to_numpy(dtype=np.float64)
        for generator, column in zip(generators, scores.T, strict=True):
            own = column[~np.isnan(column)]
            estimate = _mean_of_sources(own, ends[str(criterion)], bootstrap)
            yield {
                "language": language,
                "criterion": criterion,
                "rater": rater,
                "generator": generator,
                "paired": len(shared) > 0,
                "sources": len(own),
                "sources_left_out": len(means) - len(shared) if len(shared) else 0,
                **columns({"mean": estimate}),
                "undefined": estimate.reason,
            }


def _mean_of_sources(scores: Numbers, ends: Ends, bootstrap: SourceBootstrap) -> Estimate:
    """The mean of scores (sources,), with its interval; the interval is a bootstrap if the scale
    has no ends.
    """
    if not len(scores):
        return Estimate.undefined("none of the outputs was scored")
    low = high = None
    ones = np.ones(len(scores))
    if ends and len(scores) > 1:
        least, width = ends[0], ends[1] - ends[0]
        low, high = (
            least + width * share for share in interval_of_mean((scores - least) / width, ones)
        )
    elif len(scores) > 1:
        drawn = bootstrap.totals(np.column_stack([scores, ones]))  # blocks differ in size
        low, high = percentile_interval(drawn[:, 0] / drawn[:, 1]) or (None, None)
    return Estimate(float(scores.mean()), low, high, n=len(scores))


def _chosen(kind: str, names: Sequence[str], among: list[str]) -> list[str]:
    """The names asked for, or all of them."""
    check_known(kind, names, among)
    return list(names) or among


def corrected_rows(
    dataset: Dataset,
    settings: AuditSettings,
    generators: Sequence[str],
    drawn: Mapping[str, float] | None = None,
) -> Iterator[dict[str, Any]]:
    """A row for each language, criterion, judge and generator, as in `compare`, with the mean that
    people would give.

    The mean is on the scale of the criterion. It is computed from the judge on all sources that
    these generators share, and from people on some of them.

    generators: if empty, those that occur in each language. drawn: source -> the probability with
    which people were asked about it.
    """
    for cell in cells(dataset, settings, continuous=True):
        ends = cell.criterion.scale.ends
        if not ends or not cell.people:
            continue
        writers = [dataset.outputs[output].generator for output in cell.matrix.outputs]
        for judge in cell.judges:
            means = source_means(cell, judge, writers, chances_of(dataset, cell, drawn))
            compared = generators or sorted(set(writers))
            of = {name: means[name] for name in compared if name in means}
            judged = [set(compress(each.names, ~np.isnan(each.judge))) for each in of.values()]
            shared = set.intersection(*judged) if len(of) == len(compared) else set()
            every = set.union(*judged) if judged else set()
            for name in compared:
                row: dict[str, Any] = {
                    "language": cell.language,
                    "criterion": cell.criterion.name,
                    "rater": f"people by {judge}",
                    "generator": name,
                    "paired": True,
                    "sources": len(shared),
                    "sources_left_out": len(every) - len(shared),
                    **dict.fromkeys(("mean", "mean_low", "mean_high"), math.nan),
                    "undefined": "" if shared else "no source shared by all generators",
                }
                yield row | (_mean(_kept(of[name], shared), ends, settings.seed) if shared else {})


def with_corrected(
    table: pd.DataFrame, dataset: Dataset, settings: AuditSettings, drawn: Mapping[str, float]
) -> pd.DataFrame:
    """Add the columns `corrected`, its limits and the reason if it is undefined to a leaderboard.

    Figures are shares of the scale, 1 the best; NaN for rows of several languages or criteria
    together, and if the scale has no ends. settings: its `judges` name the one judge that is used.
    """
    corrected = {}
    for row in corrected_rows(dataset, settings, (), drawn):
        share = dataset.criteria[row["criterion"]].share
        ends = sorted((share(row["mean_low"]), share(row["mean_high"])))
        case = row["language"], row["criterion"], row["generator"]
        corrected[case] = (share(row["mean"]), *ends, row["undefined"])
    if not corrected:
        raise UsageError(
            f"{settings.judges[0]} rated no criterion on a bounded scale that people rated too:"
            " nothing to correct"
        )
    blank = (math.nan, math.nan, math.nan, "")
    endless = (*blank[:3], "the scale has no ends")
    places = zip(table["language"], table["criterion"], table["generator"], strict=True)
    rows = [
        corrected.get(case, endless if own else blank)
        for case, own in zip(places, table["scale"] == OWN, strict=True)
    ]
    columns = {
        f"corrected{end}": [row[at] for row in rows] for at, end in enumerate(("", "_low", "_high"))
    }
    why = [f"corrected: {reason}" if reason else "" for *_, reason in rows]
    undefined = [
        "; ".join(filter(None, both)) for both in zip(table["undefined"], why, strict=True)
    ]
    return table.assign(**columns, undefined=undefined)


def _kept(means: SourceMeans, shared: set[int]) -> SourceMeans:
    rows = np.array([name in shared for name in means.names])
    drawn = None if means.probabilities is None else means.probabilities[rows]
    return replace(
        means, panel=means.panel[rows], judge=means.judge[rows], names=(), probabilities=drawn
    )


def _mean(means: SourceMeans, ends: tuple[float, float], seed: int) -> dict[str, Any]:
    """The corrected mean with its interval, or the reason why there is none."""
    labelled = ~np.isnan(means.people)
    if why := refused(means.judge, labelled, ~labelled, tested=means.probabilities is None):
        return {"undefined": why}
    mean = means.corrected(means.people, seed).corrected
    figures = (mean.value, *mean.interval(share=True))
    scaled = (ends[0] + (ends[1] - ends[0]) * share for share in figures)
    return Bounds(*scaled).columns("mean")
