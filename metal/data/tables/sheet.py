"""The cells of an XLSX sheet as texts, as wide as its header."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from metal.data.tables.names import is_known
from metal.data.text import first_few
from metal.errors import UnknownName


def sheet_rows(path: Path, notes: list[str], name: str = "") -> list[list[str | None]]:
    """The rows of a sheet, the header first, without the empty ones at the end; None for an empty cell.

    name: of the sheet; else it is the first whose header names two columns that METAL knows. notes: get which it is,
    and which others there are. Raises UnknownName for a sheet that is not there.

    pandas makes every row as wide as the widest: one cell at XFD1048576 takes 8 GB.
    """
    from openpyxl import load_workbook

    rows: list[list[str | None]] = []
    end = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which do not matter here
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            headers = {}
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # the size that a file states is often wrong
                headers[sheet.title] = next(sheet.iter_rows(max_row=1, values_only=True), ())
            if name and name not in headers:
                raise UnknownName("sheet", name, list(headers))
            tables = [title for title, header in headers.items() if sum(map(is_known, header)) > 1]
            title = name or (tables or list(headers))[0]
            others = [other for other in headers if other != title]
            notes += [f"only the sheet {title!r} is read, not {first_few(others)} (`sheet`)"] if others else []
            sheet, header = book[title], headers[title]
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
