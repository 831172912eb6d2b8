"""Figures at a glance: who in rows, where in columns, darker where the figure is higher."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from metal.runs.columns import Row
from metal.runs.run import Run
from metal.show.view import Cell, TableView

MOST_COLUMNS = 40


@dataclass(frozen=True)
class Heat:
    """A map of the run's table `source`. rows, columns: their keys, in order; values: the records, by both keys.

    row_head, column_head: how a key is shown. shade: a cell of the map. what: the rows, in words. blank: what a blank
    means. most: rows.
    """

    source: str
    name: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Mapping[tuple[str, str], Row]
    row_head: Callable[[str], Cell]
    column_head: Callable[[str], str]
    shade: Callable[[Row], Cell]
    what: str
    blank: str
    most: int

    def view(self, run: Run, notes: Iterable[str] = ()) -> TableView:
        """The map as a table."""
        columns = self.columns[:MOST_COLUMNS]
        body = [
            (self.row_head(row), *(self._cell(row, column) for column in columns)) for row in self.rows[: self.most]
        ]
        notes = list(notes)
        if any((row, column) not in self.values for row in self.rows for column in self.columns):
            notes.append(self.blank)
        if len(self.columns) > MOST_COLUMNS or len(self.rows) > self.most:
            notes.append(
                f"Cut to {len(body)} of {len(self.rows)} {self.what} and {len(columns)} of {len(self.columns)} "
                "columns; the CSV has all."
            )
        heads = ("", *map(self.column_head, columns))
        return TableView.of(run, self.source, self.title, heads, body, name=f"map_{self.name}", notes=notes)

    def _cell(self, row: str, column: str) -> Cell:
        value = self.values.get((row, column))
        return self.shade(value) if value is not None else Cell("")
