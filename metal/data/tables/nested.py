"""Ratings inside a cell: objects become columns named by their path; a list becomes a column for
each of its positions, or a row for each rater.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from metal.data.files import parse_json
from metal.data.tables.cells import as_numbers, as_texts
from metal.data.tables.names import GUESSES, MODEL, plain
from metal.data.text import first_few
from metal.errors import DataError

# Column -> where it stood in an object: `scores.gpt-4.value` -> ("scores", "gpt-4", "value").
Paths: TypeAlias = Mapping[str, tuple[str, ...]]

WRAPPED = re.compile(r'\[\{"(?:rating|number)": ?(-?\d+(?:\.\d+)?)\}\]')
MOST = 50  # columns of their own; more are ids or embeddings
MOST_PATHS = 1000  # columns that the objects of one column become
_RATINGS = re.compile(
    r"annotat|rating|score|judg|label|eval|vote|rater|worker|human|people|person|expert|crowd", re.I
)
_ABOUT_ROWS = re.compile(r"^(meta|metadata|info|extra|attributes|tags)$", re.I)
# What an object that names its rater says of the rated text is no column: another one has it.
_ABOUT = (
    "output",
    "source",
    "generator",
    "language",
    "text",
    "source_text",
    "reference",
    "content",
    "condition",
)
_OF_THE_TEXT = {name for role in _ABOUT for name in GUESSES[role]}


def flattened(frame: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, Paths]:
    """The frame with each object in its cells turned into columns named by their path
    (`metadata.language`), and these paths.

    Columns of text whose cells are JSON are parsed if they have names of ratings or metadata. A
    conversation, or an object with more than MOST_PATHS paths, stays unchanged.
    """
    frame = _with_json_read(_without_wrapping(frame))
    paths: dict[str, tuple[str, ...]] = {}
    for column in [str(name) for name, cells in frame.items() if _holds_objects(cells)]:
        leaves = [
            _leaves(cell, (column,)) if isinstance(cell, Mapping) else {} for cell in frame[column]
        ]
        of_column = {".".join(path): path for cell in leaves for path in cell}
        if len(of_column) > MOST_PATHS or not of_column.keys().isdisjoint(frame.columns):
            continue
        cells = [{".".join(path): value for path, value in cell.items()} for cell in leaves]
        parts = pd.DataFrame(cells, index=frame.index, columns=list(of_column))
        frame = pd.concat([frame.drop(columns=column), parts], axis=1)
        paths |= of_column
        notes.append(f"{column!r} holds objects, read as columns: {first_few(list(of_column), 8)}")
    return frame, paths


def _with_json_read(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with lists and objects in place of the JSON texts of ratings and metadata."""
    cells_of: dict[str, pd.Series] = {}
    for name, column in frame.items():
        if (
            not (_RATINGS.search(str(name)) or _ABOUT_ROWS.search(str(name)))
            or column.dtype == object
        ):
            continue
        if isinstance(column.dtype, pd.CategoricalDtype):
            first = next(iter(column.array.categories), "")
        else:
            first = next((cell for cell in column.array if isinstance(cell, str)), "")
        if str(first)[:1] not in ("[", "{"):
            continue
        texts = as_texts(column)
        read = list(map(_read_json, texts.cat.categories))
        if None not in read:
            cells = [read[code] if code >= 0 else None for code in texts.cat.codes]
            cells_of[str(name)] = pd.Series(cells, index=frame.index, dtype=object)
    return frame.assign(**cells_of) if cells_of else frame


