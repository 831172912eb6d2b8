"""The open questions as Parquet shards: written by the driver, read by Ray Data, questions again on a worker.

A row contains everything that is sent (system, user, schema, parameters) and everything the journal says about it
(key, about, asked). What reads a reply is passed on once: the first question of each prompt and criterion (`readers`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metal.raters.judges.call import Question, RunPlan
from metal.raters.judges.journal_records import Answered
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message

FOLDER = "requests"
MOST_ROWS = 2000  # of a shard, which is read, journaled and, after a loss, begun again as one
MOST_BYTES = 16 << 20  # of messages in a shard; bounds workers' memory however long the texts are
LEAST_ROWS = 16
_TEXTS = ("key", "schema", "parameters", "about")
_MESSAGES = ("system", "user")  # as bytes: texts may contain lone surrogates, which Arrow's strings cannot


@dataclass(frozen=True, slots=True)
class ShardQuestion:
    """A question (metal.raters.judges.call.Question) from a shard. reader: one of the same prompt and criterion."""

    key: str
    message: Message
    schema: Mapping[str, Any]
    parameters: Mapping[str, Any]
    about: Mapping[str, str | int]
    rough_tokens: float
    reader: Question

    def kind(self, text: str, ending: str) -> str:
        """As the original question reads it."""
        return self.reader.kind(text, ending)


@dataclass
class Shards:
    """The shards of a run. numbers: model -> its shards; waiting: model -> rows in them.

    left_out: model -> questions that are answered, or asked under another name.
    """

    folder: Path
    numbers: dict[str, list[int]] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    readers: list[Question] = field(default_factory=list)

    def path(self, number: int) -> Path:
        """A shard's file."""
        return self.folder / f"{number:06d}.parquet"


def write_shards(
    plan: RunPlan,
    answered: Answered,
    limit: int | None,
    folder: Path,
    rows: int = MOST_ROWS,
    stopping: Callable[[], bool] = bool,
) -> Shards:
    """Write every open question to shards, equal ones once; at most `limit` for each model.

    rows: in a shard, at most. Needs the memory of one shard. Raises OSError.
    """
    folder.mkdir(exist_ok=True)
    shards = Shards(folder)
    readers: dict[tuple[Any, Any], int] = {}
    claimed: set[bytes] = set()
    number = 0
    for model in plan.models:
        numbers: list[int] = []
        shards.numbers[model.name], shards.waiting[model.name] = numbers, 0
        shards.left_out[model.name] = answered.begins.get(model.name, 0)
        for part in _parts(_open_questions(plan, model, answered, claimed, shards), limit, rows):
            if stopping():
                return shards
            number += 1
            _write(part, answered, readers, shards, number)
            numbers.append(number)
            shards.waiting[model.name] += len(part)
    return shards


def _open_questions(
    plan: RunPlan, model: Model, answered: Answered, claimed: set[bytes], shards: Shards
) -> Iterator[Question]:
    for question in plan.questions(model, answered.begins.get(model.name, 0)):
        key = bytes.fromhex(question.key)
        if key in answered.settled or key in claimed:
            shards.left_out[model.name] += 1
            continue
        claimed.add(key)
        yield question


def _parts(
    questions: Iterator[Question], limit: int | None, rows: int
) -> Iterator[list[tuple[Question, bytes, bytes]]]:
    """Questions with the bytes of their messages, one shard at a time."""
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

    rows = []
    for question, system, user in part:
        kind = question.about.get("prompt"), question.about.get("criterion")
        if kind not in readers:
            readers[kind] = len(readers)
            shards.readers.append(question)
        rows.append(
            {
                "key": question.key,
                "system": system,
                "user": user,
                "schema": json.dumps(question.schema),
                "parameters": json.dumps(dict(question.parameters)),
                "about": json.dumps(dict(question.about)),
                "rough_tokens": question.rough_tokens,
                "asked": answered.unreadable.get(bytes.fromhex(question.key), 0),
                "reader": readers[kind],
                "shard": number,
            }
        )
    types: dict[str, Any] = dict.fromkeys(_TEXTS, pa.string()) | dict.fromkeys(_MESSAGES, pa.binary())
    types |= {"rough_tokens": pa.float64(), "asked": pa.int32(), "reader": pa.int32(), "shard": pa.int32()}
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(types)), shards.path(number), compression="zstd")


def read_shard(table: Any, readers: Sequence[Question]) -> list[tuple[ShardQuestion, int]]:
    """The questions of a shard's Arrow table, and how many unreadable replies each has had."""
    schemas: dict[str, Any] = {}
    questions = []
    for row in table.to_pylist():
        if row["schema"] not in schemas:
            schemas[row["schema"]] = json.loads(row["schema"])
        question = ShardQuestion(
            row["key"],
            Message(*(row[name].decode("utf-8", "surrogatepass") for name in _MESSAGES)),
            schemas[row["schema"]],
            json.loads(row["parameters"]),
            json.loads(row["about"]),
            row["rough_tokens"],
            readers[row["reader"]],
        )
        questions.append((question, row["asked"]))
    return questions
