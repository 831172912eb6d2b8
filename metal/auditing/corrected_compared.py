"""Corrected means of generators that are put side by side: on the sources that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import cells
from metal.auditing.corrected import SourceMeans, chances_of, refused, source_means
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.errors import UsageError


def corrected_rows(
    dataset: Dataset, settings: AuditSettings, generators: Sequence[str], drawn: Mapping[str, float] | None = None
) -> Iterator[dict[str, Any]]:
    """A row for each language, criterion, judge and generator, as `compare` has them: the mean that people would give,
    from the judge on the sources of all these generators and people on some, on the scale of the criterion.

    generators: empty for those that occur in each language. drawn: source -> the probability with which people were
    asked about it.
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
            judged = [_names(each, ~np.isnan(each.judge)) for each in of.values()]
            shared = set.intersection(*judged) if len(of) == len(compared) else set()
            every = set.union(*judged) if judged else set()
            for name in compared:
                row: dict[str, Any] = {
                    "language": cell.language,
                    "criterion": cell.criterion.name,
                    "rater": f"people by {judge}",
                    "generator": name,
                    "sources": len(shared),
                    "sources_left_out": len(every) - len(shared),
                    **dict.fromkeys(("mean", "mean_low", "mean_high"), math.nan),
                    "undefined": "" if shared else "no source shared by all generators",
                }
                yield row | (_mean(_kept(of[name], shared), ends, settings.seed) if shared else {})


def with_corrected(
    table: pd.DataFrame, dataset: Dataset, settings: AuditSettings, drawn: Mapping[str, float]
) -> pd.DataFrame:
    """A leaderboard with columns `corrected`, its ends and why it is undefined, as shares of the scale, 1 the best; NaN
    for rows of several languages or criteria together. settings: with one judge, whose rows they are.
    """
    corrected = {}
    for row in corrected_rows(dataset, settings, (), drawn):
        share = dataset.criteria[row["criterion"]].share
        ends = sorted((share(row["mean_low"]), share(row["mean_high"])))
        where = row["language"], row["criterion"], row["generator"]
        corrected[where] = (share(row["mean"]), *ends, row["undefined"])
    if not corrected:
        raise UsageError(f"{settings.judges[0]} rated no criterion with ends that people rated: nothing to correct")
    blank = (math.nan, math.nan, math.nan, "")
    places = zip(table["language"], table["criterion"], table["generator"], strict=True)
    rows = [corrected.get(place, blank) for place in places]
    columns = {f"corrected{end}": [row[at] for row in rows] for at, end in enumerate(("", "_low", "_high"))}
    why = [f"corrected: {reason}" if reason else "" for *_, reason in rows]
    undefined = ["; ".join(filter(None, both)) for both in zip(table["undefined"], why, strict=True)]
    return table.assign(**columns, undefined=undefined)


def _names(means: SourceMeans, rows: Any) -> set[int]:
    return {name for name, kept in zip(means.names, rows, strict=True) if kept}


def _kept(means: SourceMeans, shared: set[int]) -> SourceMeans:
    rows = np.array([name in shared for name in means.names])
    drawn = None if means.probabilities is None else means.probabilities[rows]
    return replace(means, panel=means.panel[rows], judge=means.judge[rows], names=(), probabilities=drawn)


def _mean(means: SourceMeans, ends: tuple[float, float], seed: int) -> dict[str, Any]:
    """The corrected mean with its interval, or why there is none."""
    labelled = ~np.isnan(means.people)
    if why := refused(means.judge, labelled, ~labelled, tested=means.probabilities is None):
        return {"undefined": why}
    mean = means.corrected(means.people, seed).corrected
    figures = (mean.value, *mean.interval(share=True))
    scaled = (ends[0] + (ends[1] - ends[0]) * share for share in figures)
    return dict(zip(("mean", "mean_low", "mean_high"), scaled, strict=True))
