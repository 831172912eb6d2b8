"""Ratings files: read the facts of ratings from .parquet, .csv or .jsonl, and write them as
.parquet.
"""

from __future__ import annotations

import csv
import io
import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import pandas as pd
import pyarrow as pa

from metal.data.files import new_file, not_utf8, read_jsonl, read_text, write_new
from metal.data.holdings import ADJUDICATION, maker_of
from metal.data.missing import no_such
from metal.data.progress import counted_as
from metal.data.ratings import ALSO, FACTS, NUMBERS, facts_from, facts_in, row_of, tidy_facts
from metal.data.records import Rating
from metal.data.seen import KEY
from metal.errors import DataError, UsageError, nearest

FORMATS = (".parquet", ".csv", ".jsonl")
REQUIRED_FACTS = ("output", "criterion", "rater", "score")

_NAMES = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    "output": _NAMES,
    "criterion": _NAMES,
    "rater": _NAMES,
    "score": pa.float64(),
    "reason": _NAMES,
    "comment": pa.string(),
}
_TYPES |= dict.fromkeys(NUMBERS, pa.float64()) | {ALSO: pa.string()}
_NO_NUMBER = ["", "NaN", "nan", "NA", "null", "None"]


def find_ratings(folder: str | Path) -> Path:
    """Find the ratings file of a dataset or run folder: ratings.parquet, .csv or .jsonl."""
    folder = Path(folder)
    files = [
        folder / f"ratings{ending}" for ending in FORMATS if (folder / f"ratings{ending}").is_file()
    ]
    if not files and maker_of(folder) == ADJUDICATION:
        problem = "its answers are not ratings, and are never added to ratings"
        remedy = f"Give the report on these answers, made by `metal adjudicate report {folder}`"
        raise DataError(folder, problem, remedy)
    if not files:
        raise DataError(
            folder,
            "no ratings file",
            "It should hold ratings.parquet, ratings.csv or ratings.jsonl",
        )
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise DataError(folder, f"two ratings files: {names}", "Keep one; they may differ")
    return files[0]


