"""Scores of a leaderboard as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.data.text import UNDEFINED, known
from metal.show.view import TableView

DIGITS = 3


def share(value: Any) -> str:
    """A score between 0 and 1; a dash where undefined."""
    return f"{value:.{DIGITS}f}" if known(value) else UNDEFINED


def within_cells(tables: Sequence[TableView], cells: int) -> tuple[tuple[TableView, ...], int]:
    """The first of the tables that together have no more than so many cells, and how many are left."""
    shown = []
    for table in tables:
        cells -= len(table.rows) * len(table.columns)
        if cells < 0:
            break
        shown.append(table)
    return tuple(shown), len(tables) - len(shown)
