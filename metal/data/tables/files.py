"""Table files as data frames, every cell as it is spelled: CSV and TSV with any separator, XLSX,
JSON, JSONL, Parquet.

`007` stays `007`. Columns of text files are categories, so that later work is done once for each
distinct text.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.escaping import unguarded
from metal.data.files import content_of, encoding_of, parse_json, read_text
from metal.data.holdings import EXPORTED, first_row, is_export
from metal.data.missing import no_such
from metal.data.progress import Progress, followed, no_progress
from metal.data.tables.first_names import OF_JSON, TEXT_TABLES, content_ending, named_ending
from metal.data.tables.harnesses import harness_of, refusal
from metal.data.tables.header import LOOKED_AT, Row, about_header, is_cell, joined, titles_above
from metal.data.tables.sheet import sheet_rows
from metal.data.text import first_few, plural
from metal.errors import DataError, MetalError, UsageError

ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".xlsx")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SNIFFED = 1 << 16  # characters that the separator is guessed from
BLOCK = 1 << 24  # bytes that are read at once; a row must fit
FEW_TEXTS = 100  # up to which columns are compared, since they may be answers of several raters
MOST_COLUMNS = 1 << 14  # that Excel knows
WRITE_AGAIN = "Write it again"
LONGEST_CELL = 1 << 27  # characters
NAME_THEM = "Write a row above it that names them, as output,rater,criterion,score,language"

# Python's limit of 131,072 characters refuses long texts, which METAL itself exports.
csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))


def is_table(path: Path) -> bool:
    """Whether the file's name has the ending of a table, or METAL exported it."""
    by_name = named_ending(path) in ENDINGS or path.suffix.lower() == ".gz"
    return _ending(path) in ENDINGS and (by_name or is_export(path))


def _ending(path: Path) -> str:
    ending = named_ending(path)
    return ending if ending in ENDINGS else content_ending(path)


