"""The names of a table's columns, or of the keys of its first JSON objects. A format is recognized
by these names, so the rest of the file is not read.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from metal.data.archives import files_in, is_archive
from metal.data.files import encoding_of
from metal.data.holdings import is_export
from metal.data.tables.sheet import top_rows

BEGINNING = 1 << 16  # bytes in which the columns of a text file are named
FIRST_OBJECT = 1 << 20  # bytes in which the keys of a single large object are searched
FIRST_MEMBERS = 1 << 24  # bytes of an archive in which its first table is searched
MOST_NAMES = 5000
DEEPEST = 2  # `results.results`, but not what is in there
TEXT_TABLES = (".csv", ".tsv", ".txt")
SEPARATORS = ",;\t|"  # of columns
OF_JSON = (".json", ".jsonl")
OTHERS = (".parquet", ".xlsx")
_JSON = re.compile(r'\s*(?:\{\s*"|\[\s*[\[{])')  # how JSON begins that is no row of a table
_OBJECTS = re.compile(r'\s*(?:\{\s*"|\[\s*\{)')  # and no TOML
# A string that the end of the text cuts off is a token, too: else each quote in it would be tried.
_TOKEN = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"|\\?\Z)|[{}\[\]:,]', re.DOTALL)


def first_names(path: Path) -> frozenset[str]:
    """The names of columns or keys near the beginning of a file; none if it is not a table.

    Keys in an object within the first objects follow its own key: `eval`, `eval.task_id`. For a zip
    file, the names of its members.
    """
    with suppress(Exception):  # a damaged file is refused by who reads it, with the reason
        if is_archive(path):
            members = files_in(path, ".tsv", FIRST_MEMBERS)  # its end would close the archive
            _, file = next(members)
            return frozenset(columns_in(file.read(BEGINNING).decode("utf-8-sig", "replace")))
        ending = named_ending(path)
        if ending == ".xlsx":
            return frozenset(top_rows(path)[0])
        if is_zip(path):
            with zipfile.ZipFile(path) as file_of_files:
                return frozenset(file_of_files.namelist()[:MOST_NAMES])
        ending = content_ending(path)
        if ending == ".parquet":
            import pyarrow.parquet as pq

            return frozenset(pq.read_schema(path).names)
        if ending in OF_JSON:
            return frozenset(_keys(_beginning(path, FIRST_OBJECT)))
        if ending in TEXT_TABLES:
            return frozenset(columns_in(_beginning(path, BEGINNING)))
    return frozenset()


def row_below_names(path: Path) -> list[str]:
    """The cells of the second row of a table as text or XLSX; none if there is none."""
    rows: list[list[str]] = []
    with suppress(Exception):  # a damaged file is refused by who reads it, with the reason
        if path.is_file() and named_ending(path) == ".xlsx":
            rows = top_rows(path)
        elif path.is_file() and named_ending(path) in TEXT_TABLES:
            rows = _first_rows(_beginning(path, BEGINNING))
    return rows[1] if len(rows) > 1 else []


def is_zip(path: Path) -> bool:
    """Whether there is a file that begins as a zip, whatever its name."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def named_ending(path: Path) -> str:
    """The ending of a file's name in lower case; for a compressed file (`t.csv.gz`), the ending
    before `.gz`.
    """
    packed = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if packed else path).suffix.lower()


def content_ending(path: Path) -> str:
    """The ending that the file's name should have. It is `.json` or `.jsonl` if the file holds JSON
    of that kind under another name (the other JSON ending, CSV, TSV, text, or an unknown ending).
    Under an unknown ending, Parquet is `.parquet`, and a table that METAL exported is `.csv`, as is
    any compressed text. Otherwise it is the name's own ending in lower case.
    """
    ending = named_ending(path)
    says = ending in (*TEXT_TABLES, *OF_JSON)
    if ending in OTHERS or not path.is_file() or (is_archive(path) and not says):
        return ending
    start = _beginning(path, FIRST_OBJECT)
    packed = path.suffix.lower() == ".gz"
    if (_JSON if says or packed else _OBJECTS).match(start):
        return _of_json(start, ending)
    if says or (start.startswith("PAR1") and not packed):
        return ending if says else ".parquet"
    return ".csv" if packed or is_export(path) else ending


def _of_json(start: str, ending: str) -> str:
    """The ending of a file that begins so, and holds JSON. ending: what its name says."""
    first, broken, rest = start.strip().partition("\n")
    if start.lstrip().startswith("["):
        return ".json"
    if not broken and ending == ".jsonl":
        return ending  # a single line, or the first is long
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return ".json"
    return ".jsonl" if rest else ".json"


def _beginning(path: Path, size: int) -> str:
    """The first bytes of a file as text, after decompression if necessary; empty if the file is
    damaged.
    """
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        try:
            content = file.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return ""
    return content.decode(encoding_of(content), "replace")


def columns_in(text: str) -> list[str]:
    """The cells of the first row, divided by the separator that gives the most cells."""
    return next(iter(_first_rows(text)), [])


def _first_rows(text: str) -> list[list[str]]:
    """The cells of the first two rows, divided by the separator that gives the first row the most
    cells.
    """
    by_separator = []
    for mark in SEPARATORS:
        rows = filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=mark))
        by_separator.append(list(islice(rows, 2)))
    return max(by_separator, key=lambda rows: len(rows[0]) if rows else 0)


def _keys(text: str) -> Iterator[str]:
    """The keys of the first objects, as paths of at most DEEPEST keys; the first object may be
    long, but later objects are only read within BEGINNING.
    """
    path: list[str] = []  # the key at each level of objects
    opened: list[str] = []  # { or [
    text_before, names = "", 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark[0] == '"':
            text_before = token[1]
        elif mark == ":" and path:
            path[-1] = text_before
            if len(path) <= DEEPEST:
                yield ".".join(path)
                names += 1
        else:
            _open_or_close(mark, opened, path)
        if names > MOST_NAMES or (not path and token.start() > BEGINNING):
            return


def _open_or_close(mark: str, opened: list[str], path: list[str]) -> None:
    """Enter or leave an object or a list."""
    if mark in "{[":
        opened.append(mark)
        path += [""] * (mark == "{")
    elif mark in "}]" and opened and opened.pop() == "{":
        path.pop()
