"""Generators side by side: METAL's Table 4, mean score per generator, criterion and rater."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.figures import columns
from metal.data.dataset import Dataset
from metal.data.records import Estimate
from metal.data.text import signature_line
from metal.errors import UnknownName, UsageError
from metal.stats.bootstrap import SourceBootstrap, percentile_interval

PEOPLE = "people"


@dataclass(frozen=True)
class CompareSettings:
    """Empty tuples mean all. raters may include PEOPLE, the mean over the people who rated an output."""

    generators: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    resamples: int = 2000
    seed: int = 0


def compare(dataset: Dataset, settings: CompareSettings) -> pd.DataFrame:
    """One row for each language, criterion, rater and generator: the mean score with its 95% interval.

    A source counts only if every compared generator has an output for it that this rater scored; `sources` is the
    number of these sources. Where there is none, the mean is undefined, and `undefined` says why.
    Raises UnknownName for names that do not occur, UsageError with fewer than two generators.
    """
    generators = _chosen("generator", settings.generators, sorted(dataset.ratings["generator"].unique()))
    if len(generators) < 2:
        if dataset.ratings.empty:
            raise UsageError(f"dataset {dataset.card.name} has no ratings yet")
        raise UsageError(f"dataset {dataset.card.name} has one generator ({generators[0]}); a comparison needs two")
    criteria = _chosen("criterion", settings.criteria, list(dataset.criteria))
    languages = _chosen("language", settings.languages, list(dataset.languages))
    judges = sorted(name for name, rater in dataset.raters.items() if rater.kind != "human")
    raters = _chosen("rater", settings.raters, [PEOPLE, *judges])
    table = dataset.ratings
    table = table[table["generator"].isin(generators) & table["criterion"].isin(criteria)]
    table = table[table["language"].isin(languages)]
    human = (table["kind"] == "human").to_numpy()
    table = table.assign(by=np.where(human, PEOPLE, table["rater"].astype(object)))
    rows = [row for rater in raters for row in _rows(table[table["by"] == rater], rater, generators, settings)]
    order = {name: place for place, name in enumerate(dataset.criteria)}
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
                "shared-by": len(generators),
                "bs": settings.resamples,
                "seed": settings.seed,
                "n": row["sources"],
            }
        )
    return pd.DataFrame(rows)


def _rows(
    table: pd.DataFrame, rater: str, generators: list[str], settings: CompareSettings
) -> Iterator[dict[str, Any]]:
    bootstrap = SourceBootstrap(settings.resamples, settings.seed)
    for (language, criterion), cell in table.groupby(["language", "criterion"], observed=True, sort=True):
        means = cell.groupby(["source", "generator"], observed=True)["score"].mean().unstack("generator")
        shared = means.reindex(columns=generators).dropna().sort_index()
        scores = shared.to_numpy(dtype=np.float64)
        for generator, estimate in zip(generators, _means(scores, bootstrap), strict=True):
            yield (
                {
                    "language": language,
                    "criterion": criterion,
                    "rater": rater,
                    "generator": generator,
                    "sources": len(shared),
                    "sources_left_out": len(means) - len(shared),
                }
                | columns({"mean": estimate})
                | {"undefined": estimate.reason}
            )


def _means(scores: np.ndarray[Any, Any], bootstrap: SourceBootstrap) -> Iterator[Estimate]:
    """The mean of each column; sources (rows) are resampled together, so that generators stay paired."""
    sources, generators = scores.shape
    if not sources:
        for _ in range(generators):
            yield Estimate.undefined("no source shared by all generators")
        return
    drawn = bootstrap.totals(scores) / bootstrap.totals(np.ones((sources, 1)))  # blocks differ in size
    for column in range(generators):
        interval = percentile_interval(drawn[:, column]) if sources > 1 else None
        low, high = interval or (None, None)
        yield Estimate(float(scores[:, column].mean()), low, high, n=sources)


def _chosen(kind: str, asked: tuple[str, ...], names: list[str]) -> list[str]:
    """The names asked for, or all of them; every name asked for must be among them."""
    for name in asked:
        if name not in names:
            raise UnknownName(kind, name, names)
    return list(asked) or names
