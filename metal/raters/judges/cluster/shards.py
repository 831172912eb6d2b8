"""Shards: the open questions as Parquet files, and the journals of their replies.

The driver writes OUT/requests/NNNNNN.parquet, Ray Data reads it, and a worker asks its questions. A
shard is one row: its number, and its questions pickled together, so that what they share (the
prompt, a source of several questions) is stored once.

OUT/shards/NNNNNN.jsonl is the journal of a shard. It is merged into the run's journal, and deleted
only when its lines are on the disk there. A killed driver leaves journals of shards behind. Lines
that are already in the run's journal are not merged twice.
"""

from __future__ import annotations

import asyncio
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.errors import UsageError
from metal.raters.judges.call import Question, RunPlan
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.journal import Answered, Journal, heal, scan
from metal.raters.judges.models import Model

if TYPE_CHECKING:
    from filelock import BaseFileLock

REQUESTS, FOLDER = "requests", "shards"
# questions in a shard, which is read, journaled and, after a loss, begun again as one
MOST_ROWS = 2000
MOST_TOKENS = 4e6  # in a shard, about; bounds workers' memory however long the texts are
LEAST_ROWS = 16
PATIENCE = 60.0  # seconds within which a killed driver's coordinator has to be gone
REJECTED_PARAMETERS = 0  # the number of the journal of parameters that models reject


@dataclass
class Shards:
    """The shards of a run. numbers: model -> the numbers of its shards.

    left_out: model -> how many questions are answered already, or asked under another name.
    """

    folder: Path
    numbers: dict[str, list[int]] = field(default_factory=dict)
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
    """Write every open question to shards, at most `limit` for each model. Equal questions are
    written once.

    rows: the most questions in a shard. Needs memory for one shard only. Raises OSError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    shards = Shards(folder)
    claimed: set[bytes] = set()
    number = 0
    for model in plan.models:
        shards.numbers[model.name] = []
        shards.left_out[model.name] = answered.begins.get(model.name, 0)
        for part in _parts(_open_questions(plan, model, answered, claimed, shards), limit, rows):
            if stopping():
                return shards
            number += 1
            rows_of_shard = [
                (question, answered.unreadable[bytes.fromhex(question.key)]) for question in part
            ]
            table = pa.table({"shard": [number], "questions": [pickle.dumps(rows_of_shard)]})
            pq.write_table(table, shards.path(number), compression="zstd")
            shards.numbers[model.name].append(number)
    return shards


def read_shards(table: Any) -> Iterator[tuple[int, list[tuple[Question, int]]]]:
    """(number, questions, each with its count of unreadable replies) for the shards in an Arrow
    table.
    """
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
    """Split questions into shards, one shard at a time."""
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


# ---------------------------------------------------------------- journals


def shard_journal(folder: Path, number: int) -> Path:
    """The journal of a shard. folder: OUT/shards."""
    return folder / f"{number:06d}.jsonl"


def journals(out: Path) -> list[Path]:
    """Every journal of a run: its own, and journals of shards that a killed driver left. A line may
    occur in two of them.
    """
    return [out / JOURNAL, *_leftovers(out)]


async def merge_leftovers(out: Path) -> int:
    """Merge journals that a killed driver left into OUT/journal.jsonl; return how many lines were
    merged. The caller holds the run's lock.

    Raises DataError for a damaged line, UsageError while the killed driver's coordinator still
    runs, OSError.
    """
    if not _leftovers(out):
        clear(out)
        return 0
    journal = Journal(out / JOURNAL)
    try:
        return await merge(journal, out)
    finally:
        await journal.close()


async def merge(journal: Journal, out: Path) -> int:
    """Append the shards' journals to the run's journal, each line once, and delete their folder;
    return the number of lines.

    Raises the same errors as merge_leftovers.
    """
    merged = 0
    if _leftovers(out):
        lock = await asyncio.to_thread(lock_shards, out / FOLDER)
        try:
            coming = {_digest(line) for path in _leftovers(out) for *_, line in scan(path)}
            present = {
                digest for *_, line in scan(journal.path) if (digest := _digest(line)) in coming
            }
            for path in _leftovers(out):
                heal(path)
                new = [line for *_, line in scan(path) if _digest(line) not in present]
                for line in new:
                    journal.append(line[:-1])
                await journal.synced()
                path.unlink()
                merged += len(new)
        finally:
            lock.release()
    clear(out)
    return merged


def lock_shards(folder: Path) -> BaseFileLock:
    """Lock OUT/shards for one writer. The lock ends with the process, however the process ends.
    Raises UsageError.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock", thread_local=False)
    try:
        return lock.acquire(timeout=PATIENCE).lock
    except Timeout:
        raise UsageError(
            f"{folder}: the coordinator of another run still writes there; wait until it ends"
        ) from None


def clear(out: Path) -> None:
    """Delete the folders of requests and of shards, with everything in them."""
    for name in (REQUESTS, FOLDER):
        shutil.rmtree(out / name, ignore_errors=True)


def _leftovers(out: Path) -> list[Path]:
    return sorted((out / FOLDER).glob("*.jsonl"))


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()