def _without_wrapping(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a number in place of each of Label Studio's lists of one object with one
    number: `[{"rating": 4}]`.
    """
    numbers: dict[str, pd.Series] = {}
    for name, column in frame.items():
        if is_numeric_dtype(column):
            continue
        different = (
            column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column.array
        )
        first = next(
            (cell for cell in different if isinstance(cell, list | str) and len(cell)), None
        )
        if not isinstance(first, list) and not str(first).startswith('[{"'):
            continue
        wrapped = [
            cell if isinstance(cell, list) else WRAPPED.fullmatch(str(cell))
            for cell in column.dropna()
        ]
        if all(map(_number_in, wrapped)):
            cells = dict(zip(column.dropna().index, map(_number_in, wrapped), strict=True))
            numbers[str(name)] = pd.Series(cells, dtype="str").reindex(frame.index)
    return frame.assign(**numbers) if numbers else frame


def _number_in(wrapped: Any) -> str:
    """The number in `[{"rating": 4}]`, given as a list or as text; "" for anything else."""
    if isinstance(wrapped, re.Match):
        return str(wrapped[1])
    inner = wrapped[0] if isinstance(wrapped, list) and len(wrapped) == 1 else None
    if isinstance(inner, Mapping) and len(inner) == 1 and next(iter(inner)) in ("rating", "number"):
        return str(next(iter(inner.values())))
    return ""


def _read_json(text: str) -> Any:
    """The object, or the list of numbers, that a text is; None for any other text."""
    if text[:1] not in ("[", "{"):
        return None
    try:
        value = parse_json(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    if isinstance(value, list) and not all(isinstance(item, int | float) for item in value):
        return None
    return value or None


def _holds_objects(column: pd.Series) -> bool:
    """Whether all cells of the column are objects, and none is a message of a conversation."""
    if column.dtype != object:
        return False
    cells = column[column.notna()]
    return bool(len(cells)) and all(
        isinstance(cell, Mapping) and not _is_message(cell) for cell in cells
    )


def _is_message(value: Mapping[str, Any]) -> bool:
    """Whether an object is a message of a conversation, as OpenAI or ShareGPT write it."""
    return {"role", "content"} <= value.keys() or {"from", "value"} <= value.keys()


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> dict[tuple[str, ...], Any]:
    """The path and value of everything in an object, including objects inside it."""
    leaves: dict[tuple[str, ...], Any] = {}
    for key, item in value.items():
        inner = (*path, str(key))
        if isinstance(item, Mapping) and not _is_message(item):
            leaves |= _leaves(item, inner)
        else:
            leaves[inner] = item
    return leaves


# ---------------------------------------------------------------- lists


def nested_columns(frame: pd.DataFrame, roles: Sequence[str]) -> list[str]:
    """The columns of lists whose names are those of ratings or raters.

    roles: the columns that play a role.
    """
    free = [
        column for column in frame.columns if column not in roles and frame[column].dtype == object
    ]
    named = [column for column in free if _RATINGS.search(column) or MODEL.search(column)]
    return [column for column in named if _first(frame[column])]


@dataclass(frozen=True)
class FromLists:
    """What came out of lists.

    by_place: raters who are known only by their position in a list. of_raters: the columns that
    describe a rater's rating; the others describe the output.
    """

    by_place: frozenset[str] = frozenset()
    of_raters: frozenset[str] = frozenset()


NO_LISTS = FromLists()


def unnested(
    frame: pd.DataFrame, columns: Sequence[str], notes: list[str], file: Path
) -> tuple[pd.DataFrame, FromLists]:
    """The frame with the ratings in the lists of these columns moved to new columns, and the names
    of the new columns.

    A list of numbers, or of objects with numbers, gives a column for each position (`human_scores`
    gives human_scores_1, ...). Objects that name their rater become one row each. Raises DataError
    for other lists, for example if a row has several, because nothing says which of their items
    belong together.
    """
    by_place, of_raters = set[str](), set[str]()
    for column in columns:
        frame, parts, raters = _taken_apart(frame, column, columns, file)
        table = pd.DataFrame(parts, index=frame.index)
        if not raters:
            by_place |= {name.partition(".")[0] for name in table.columns}
        frame = frame.drop(columns=column)
        table.columns = [
            f"{column}_{name}" if name in frame else str(name) for name in table.columns
        ]
        notes.append(
            f"{column!r} holds lists or objects, read as columns:"
            f" {first_few(list(table.columns), 8)}"
        )
        if raters:
            of_raters |= {*table.columns}
        frame = pd.concat([frame, table], axis=1)
    return frame, FromLists(frozenset(by_place), frozenset(of_raters))


def _taken_apart(
    frame: pd.DataFrame, column: str, columns: Sequence[str], file: Path
) -> tuple[pd.DataFrame, list[dict[str, Any]], bool]:
    """Take the lists of a column apart.

    Returns the frame, with one row per rater if the lists name raters; for each row, the contents
    of its list by name; and whether the lists name raters.
    """
    cells = list(map(_plain, frame[column]))
    items = list(chain.from_iterable(cell for cell in cells if isinstance(cell, list)))
    beside = [
        other
        for other in frame.columns
        if other != column and isinstance(_first(frame[other]), list)
    ]
    raters = bool(items) and all(map(_names_its_rater, items))
    if raters:
        sure = {*beside}.isdisjoint(columns)
        frame = frame.assign(**{column: cells}).explode(column).dropna(subset=column)
        parts = list(map(_said_by_a_rater, frame[column]))
    else:
        objects = all(isinstance(item, dict) for item in items)
        alike = objects or all(isinstance(_first(frame[other])[0], dict) for other in beside)
        sure = alike and _hold_numbers(items)
        parts = [_by_place(cell, column) for cell in cells]
    if not sure or len(set[str]().union(*parts)) > MOST:
        problem = f"column {column!r} holds lists or objects"
        raise DataError(file, problem, "Write a row for each rating in it")
    return frame, parts, raters


def _names_its_rater(item: Any) -> bool:
    return isinstance(item, dict) and not _keys(item).isdisjoint(GUESSES["rater"])


def _hold_numbers(items: Iterable[Any]) -> bool:
    """Whether all items, or all members of items that are objects, are numbers or empty."""
    leaves: list[Any] = []
    for item in items:
        leaves += item.values() if isinstance(item, dict) else [item]
    if not all(isinstance(leaf, str | int | float | None) for leaf in leaves):
        return False
    numbers = as_numbers(pd.Series([leaf for leaf in leaves if leaf is not None]))
    return bool(np.isfinite(numbers).all())


def _first(column: pd.Series) -> Any:
    """The first cell that is neither empty nor an empty list or object."""
    filled = map(_plain, column if column.dtype == object else ())
    return next((cell for cell in filled if isinstance(cell, list | dict) and cell), None)


def _plain(cell: Any) -> Any:
    return cell.tolist() if isinstance(cell, np.ndarray) else cell


def _keys(item: Iterable[object]) -> set[str]:
    return {plain(str(key)) for key in item}


def _said_by_a_rater(item: Mapping[str, Any]) -> dict[str, Any]:
    """The cells, by column, of an object that names its rater: without facts about the text, and
    with objects inside it (`scores`) split up.
    """
    parts: dict[str, Any] = {}
    for path, value in _leaves(
        {key: item[key] for key in item if not _keys([key]) & _OF_THE_TEXT}, ()
    ).items():
        steps = [step for step in path[:-1] if not _RATINGS.search(step)]
        parts[".".join([*steps, path[-1]])] = value
    return parts


def _by_place(cell: Any, column: str) -> dict[str, Any]:
    """The cells, by column, of a list: one for each position, and for each key of objects in it."""
    parts: dict[str, Any] = {}
    for number, item in enumerate(cell if isinstance(cell, list) else (), 1):
        if isinstance(item, dict):
            parts |= {f"{column}_{number}.{key}": value for key, value in item.items()}
        else:
            parts[f"{column}_{number}"] = item
    return parts
