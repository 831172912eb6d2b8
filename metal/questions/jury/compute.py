"""A jury: the answers of several judges become those of one, which is compared with the best of
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset, concat_facts
from metal.data.progress import Progress, followed, no_progress
from metal.data.ratings import NOT_ASKED, facts_in, tidy_facts
from metal.data.text import figure
from metal.errors import UsageError
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.calibration import source_folds
from metal.stats.jury import alike, stacked
from metal.stats.patterns import Numbers, ratio
from metal.stats.significance import clustered_mean

RULES = ("majority", "mean", "weights", "dawid-skene")
SPLIT, SILENT, UNLEARNT = (
    "the jury is split",
    "no member answered",
    "too few outputs that people rated for weights",
)
TABLE = (
    *(
        "language",
        "criterion",
        "members",
        "size",
        "correlation",
        "items",
        "sources",
        "agreement",
        "best",
    ),
    *(
        "best_agreement",
        "gain",
        "gain_low",
        "gain_high",
        "better",
        "missing",
        "weights",
        "undefined",
    ),
)


def seated(
    dataset: Dataset,
    settings: AuditSettings,
    by: str,
    name: str,
    bootstrap: SourceBootstrap,
    progress: Progress = no_progress,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The jury's ratings, and a row for each language and criterion.

    settings: its `judges` are the members. by: one of RULES. A jury of one has the unchanged
    ratings of its member. Raises UsageError if the members rated nothing, or if a rule does not
    suit a criterion.
    """
    parts, rows = [], []
    every = [cell for cell in cells(dataset, settings, continuous=True) if cell.judges]
    for rated in followed(every, progress):
        members, cell = rated.judges, rated.unaided(*rated.judges)
        scores, reason, weights = _together(cell, members, by)
        parts.append(_facts(cell, members, name, scores, reason))
        rows.append(_row(cell, members, scores, weights, bootstrap))
    if not parts:
        raise UsageError(f"{', '.join(settings.judges) or 'no judge'}: no ratings to combine")
    if len(settings.judges) == 1:
        kept = dataset.ratings[dataset.ratings["rater"] == settings.judges[0]]
        for column in ("criterion", "language"):
            kept = kept[kept[column].isin([row[column] for row in rows])]
        parts = [kept.loc[:, facts_in(kept)].assign(rater=name)]
    return tidy_facts(concat_facts(list(map(tidy_facts, parts)))), pd.DataFrame(
        rows, columns=list(TABLE)
    )


def _together(cell: AuditCell, members: Sequence[str], by: str) -> tuple[Numbers, str, str]:
    """The jury's scores, the reason where it has none although members answered, and the weights of
    its members in words.
    """
    scores = cell.scores(members)
    if by == "weights":
        return _weighted(cell, members, scores)
    if cell.continuous or by == "mean":
        if not (cell.continuous or cell.ordered):
            raise UsageError(
                f"`by` mean: the labels of {cell.criterion.name} have no order; use majority or "
                f"weights"
            )
        if by == "dawid-skene":
            raise UsageError(
                f"`by` dawid-skene: {cell.criterion.name} has scores and no classes; use mean or"
                " weights"
            )
        mean = ratio(np.nansum(scores, axis=1), (~np.isnan(scores)).sum(axis=1))
        return _on_scale(cell, mean), SPLIT, ""
    rule = "majority-or-mean" if by == "majority" else by
    panel = replace(
        cell, people=tuple(members), settings=replace(cell.settings, aggregate=rule, min_raters=1)
    )
    return cell.values_of(panel.truth), SPLIT, ""


def _weighted(
    cell: AuditCell, members: Sequence[str], by_member: Numbers
) -> tuple[Numbers, str, str]:
    """The jury's scores by weights learned from people's ratings of other sources; a label without
    an order counts as 0 or 1.
    """
    features, target = by_member, _people(cell)[:, None]
    if nominal := not (cell.continuous or cell.ordered):
        features = np.concatenate(
            [np.where(np.isnan(by_member), np.nan, by_member == value) for value in cell.values],
            axis=1,
        )
        target = np.where(np.isnan(target), np.nan, target == cell.values)
    predicted, slopes = stacked(features, target, cell.matrix.sources)
    answered = ~np.isnan(by_member).all(axis=1) & ~np.isnan(predicted).any(axis=1)
    scores = np.full(len(by_member), np.nan)
    if nominal:
        scores[answered] = cell.values[predicted[answered].argmax(axis=1)]
        return scores, UNLEARNT, ""
    scores[answered] = _on_scale(cell, predicted[answered, 0])
    weights = ", ".join(
        f"{name} {figure(weight)}" for name, weight in zip(members, slopes[:, 0], strict=True)
    )
    return scores, UNLEARNT, weights if answered.any() else ""


