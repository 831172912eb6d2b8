"""The open questions as Parquet shards: written by the driver, read by Ray Data, asked by a worker.

A shard is one row: its number, and its questions pickled together, so that what they share (the prompt, a source that
several criteria ask about) is stored once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from metal.raters.judges.call import Question, RunPlan
from metal.raters.judges.journal import Answered
from metal.raters.judges.models import Model

FOLDER = "requests"
MOST_ROWS = 2000  # questions in a shard, which is read, journaled and, after a loss, begun again as one
MOST_TOKENS = 4e6  # in a shard, about; bounds workers' memory however long the texts are
LEAST_ROWS = 16


@dataclass
class Shards:
    """The shards of a run. numbers: model -> its shards; waiting: model -> questions in them.

    left_out: model -> questions that are answered, or asked under another name.
    """

    folder: Path
    numbers: dict[str, list[int]] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

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

    rows: questions in a shard, at most. Needs the memory of one shard. Raises OSError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    shards = Shards(folder)
    claimed: set[bytes] = set()
    number = 0
    for model in plan.models:
        shards.numbers[model.name], shards.waiting[model.name] = [], 0
        shards.left_out[model.name] = answered.begins.get(model.name, 0)
        for part in _parts(_open_questions(plan, model, answered, claimed, shards), limit, rows):
            if stopping():
                return shards
            number += 1
            rows_of_shard = [(question, answered.unreadable[bytes.fromhex(question.key)]) for question in part]
            table = pa.table({"shard": [number], "questions": [pickle.dumps(rows_of_shard)]})
            pq.write_table(table, shards.path(number), compression="zstd")
            shards.numbers[model.name].append(number)
            shards.waiting[model.name] += len(part)
    return shards


def read_shards(table: Any) -> Iterator[tuple[int, list[tuple[Question, int]]]]:
    """(number, questions with how many unreadable replies each has had) of the shards in an Arrow table."""
    for row in table.to_pylist():
        yield row["shard"], pickle.loads(row["questions"])  # noqa: S301 - written by this run


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


def _parts(questions: Iterator[Question], limit: int | None, rows: int) -> Iterator[list[Question]]:
    """The questions of one shard at a time."""
    part: list[Question] = []
    tokens = 0.0
    for question in islice(questions, limit):
        part.append(question)
        tokens += question.rough_tokens
        if len(part) >= rows or tokens >= MOST_TOKENS:
            yield part
            part, tokens = [], 0.0
    if part:
        yield part
