"""Read the cells of an XLSX sheet as texts, in rows as wide as its header."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from metal.data.progress import Progress, followed, no_progress
from metal.data.tables.header import LOOKED_AT, titles_above
from metal.data.tables.names import is_known
from metal.data.tables.workbook import MOST_ROWS, SheetText, Workbook
from metal.data.text import first_few
from metal.errors import DataError, UnknownName

MOST_BLANKS = 10_000_000  # blank cells between those that hold something


def sheet_rows(
    path: Path, notes: list[str], name: str = "", progress: Progress = no_progress
) -> list[list[str | None]]:
    """The rows of a sheet, as wide as its header, without empty rows at the end; an empty cell is
    None.

    name: the name of the sheet; by default the first sheet whose header names two columns known to
    METAL. notes: gets a line on which sheet was read and which others exist. progress: counts
    bytes. Raises UnknownName for a sheet that does not exist.

    pandas is not used here, because it makes every row as wide as the widest: a single cell at
    XFD1048576 takes 8 GB.
    """
    with _opened(path) as (book, archive):
        headers = _headers(book)
        title = _sheet_to_read(headers, name, notes)
        sheet = book[title]
        named = [
            number
            for number, cells in enumerate(zip_longest(*headers[title]), 1)
            if any(cell is not None for cell in cells)
        ]
        text = archive.open(sheet._worksheet_path)
        sheet._get_source = lambda: text
        total = archive.getinfo(sheet._worksheet_path.lstrip("/")).file_size
        width = max(named, default=1)
        cells = sheet.iter_rows(max_col=width, values_only=True)
        rows = _filled_up(path, followed(cells, progress, total, _read_since(text)), width)
        for left, top_row, right, bottom in _merged_down(text.merged):
            for row in rows[top_row : min(bottom, len(rows))]:
                row[left - 1 : right] = rows[top_row - 1][left - 1 : right]
    return rows


def top_rows(path: Path) -> list[list[str]]:
    """The first two rows of the sheet that `sheet_rows` reads, without titles above them."""
    with _opened(path) as (book, _):
        headers = _headers(book)
    return [[_text(cell) or "" for cell in row] for row in headers[_sheet_to_read(headers, "", [])]]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Workbook]]:
    """A file as openpyxl's workbook, and as the archive from which it reads its sheets."""
    from openpyxl.reader.excel import ExcelReader

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which do not matter here
        reader = ExcelReader(path, read_only=True, data_only=True, keep_links=False)
        reader.archive.close()
        with Workbook(path) as archive:
            reader.archive = archive
            reader.read()
            archive.rows_wanted = True
            yield reader.wb, archive


def _headers(book: Any) -> dict[str, list[Sequence[Any]]]:
    """For each sheet, the two rows that may be its header."""
    headers = {}
    for sheet in book.worksheets:
        top = list(sheet.iter_rows(max_row=LOOKED_AT, values_only=True))
        above = titles_above([list(map(_text, row)) for row in top])
        headers[sheet.title] = top[above : above + 2]
    return headers


def _sheet_to_read(
    headers: Mapping[str, Sequence[Sequence[Any]]], name: str, notes: list[str]
) -> str:
    """The title of the sheet to read.

    headers: for each sheet, the rows that may be its header.
    """
    if name and name not in headers:
        raise UnknownName("sheet", name, list(headers))
    tables = [
        title for title, rows in headers.items() if any(sum(map(is_known, row)) > 1 for row in rows)
    ]
    title = name or (tables or list(headers))[0]
    others = [other for other in headers if other != title]
    if others:
        notes.append(f"only the sheet {title!r} is read, not {first_few(others)} (`sheet`)")
    return title


def _filled_up(path: Path, cells: Iterable[Sequence[Any]], width: int) -> list[list[str | None]]:
    """The rows as texts, filled up to the width, without empty rows at the end. Raises DataError if
    there are too many, or nearly all cells are blank.
    """
    rows: list[list[str | None]] = []
    blanks = 0
    for number, row in enumerate(cells, 1):
        if number > MOST_ROWS:
            raise DataError(
                path, f"a sheet of more than {MOST_ROWS:,} rows", "Save the table as CSV"
            )
        # openpyxl gives a million rows for what is missing above a cell far below
        if row.count(None) == len(row):
            continue
        texts = list(map(_text, row))
        if not any(text is not None for text in texts):
            continue
        above = number - 1 - len(rows)
        blanks += width * above + (width - len(texts)) + texts.count(None)
        if blanks > max(MOST_BLANKS, 100 * (width * number - blanks)):
            problem = f"{blanks:,} blank cells up to row {number:,} and few filled ones"
            raise DataError(path, problem, "Save the table as CSV")
        rows += [[None] * width for _ in range(above)]
        rows.append(texts + [None] * (width - len(texts)))
    return rows


def _read_since(text: SheetText) -> Iterator[int]:
    """For each row, the number of bytes read since the previous row."""
    before = 0
    while True:
        yield text.done - before
        before = text.done


def _merged_down(ranges: Iterable[bytes]) -> list[tuple[int, int, int, int]]:
    """The left, top, right and bottom of cells merged over several rows; the content of the first
    cell holds for all.
    """
    from openpyxl.utils import range_boundaries

    corners = (range_boundaries(merged.decode()) for merged in ranges)
    return [(left, top, right, bottom) for left, top, right, bottom in corners if bottom > top]


def _text(cell: Any) -> str | None:
    """A cell as text; a whole number is written without a point."""
    if cell is None or cell == "":
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
