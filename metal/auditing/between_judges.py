"""Judges compared with each other on the same items, by paired differences of weighted F1, and each
judge with itself.

A judge is compared with itself if it was asked the same questions again (`repeat` of
`metal.judge(...)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.figures import (
    Resampled,
    Sums,
    column_names,
    columns,
    krippendorff_alpha,
    undefined_note,
)
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.ratings import UNANSWERED, code_matrix
from metal.data.records import Criterion, Estimate
from metal.stats.agreement import pooled_agreement, weighted_f1
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import Codes, Numbers, class_counts, margin_features, margins_of_pairs
from metal.stats.significance import by_family, holm

DIFFERENCE_COLUMNS = (
    *("language", "criterion", "first", "second", "items"),
    *column_names(["difference"]),
    *("p", "undefined", "p_adjusted", "signature"),
)
# pairs of judges that are resampled in one product, which takes some tens of megabytes
AT_ONCE = 26
NO_REPEAT = "no item answered twice"
SELF_COLUMNS = (
    *("language", "criterion", "judge", "times", "items", "all_equal"),
    *column_names(("self_agreement", "alpha")),
    *("undefined", "signature"),
)


class _Pair:
    """Two judges on the items that both answered.

    drawn: the classes of the truth, the first and the second judge, resampled. sides: for each
    judge, the truth with its answers.
    """

    def __init__(
        self, cell: AuditCell, first: str, second: str, bootstrap: SourceBootstrap
    ) -> None:
        labels = cell.truth, cell.by_judge(first), cell.by_judge(second)
        answered = np.all([codes >= 0 for codes in labels], axis=0)
        self.first, self.second, self.levels = first, second, cell.levels
        self.drawn = Resampled(
            np.column_stack([codes[answered] for codes in labels]),
            cell.matrix.sources[answered],
            bootstrap,
            cell.rated,
        )
        truth, *answers = self.drawn.rows.T
        self.sides = [(truth, of_judge) for of_judge in answers]

    def ahead(self, margins: Numbers) -> Numbers:
        """F1 of the first judge minus F1 of the second: (...), from margins (..., 2, 3, levels)."""
        f1 = weighted_f1(margins)
        return f1[..., 0] - f1[..., 1]

    def difference(self) -> Sums:
        """The result of `ahead` as observed, and in each resample."""
        return self.drawn.sums(
            lambda weights: self.ahead(margins_of_pairs(weights, self.sides, self.levels))
        )


def difference_rows(cell: AuditCell, bootstrap: SourceBootstrap) -> Iterator[dict[str, Any]]:
    """A row for each pair of judges: the first minus the second, over the items that both were
    asked about and answered.
    """
    every = list(combinations(cell.judges, 2))
    for start in range(0, len(every), AT_ONCE):
        pairs = [
            _Pair(cell.unaided(first, second), first, second, bootstrap)
            for first, second in every[start : start + AT_ONCE]
        ]
        for pair, difference in zip(pairs, _differences(pairs, bootstrap), strict=True):
            estimate = pair.drawn.estimate(np.asarray, "no common items", difference)
            yield {
                "language": cell.language,
                "criterion": cell.criterion.name,
                "first": pair.first,
                "second": pair.second,
                "items": pair.drawn.n,
                **columns({"difference": estimate}),
                "p": pair.drawn.p_value(difference),
                "undefined": estimate.reason,
            }


def _differences(pairs: Sequence[_Pair], bootstrap: SourceBootstrap) -> list[Sums]:
    """The difference of each pair of judges; pairs with the same number of sources are resampled in
    one product.
    """
    differences = [pair.difference() for pair in pairs]
    # sources -> places of the pairs -> what each source adds to the sums
    by_sources: dict[int, dict[int, Codes]] = {}
    for index, pair in enumerate(pairs):
        draws = pair.drawn.by_source
        if draws and pair.drawn.n_sources > 1:
            features = margin_features(pair.sides, pair.levels)
            by_sources.setdefault(draws.sources, {})[index] = draws.contributions(features)
    for added in by_sources.values():
        drawn = bootstrap.totals(np.stack(list(added.values()), axis=1))
        levels = pairs[0].levels
        drawn = drawn.reshape(-1, len(added), 2, 3, levels)
        for position, index in enumerate(added):
            left = added[index].sum(axis=0) - added[index]
            without_one = partial(pairs[index].ahead, left.reshape(-1, 2, 3, levels))
            differences[index] = differences[index].given(
                pairs[index].ahead(drawn[:, position]), without_one
            )
    return differences


def adjust(rows: list[dict[str, Any]]) -> None:
    """Add p_adjusted, by Holm's correction over the languages of a pair and criterion.

    The correction is for the claim that the two judges differ in at least one language.
    """
    families = [(row["criterion"], row["first"], row["second"]) for row in rows]
    for row, p in zip(rows, by_family([row["p"] for row in rows], families, holm), strict=True):
        row["p_adjusted"] = p


def self_agreement_rows(
    dataset: Dataset, settings: AuditSettings, bootstrap: SourceBootstrap
) -> Iterator[dict[str, Any]]:
    """A row for each judge that was asked more than once, by language and criterion."""
    repeats: dict[str, list[str]] = {}  # judge -> its raters, one for each time it was asked
    for rater in dataset.raters.values():
        base = rater.about.get("repeats")
        if base in dataset.raters and (not settings.judges or base in settings.judges):
            repeats.setdefault(str(base), [str(base)]).append(rater.rater)
    for judge, raters in repeats.items():
        rows = dataset.ratings[dataset.ratings["rater"].isin(raters)]
        grouped: Any = rows.groupby(["criterion", "language"], observed=True)
        for (criterion, language), cell in grouped:
            scale = dataset.criteria[criterion].scale
            wanted = (not settings.criteria or criterion in settings.criteria) and (
                not settings.languages or language in settings.languages
            )
            if scale.levels and wanted:
                yield _row(
                    language, dataset.criteria[criterion], judge, len(raters), cell, bootstrap
                )


def _row(
    language: str,
    criterion: Criterion,
    judge: str,
    times: int,
    rows: Any,
    bootstrap: SourceBootstrap,
) -> dict[str, Any]:
    matrix = code_matrix(rows, criterion)
    codes = np.maximum(matrix.codes, UNANSWERED)
    twice = (codes >= 0).sum(axis=1) >= 2
    drawn = Resampled(codes[twice], matrix.sources[twice], bootstrap)
    counts = class_counts(drawn.rows, len(criterion.scale.levels))
    figures = {
        "self_agreement": drawn.share(lambda weights: pooled_agreement(weights, counts), NO_REPEAT),
        "alpha": krippendorff_alpha(drawn, criterion) if drawn.n else Estimate.undefined(NO_REPEAT),
    }
    equal = (counts > 0).sum(axis=1) == 1
    return {
        "language": language,
        "criterion": criterion.name,
        "judge": judge,
        "times": times,
        "items": drawn.n,
        "all_equal": int(drawn.observed[equal].sum()),
        **columns(figures),
        "undefined": undefined_note(figures),
    }