def read_facts(path: str | Path) -> pd.DataFrame:
    """Read the facts in a ratings file (.parquet, .csv, .jsonl).

    Raises DataError for unknown or missing columns, text that is not UTF-8, and scores that are not
    numbers.
    """
    path = Path(path)
    readers = {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise UsageError(
            f"{path}: ratings are read from {', '.join(FORMATS)}, not from"
            f" {path.suffix or 'this'!r}"
        )
    if not path.is_file():
        raise no_such(path, "file")
    table = readers[path.suffix](path)
    try:
        columns = {
            name: table.select([name]).to_pandas()[name]
            for name in counted_as(table.column_names, "columns")
        }
        facts = tidy_facts(pd.DataFrame(columns))
    except pa.ArrowException as error:
        raise _damaged(path, error) from None
    for name in ("output", "criterion", "rater"):
        empty = (facts[name].isna() | (facts[name] == "")).to_numpy()
        if empty.any():
            location = row_of(path, int(empty.argmax()))
            raise DataError(
                location, f"{name} is empty", "Every rating names its output, criterion and rater"
            )
    return facts


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    unknown = [name for name in columns if name not in _TYPES]
    missing = [name for name in REQUIRED_FACTS if name not in columns]
    if unknown:
        problem = f"unknown column {unknown[0]!r}: {nearest(unknown[0], list(_TYPES))}"
    elif missing:
        problem = f"no column {missing[0]!r} (columns found: {', '.join(columns)})"
    else:
        return
    raise DataError(path, problem, "Other layouts are read by `metal.read(...)`")


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise DataError(
            path, "not a Parquet file", "Write it again, or give the ratings as .csv or .jsonl"
        ) from None
    except OSError as error:
        raise _damaged(path, error) from None
    columns = schema.names
    _check_columns(path, columns)
    for name in columns:
        if pa.types.is_nested(schema.field(name).type):
            raise DataError(
                path,
                f"{name} is of type {schema.field(name).type}",
                "score must be a number, other columns text",
            )
    names = [name for name in ("output", "criterion", "rater", "reason") if name in columns]
    try:
        file = pq.ParquetFile(path, read_dictionary=names)
        table = pa.table(
            {name: file.read(columns=[name]).column(0) for name in counted_as(columns, "columns")}
        )
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    return _cast(path, table)


def _damaged(path: Path, error: Exception) -> Exception:
    """The error for a fault inside a Parquet file; if the file cannot be opened at all, the
    original error.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return DataError(
        path,
        f"a damaged Parquet file ({' '.join(str(error).split())})",
        "Take the file from a backup",
    )


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv as arrow_csv

    with path.open("rb") as file:
        header_line = file.readline()
    try:
        header = next(csv.reader(io.StringIO(header_line.decode("utf-8-sig"))), [])
    except UnicodeDecodeError as error:
        raise not_utf8(path, 0, error) from None
    if not header:
        raise DataError(
            path, "the file is empty", f"The first row names the columns: {','.join(FACTS)}"
        )
    _check_columns(path, header)
    options = arrow_csv.ConvertOptions(
        column_types={name: _TYPES[name] for name in header},
        null_values=_NO_NUMBER,
        strings_can_be_null=False,
        quoted_strings_can_be_null=True,
    )
    try:
        return arrow_csv.read_csv(
            path,
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=options,
        )
    except pa.ArrowInvalid as error:
        _explain_csv(path, header, error)


def _explain_csv(path: Path, header: list[str], error: Exception) -> NoReturn:
    """Raise DataError for the row that pyarrow could not read."""
    position = header.index("score")
    for number, fields in enumerate(csv.reader(io.StringIO(read_text(path), newline=""))):
        if not number or not fields:
            continue
        location = row_of(path, number - 1)
        if len(fields) != len(header):
            problem = f"{len(fields)} fields where the header names {len(header)}"
            raise DataError(location, problem, "Quote fields that hold commas or line breaks")
        if fields[position] not in _NO_NUMBER:
            _number(fields[position], location)
    raise DataError(path, f"not readable as CSV ({error})", "Write it again, or use Parquet")


def _read_jsonl(path: Path) -> pa.Table:
    """Read a JSON Lines file by columns, a block at a time; if that fails, line by line, so that
    the error can name the line.
    """
    with path.open("rb") as file:
        blocks = []
        for block in _blocks(file):
            table = _jsonl_columns(block)
            if table is None:
                return _jsonl_rows(path)
            blocks.append(table)
    return pa.concat_tables(blocks) if blocks else _jsonl_rows(path)


def _blocks(file: BinaryIO, size: int = 1 << 24) -> Iterator[bytes]:
    """The file in pieces of about `size` bytes, each ending with a line."""
    while block := file.read(size):
        yield block + file.readline()


def _jsonl_columns(block: bytes) -> pa.Table | None:
    """The lines of a block as a table; None unless each line is one object of facts of the right
    types.

    A missing key looks like null here, so a null score is accepted only if every line has the key.
    """
    from pyarrow import compute
    from pyarrow import json as arrow_json

    block = block.removeprefix(BOM_UTF8)
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    # pyarrow crashes on a block that begins with null
    if block[:1] != b"{" or block.count(b"\n{") + 1 != lines:
        return None
    plain = {name: pa.float64() if name == "score" else pa.string() for name in FACTS}
    parse = arrow_json.ParseOptions(
        explicit_schema=pa.schema(plain), unexpected_field_behavior="error"
    )
    try:
        table = arrow_json.read_json(pa.BufferReader(block), parse_options=parse)
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    named = all(table[name].null_count == 0 for name in ("output", "criterion", "rater"))
    scored = table["score"].null_count == 0 or block.count(b'"score":') == lines
    finite = not compute.any(compute.is_inf(table["score"])).as_py()  # Inf is not JSON
    if not (named and scored and finite and len(table) == lines):
        return None
    filled = {name: table[name] if name == "score" else table[name].fill_null("") for name in FACTS}
    return pa.table(filled).cast(_schema(FACTS))


def _jsonl_rows(path: Path) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in _TYPES}
    for row, record in read_jsonl(path):
        if (
            row == 0
            or not record.keys() <= columns.keys()
            or not record.keys() >= set(REQUIRED_FACTS)
        ):
            _check_columns(path, list(record))
        score = record["score"]
        if score is not None and not isinstance(score, float):
            score = _number(score, row_of(path, row))
        columns["score"].append(score)
        for name in ("output", "criterion", "rater"):
            value = record[name]
            columns[name].append(None if value in (None, "") else str(value))
        for name in ("reason", "comment", ALSO):
            columns[name].append(str(record.get(name) or ""))
        for name in NUMBERS:
            value = record.get(name)
            columns[name].append(None if value is None else _number(value, row_of(path, row), name))
    return pa.table({name: pa.array(values, _TYPES[name]) for name, values in columns.items()})


def _number(text: object, location: str, name: str = "score") -> float:
    try:
        return float(str(text))
    except ValueError:
        remedy = "Give level values; an unanswered rating has an empty score"
        raise DataError(location, f"{name} {text!r} is not a number", remedy) from None


def _schema(names: Iterable[str]) -> pa.Schema:
    return pa.schema([(name, _TYPES[name]) for name in names])


def _cast(path: Path, table: pa.Table) -> pa.Table:
    try:
        return table.cast(_schema(table.column_names))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(
            path,
            f"columns of the wrong type ({error})",
            "score must be a number, other columns text",
        ) from None


# ---------------------------------------------------------------- write


def write_ratings(
    ratings: Iterable[Rating],
    path: str | Path,
    optional: Sequence[str] = (),
    rows: int = 20_000,
    texts: Mapping[str, str] | None = None,
) -> int:
    """Write ratings as Parquet, `rows` at a time, completely or not at all; return how many were
    written.

    optional: the columns to write in addition to FACTS. texts: hashes of what the raters saw
    (metal.data.seen).
    """
    import pyarrow.parquet as pq

    metadata = {KEY: json.dumps(texts)} if texts else {}
    written, remaining = 0, iter(ratings)
    names = [*FACTS, *optional]
    with (
        new_file(Path(path)) as partial,
        pq.ParquetWriter(partial, _schema(names), compression="zstd") as writer,
    ):
        writer.add_key_value_metadata(metadata)
        while batch := list(islice(remaining, rows)):
            writer.write_table(_arrow(facts_from(batch).reindex(columns=names)))
            written += len(batch)
    return written


def facts_parquet(facts: pd.DataFrame) -> bytes:
    """The facts as the content of a Parquet file."""
    import pyarrow.parquet as pq

    content = pa.BufferOutputStream()
    pq.write_table(_arrow(facts).replace_schema_metadata(None), content, compression="zstd")
    return bytes(content.getvalue().to_pybytes())


def write_facts(facts: pd.DataFrame, path: str | Path) -> None:
    """Write the facts as Parquet, completely or not at all."""
    write_new(Path(path), facts_parquet(facts))


def _arrow(facts: pd.DataFrame) -> pa.Table:
    names = facts_in(facts)
    return pa.Table.from_pandas(facts.loc[:, names], preserve_index=False).cast(_schema(names))
