"""Which classes people and judges give: METAL's Figures 2 and 3 as counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from metal.audit.cells import Cell
from metal.stats.aggregate import CASES, TIE

PEOPLE = "people"


def distribution_rows(cell: Cell) -> Iterator[dict[str, Any]]:
    """Class counts of the people's aggregate and of each judge, by agreement case and overall ("all items").

    A judge's counts are over the same items; items it did not answer are counted under the level
    "(no answer)", items without an aggregate class under "(no class)", so that every column adds up.
    """
    settled = np.where(cell.truth == TIE, cell.levels, cell.truth)
    sides = {PEOPLE: settled}
    for judge in cell.judges:
        codes = cell.by_judge(judge)
        sides[judge] = np.where(codes < 0, cell.levels + 1, codes)
    names = [level.shown for level in cell.criterion.scale.levels]
    names += ["(no class)", "(no answer)"]
    groups = {"all items": cell.complete} | {case: cell.case == code for code, case in enumerate(CASES)}
    for case, items in groups.items():
        for rater, codes in sides.items():
            counts = np.bincount(codes[items], minlength=len(names))
            for name, count in zip(names, counts.tolist(), strict=True):
                if count or not name.startswith("("):
                    yield {
                        "language": cell.language,
                        "criterion": cell.criterion.name,
                        "case": case,
                        "rater": rater,
                        "level": name,
                        "count": count,
                        "items": int(items.sum()),
                    }


def overall(by_language: pd.DataFrame) -> pd.DataFrame:
    """The counts summed over languages, as METAL's Figures 2 (all items) and 3 (by case) show them."""
    keys = ["criterion", "case", "rater", "level"]
    return by_language.groupby(keys, sort=False, as_index=False)[["count", "items"]].sum()
