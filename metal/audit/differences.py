"""Judges against each other on the same items: paired differences of weighted F1."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from metal.audit.cells import Cell
from metal.audit.figures import Resampled, columns
from metal.stats.bootstrap import SourceBootstrap, share_at_most
from metal.stats.classification import weighted_f1
from metal.stats.multiplicity import holm
from metal.stats.patterns import Numbers, confusions

COLUMNS = (
    "language",
    "criterion",
    "first",
    "second",
    "items",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "undefined",
    "p_adjusted",
    "signature",
)


def difference_rows(cell: Cell, bootstrap: SourceBootstrap) -> Iterator[dict[str, Any]]:
    """First minus second judge of each pair, over the items both were asked about and answered."""
    by_judge = {judge: cell.by_judge(judge) for judge in cell.judges}
    for first, second in combinations(cell.judges, 2):
        answered = (cell.truth >= 0) & (by_judge[first] >= 0) & (by_judge[second] >= 0)
        codes = np.column_stack([one[answered] for one in (cell.truth, by_judge[first], by_judge[second])])
        yield {
            "language": cell.language,
            "criterion": cell.criterion.name,
            "first": first,
            "second": second,
            "items": len(codes),
        } | _difference(cell, codes, cell.matrix.sources[answered], bootstrap)


def _difference(cell: Cell, codes: Any, sources: Any, bootstrap: SourceBootstrap) -> dict[str, Any]:
    drawn = Resampled(codes, sources, bootstrap)
    truth, first, second = drawn.rows.T if drawn.n else (codes[:, 0], codes[:, 1], codes[:, 2])

    def difference(weights: Any) -> Numbers:
        f1 = weighted_f1(confusions(weights, [(truth, first), (truth, second)], cell.levels))
        return f1[..., 0] - f1[..., 1]

    sums = drawn.sums(difference)
    estimate = drawn.estimate(np.asarray, "no common items", of=sums)
    p = float("nan")
    if drawn.n_sources > 1:
        resampled = sums.resamples
        p = min(1.0, 2 * min(share_at_most(resampled), share_at_most(-resampled)))
    return columns("difference", estimate) | {"p": p, "undefined": estimate.reason}


def adjust(rows: list[dict[str, Any]]) -> None:
    """Add p_adjusted: Holm over the languages of a pair and criterion ("is there any difference?")."""
    families: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault((row["criterion"], row["first"], row["second"]), []).append(row)
    for members in families.values():
        for row, p in zip(members, holm([member["p"] for member in members]), strict=True):
            row["p_adjusted"] = float(p)
