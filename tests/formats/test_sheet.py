"""XLSX files that are small and hold much: read in little memory, or refused in a line."""

from __future__ import annotations

import io
import re
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import openpyxl
import pytest

from metal.data.tables import workbook
from metal.data.tables.files import read_frame
from metal.data.tables.workbook import SheetText
from metal.errors import DataError

SHEET = "xl/worksheets/sheet1.xml"
ROWS = [
    ["id", "annotator", "score"],
    *([f"o{n}", who, n % 5] for n in range(30) for who in ("Ann", "Bob")),
]


def write_sheet(path: Path, change: Callable[[bytes], bytes] = bytes, **parts: bytes) -> Path:
    """A file of ROWS whose sheet's XML is changed. parts: further ones, or others in the place of
    its own.
    """
    plain = path.with_name("plain.xlsx")
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(plain)
    with (
        zipfile.ZipFile(plain) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, change(source.read(name)) if name == SHEET else source.read(name))
        for name, content in parts.items():
            target.writestr(name, content)
    return path


def cells(path: Path) -> list[list[str]]:
    frame = read_frame(path)
    return [[*frame.columns], *frame.astype(str).to_numpy().tolist()]


AS_TEXT = [[str(cell) for cell in row] for row in ROWS]


def test_a_sheet_of_blanks_is_read_in_little_memory(tmp_path: Path) -> None:
    """100 MB of blanks before the first row, in a file of 100 kB."""
    path = write_sheet(
        tmp_path / "t.xlsx",
        lambda text: text.replace(b"<sheetData>", b"<sheetData>" + b" " * 100_000_000),
    )
    assert path.stat().st_size < 1_000_000
    program = (
        "import resource, sys; from pathlib import Path; from metal.data.tables.files import"
        " read_frame; before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; frame ="
        " read_frame(Path(sys.argv[1])); print(len(frame),"
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    rows, more = map(int, done.stdout.split())
    assert rows == len(ROWS) - 1
    assert more < 60_000 * resource.getpagesize() / 4096  # kB; the blanks alone are 100,000


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 18])
@pytest.mark.parametrize("end", [b"/>", b"></c>"])  # Excel's, openpyxl's
def test_blank_cells_and_rows_change_nothing(
    end: bytes, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the pieces end in which the file is read."""
    monkeypatch.setattr(workbook, "CHUNK", chunk)

    def with_blanks(text: bytes) -> bytes:
        blanks = rb'\1<c r="D\2" s="1"' + end + rb'   <c r="E\2" s="1"' + end + rb"</row>\n"
        text = re.sub(rb'(<row r="(\d+)".*?)</row>', blanks, text)
        text = text.replace(b"</row>", b"</row>" + b" " * 200, 3)
        blank = b"".join(
            b'<row r="%d" s="1" customFormat="1"><c r="A%d" s="1"%s</row>' % (n, n, end)
            for n in range(90, 99)
        )
        return text.replace(b"</sheetData>", blank + b'<row r="100"/></sheetData>')

    assert cells(write_sheet(tmp_path / "t.xlsx", with_blanks)) == AS_TEXT


def test_blank_cells_as_openpyxl_writes_them_are_not_parsed() -> None:
    row = b'<row r="7"><c r="A7" s="1" t="n"></c><c r="B7" s="1" t="n"></c></row>'
    sheet = b"<sheetData>" + 3 * row + b"</sheetData>"
    assert SheetText(io.BytesIO(sheet), Path("t.xlsx")).read() == b"<sheetData></sheetData>"


def test_a_sheet_that_states_no_size_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As openpyxl's write-only mode makes them."""
    opened: list[SheetText] = []

    class Followed(SheetText):
        def __init__(self, part: IO[bytes], path: Path) -> None:
            super().__init__(part, path)
            opened.append(self)

    monkeypatch.setattr(workbook, "SheetText", Followed)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in [ROWS[0], *ROWS[1:] * 200]:
        sheet.append(row)
    book.save(path := tmp_path / "t.xlsx")
    assert len(read_frame(path)) == 200 * (len(ROWS) - 1)
    of_the_head, whole = (text.done for text in opened)
    assert of_the_head < whole / 10


def test_blanks_within_a_text_stay(tmp_path: Path) -> None:
    text = "a >" + " " * 100 + "b"
    path = write_sheet(
        tmp_path / "t.xlsx", lambda sheet: sheet.replace(b">Ann<", f">{text}<".encode(), 1)
    )
    assert read_frame(path)["annotator"][0] == text


@pytest.mark.parametrize("stated", [b"A1:A2", b"A1:XFD1048576", b"B7"])
def test_a_wrong_size_in_the_file_is_ignored(stated: bytes, tmp_path: Path) -> None:
    path = write_sheet(
        tmp_path / "t.xlsx",
        lambda text: re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="' + stated + b'"', text),
    )
    assert cells(path) == AS_TEXT


def test_a_cell_without_end_is_refused(tmp_path: Path) -> None:
    path = write_sheet(
        tmp_path / "t.xlsx", lambda text: text.replace(b">Ann<", b">" + b"a" * 17_000_000 + b"<", 1)
    )
    with pytest.raises(
        DataError, match=r"a cell of more than 16,777,216 bytes. Save the table as CSV"
    ):
        read_frame(path)


def test_a_large_sheet_of_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "LARGE", 10_000_000)
    path = write_sheet(
        tmp_path / "t.xlsx",
        lambda text: text.replace(b"<sheetData>", b"<sheetData>" + b" " * 20_000_000),
    )
    with pytest.raises(
        DataError, match=r"in which only \d+ cells are filled. Save the table as CSV"
    ):
        read_frame(path)


