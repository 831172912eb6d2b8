"""The rows of tables that are no frames: their columns have an order only, or repeated names."""

from __future__ import annotations

from pathlib import Path

from metal.data.files import read_text
from metal.data.formats import csv_rows
from metal.data.tables.files import SNIFFED, separator_of
from metal.data.tables.first_names import named_ending
from metal.data.tables.sheet import sheet_rows
from metal.errors import DataError, MetalError


def numbered_rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, as texts, each with its number: those of text with any separator
    or of the first table in an XLSX file.

    Raises DataError for a file that is neither.
    """
    if named_ending(path) != ".xlsx":
        text = read_text(path)
        return [*csv_rows(text, path, separator_of(text[:SNIFFED]) or ",")]
    try:
        rows = sheet_rows(path, [])
    except (MetalError, FileNotFoundError):
        raise
    except Exception as error:  # depends on which part of the file is damaged
        raise DataError(path, f"not readable as XLSX ({error})", "Save it again") from None
    texts = [[cell or "" for cell in row] for row in rows]
    return [(number, row) for number, row in enumerate(texts, 1) if any(row)]
