"""Many verdicts looked at together: which still hold, and how much the surest judge keeps at least.

A verdict never depends on what else is audited. A statement about several verdicts at once does: if
each of many verdicts may be wrong in 5% of cases, some are wrong. A baseline counts only if there
is no other judge.
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
    """The judges whose verdicts are looked at together, and in how many cells each was judged."""
    cells: dict[str, int] = {}
    for cell in audited:
        for judge in cell.judges:
            cells[judge] = cells.get(judge, 0) + 1
    judges = {
        judge: number for judge, number in cells.items() if dataset.raters[judge].kind != "baseline"
    }
    return judges or cells


def kept_at_least(cell: AuditCell, verdict: Verdict, number: int) -> float:
    """The least share of a person's lead that the judge keeps, with an error of 5% over `number`
    cells together.

    NaN if there is no such limit, or no share kept is defined.
    """
    if math.isnan(verdict.share_kept.value):
        return math.nan
    seen = cell.seen_by(verdict.judge)
    left_out = seen.seats_of(verdict.left_out)
    share = standing(seen, verdict.judge, left_out).share(1 - ERROR / number)
    return share.low if share is not None and math.isfinite(share.low) else math.nan


def together_rows(verdicts: Sequence[Verdict], least: Sequence[float]) -> Iterator[dict[str, Any]]:
    """A row for each verdict, if there are several.

    least: the least share that each judge keeps (`kept_at_least`).
    """
    if len(verdicts) < 2:
        return
    every = benjamini_yekutieli([verdict.p_like for verdict in verdicts])
    lists: dict[tuple[str, str], list[int]] = {}
    for index, verdict in enumerate(verdicts):
        lists.setdefault((verdict.judge, verdict.criterion), []).append(index)
    in_list: dict[int, tuple[int, float]] = {}
    for places in lists.values():
        corrected = benjamini_hochberg([verdicts[index].p_like for index in places])
        for index, p in zip(places, corrected.tolist(), strict=True):
            in_list[index] = len(places), p
    for index, verdict in enumerate(verdicts):
        languages, p = in_list[index]
        yield {
            "language": verdict.language,
            "criterion": verdict.criterion,
            "judge": verdict.judge,
            "languages": languages,
            "p_languages": p,
            "cells": len(verdicts),
            "p_cells": float(every[index]),
            "kept_at_least": least[index],
        }
