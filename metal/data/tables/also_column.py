"""The column `also` of a table: other answers that would do as well, as labels or values separated
by |.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from metal.data.records import Criterion
from metal.data.tables.cells import as_texts
from metal.errors import DataError

BETWEEN = "|"


def as_values(
    tidy: pd.DataFrame, criteria: Sequence[Criterion], locate: Callable[[int], str]
) -> list[str]:
    """For each rating, the values of the levels in its column `also`, as `0|2`; empty if there are
    none.

    locate: how a message names the n-th rating. Raises DataError for an answer that is no level of
    the rating's criterion.
    """
    spelt: dict[str, dict[str, str]] = {}  # criterion -> label or value in small letters -> value
    for each in criteria:
        by_label = {level.label.casefold(): f"{level.value:g}" for level in each.scale.levels}
        spelt[each.name] = {value: value for value in by_label.values()} | by_label
    levels = {each.name: each.scale.describe() for each in criteria}
    texts = as_texts(tidy["also"]).astype(object).fillna("")
    values = []
    for row, (text, criterion) in enumerate(zip(texts, tidy["criterion"], strict=True)):
        answers = dict.fromkeys(part.strip() for part in text.split(BETWEEN) if part.strip())
        for answer in answers:
            if answer.casefold() not in spelt[criterion]:
                problem = f"also {answer!r} is not a level of {criterion} ({levels[criterion]})"
                remedy = f"Write levels with {BETWEEN} between them, or leave the cell empty"
                raise DataError(locate(row), problem, remedy)
        named = (spelt[criterion][answer.casefold()] for answer in answers)
        values.append(BETWEEN.join(dict.fromkeys(named)))
    return values