def test_another_part_that_is_packed_too_tightly_is_refused(tmp_path: Path) -> None:
    strings = b"<sst>" + b" " * 100_000_000 + b"</sst>"
    path = write_sheet(tmp_path / "t.xlsx", **{"xl/sharedStrings.xml": strings})
    with pytest.raises(DataError, match=r"xl/sharedStrings\.xml is 100,000,011 bytes, packed into"):
        read_frame(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "blanks", "problem"),
    [
        (
            b"</sheetData>",
            b'<row r="70">' + b'<c s="1"/>' * 600_000 + b"</row>",
            "a row of more than 500,000 cells",
        ),
        (b"<pageMargins", b'<mergeCell ref="A1:A2"/>' * 600_000, "outside the rows"),
        (b"</sheetData>", b"<row></row>" * 1_100_000, "a sheet of more than 1,048,576 rows"),
        # before it is parsed
        (b"</sheetData>", b"<no XML" + b"<row></row>" * 1_100_000, "more than 1,048,576 rows"),
        (
            b"</sheetData>",
            b'<row r="900000000"><c r="A900000000"><v>1</v></c></row>',
            "more than 1,048,576 rows",
        ),
    ],
)
def test_a_small_file_of_millions_of_blank_elements_is_refused(
    before: bytes, blanks: bytes, problem: str, tmp_path: Path
) -> None:
    path = write_sheet(tmp_path / "t.xlsx", lambda sheet: sheet.replace(before, blanks + before, 1))
    with pytest.raises(DataError, match=problem):
        read_frame(path)


def test_a_cell_far_below_a_wide_header_is_refused(tmp_path: Path) -> None:
    names = b"".join(
        b'<c t="inlineStr"><is><t>column %d</t></is></c>' % number for number in range(200)
    )
    last = b'<row r="1000000"><c r="A1000000"><v>1</v></c></row></sheetData>'

    def wide(sheet: bytes) -> bytes:
        return sheet.replace(b"</row>", names + b"</row>", 1).replace(b"</sheetData>", last)

    with pytest.raises(DataError, match="up to row 1,000,000"):
        read_frame(write_sheet(tmp_path / "t.xlsx", wide))


def test_a_million_formats_in_a_small_file_are_refused(tmp_path: Path) -> None:
    path = write_sheet(tmp_path / "t.xlsx")
    larger = tmp_path / "larger.xlsx"
    with (
        zipfile.ZipFile(path) as source,
        zipfile.ZipFile(larger, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for part in source.namelist():
            content = source.read(part)
            if part == "xl/styles.xml":
                content = content.replace(b"</cellXfs>", b"<xf/>" * 1_000_000 + b"</cellXfs>")
            target.writestr(part, content)
    with pytest.raises(DataError, match="elements, packed into"):
        read_frame(larger)


@pytest.mark.parametrize("packing", [b" ", b"<!---->", b"<row/>   "])
def test_a_large_sheet_packed_into_a_hundredth_is_refused_before_it_is_read(
    packing: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "LARGE_SHEET", 1_000_000)

    def filled(sheet: bytes) -> bytes:
        return sheet.replace(
            b"</sheetData>", packing * (2_000_000 // len(packing)) + b"</sheetData>"
        )

    path = write_sheet(tmp_path / "t.xlsx", filled)
    with pytest.raises(DataError, match=r"sheet1\.xml is 2,0\d\d,.* bytes, packed into .* as CSV"):
        read_frame(path)


def test_a_large_sheet_of_different_rows_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "LARGE_SHEET", 1000)
    assert cells(write_sheet(tmp_path / "t.xlsx")) == AS_TEXT
