"""The judge that looks best in a cell, and how much the choice among several flatters it.

The judge is chosen again in every resample of sources; the average by which the chosen judge then
exceeds its own figure is the optimism of the choice (Efron and Tibshirani 1993, chapter 17) and is
subtracted. Resamples are linear here: a judge's share kept is its observed value plus, to first
order, what each drawn source adds. The same sources are drawn for all judges, whichever items they
answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metal.auditing.cells import AuditCell
from metal.auditing.scores import standing
from metal.auditing.verdict import Verdict
from metal.stats.bootstrap import SourceBootstrap


def picked_rows(
    cell: AuditCell, verdicts: Sequence[Verdict], bootstrap: SourceBootstrap
) -> Iterator[dict[str, Any]]:
    """A row for the best judge, if at least two judges have a share kept.

    verdicts: the verdicts of the cell.
    """
    judged = [verdict for verdict in verdicts if not np.isnan(verdict.share_kept.value)]
    if len(judged) < 2:
        return
    shares = np.array([verdict.share_kept.value for verdict in judged])
    added: list[dict[int, float]] = []  # of each judge: source -> what it adds to the share
    for verdict in judged:
        seen = cell.seen_by(verdict.judge)
        far = seen.seats_of(verdict.left_out)
        sources, each = standing(seen, verdict.judge, far).share_by_source()
        added.append(dict(zip(sources.tolist(), np.nan_to_num(each).tolist(), strict=True)))
    every = sorted(set().union(*added))
    table = np.array([[of_judge.get(source, 0.0) for of_judge in added] for source in every])
    drawn = bootstrap.totals(table)
    drawn += shares - drawn.mean(axis=0)
    chosen = drawn.argmax(axis=1)
    optimism = float(np.mean(drawn.max(axis=1) - shares[chosen]))
    best = judged[int(shares.argmax())]
    yield {
        "language": cell.language,
        "criterion": cell.criterion.name,
        "judge": best.judge,
        "judges": len(judged),
        "share_kept": best.share_kept.value,
        "optimism": optimism,
        "share_kept_chosen": best.share_kept.value - optimism,
    }
