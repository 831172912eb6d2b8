"""The rows of tables that are no frames: their columns have an order only, or repeated names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from metal.data.files import read_text
from metal.data.formats import csv_rows
from metal.data.tables.files import SNIFFED, separator_of
from metal.data.tables.first_names import named_ending
from metal.data.tables.sheet import sheet_rows
from metal.data.text import plural
from metal.errors import DataError, MetalError


def numbered_rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, as texts, each with its number: those of text with any separator
    or of the first table in an XLSX file.

    Raises DataError for a file that is neither, and for the first row that has not as many cells as
    the first row of all, as at the end of a file that is cut off.
    """
    if named_ending(path) != ".xlsx":
        text = read_text(path)
        return _of_one_width(csv_rows(text, path, separator_of(text[:SNIFFED]) or ","), path)
    try:
        rows = sheet_rows(path, [])
    except (MetalError, FileNotFoundError):
        raise
    except Exception as error:  # depends on which part of the file is damaged
        raise DataError(path, f"not readable as XLSX ({error})", "Save it again") from None
    texts = [[cell or "" for cell in row] for row in rows]
    return [(number, row) for number, row in enumerate(texts, 1) if any(row)]


def _of_one_width(rows: Iterable[tuple[int, list[str]]], path: Path) -> list[tuple[int, list[str]]]:
    checked = list[tuple[int, list[str]]]()
    for number, row in rows:
        if checked and len(row) != len(checked[0][1]):
            problem = f"{plural(len(row), 'cell')}, and {len(checked[0][1])} in the first row"
            remedy = "If the file is cut off there, export or copy it again"
            raise DataError(f"{path} row {number}", problem, remedy)
        checked.append((number, row))
    return checked
