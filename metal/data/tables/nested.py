"""Ratings inside a cell: objects and lists become columns, or rows where they name their rater."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.tables.cells import as_numbers
from metal.data.tables.names import ENDS, GUESSES, MODEL, plain
from metal.data.text import first_few
from metal.errors import DataError

MOST = 50  # columns of their own; more are ids or embeddings
_RATINGS = re.compile(r"annotat|rating|score|judg|label|eval|vote|rater|worker|human|people|person|expert|crowd", re.I)
_END = re.compile(rf"[_ .-]?({'|'.join(ENDS)})s?$", re.I)
# What an object that names its rater says of the rated text is no column: another one has it.
_ABOUT = ("output", "source", "generator", "language", "text", "source_text", "reference", "content", "condition")
_OF_THE_TEXT = {name for role in _ABOUT for name in GUESSES[role]}


def nested_columns(frame: pd.DataFrame, roles: Sequence[str]) -> list[str]:
    """The columns of lists or objects that are called like ratings or raters. roles: columns that play a role."""
    free = [column for column in frame.columns if column not in roles and frame[column].dtype == object]
    named = [column for column in free if _RATINGS.search(column) or MODEL.search(column)]
    return [column for column in named if _first(frame[column])]


def unnested(frame: pd.DataFrame, columns: Sequence[str], notes: list[str], where: Path) -> pd.DataFrame:
    """The frame with the ratings inside the cells of these columns in columns of their own.

    An object gives a column for each key, with the column's name before it where that is a rater's or there are
    several such columns; a list of numbers, or of objects of numbers, one for each place (`human_scores`:
    human_scores_1, ...). Objects in a list that name their rater are a row each. Raises DataError for anything else,
    such as lists beside each other: nobody says what of the one belongs to what of the other.
    """
    for column in columns:
        cells = [_plain(cell) for cell in frame[column]]
        items = [item for cell in cells if isinstance(cell, list) for item in cell]
        beside = [other for other in frame.columns if other != column and isinstance(_first(frame[other]), list)]
        raters = bool(items) and all(isinstance(item, dict) and _keys(item) & {*GUESSES["rater"]} for item in items)
        if raters:
            sure = not set(beside) & {*columns}
            frame = frame.assign(**{column: cells}).explode(column).dropna(subset=column)
            parts = [{key: item[key] for key in item if not _keys([key]) & _OF_THE_TEXT} for item in frame[column]]
        else:
            leaves = [leaf for item in items for leaf in (item.values() if isinstance(item, dict) else [item])]
            sure = all(isinstance(leaf, str | int | float | None) for leaf in leaves)
            sure = sure and bool(np.isfinite(as_numbers(pd.Series([x for x in leaves if x is not None]))).all())
            objects = all(isinstance(item, dict) for item in items)
            sure &= objects or all(isinstance(_first(frame[other])[0], dict) for other in beside)
            prefix = f"{_END.sub('', column)}_" if len(columns) > 1 or MODEL.search(column) else ""
            parts = [_by_name(cell, column, prefix) for cell in cells]
        if not sure or len({name for part in parts for name in part}) > MOST:
            raise DataError(where, f"column {column!r} holds lists or objects", "Write a row for each rating in it")
        table = pd.DataFrame(parts, index=frame.index)
        frame = frame.drop(columns=column)
        table.columns = [f"{column}_{name}" if name in frame else str(name) for name in table.columns]
        notes.append(f"{column!r} holds lists or objects, read as columns: {first_few(list(table.columns), 8)}")
        frame = pd.concat([frame, table], axis=1)
    return frame


def _first(column: pd.Series) -> Any:
    """The first cell that is not empty, nor an empty list or object."""
    filled = map(_plain, column if column.dtype == object else ())
    return next((cell for cell in filled if isinstance(cell, list | dict) and cell), None)


def _plain(cell: Any) -> Any:
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def _keys(item: Iterable[object]) -> set[str]:
    return {plain(str(key)) for key in item}


def _by_name(cell: Any, column: str, prefix: str) -> dict[str, Any]:
    """Name of a column -> what stands in it: the keys of an object and of objects in it, the places of a list."""
    if isinstance(cell, list):
        cell, prefix = {f"{column}_{place}": item for place, item in enumerate(cell, 1)}, ""
    parts: dict[str, Any] = {}
    for key, item in cell.items() if isinstance(cell, dict) else ():
        parts |= (
            {f"{prefix}{key}_{of}": part for of, part in item.items()}
            if isinstance(item, dict)
            else {f"{prefix}{key}": item}
        )
    return parts
