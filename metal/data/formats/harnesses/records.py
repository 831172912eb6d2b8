"""What exports of tracing tools have in common: a list of records in JSON, JSON Lines, CSV or
Parquet, fields with two spellings, repeated ratings, and labels beside numbers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.files import parse_json, read_json, read_jsonl
from metal.data.formats.harnesses import HarnessRows
from metal.data.formats.harnesses.values import is_number, mapping, objects
from metal.data.people import ONE_PAGE
from metal.data.tables.cells import is_missing
from metal.data.tables.files import read_frame
from metal.data.tables.first_names import content_ending

EVALUATOR = "evaluator"  # a judge without a name
MOST_RECORDS = 10**12  # a larger number of records is none
_NEXT_PAGE = ("next_page_token", "nextPageToken", "next_cursor", "nextCursor")
_LABEL = re.compile(r"[^,=<*]+")  # what can be written into the option `levels`


class Records(list[Mapping[str, Any]]):
    """The records in a file. notes: how they were read, if they are the rows of a table."""

    notes: Sequence[str] = ()


def records_in(path: Path, shape: str, *lists: str) -> Records:
    """The records in a file. shape: what the file should be, for messages. lists: keys that hold
    the list where the file is the answer of an API (`data`), or several answers.
    """
    ending = content_ending(path)
    if ending == ".jsonl":
        return _in_pages([record for _, record in read_jsonl(path)], lists)
    if ending != ".json":
        frame = read_frame(path)
        records = Records(records_of(frame))
        records.notes = frame.attrs.get("notes", ())
        return records
    content = read_json(path, shape)
    return _in_pages(objects(content) or objects([content]), lists)


def _in_pages(records: Sequence[Mapping[str, Any]], lists: Sequence[str]) -> Records:
    """The records in the answers of an API, if the records are such answers; else the records."""
    for name in lists:
        pages = [record[name] for record in records if isinstance(record.get(name), list)]
        if pages and len(pages) == len(records):
            inside = Records(record for page in pages for record in objects(page))
            inside.notes = list(_note_on_pages(records[-1], sum(map(len, pages))))
            return inside
    return Records(records)


def _note_on_pages(answer: Mapping[str, Any], read: int) -> Iterator[str]:
    """A note if there are more pages than those that were read. answer: the last of them."""
    meta = mapping(answer.get("meta"))
    total = meta.get("totalItems", answer.get("total"))
    cursors = [answer.get(name) for name in _NEXT_PAGE]
    cursors += [meta.get("cursor"), mapping(answer.get("cursors")).get("next")]
    of_all = f" of {int(total):,}" if type(total) is int and read < total < MOST_RECORDS else ""
    if of_all or any(isinstance(cursor, str) and cursor for cursor in cursors):
        yield (
            f"{ONE_PAGE}{read:,}{of_all} records are in the file; get the other pages, too, and put"
            " all into one list"
        )


def records_of(frame: pd.DataFrame) -> list[Mapping[str, Any]]:
    """The rows of a table without empty cells; objects and lists in cells are those of JSON."""
    if frame.index.name:
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    columns = [_cells(frame.iloc[:, at]) for at in range(len(names))]
    return [
        {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
        for row in zip(*columns, strict=True)
    ]


def _cells(column: pd.Series) -> list[Any]:
    """The cells of a column, None for empty ones. A text that repeats is read once."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return [None if is_empty(cell) else unpacked(cell) for cell in column.tolist()]
    distinct = [None if is_empty(cell) else unpacked(cell) for cell in column.cat.categories]
    return [distinct[code] if code >= 0 else None for code in column.cat.codes.tolist()]


def is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing. A list or an object never counts as empty."""
    return not isinstance(cell, list | dict) and not hasattr(cell, "tolist") and is_missing(cell)


def unpacked(cell: Any) -> Any:
    """The object or list that a cell holds as JSON; anything else as it is."""
    if hasattr(cell, "tolist"):
        return cell.tolist()
    if isinstance(cell, str) and cell[:1] in ("{", "["):
        try:
            return parse_json(cell)
        except JSONDecodeError:
            return cell
    return cell


def either(record: Mapping[str, Any], name: str) -> Any:
    """The field in either spelling: `traceId`, `trace_id`; None if it is missing or empty."""
    value = record.get(name, record.get(_with_underscores(name)))
    return None if value == "" else value


@cache
def _with_underscores(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Repeats(Counter[tuple[str, ...]]):
    """How often each thing was rated by the same rater."""

    def __init__(self) -> None:
        super().__init__()
        self._with_id: dict[str, Mapping[str, Any]] = {}

    def is_copy(self, record: Mapping[str, Any]) -> bool:
        """Whether an earlier rating has the same id and is the same, as where pages overlap. A
        rating without an id is no copy.
        """
        name = record.get("id")
        if name in (None, ""):
            return False
        earlier = self._with_id.setdefault(str(name), record)
        return earlier is not record and earlier == record

    def number(self, *rated: Any) -> int:
        """The number of this rating among those of the same output, criterion and rater."""
        key = tuple(map(str, rated))
        self[key] += 1
        return self[key]


class LabelledNumbers:
    """The numbers that records give together with a label, by criterion."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, set[float]]] = defaultdict(lambda: defaultdict(set))

    def note(self, criterion: str, label: Any, number: Any) -> None:
        """Note that a record has this number beside this label."""
        if isinstance(label, str) and label and is_number(number):
            self._numbers[criterion][label].add(float(number))

    def say(self, gathered: HarnessRows) -> None:
        """Declare the levels of each criterion in which every label goes with exactly one number,
        and vice versa.
        """
        for criterion, numbers in self._numbers.items():
            values = {label: next(iter(each)) for label, each in numbers.items() if len(each) == 1}
            if len(values) < len(numbers) or len(set(values.values())) < max(len(values), 2):
                continue
            if all(map(_LABEL.fullmatch, values)):
                ordered = sorted(values.items(), key=lambda pair: pair[1])
                levels = ",".join(f"{value:g}={label}" for label, value in ordered)
                gathered.say_scale(criterion, levels=levels)


def metadata_in(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The metadata in these fields together; earlier fields come first."""
    together: dict[str, Any] = {}
    for name in names:
        together = {**mapping(unpacked(record.get(name))), **together}
    return together
