"""One CSV file a person, to be filled in with any spreadsheet, and the guidelines as a page beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from metal.building.forms import guidelines
from metal.building.forms.rows import about, answers_from, header
from metal.building.tasks import Answer, Sheet
from metal.data.csv_cells import guard
from metal.data.records import Criterion
from metal.errors import DataError

DELIMITERS = ",;\t"  # Excel writes semicolons where the comma is the decimal mark, tabs as "Unicode Text"


def write(sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """guidelines.html, then RATER.csv for each sheet: one row a task, an empty column a criterion, a comment."""
    for number, sheet in enumerate(sheets):
        if number == 0:
            yield "guidelines.html", guidelines.as_html(sheet.rubrics, sheet.template).encode()
        yield f"{sheet.rater}.csv", _content(sheet)


def _content(sheet: Sheet) -> bytes:
    """UTF-8 with a byte order mark, without which Excel takes it for another encoding."""
    import pandas as pd

    blanks = [""] * (len(sheet.rubrics) + 1)
    rows = [header(sheet.rubrics, sheet.template), *([*about(sheet, task), *blanks] for task in sheet.tasks)]
    text = guard(pd.DataFrame(rows, dtype=object)).to_csv(index=False, header=False, lineterminator="\r\n")
    return text.encode("utf-8-sig")


def read(name: str, content: bytes, criteria: Mapping[str, Criterion]) -> list[Answer]:
    """The answers of one filled-in file. Raises DataError or UnknownName as `rows.answers_from` says."""
    return answers_from(name, csv_rows(name, content), criteria)


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
    """The mark that divides the first line that is not blank into most columns."""
    line = next((line for line in io.StringIO(text, newline="") if line.strip(f" {DELIMITERS}\r\n")), "")[:100_000]
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([line], delimiter=mark), [])))
