"""The columns from which a table was read, as a draft records them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from metal.data.tables.answer_columns import AnswerColumn

FIRST_ROWS = 5  # that are kept to be looked at
LONGEST_CELL = 300  # characters of each
ANSWERED_IN = "answered_in"  # of a wide table: the column in the file that a rating stood in


@dataclass(frozen=True)
class TableColumns:
    """The columns from which a table was read: role -> column; the columns that hold answers, as
    `wide` names them; and the unread rest.

    sources_by: the column whose texts tell sources apart, if no column names them. doubtful: unread
    columns that hold answers, but whose names do not say whose. by_place: raters who are known only
    by their place in a list. of_format: roles that the file's format decides, which no option need
    name. names: all columns. answers: those that hold answers, with whose they are. first_rows: the
    first cells of all columns, as texts.
    """

    roles: Mapping[str, str]
    wide: tuple[str, ...]
    unread: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    sources_by: str = ""
    by_place: frozenset[str] = frozenset()
    of_format: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    answers: tuple[AnswerColumn, ...] = ()
    first_rows: tuple[tuple[str, ...], ...] = ()

    def __deepcopy__(self, memo: object) -> TableColumns:
        """Return the object itself, because it never changes, while pandas copies everything in
        `attrs` at every step.
        """
        return self


def first_rows(frame: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """The beginnings of the first cells of all columns; empty cells are empty texts."""
    columns = []
    for _, column in frame.head(FIRST_ROWS).items():
        cells = zip(column.tolist(), column.notna().tolist(), strict=True)
        columns.append([str(cell)[:LONGEST_CELL] if filled else "" for cell, filled in cells])
    return tuple(zip(*columns, strict=True))