def _on_scale(cell: AuditCell, scores: Numbers) -> Numbers:
    """Bring scores onto the scale. A score moves to the nearest level (the worse of two equally
    near levels) or, if there are no levels, between the ends of the scale.
    """
    if cell.continuous:
        low, high = cell.criterion.scale.ends or (-math.inf, math.inf)
        return np.clip(scores, low, high)
    values = cell.values if cell.criterion.direction == "higher" else cell.values[::-1]
    nearest = np.abs(np.round(scores[:, None] - values, 9)).argmin(axis=1)
    return np.where(np.isnan(scores), np.nan, values[nearest])


def _people(cell: AuditCell) -> Numbers:
    """(items,) people's aggregate answer; NaN without one."""
    if not cell.continuous:
        return cell.values_of(cell.truth)
    scores = cell.scores(cell.people)
    return np.asarray(ratio(np.nansum(scores, axis=1), (~np.isnan(scores)).sum(axis=1)))


def _facts(
    cell: AuditCell, members: Sequence[str], name: str, scores: Numbers, reason: str
) -> pd.DataFrame:
    """The jury's ratings of all items that a member was asked about."""
    codes = cell.matrix.of(members)
    asked = (codes != NOT_ASKED).any(axis=1)
    why = np.where(np.isnan(scores), np.where((codes < 0).all(axis=1), SILENT, reason), "")
    head = {"output": cell.matrix.outputs, "criterion": cell.criterion.name, "rater": name}
    facts: pd.DataFrame = pd.DataFrame({**head, "score": scores, "reason": why, "comment": ""})[
        asked
    ]
    return facts


def _row(
    cell: AuditCell,
    members: Sequence[str],
    scores: Numbers,
    weights: str,
    bootstrap: SourceBootstrap,
) -> dict[str, Any]:
    """A row with the jury's agreement with people, and its lead over the member that is best on
    other sources.
    """
    people, sources = _people(cell), cell.matrix.sources
    ends = cell.criterion.scale.ends

    def agreement(answers: Numbers) -> Numbers:
        off = np.abs(answers - people[:, None])
        return (
            1 - off / (ends[1] - ends[0])
            if cell.continuous and ends
            else np.where(np.isnan(off), off, off == 0)
        )

    of_members, of_jury = agreement(cell.scores(members)), agreement(scores[:, None])[:, 0]
    fold, best = source_folds(sources), np.full(len(scores), np.nan)
    for held in np.unique(fold):
        best[fold == held] = of_members[fold == held, _best(of_members[fold != held])]
    gain = clustered_mean(of_jury - best, sources, bootstrap)
    compared = ~np.isnan(of_jury - best)
    correlation, size = alike(1 - of_members) if not cell.continuous else (math.nan, math.nan)
    asked = (cell.matrix.of(members) != NOT_ASKED).any(axis=1)
    row: dict[str, Any] = dict.fromkeys(TABLE, math.nan) | {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "members": len(members),
        "size": size,
        "correlation": correlation,
        "items": int(compared.sum()),
        "sources": gain.sources,
        "best": members[_best(of_members)],
        "better": "",
        "missing": int(np.isnan(scores[asked]).sum()),
        "weights": weights,
        "undefined": "",
    }
    if not compared.any() or (cell.continuous and not ends):
        why = (
            "a scale without ends" if compared.any() else "no output that the jury and people rated"
        )
        return row | {"best": "", "undefined": f"agreement: {why}"}
    better = "no" if gain.mean.high < 0 else "unclear"
    return row | {
        "agreement": float(of_jury[compared].mean()),
        "best_agreement": float(best[compared].mean()),
        **gain.mean.columns("gain"),
        "better": "yes" if gain.mean.low > 0 else better,
    }


def _best(agreement: Numbers) -> int:
    """The position of the member that agrees most; of equal members, the first."""
    shares = ratio(np.nansum(agreement, axis=0), (~np.isnan(agreement)).sum(axis=0))
    return int(np.argmax(np.nan_to_num(shares, nan=-1.0)))
