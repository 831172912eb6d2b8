"""Many verdicts looked at together: which still stand, and what the surest judge keeps at least.

A verdict never moves with what else is audited. What is said of several at once does: of many cells
each of which may be wrong in 5% of cases, some are. A baseline counts only where there is no other
judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from metal.auditing.cells import AuditCell
from metal.auditing.scores import standing
from metal.auditing.verdict import Verdict
from metal.data.dataset import Dataset
from metal.stats.significance import benjamini_hochberg, benjamini_yekutieli

ERROR = 0.05  # of all that is said at once


def compared_judges(dataset: Dataset, audited: Sequence[AuditCell]) -> dict[str, int]:
    """The judges that are looked at together, and in how many cells each was judged."""
    cells: dict[str, int] = {}
    for cell in audited:
        for judge in cell.judges:
            cells[judge] = cells.get(judge, 0) + 1
    judges = {
        judge: number for judge, number in cells.items() if dataset.raters[judge].kind != "baseline"
    }
    return judges or cells


def kept_at_least(cell: AuditCell, verdict: Verdict, number: int) -> float:
    """What the judge keeps at least of what a person knows, beyond an error of 5% in any of so many
    cells.

    NaN if that has no limit, or no share kept is defined.
    """
    if math.isnan(verdict.share_kept.value):
        return math.nan
    left_out = list(map(cell.people.index, verdict.left_out))
    share = standing(cell.seen_by(verdict.judge), verdict.judge, left_out).share(1 - ERROR / number)
    return share.low if share is not None and math.isfinite(share.low) else math.nan


def together_rows(verdicts: Sequence[Verdict], least: Sequence[float]) -> Iterator[dict[str, Any]]:
    """A row for each verdict where there are several. least: what each judge keeps at least
    (`kept_at_least`).
    """
    if len(verdicts) < 2:
        return
    every = benjamini_yekutieli([verdict.p_like for verdict in verdicts])
    lists: dict[tuple[str, str], list[int]] = {}
    for place, verdict in enumerate(verdicts):
        lists.setdefault((verdict.judge, verdict.criterion), []).append(place)
    in_list: dict[int, tuple[int, float]] = {}
    for places in lists.values():
        corrected = benjamini_hochberg([verdicts[place].p_like for place in places])
        for place, p in zip(places, corrected.tolist(), strict=True):
            in_list[place] = len(places), p
    for place, verdict in enumerate(verdicts):
        languages, p = in_list[place]
        yield {
            "language": verdict.language,
            "criterion": verdict.criterion,
            "judge": verdict.judge,
            "languages": languages,
            "p_languages": p,
            "cells": len(verdicts),
            "p_cells": float(every[place]),
            "kept_at_least": least[place],
        }
