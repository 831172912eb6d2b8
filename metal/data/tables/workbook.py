"""The parts of an XLSX file, read as streams without blanks, because blanks can make a small file
huge.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import IO, Any

from metal.errors import DataError

MOST_ROWS = 1 << 20  # that Excel knows
# bytes of a sheet that are read at once; more are slower, as their elements wait in memory
CHUNK = 1 << 14
LONGEST_TEXT = 1 << 24  # bytes of one cell; Excel writes 32,767 characters
LARGE = 1 << 31  # bytes of a sheet that are read whatever its cells hold
BYTES_OF_A_CELL = 10_000  # of a sheet that is larger, for each cell that holds something
# bytes of a sheet, and of any other part, from which on it may not be packed into a hundredth: no
# table of different rows is, however many blank cells it has
LARGE_SHEET, LARGE_PART, PACKED = 1 << 27, 1 << 26, 100
# of another part whose elements are counted, since each takes memory
COUNTED_PART, TIMES = 1 << 20, 10
# of a row, or of another part but texts; Excel has 16,384 cells a row, 64,000 formats
MOST_ELEMENTS = 500_000
_FEW_BLANKS = b" " * 64
_BLANKS = re.compile(rb">[ \t\r\n]{64,}<")
_BLANK_CELLS = re.compile(rb'<c r="[A-Z]+[0-9]+"[^<>]*(?:/>|></c>)(?=<c r=|</row>)')
_BLANK_ROWS = re.compile(rb'<row r="[0-9]+"[^<>]*(?:/>|></row>)(?=<row r=|</sheetData>)')
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]+\d+:[A-Z]+\d+)"')


class Workbook(zipfile.ZipFile):
    """An XLSX file whose sheets are opened as `SheetText`. Raises DataError for a part that is
    packed too tightly.

    rows_wanted: until it is set, sheets open as empty. Otherwise openpyxl, when it lists sheets,
    would read every sheet without a stated size to its end.
    """

    rows_wanted = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        for part in self.infolist():
            large = LARGE_SHEET if _is_sheet(part.filename) else LARGE_PART
            if part.file_size > large and part.file_size > PACKED * part.compress_size:
                problem = (
                    f"{part.filename} is {part.file_size:,} bytes, packed into"
                    f" {part.compress_size:,}"
                )
                raise DataError(path, problem, "Save the table as CSV")
            if part.file_size > max(COUNTED_PART, TIMES * part.compress_size) and not _is_sheet(
                part.filename
            ):
                self._check_elements(part, path)
            if _is_sheet(part.filename) and part.file_size > MOST_ROWS * len("<row/>"):
                self._check_rows(part, path)

    def _check_elements(self, part: zipfile.ZipInfo, path: Path) -> None:
        """Raise DataError if a part has very many elements, each packed into less than a byte,
        which means blanks.
        """
        elements = 0
        with super().open(part) as opened:
            while piece := opened.read(COUNTED_PART):
                elements += piece.count(b"<")
        if elements > max(MOST_ELEMENTS, part.compress_size):
            problem = (
                f"{part.filename} holds {elements:,} elements, packed into {part.compress_size:,}"
                " bytes"
            )
            raise DataError(path, problem, "Save the table as CSV")

    def _check_rows(self, part: zipfile.ZipInfo, path: Path) -> None:
        """Raise DataError if a sheet has more rows than Excel allows; parsing them would take a
        minute.
        """
        rows, rest = 0, b""
        with super().open(part) as opened:
            while piece := opened.read(COUNTED_PART):
                piece = rest + piece
                rows += piece.count(b"<row ") + piece.count(b"<row>") + piece.count(b"<row/")
                rest = piece[-4:]  # less than is counted
                if rows > MOST_ROWS:
                    raise DataError(
                        path, f"a sheet of more than {MOST_ROWS:,} rows", "Save the table as CSV"
                    )

    def open(self, name: Any, *arguments: Any, **options: Any) -> Any:
        """A part of the file, as returned by `zipfile.ZipFile.open`; for a sheet, its text."""
        opened = super().open(name, *arguments, **options)
        if not _is_sheet(opened.name):
            return opened
        return (
            SheetText(opened, Path(str(self.filename)))
            if self.rows_wanted
            else io.BytesIO(b"<worksheet/>")
        )


def _is_sheet(part: str) -> bool:
    return "/worksheets/" in f"/{part}" and part.endswith(".xml")


class SheetText:
    """The XML of a sheet as a stream, without blank cells, blank rows and long blanks between
    elements.

    done: the number of bytes read so far. cells: the number of filled cells. merged: the ranges of
    merged cells so far.
    """

    def __init__(self, opened: IO[bytes], path: Path) -> None:
        self.done = self.cells = self._of_row = 0
        self.merged: list[bytes] = []
        self._opened, self._path, self._rest = opened, path, b""

    def __enter__(self) -> SheetText:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the part."""
        self._opened.close()

    def read(self, size: int = -1) -> bytes:
        """The elements of the next piece of the file; `size` is ignored."""
        while size:
            piece = self._opened.read(CHUNK)
            self.done += len(piece)
            if piece.isspace() and not self._rest.strip():
                self._rest = _FEW_BLANKS
                continue
            text = self._rest + piece
            end = text.rfind(b">") + 1 if piece else len(text)
            self._rest = self._checked(text[end:])
            kept = self._full(text[:end])
            if kept or not piece:
                return kept
        return b""

    def _checked(self, rest: bytes) -> bytes:
        """Keep the beginning of an incomplete element. Raises DataError if the element
        never ends.
        """
        if len(rest) > LONGEST_TEXT:
            raise DataError(
                self._path, f"a cell of more than {LONGEST_TEXT:,} bytes", "Save the table as CSV"
            )
        return _FEW_BLANKS if len(rest) > len(_FEW_BLANKS) and rest.isspace() else rest

    def _full(self, text: bytes) -> bytes:
        """The text without blank parts. Raises DataError if a very long text is almost entirely
        blank.
        """
        text = _BLANKS.sub(b"><", text)
        if b"/>" in text or b"></c>" in text:
            text = _BLANK_CELLS.sub(b"", text)
        text = _BLANK_ROWS.sub(b"", text)
        self.cells += text.count(b"<v>") + text.count(b"<t>") + text.count(b"<t ")
        self.merged += _MERGED.findall(text)
        ended = text.rfind(b"row>") + 1  # </row>
        self._of_row = text.count(b"<", ended) + (0 if ended else self._of_row)
        if self._of_row > MOST_ELEMENTS:
            problem = (
                f"a row of more than {MOST_ELEMENTS:,} cells, or as many elements outside the rows"
            )
            raise DataError(self._path, problem, "Save the table as CSV")
        if self.done > LARGE and self.done > BYTES_OF_A_CELL * self.cells:
            problem = (
                f"a sheet of more than {self.done:,} bytes, in which only {self.cells:,} cells are"
                " filled"
            )
            raise DataError(self._path, problem, "Save the table as CSV")
        return text