def read_frame(path: str | Path, sheet: str = "", progress: Progress = no_progress) -> pd.DataFrame:
    """The file as a data frame; `attrs["notes"]` says what was guessed. sheet: the sheet of an XLSX
    file to read. progress: in rows for XLSX and JSONL, in bytes for CSV and the like; Parquet needs
    hardly any time.

    Cells are texts as spelled, and missing if the cell is empty; Parquet keeps its types. Raises
    UsageError or DataError, with the row if there is one, if the file cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        raise no_such(path, "file")
    if _ending(path) not in ENDINGS:
        raise UsageError(f"{path}: tables are read from {', '.join(ENDINGS)}")
    frame = _read(path, sheet, progress)
    if not len(frame.columns):
        raise DataError(path, "the table has no rows", "Write a row for each rating")
    return frame


def _read(path: Path, sheet: str, progress: Progress) -> pd.DataFrame:
    ending = _ending(path)
    try:
        if ending == ".parquet":
            return _from_parquet(path)
        if ending == ".xlsx":
            notes: list[str] = []
            return _with_header(sheet_rows(path, notes, sheet, progress), notes, path)
        if ending in TEXT_TABLES and content_ending(path) in OF_JSON:
            return _misnamed(path, progress)
        if ending in OF_JSON:
            return _from_json(path, progress, lines=content_ending(path) == ".jsonl")
        return _from_csv(path, progress)
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8; from Excel choose 'CSV UTF-8'"
        raise DataError(path, f"not UTF-8 ({error.reason})", remedy) from None
    except MetalError:
        raise
    except Exception as error:  # depends on which part of the file is damaged
        problem = str(error).strip().splitlines()[-1:] or ["unreadable"]
        raise DataError(
            path, f"not readable as {ending[1:].upper()} ({problem[0]})", WRITE_AGAIN
        ) from None


def _from_parquet(path: Path) -> pd.DataFrame:
    """The frame, with texts in place of bytes. Raises DataError if the bytes are not text."""
    import pyarrow.parquet as pq

    _check_width(len(pq.read_schema(path).names), path)
    frame = pd.read_parquet(path)
    for name in [name for name in frame if frame[name].dtype == "object"]:
        try:
            frame[name] = [
                cell.decode() if isinstance(cell, bytes) else cell for cell in frame[name]
            ]
        except UnicodeDecodeError:
            raise DataError(
                path, f"column {name!r} holds bytes that are not UTF-8", "Write it as text"
            ) from None
    return frame


class _Followed(io.BytesIO):
    """Bytes that are read a block at a time and report how far reading has come."""

    def __init__(self, content: bytes, progress: Progress) -> None:
        super().__init__(content)
        self.progress, self.total = progress, len(content)

    def read(self, size: int | None = -1) -> bytes:
        self.progress(self.tell(), self.total)
        return super().read(size)


def _from_csv(path: Path, progress: Progress) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import csv as arrow

    content, decoded = _in_utf8(path)
    exported = {*first_row(decoded)} >= EXPORTED
    above, separator = (0, ",") if exported else _above_header(decoded[:SNIFFED])
    if above or decoded[0] in "\r\n":
        decoded = "".join(decoded.splitlines(keepends=True)[above:]).lstrip("\r\n")
        content = decoded.encode()  # the header is the first row
    top = list(
        islice(filter(None, csv.reader(io.StringIO(decoded), delimiter=separator)), LOOKED_AT)
    )
    both = joined(top[0], top[1], top[2:]) if len(top) > 2 and not exported else None
    names = _column_names(both or top[0], path)
    notes = about_header(above, two_rows=both is not None)
    if separator != ("\t" if ".tsv" in path.name.lower() else ","):
        notes.insert(0, f"cells are separated by {SEPARATORS[separator]}")
    if not re.search(r"[\r\n]", decoded.strip()):
        return pd.DataFrame(columns=names)
    text = pa.dictionary(pa.int32(), pa.string())
    options = {
        "parse_options": arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(names, text), null_values=[""], strings_can_be_null=True
        ),
        "read_options": arrow.ReadOptions(
            column_names=names, skip_rows_after_names=1 + bool(both), block_size=BLOCK
        ),
    }
    try:
        table = arrow.read_csv(_Followed(content, progress), **options)
    except pa.ArrowInvalid as error:
        kept, left_out = _without_remarks(decoded, separator, len(names))
        if not left_out:
            raise _uneven(path, decoded, separator, names, error, above) from None
        notes.append(
            f"{plural(len(left_out), 'line')} below the table left out: {first_few(left_out, 2)}"
        )
        try:
            table = arrow.read_csv(pa.BufferReader(kept.encode()), **options)
        except pa.ArrowInvalid:
            raise _uneven(path, decoded, separator, names, error, above) from None
    frame = _as_categories(table)
    if exported:  # the apostrophes before formulas are ours
        frame = frame.apply(lambda column: column.cat.rename_categories(unguarded))
    frame.attrs |= {"above": above + bool(both), "notes": notes}
    return _without_empty_columns(frame)


def _in_utf8(path: Path) -> tuple[bytes, str]:
    """The content of a file with line breaks as Python writes them, and its text. Raises DataError
    if it is not text.
    """
    content = content_of(path)
    wide = encoding_of(content) != "utf-8-sig"
    decoded = content.decode(encoding_of(content))
    if not decoded.strip():
        raise DataError(path, "the file is empty", "The first row names the columns")
    old_mac = "\r" in decoded[:SNIFFED] and "\n" not in decoded
    if old_mac:
        decoded = decoded.replace("\r", "\n")
    if wide or old_mac:
        content = decoded.encode()
    return content, decoded


def _as_categories(table: Any) -> pd.DataFrame:
    """An Arrow table of dictionaries as categories.

    Columns with the same texts share their categories, which saves most of the time for thousands
    of raters.
    """
    import pyarrow as pa

    dtypes: dict[tuple[str, ...], pd.CategoricalDtype] = {}
    columns: dict[str, pd.Categorical] = {}
    for name, column in zip(
        table.column_names, table.unify_dictionaries().itercolumns(), strict=True
    ):
        array = column.combine_chunks()
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        texts = tuple(array.dictionary.to_pylist()) if len(array.dictionary) <= FEW_TEXTS else ()
        if texts not in dtypes:
            columns[name] = array.to_pandas()
            if texts:
                dtypes[texts] = columns[name].dtype
            continue
        codes = array.indices.fill_null(-1).to_numpy()
        columns[name] = pd.Categorical.from_codes(codes, dtype=dtypes[texts], validate=False)
    return pd.DataFrame(columns, copy=False)


def _above_header(text: str) -> tuple[int, str]:
    """How many lines are above the header (`sep=;`, `# comments`, a title), and the separator of
    the rest.
    """
    lines = text.splitlines(keepends=True)
    above = int(lines[0].lower().startswith("sep="))
    named = lines[0][4:].strip("\r\n") if above else ""
    while above < len(lines) - 1 and lines[above].startswith("#"):
        above += 1
    starts = range(above, min(above + LOOKED_AT, len(lines)))
    divided = (separator_of("".join(lines[at:])) for at in starts)  # a title has none
    separator = named if named in SEPARATORS else next(filter(None, divided), ",")
    rows = [
        next(csv.reader([line], delimiter=separator), []) for line in lines[: above + LOOKED_AT]
    ]
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    if (
        above
        and above < len(rows)
        and lines[above - 1].startswith("#")
        and filled[above - 1] == filled[above]
    ):
        above -= 1  # the header: `#,rater,score`
    return above + titles_above(rows[above:]), separator


def _without_remarks(text: str, separator: str, columns: int) -> tuple[str, list[str]]:
    """The text without lines at its end that are not rows, because they contain no separator; and
    these lines.
    """
    lines = text.rstrip().splitlines(keepends=True)
    end = len(lines)
    while end > 2 and columns > 2 and separator not in lines[end - 1] and '"' not in lines[end - 1]:
        end -= 1
    return "".join(lines[:end]), [repr(line.strip()) for line in lines[end:] if line.strip()]


def _uneven(
    path: Path, decoded: str, separator: str, names: list[str], error: Exception, above: int
) -> DataError:
    """The error for the first row that has more or fewer cells than the header names columns."""
    harness, columns = harness_of(names), len(names)
    if harness and not harness.format:
        return refusal(harness, path)
    rows = csv.reader(io.StringIO(decoded), delimiter=separator)
    for number, row in enumerate(filter(None, rows), start=above + 1):
        if len(row) != columns:
            problem = f"{len(row)} cells where the header names {columns} columns"
            remedy = "Remove separators at the end of the row, or put texts that hold one in quotes"
            return DataError(f"{path} row {number}", problem, remedy)
    return DataError(path, f"not readable as CSV ({error})", WRITE_AGAIN)


def separator_of(text: str) -> str:
    """The separator that divides the first rows into the most columns, and into equally many in
    each row; "" if none does.

    >>> separator_of("id;score\\na;1,5\\nb;2,0\\n")
    ';'
    """
    whole_rows = text[: text.rfind("\n") + 1] or text
    widths = {separator: _columns_by(separator, whole_rows) for separator in SEPARATORS}
    best = max(SEPARATORS, key=widths.__getitem__)
    return best if widths[best] > 1 else ""


def _columns_by(separator: str, text: str) -> int:
    """The columns of the first row; 0 if most rows have only one."""
    try:
        rows = list(filter(None, csv.reader(io.StringIO(text), delimiter=separator)))[:50]
    except csv.Error:
        return 0
    widths = list(map(len, rows))
    return widths[0] if 2 * sum(width > 1 for width in widths) > len(widths) else 0


def _misnamed(path: Path, progress: Progress) -> pd.DataFrame:
    """The rows of JSON in a file that is called CSV, TSV or text."""
    ending = content_ending(path)
    frame = _from_json(path, progress, lines=ending == ".jsonl")
    kind = ending[1:].upper()
    frame.attrs["notes"] = [
        f"the file holds {kind}, though its name ends with {named_ending(path)}"
    ]
    return frame


def _from_json(path: Path, progress: Progress, *, lines: bool) -> pd.DataFrame:
    """JSON objects, one per line or in an array; numbers keep their spelling, lists and objects
    stay unchanged.
    """
    kind = "JSONL" if lines else "JSON"
    text = read_text(path)
    if text.lstrip()[:1] not in ("{", "[") and separator_of(text[:SNIFFED]):
        renamed = f"{path.name.removesuffix('.gz').rpartition('.')[0]}.csv"
        renamed += ".gz" if path.suffix == ".gz" else ""
        raise DataError(path, f"holds CSV, not {kind}", f"Rename it to {renamed}")
    if lines and not text.lstrip().startswith("["):
        numbered = [
            (number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
        ]
        records = [
            _parsed(line, f"{path} line {number}", kind)
            for number, line in followed(numbered, progress, len(numbered))
        ]
    else:
        records = _records(_parsed(text, str(path), kind))
    if isinstance(records, dict) and (harness := harness_of(records)):
        raise refusal(harness, path)
    if not text.strip():
        raise DataError(path, "the file is empty", "Write a JSON object for each rating")
    if not _are_objects(records):
        raise DataError(
            path, "not a list of JSON objects", 'Write one object per rating: [{"rater": ...}, ...]'
        )
    frame = pd.DataFrame(records)
    _check_width(len(frame.columns), path)
    return frame


def _parsed(text: str, position: str, kind: str) -> Any:
    """The value, its numbers as they are spelled. Raises DataError, even for an object that has a
    key twice.
    """
    try:
        return parse_json(
            text,
            parse_int=str,
            parse_float=str,
            parse_constant=lambda name: None,
            object_pairs_hook=partial(_with_each_key_once, position),
        )
    except json.JSONDecodeError as error:
        raise DataError(
            position, f"not readable as {kind} ({error.msg})", "Each rating is one JSON object"
        ) from None


def _with_each_key_once(position: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
    raise DataError(position, f"the key {key!r} occurs twice in an object", "Rename one of them")


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _records(value: Any) -> Any:
    """The list of objects in a JSON value: the value itself, a list that an object holds, or
    columns as pandas writes them.
    """
    if not isinstance(value, dict):
        return value
    if "columns" in value and isinstance(value.get("data"), list):  # orient="split"
        names, rows = [*map(str, value["columns"])], value["data"]
        fits = all(isinstance(row, list) and len(row) == len(names) for row in rows)
        return [dict(zip(names, row, strict=True)) for row in rows] if fits else value
    lists = [part for part in value.values() if isinstance(part, list) and part]
    return lists[0] if len(lists) == 1 and _are_objects(lists[0]) else _rows_of(value)


def _rows_of(value: dict[str, Any]) -> Any:
    """The rows of an object of columns, {name: {row: cell}}, if all have the same rows; any other
    object itself.
    """
    columns = [*value.values()]
    if _are_objects(columns) and len(set(map(frozenset, columns))) == 1:
        return [{name: column[row] for name, column in value.items()} for row in columns[0]]
    return value


def _with_header(rows: list[list[str | None]], notes: list[str], path: Path) -> pd.DataFrame:
    """The rows below the header, which names the columns. notes: the list to which further notes on
    the reading are added.
    """
    if not rows:
        raise DataError(path, "the file is empty", "The first row names the columns")
    above = titles_above(rows[:LOOKED_AT])
    first, *below = rows[above:]
    both = joined(first, below[0], below[1:LOOKED_AT]) if below else None
    frame = pd.DataFrame(below[bool(both) :], columns=_column_names(both or first, path), dtype=str)
    frame.attrs |= {
        "above": above + bool(both),
        "notes": notes + about_header(above, two_rows=both is not None),
    }
    return _without_empty_columns(frame)


def _check_width(columns: int, path: Path) -> None:
    """Raise DataError for a table with more columns than Excel knows: they take very long."""
    if columns > MOST_COLUMNS:
        problem = f"{columns:,} columns; METAL reads at most {MOST_COLUMNS:,}"
        raise DataError(path, problem, "Write one rating in each row, as output,rater,score")


def _column_names(header: Row, path: Path) -> list[str]:
    """The names without blanks around them; columns without a name are named after their place."""
    names = [
        (name or "").strip() or f"column {number}" for number, name in enumerate(header, start=1)
    ]
    _check_width(len(names), path)
    for name, times in Counter(names).items():
        if times > 1 and sum(map(is_cell, names)) > 1:
            problem = f"the first row names no columns: {first_few(names, 4)}"
            raise DataError(path, problem, NAME_THEM)
        if times > 1:
            raise DataError(path, f"two columns are called {name!r}", "Rename one of them")
    return names


def _without_empty_columns(frame: pd.DataFrame) -> pd.DataFrame:
    unnamed = [
        name for name in frame if str(name).startswith("column ") and frame[name].isna().all()
    ]
    return frame.drop(columns=unnamed)
