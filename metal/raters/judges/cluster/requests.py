"""What is still to be asked, as Parquet shards: written by the driver, read by Ray Data, questions again on a worker.

A row has all that is sent (system, user, schema, parameters) and all that the journal says of it (key, about, asked).
What reads a reply goes along once: the first question of each prompt and criterion, whole (`readers`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metal.raters.judges.call import Question, Questions
from metal.raters.judges.lines import Answered
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message

FOLDER = "requests"
MOST_ROWS = 2000  # a shard: what is read, journaled and, after a loss, begun again together
MOST_BYTES = 16 << 20  # of messages in a shard; keeps workers' memory flat whatever the texts
LEAST_ROWS = 16
_TEXTS = ("key", "schema", "parameters", "about")
_MESSAGES = ("system", "user")  # as bytes: texts may hold lone surrogates, which Arrow's strings do not


@dataclass(frozen=True, slots=True)
class Request:
    """A question (`call.Question`) that was a row. reader: a question of the same prompt and criterion."""

    key: str
    message: Message
    schema: Mapping[str, Any]
    parameters: Mapping[str, Any]
    about: Mapping[str, str | int]
    rough_tokens: float
    reader: Question

    def kind(self, text: str, ending: str) -> str:
        """As the question's own reader has it."""
        return self.reader.kind(text, ending)


@dataclass
class Shards:
    """The shards of a run. numbers: model -> its shards; waiting: model -> rows in them; known: questions left out."""

    folder: Path
    numbers: dict[str, list[int]] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    readers: list[Question] = field(default_factory=list)

    def path(self, number: int) -> Path:
        """A shard's file."""
        return self.folder / f"{number:06d}.parquet"


def write_requests(
    plan: Questions,
    answered: Answered,
    limit: int | None,
    folder: Path,
    rows: int = MOST_ROWS,
    stopping: Callable[[], bool] = bool,
) -> Shards:
    """Write every question that is neither answered nor asked twice to shards; of each model at most `limit`.

    rows: of a shard, at most. Memory: one shard. Raises OSError.
    """
    folder.mkdir(exist_ok=True)
    shards = Shards(folder)
    readers: dict[tuple[Any, Any], int] = {}
    claimed: set[bytes] = set()
    number = 0
    for model in plan.models:
        numbers: list[int] = []
        shards.numbers[model.name], shards.waiting[model.name] = numbers, 0
        shards.known[model.name] = answered.begins.get(model.name, 0)
        for part in _parts(_missing(plan, model, answered, claimed, shards), limit, rows):
            if stopping():
                return shards
            number += 1
            _write(part, answered, readers, shards, number)
            numbers.append(number)
            shards.waiting[model.name] += len(part)
    return shards


def _missing(
    plan: Questions, model: Model, answered: Answered, claimed: set[bytes], shards: Shards
) -> Iterator[Question]:
    for call in plan.calls(model, answered.begins.get(model.name, 0)):
        key = bytes.fromhex(call.key)
        if key in answered.settled or key in claimed:
            shards.known[model.name] += 1
            continue
        claimed.add(key)
        yield call


def _parts(
    questions: Iterator[Question], limit: int | None, rows: int
) -> Iterator[list[tuple[Question, bytes, bytes]]]:
    """Questions with their messages' bytes, a shard's at a time."""
    part: list[tuple[Question, bytes, bytes]] = []
    size = taken = 0
    while limit is None or taken < limit:
        question = next(questions, None)
        if question is None:
            break
        taken += 1
        message = question.message
        system, user = (text.encode("utf-8", "surrogatepass") for text in (message.system, message.user))
        part.append((question, system, user))
        size += len(system) + len(user)
        if len(part) >= rows or size >= MOST_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _write(
    part: Sequence[tuple[Question, bytes, bytes]],
    answered: Answered,
    readers: dict[tuple[Any, Any], int],
    shards: Shards,
    number: int,
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {name: [] for name in (*_TEXTS, *_MESSAGES, "rough_tokens", "asked", "reader")}
    for question, system, user in part:
        kind = question.about.get("prompt"), question.about.get("criterion")
        if kind not in readers:
            readers[kind] = len(readers)
            shards.readers.append(question)
        row = {
            "key": question.key,
            "system": system,
            "user": user,
            "schema": json.dumps(question.schema),
            "parameters": json.dumps(dict(question.parameters)),
            "about": json.dumps(dict(question.about)),
            "rough_tokens": question.rough_tokens,
            "asked": answered.unreadable.get(bytes.fromhex(question.key), 0),
            "reader": readers[kind],
        }
        for name, value in row.items():
            columns[name].append(value)
    types: dict[str, Any] = dict.fromkeys(_TEXTS, pa.string()) | dict.fromkeys(_MESSAGES, pa.binary())
    types |= {"rough_tokens": pa.float64(), "asked": pa.int32(), "reader": pa.int32()}
    table = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    table = table.append_column("shard", pa.array([number] * len(part), pa.int32()))
    pq.write_table(table, shards.path(number), compression="zstd")


def read_requests(table: Any, readers: Sequence[Question]) -> list[tuple[Request, int]]:
    """The questions of a shard's Arrow table, and how many unreadable replies each has had."""
    schemas: dict[str, Any] = {}
    found = []
    for row in table.to_pylist():
        schema = schemas.setdefault(row["schema"], None) or json.loads(row["schema"])
        schemas[row["schema"]] = schema
        message = Message(*(row[name].decode("utf-8", "surrogatepass") for name in _MESSAGES))
        request = Request(
            row["key"],
            message,
            schema,
            json.loads(row["parameters"]),
            json.loads(row["about"]),
            row["rough_tokens"],
            readers[row["reader"]],
        )
        found.append((request, row["asked"]))
    return found
