"""How many of a leaderboard's tables a page holds."""

from __future__ import annotations

from collections.abc import Sequence

from metal.show.view import TableView


def within_cells(tables: Sequence[TableView], cells: int) -> tuple[tuple[TableView, ...], int]:
    """The first of the tables that together have no more than so many cells, and how many are left."""
    shown = []
    for table in tables:
        cells -= len(table.rows) * len(table.columns)
        if cells < 0:
            break
        shown.append(table)
    return tuple(shown), len(tables) - len(shown)
