"""Ratings inside a cell: lists and objects become columns, or rows where they name their rater."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.tables.names import GUESSES, MODEL, plain
from metal.data.text import first_few
from metal.errors import DataError

MOST = 50  # entries of a cell; longer ones are embeddings and the like
MOST_KEYS = 500  # in all cells; more are ids
_RATINGS = re.compile(r"annotat|rating|score|judg|label|eval|vote|answer|rater|worker|human|expert|crowd", re.I)


def nested_columns(frame: pd.DataFrame, roles: Sequence[str]) -> list[str]:
    """The columns that hold lists or objects, those that are called like ratings alone where there are any.

    roles: the columns that play a role, which are left as they are.
    """
    free = [column for column in frame.columns if column not in roles and frame[column].dtype == object]
    nested = [c for c in free if {*map(type, frame[c].dropna().head(1))} & {list, dict, np.ndarray}]
    return [column for column in nested if _RATINGS.search(column) or MODEL.search(column)] or nested


def unnested(frame: pd.DataFrame, columns: Sequence[str], notes: list[str], where: Path) -> pd.DataFrame:
    """The frame with what stands in the cells of these columns in columns of its own.

    An object gives a column for each key, with the column's name before it if there are several such columns; a list
    one for each place (`human_scores`: human_scores_1, ...). Objects in a list that name their rater are a row each;
    an empty list gives none. Raises DataError for more entries than MOST and MOST_KEYS.
    """
    for column in columns:
        cells = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in frame[column]]
        sizes = [len(cell) for cell in cells if isinstance(cell, list | dict)]
        keys = {key for cell in cells if isinstance(cell, dict) for key in cell}
        if max(sizes, default=0) > MOST or len(keys) > MOST_KEYS:
            remedy = "Write a row for each rating in it"
            raise DataError(where, f"column {column!r} holds lists or objects with too many entries", remedy)
        items = [item for cell in cells if isinstance(cell, list) for item in cell if isinstance(item, dict)]
        if any(plain(str(key)) in GUESSES["rater"] for item in items for key in item):
            frame = frame.assign(**{column: cells}).explode(column).dropna(subset=column)
            cells = frame[column].tolist()
        prefix = f"{column}_" if len(columns) > 1 else ""
        parts = pd.json_normalize([_by_name(cell, column, prefix) for cell in cells], sep="_").set_index(frame.index)
        frame = frame.drop(columns=column)
        parts.columns = [f"{column}_{name}" if name in frame else str(name) for name in parts.columns]
        notes.append(f"{column!r} holds lists or objects, read as columns: {first_few(list(parts.columns), 8)}")
        frame = pd.concat([frame, parts], axis=1)
    return frame


def _by_name(cell: Any, column: str, prefix: str) -> dict[str, Any]:
    if isinstance(cell, list):
        return {f"{column}_{place}": item for place, item in enumerate(cell, 1)}
    return {f"{prefix}{key}": item for key, item in cell.items()} if isinstance(cell, dict) else {}
