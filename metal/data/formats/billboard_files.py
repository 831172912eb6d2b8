"""The files of Billboard's release: a metric's scores of one generator, and the texts of a board."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metal.data.files import not_utf8, read_jsonl
from metal.errors import DataError

BETWEEN = "||"  # generator and metric in a file's name
COLUMNS = ("SYS", "seg_id", "set_id", "metric", "score")
AGAIN = "Take the file from the release again"


@dataclass(frozen=True)
class ReleasedScores:
    """A file of scores. segments, numbers, score: (rows,) seg_id, set_id, and the score, NaN where it says nan."""

    generator: str
    metric: str
    segments: np.ndarray[Any, np.dtype[np.object_]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    score: np.ndarray[Any, np.dtype[np.float64]]


def read_scores(file: Path) -> ReleasedScores:
    """Read one GENERATOR||METRIC.csv. Raises DataError, with the row, for the first fault in it."""
    generator, _, metric = file.stem.partition(BETWEEN)
    table = _table(file)
    for column, name in (("SYS", generator), ("metric", metric)):
        wrong = np.flatnonzero(table[column].to_numpy() != name)
        if len(wrong):
            other = table[column].iloc[wrong[0]]
            raise DataError(_row(file, wrong[0]), f"{column} is {other!r}, the file is named for {name!r}", AGAIN)
    segments = table["seg_id"].to_numpy(dtype=object)
    again = np.flatnonzero(pd.Series(segments).duplicated())
    if len(again):
        raise DataError(_row(file, again[0]), f"segment {segments[again[0]]!r} a second time", "Keep one of them")
    if "" in segments:
        raise DataError(_row(file, list(segments).index("")), "seg_id is empty", AGAIN)
    numbers = _numbers(table["set_id"], file, "It counts segments: 0, 1, 2, ...", places=True)
    score = _numbers(table["score"], file, "Write nan where there is no score")
    return ReleasedScores(generator, metric, segments, numbers.astype(np.int64), score)


def _row(file: Path, row: int) -> str:
    return f"{file} row {row + 2}"


def _table(file: Path) -> pd.DataFrame:
    """The file as texts."""
    from pyarrow import csv as arrow_csv

    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(file, content[: error.start].count(b"\n"), error) from None
    header = next(csv.reader([text.partition("\n")[0].rstrip("\r")]), [])
    lacking = [name for name in COLUMNS if name not in header]
    if lacking:
        raise DataError(f"{file} row 1", f"no column {lacking[0]!r}", f"The columns are {','.join(COLUMNS)}")
    texts = arrow_csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()), include_columns=list(COLUMNS))
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text.encode()), read_options=arrow_csv.ReadOptions(use_threads=False), convert_options=texts
        )
    except pa.ArrowInvalid as error:
        # The library's message ends with the row as it is in the file, which may not be safe to print.
        parts = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        where = f"{file} row {parts[1]}" if parts else file
        problem = f"{parts[3]} fields where the header names {parts[2]}" if parts else "not readable as CSV"
        raise DataError(where, problem, f"The columns are {','.join(COLUMNS)}") from None
    if not table.num_rows:
        raise DataError(file, "no scores in it", AGAIN)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _numbers(column: pd.Series, file: Path, remedy: str, *, places: bool = False) -> Any:
    """The column as numbers: scores, which may be nan but not infinite, or places (0, 1, 2, ...)."""
    texts = column.to_numpy(dtype=object)
    try:
        values = texts.astype(np.float64)
    except ValueError:
        values = np.array([_number(text) for text in texts])
    if places:
        wrong = ~((values >= 0) & (values < 2**53) & (values == np.floor(values)))
    else:
        wrong = np.isinf(values)
        missing = np.flatnonzero(np.isnan(values))
        wrong[missing] = [texts[row].strip().lower() != "nan" for row in missing]
    rows = np.flatnonzero(wrong)
    if len(rows):
        what = "not a place" if places else "not a number"
        raise DataError(_row(file, rows[0]), f"{column.name} {texts[rows[0]]!r} is {what}", remedy)
    return values


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# ---------------------------------------------------------------- texts


@dataclass(frozen=True)
class Texts:
    """sources: {segment: text}; outputs: {(segment, generator): text}; notes: what is missing or left over."""

    sources: dict[str, str]
    outputs: dict[tuple[str, str], str]
    notes: tuple[str, ...]


def texts_of(results: Path, generators: Sequence[str]) -> Texts:
    """The texts of the board in `results` (release/results/BOARD) that are in the release."""
    board = results.name
    folder = results.parent.parent / "submissions" / board
    if not folder.is_dir():
        return Texts({}, {}, ("no submissions beside the results: sources and outputs have no text",))
    file = folder / "source" / f"{board}_src.jsonl"
    sources = _texts(file, "src") if file.is_file() else {}
    notes = [] if sources else [f"no {file.name}: sources have no text"]
    files = {file.stem.removeprefix(f"{board}_"): file for file in sorted((folder / "generators").glob("*.jsonl"))}
    outputs = {
        (segment, name): text
        for name in generators
        if name in files
        for segment, text in _texts(files[name], "hyp").items()
    }
    without = [name for name in generators if name not in files]
    notes += [f"no outputs of {', '.join(without)}: they have no text"] if without else []
    unrated = [name for name in files if name not in generators]
    notes += [f"no scores of {', '.join(unrated)}: their outputs were left out"] if unrated else []
    return Texts(sources, outputs, tuple(notes))


def _texts(file: Path, key: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for row, record in read_jsonl(file):
        segment, text = record.get("seg_id"), record.get(key)
        if segment is None or not isinstance(text, str):
            raise DataError(f"{file} row {row + 1}", f"no 'seg_id' or no text {key!r}", AGAIN)
        if str(segment) in texts:
            raise DataError(f"{file} row {row + 1}", f"segment {segment!r} a second time", "Keep one of them")
        texts[str(segment)] = text
    return texts
