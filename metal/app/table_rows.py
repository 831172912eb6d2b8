"""The rows of a large table that the import wizard looks at, so that a change is read at once.

They are the first rows, one row for each value of columns that have few values (so that all
languages, raters, criteria and levels are among them), and rows spread over the table: all rows on
the same outputs, so that people can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.tables.roles import roles_of
from metal.errors import MetalError

Codes = np.ndarray[Any, np.dtype[Any]]
FIRST = 2_000  # rows
SPREAD = 18_000  # rows
MOST = 50_000  # rows of a table that is read in full at each change
FEW = 200  # values of a column, of which each is looked at
NEAR = 20  # rows that are looked at together where no column names outputs
UNITS = ("output", "source", "text", "source_text")  # roles of columns that hold rows together


@dataclass(frozen=True)
class TableRows:
    """Rows of a table that were looked at. total: the number of all its rows.

    frame: with the notes on how the file was read; its index is the rows' positions in the table.
    """

    frame: pd.DataFrame
    total: int

    @classmethod
    def of(cls, frame: pd.DataFrame, file: Path) -> TableRows:
        """The rows of a table to look at: all, if there are not too many."""
        if len(frame) <= MOST:
            return cls(frame, len(frame))
        rows = rows_to_look_at(frame, file)
        looked_at = frame.iloc[rows].set_axis(rows)
        for name in looked_at.select_dtypes("category"):
            looked_at[name] = looked_at[name].cat.remove_unused_categories()
        looked_at.attrs = dict(frame.attrs)
        return cls(looked_at, len(frame))

    @property
    def is_sample(self) -> bool:
        """Whether there are further rows."""
        return len(self.frame) < self.total


def rows_to_look_at(frame: pd.DataFrame, file: Path) -> Codes:
    """The positions of the rows to look at, in rising order. file: the file that errors name."""
    marked = np.unique(np.concatenate([np.arange(FIRST), *map(_first_of_each, frame.items())]))
    codes = _units(frame, file)
    units = np.unique(codes)
    share = max(len(frame) // SPREAD, 1)
    chosen = np.union1d(codes[marked], units[::share])
    rows = np.flatnonzero(np.isin(codes, chosen))
    if len(rows) <= MOST:
        return rows
    spread = np.linspace(0, len(frame) - NEAR, SPREAD // NEAR).astype(np.int64)
    near = (spread[:, None] + np.arange(NEAR)).ravel()
    return np.union1d(marked, near)[:MOST]


def _first_of_each(column: tuple[Any, pd.Series[Any]]) -> Codes:
    """The first row with each value of a column; none if it has many values, or lists."""
    codes = _codes(column[1])
    if len(codes) == 0 or codes.max() >= FEW:
        return np.zeros(0, dtype=np.int64)
    return np.unique(codes, return_index=True)[1]


def _codes(column: pd.Series[Any]) -> Codes:
    """A number for each value of a column; empty if its cells are lists or objects."""
    try:
        return pd.factorize(column)[0].astype(np.int64)
    except TypeError:
        return np.zeros(0, dtype=np.int64)


def _units(frame: pd.DataFrame, file: Path) -> Codes:
    """(rows,) a number for the rows that belong together: those on one output or source or, where
    no column names them, rows beside each other.
    """
    try:
        roles = roles_of(frame.head(FIRST), (), {}, file)
    except MetalError:
        roles = {}
    for column in [roles[role] for role in UNITS if role in roles]:
        codes = _codes(frame[column])
        if len(codes):
            return codes
    return np.arange(len(frame), dtype=np.int64) // NEAR
