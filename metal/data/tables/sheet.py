"""The cells of an XLSX sheet as texts, as wide as its header."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any


def sheet_rows(path: Path, left_out: list[str]) -> list[list[str | None]]:
    """The rows of the first sheet, the header first, without the empty ones at the end; None for an empty cell.

    left_out: gets the names of the other sheets.

    pandas makes every row as wide as the widest: one cell at XFD1048576 takes 8 GB.
    """
    from openpyxl import load_workbook

    rows: list[list[str | None]] = []
    end = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which do not matter here
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            sheet, *others = book.worksheets
            left_out += [other.title for other in others]
            sheet.reset_dimensions()  # the size that a file states is often wrong
            header = next(sheet.iter_rows(max_row=1, values_only=True), ())
            width = max((place for place, cell in enumerate(header, 1) if cell is not None), default=1)
            for number, row in enumerate(sheet.iter_rows(max_col=width, values_only=True), 1):
                if any(cell is not None for cell in row):
                    rows += [[None] * width] * (number - 1 - end)
                    rows.append([_text(cell) for cell in row] + [None] * (width - len(row)))
                    end = number
        finally:
            book.close()
    return rows


def _text(cell: Any) -> str | None:
    """A cell as text, a whole number without a point."""
    if cell is None or cell == "":
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
