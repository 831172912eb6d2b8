"""How far a judge agrees with itself when it is asked the same question again (`repeat` of `metal.judge(...)`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from metal.auditing.figures import Resampled, column_names, columns, krippendorff_alpha, undefined_note
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import UNANSWERED, code_matrix
from metal.data.records import Criterion, Estimate
from metal.stats import panel
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import class_counts

NO_REPEAT = "no answer twice"
WITHOUT_INTERVAL = ("alpha",)
COLUMNS = (
    *("language", "criterion", "judge", "times", "items", "all_equal"),
    *column_names(("self_agreement", "alpha"), WITHOUT_INTERVAL),
    *("undefined", "signature"),
)


def repeats_of(dataset: Dataset, settings: AuditSettings) -> dict[str, list[str]]:
    """Judge -> its raters, one for each time it was asked; only judges that were asked more than once."""
    repeats: dict[str, list[str]] = {}
    for rater in dataset.raters.values():
        base = rater.about.get("repeats")
        if base in dataset.raters and (not settings.judges or base in settings.judges):
            repeats.setdefault(str(base), [str(base)]).append(rater.rater)
    return repeats


def self_agreement_rows(
    dataset: Dataset, settings: AuditSettings, bootstrap: SourceBootstrap
) -> Iterator[dict[str, Any]]:
    """A row for each judge, language and criterion; only judges that were asked more than once."""
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
    twice = (codes >= 0).sum(axis=1) >= 2
    drawn = Resampled(codes[twice], matrix.sources[twice], bootstrap)
    counts = class_counts(drawn.rows, len(criterion.scale.levels))
    figures = {
        "self_agreement": drawn.estimate(lambda weights: panel.pooled_agreement(weights, counts), NO_REPEAT),
        "alpha": krippendorff_alpha(codes[twice], criterion) if drawn.n else Estimate.undefined(NO_REPEAT),
    }
    equal = (counts > 0).sum(axis=1) == 1
    return {
        "language": language,
        "criterion": criterion.name,
        "judge": judge,
        "times": times,
        "items": drawn.n,
        "all_equal": int(drawn.observed[equal].sum()),
        **columns(figures, WITHOUT_INTERVAL),
        "undefined": undefined_note(figures),
    }
