"""Ratings files: the six facts as .parquet, .csv or .jsonl."""

from __future__ import annotations

import csv
import io
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import pandas as pd
import pyarrow as pa

from metal.data.json_files import not_utf8, read_jsonl
from metal.data.ratings import FACTS, facts_from, row_of, tidy_facts
from metal.data.records import Rating
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
_NO_NUMBER = ["", "NaN", "nan", "NA", "null", "None"]


def find_ratings(folder: Path) -> Path:
    """The ratings file of a dataset or run folder: ratings.parquet, .csv or .jsonl."""
    found = [folder / f"ratings{ending}" for ending in FORMATS if (folder / f"ratings{ending}").is_file()]
    if not found:
        raise DataError(folder, "no ratings file", "It should hold ratings.parquet, ratings.csv or ratings.jsonl")
    if len(found) > 1:
        raise DataError(
            folder,
            f"two ratings files: {', '.join(path.name for path in found)}",
            "Keep one; they may differ",
        )
    return found[0]


def read_facts(path: Path) -> pd.DataFrame:
    """The facts in a ratings file (.parquet, .csv, .jsonl).

    Raises DataError for unknown or missing columns, text that is not UTF-8, and scores that are no numbers.
    """
    readers = {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise UsageError(f"{path}: ratings are read from {', '.join(FORMATS)}, not from {path.suffix or 'this'!r}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    table = readers[path.suffix](path)
    facts = tidy_facts(table.to_pandas())
    for name in ("output", "criterion", "rater"):
        empty = (facts[name].isna() | (facts[name] == "")).to_numpy()
        if empty.any():
            row = int(empty.argmax())
            raise DataError(row_of(path, row), f"{name} is empty", "Every rating names its output, criterion and rater")
    return facts


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    unknown = [name for name in columns if name not in FACTS]
    if unknown:
        raise DataError(
            path,
            f"unknown column {unknown[0]!r}: {nearest(unknown[0], list(FACTS))}",
            "Other layouts are read by `metal.read(...)`",
        )
    missing = [name for name in REQUIRED_FACTS if name not in columns]
    if missing:
        raise DataError(
            path,
            f"no column {missing[0]!r} (columns found: {', '.join(columns)})",
            "Other layouts are read by `metal.read(...)`",
        )


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        columns = pq.read_schema(path).names
    except pa.ArrowInvalid:
        raise DataError(path, "not a Parquet file", "Write it again, or give the ratings as .csv or .jsonl") from None
    except OSError as error:
        raise _damaged(path, error) from None
    _check_columns(path, columns)
    names = [name for name in ("output", "criterion", "rater", "reason") if name in columns]
    try:
        table = pq.read_table(path, read_dictionary=names)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from None
    return _cast(path, table)


def _damaged(path: Path, error: Exception) -> Exception:
    """What to raise for a fault within a Parquet file; a file that cannot be opened is its own error."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    said = " ".join(str(error).split())
    return DataError(path, f"a damaged Parquet file ({said})", "Take the file from a backup")


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv as arrow_csv

    with path.open("rb") as file:
        header_line = file.readline()
    try:
        header = next(csv.reader(io.StringIO(header_line.decode("utf-8-sig"))), [])
    except UnicodeDecodeError as error:
        raise not_utf8(path, 0, error) from None
    if not header:
        raise DataError(path, "the file is empty", f"The first row names the columns: {','.join(FACTS)}")
    _check_columns(path, header)
    options = arrow_csv.ConvertOptions(
        column_types={name: _TYPES[name] for name in header},
        null_values=_NO_NUMBER,
        strings_can_be_null=False,
        quoted_strings_can_be_null=True,
    )
    try:
        return arrow_csv.read_csv(
            path, parse_options=arrow_csv.ParseOptions(newlines_in_values=True), convert_options=options
        )
    except pa.ArrowInvalid as error:
        _explain_csv(path, header, error)


def _explain_csv(path: Path, header: list[str], error: Exception) -> NoReturn:
    """Find the row that pyarrow could not read, and say what is wrong with it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = path.read_bytes()[: failure.start].count(b"\n")
        raise not_utf8(path, line, failure) from None
    position = header.index("score")
    for number, fields in enumerate(csv.reader(io.StringIO(text, newline=""))):
        if not number or not fields:
            continue
        if len(fields) != len(header):
            raise DataError(
                row_of(path, number - 1),
                f"{len(fields)} fields where the header names {len(header)}",
                "Quote fields that hold commas or line breaks",
            )
        if fields[position] not in _NO_NUMBER:
            _number(fields[position], row_of(path, number - 1))
    raise DataError(path, f"not readable as CSV ({error})", "Write it again, or use Parquet")


def _read_jsonl(path: Path) -> pa.Table:
    """By columns, a block at a time; a file with a line that cannot be read so, line by line, which tells which."""
    with path.open("rb") as file:
        blocks = []
        for block in _blocks(file):
            table = _jsonl_columns(block)
            if table is None:
                return _jsonl_rows(path)
            blocks.append(table)
    return pa.concat_tables(blocks) if blocks else _jsonl_rows(path)


def _blocks(file: BinaryIO, size: int = 1 << 24) -> Iterator[bytes]:
    """The file in pieces of whole lines, of about so many bytes."""
    while block := file.read(size):
        yield block + file.readline()


def _jsonl_columns(block: bytes) -> pa.Table | None:
    """The lines of a block as a table; None where a line is not one object of facts, each of the type it should have.

    A key that is missing looks like null here, so a null score counts only where every line has the key.
    """
    from pyarrow import compute
    from pyarrow import json as arrow_json

    block = block.removeprefix(BOM_UTF8)
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if block[:1] != b"{" or block.count(b"\n{") + 1 != lines:  # pyarrow crashes on a block that begins with null
        return None
    plain = {name: pa.float64() if name == "score" else pa.string() for name in FACTS}
    parse = arrow_json.ParseOptions(explicit_schema=pa.schema(plain), unexpected_field_behavior="error")
    try:
        table = arrow_json.read_json(pa.BufferReader(block), parse_options=parse)
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    named = all(table[name].null_count == 0 for name in ("output", "criterion", "rater"))
    scored = table["score"].null_count == 0 or block.count(b'"score":') == lines
    finite = not compute.any(compute.is_inf(table["score"])).as_py()  # Inf is no JSON
    if not (named and scored and finite and len(table) == lines):
        return None
    filled = {name: table[name] if name == "score" else table[name].fill_null("") for name in FACTS}
    return pa.table(filled).cast(pa.schema(list(_TYPES.items())))


def _jsonl_rows(path: Path) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in FACTS}
    for row, record in read_jsonl(path):
        if row == 0 or not record.keys() <= columns.keys() or not record.keys() >= set(REQUIRED_FACTS):
            _check_columns(path, list(record))
        score = record["score"]
        if score is not None and not isinstance(score, float):
            score = _number(score, row_of(path, row))
        columns["score"].append(score)
        for name in ("output", "criterion", "rater"):
            value = record[name]
            columns[name].append(None if value in (None, "") else str(value))
        for name in ("reason", "comment"):
            columns[name].append(str(record.get(name) or ""))
    return pa.table({name: pa.array(values, _TYPES[name]) for name, values in columns.items()})


def _number(text: object, where: str) -> float:
    try:
        return float(str(text))
    except ValueError:
        raise DataError(
            where,
            f"score {text!r} is not a number",
            "Give level values; an unanswered rating has an empty score",
        ) from None


def _cast(path: Path, table: pa.Table) -> pa.Table:
    try:
        return table.cast(pa.schema([(name, _TYPES[name]) for name in table.column_names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(path, f"columns of the wrong type ({error})", "score is a number, the rest is text") from None


def write_ratings(ratings: Iterable[Rating], path: Path, rows: int = 20_000) -> int:
    """Write ratings as Parquet, so many rows at a time, whole or not at all; how many there were."""
    import pyarrow.parquet as pq

    partial = path.with_name(path.name + ".part")
    schema, written = pa.schema(list(_TYPES.items())), 0
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for part in _batches(ratings, rows):
            frame = facts_from(part).loc[:, list(FACTS)]
            writer.write_table(pa.Table.from_pandas(frame, preserve_index=False).cast(schema))
            written += len(frame)
    os.replace(partial, path)
    return written


def _batches(ratings: Iterable[Rating], rows: int) -> Iterator[list[Rating]]:
    """The ratings in lists of at most so many."""
    following = iter(ratings)
    while part := list(islice(following, rows)):
        yield part


def facts_parquet(facts: pd.DataFrame) -> bytes:
    """The six facts as the content of a Parquet file."""
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(facts.loc[:, list(FACTS)], preserve_index=False)
    content = pa.BufferOutputStream()
    pq.write_table(
        table.cast(pa.schema(list(_TYPES.items()))).replace_schema_metadata(None), content, compression="zstd"
    )
    return bytes(content.getvalue().to_pybytes())


def write_facts(facts: pd.DataFrame, path: Path) -> None:
    """Write the six facts as .parquet, .csv or .jsonl, whole or not at all."""
    frame = facts.loc[:, list(FACTS)]
    partial = path.with_name(path.name + ".part")
    if path.suffix == ".parquet":
        partial.write_bytes(facts_parquet(frame))
    elif path.suffix == ".csv":
        frame.to_csv(partial, index=False, lineterminator="\n")
    else:
        frame.astype(dict.fromkeys(("output", "criterion", "rater", "reason"), str)).to_json(
            partial, orient="records", lines=True, force_ascii=False
        )
    os.replace(partial, path)
