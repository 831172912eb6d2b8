"""How far a judge agrees with itself when it is asked the same again (`metal judge --repeat`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from metal.auditing.figures import Resampled, columns, undefined_note
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import UNANSWERED, code_matrix
from metal.data.records import Criterion, Estimate
from metal.errors import Undefined
from metal.stats import panel
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import class_counts

COLUMNS = (
    *("language", "criterion", "judge", "times", "items", "all_equal"),
    *("self_agreement", "self_agreement_low", "self_agreement_high", "alpha", "undefined", "signature"),
)


def repeats_of(dataset: Dataset, settings: AuditSettings) -> dict[str, list[str]]:
    """Judge -> its raters, one for each time of asking, for the judges that were asked more than once."""
    found: dict[str, list[str]] = {}
    for rater in dataset.raters.values():
        base = rater.about.get("repeats")
        if base in dataset.raters and (not settings.judges or base in settings.judges):
            found.setdefault(str(base), [str(base)]).append(rater.rater)
    return found


def self_agreement_rows(
    dataset: Dataset, settings: AuditSettings, bootstrap: SourceBootstrap
) -> Iterator[dict[str, Any]]:
    """A row a judge, language and criterion; only judges that were asked more than once."""
    for judge, raters in repeats_of(dataset, settings).items():
        rows = dataset.ratings[dataset.ratings["rater"].isin(raters)]
        grouped: Any = rows.groupby(["criterion", "language"], observed=True)
        for (criterion, language), cell in grouped:
            scale = dataset.criteria[criterion].scale
            wanted = (not settings.criteria or criterion in settings.criteria) and (
                not settings.languages or language in settings.languages
            )
            if scale.levels and wanted:
                yield _row(language, dataset.criteria[criterion], judge, len(raters), cell, bootstrap)


def _row(
    language: str, criterion: Criterion, judge: str, times: int, rows: Any, bootstrap: SourceBootstrap
) -> dict[str, Any]:
    matrix = code_matrix(rows, criterion)
    codes = np.maximum(matrix.codes, UNANSWERED)
    twice = np.flatnonzero((codes >= 0).sum(axis=1) >= 2)
    drawn = Resampled(codes[twice], matrix.sources[twice], bootstrap)
    counts = class_counts(drawn.rows, len(criterion.scale.levels))
    figures = {
        "self_agreement": drawn.estimate(lambda weights: panel.pooled_agreement(weights, counts), "no answer twice"),
        "alpha": _alpha(drawn, counts, criterion),
    }
    equal = (counts > 0).sum(axis=1) == 1
    return {
        "language": language,
        "criterion": criterion.name,
        "judge": judge,
        "times": times,
        "items": len(twice),
        "all_equal": int(drawn.observed[equal].sum()) if len(twice) else 0,
        **columns("self_agreement", figures["self_agreement"]),
        **columns("alpha", figures["alpha"], interval=False),
        "undefined": undefined_note(figures),
    }


def _alpha(drawn: Resampled, counts: Any, criterion: Criterion) -> Estimate:
    if not drawn.n:
        return Estimate.undefined("no answer twice")
    values = np.asarray(criterion.scale.values, dtype=np.float64)
    try:
        value = panel.krippendorff_alpha(drawn.observed, counts, values, criterion.scale.measure)
    except Undefined as error:
        return Estimate.undefined(str(error), drawn.n)
    return Estimate(value, n=drawn.n)
