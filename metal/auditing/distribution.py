"""Which classes people and judges give: METAL's Figures 2 and 3 as counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from metal.auditing.cells import AuditCell
from metal.stats.aggregate import CASES, TIE

PEOPLE = "people"
JUDGE = "judge"
COUNTS = ["count", "compared", "compared_people", "items"]


def distribution_rows(cell: AuditCell) -> Iterator[dict[str, Any]]:
    """Class counts of the people's aggregate and of each judge, by agreement case and overall ("all items").

    side: PEOPLE or JUDGE; rater: the judge, or PEOPLE. count: how often the level was given among the case's items.
    Items that a judge did not answer are counted under the level "(no answer)", items without an aggregate class under
    "(no class)", so that every column adds up. compared, compared_people: how often judge and people gave the level on
    the items that have both, so that the two can be compared.
    """
    levels = cell.levels
    settled = np.where(cell.truth == TIE, levels, cell.truth)
    sides = [(PEOPLE, PEOPLE, settled)]
    for judge in cell.judges:
        codes = cell.by_judge(judge)
        sides.append((JUDGE, judge, np.where(codes < 0, levels + 1, codes)))
    names = [level.shown for level in cell.criterion.scale.levels] + ["(no class)", "(no answer)"]
    groups = {"all items": cell.complete} | {case: cell.case == code for code, case in enumerate(CASES)}
    for case, items in groups.items():
        for side, rater, codes in sides:
            both = items & (codes < levels) & (settled >= 0) & (settled < levels)
            counted = (codes[items], codes[both], settled[both])
            columns = np.stack([np.bincount(column, minlength=len(names)) for column in counted])
            for name, counts in zip(names, columns.T.tolist(), strict=True):
                if counts[0] or not name.startswith("("):
                    yield {
                        "language": cell.language,
                        "criterion": cell.criterion.name,
                        "case": case,
                        "side": side,
                        "rater": rater,
                        "level": name,
                    } | dict(zip(COUNTS, (*counts, int(items.sum())), strict=True))


def overall(by_language: pd.DataFrame) -> pd.DataFrame:
    """The counts summed over languages, as METAL's Figures 2 (all items) and 3 (by case) show them."""
    keys = ["criterion", "case", "side", "rater", "level"]
    return by_language.groupby(keys, sort=False, as_index=False)[COUNTS].sum()
