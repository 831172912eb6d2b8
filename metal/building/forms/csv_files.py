"""CSV files as other programs save them."""

from __future__ import annotations

import csv
import io

from metal.building.forms.rows import filled_rows, unguarded
from metal.errors import DataError

DELIMITERS = ",;\t"  # Excel writes semicolons where the comma is the decimal mark, tabs as "Unicode Text"


def is_csv(name: str) -> bool:
    return name.rpartition(".")[2].lower() in ("csv", "tsv", "txt")


def csv_table(name: str, content: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV file and its other rows, blank ones left out, each with its number in a spreadsheet."""
    rows = filled_rows(csv_rows(name, content))
    return ([unguarded(cell) for cell in rows[0][1]], rows[1:]) if rows else ([], [])


def header_of(name: str, content: bytes) -> list[str]:
    """The header of a CSV file; empty for any other file."""
    return csv_table(name, content)[0] if is_csv(name) else []


def csv_rows(name: str, content: bytes) -> list[list[str]]:
    """The rows of a CSV file as programs save it: comma, semicolon or tab, UTF-8 or UTF-16, cells with line breaks.

    Row N of the list is row N + 1 in a spreadsheet. Raises DataError for other encodings and unclosed quotes.
    """
    text = _decoded(name, content)
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.rstrip("\r")) == 5:  # for Excel, which does not show this line
        delimiter, text = first[4], rest
    else:
        delimiter = _delimiter(text)
    limit = csv.field_size_limit(len(text) + 1)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            rows.append(row)
    except csv.Error as error:
        raise DataError(
            f"{name} row {len(rows) + 1}", f"not readable as CSV ({error})", "Save it again from a spreadsheet"
        ) from None
    finally:
        csv.field_size_limit(limit)
    return rows


def _decoded(name: str, content: bytes) -> str:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text[:100]:
        raise DataError(
            name,
            "neither UTF-8 nor UTF-16 text",
            "Open it where it was filled in and save it as 'CSV UTF-8' (in LibreOffice: Text CSV with character set "
            "UTF-8)",
        )
    return text


def _delimiter(text: str) -> str:
    """The mark that divides the first non-blank line into the most columns."""
    line = next((line for line in io.StringIO(text, newline="") if line.strip(f" {DELIMITERS}\r\n")), "")[:100_000]
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))
