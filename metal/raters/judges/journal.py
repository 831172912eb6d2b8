"""The journal of a run: every reply that arrived, one JSON object per line, on disk before it
counts.

A line is written as soon as its reply arrives, so a killed process loses no reply. It counts once
it is synced to the disk; a thread syncs several lines at a time. Lines begin with their key, so a
resumed run learns within seconds which questions are answered. If a crash cut the last line short,
it is removed when the journal is opened.

- {"key": K, "kind": "verdict", ...}: a reply with a verdict. Replies without one have other kinds:
  unparsable, refused, ...
- {"key": K, "kind": "failed", ...}: a question that was given up. It is asked again when the run is
  resumed.
- {"key": "", "kind": "rejected", ...}: a parameter that a model rejects.
"""

from __future__ import annotations

import asyncio
import errno
import json
import mmap
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metal.data.at_work import forget_worker, note_worker
from metal.data.holdings import LOCK as LOCK
from metal.errors import DataError, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Question, Reply
from metal.raters.judges.reader import CUT_OFF, EMPTY, LEFT_OUT, OFF_SCALE, TWO_VERDICTS, UNPARSABLE

FILE = "journal.jsonl"
_LINE = re.compile(rb'\{"key":"([0-9a-f]*)","kind":"([^"]*)"')
_to_disk = getattr(os, "fdatasync", os.fsync)
_LOOKED_AT = 0.2  # seconds: longer than a list of runs holds a lock to see whether it is free
_SYNC_EVERY = 0.05  # seconds between two syncs at most


@contextmanager
def lock_run(folder: Path, *, stoppable: bool = False) -> Iterator[None]:
    """Lock a run folder. The lock ends with the process, however the process ends. Raises
    UsageError if the folder is already locked.

    stoppable: whether this process stops in good order when it is interrupted.
    """
    import filelock

    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=_LOOKED_AT)
    except filelock.Timeout:
        raise UsageError(
            f"{folder}: another `metal.judge` is working on this run; wait until it has ended, or"
            " stop it"
        ) from None
    note_worker(folder, stoppable=stoppable)
    try:
        yield
    finally:
        forget_worker(folder)
        lock.release()


class Journal:
    """The journal, open for appending, for one event loop. The caller holds the run's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        heal(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._end = os.fstat(self._file).st_size
        self._written = asyncio.Event()
        self._waiting: list[Callable[[], None]] = []
        self._closing = False
        self._failure: OSError | None = None
        self._syncing = asyncio.create_task(self._keep_synced())

    def append(self, line: bytes, then: Callable[[], None] = lambda: None) -> None:
        """Write a line now; `then` is called once it is on the disk. Raises OSError, for example of
        a full disk.
        """
        if self._failure:
            raise self._failure
        content = line + b"\n"
        try:
            if os.write(self._file, content) != len(content):  # a full disk takes a part of it
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._file, self._end)
            self._failure = OSError(error.errno, error.strerror, str(self.path))
            raise self._failure from None
        self._end += len(content)
        self._waiting.append(then)
        self._written.set()

    async def synced(self) -> None:
        """Wait until all appended lines are safe on the disk. Raises OSError if they cannot be
        written.
        """
        done = asyncio.Event()
        self._waiting.append(done.set)
        self._written.set()
        waiting = asyncio.create_task(done.wait())
        try:
            await asyncio.wait([waiting, self._syncing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._failure:
            raise self._failure

    async def _keep_synced(self) -> None:
        """Until the journal is closed, flush new lines to disk and wake the tasks that wait for
        this.
        """
        loop = asyncio.get_running_loop()
        while not self._closing or self._waiting:
            await self._written.wait()
            self._written.clear()
            safe, self._waiting = self._waiting, []
            if safe:
                try:
                    await loop.run_in_executor(None, _to_disk, self._file)
                except OSError as error:
                    self._failure = OSError(error.errno, error.strerror, str(self.path))
                    return
                for then in safe:
                    then()
            if not self._closing:
                await asyncio.sleep(_SYNC_EVERY)

    async def close(self) -> None:
        """Sync the remaining lines and close the file."""
        self._closing = True
        self._written.set()
        try:
            await self._syncing
        finally:
            os.close(self._file)
        if self._failure:
            raise self._failure


def heal(path: Path) -> bool:
    """Remove a last line that a crash cut short; return whether there was one."""
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("r+b") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            size, end = len(content), content.rfind(b"\n") + 1
        if end == size:
            return False
        file.truncate(end)
        file.flush()
        os.fsync(file.fileno())
    return True


def scan(path: Path, offset: int = 0, first: int = 1) -> Iterator[tuple[str, str, int, bytes]]:
    """(key, kind, offset, line) of every complete line. Raises DataError for a line that METAL did
    not write.

    offset, first: where the first line to read begins, and its number.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        file.seek(offset)
        for number, line in enumerate(file, first):
            if not line.endswith(b"\n"):
                return
            match = _LINE.match(line)
            if not match:
                raise DataError(
                    f"{path} line {number}",
                    "not a line of a journal",
                    "Restore the file, or start a new run",
                )
            yield match[1].decode(), match[2].decode("ascii", "replace"), offset, line
            offset += len(line)


def read_line(path: Path, line: bytes, offset: int = 0) -> dict[str, Any]:
    """Read the record in a line. Raises DataError if the line is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(
            f"{path} byte {offset}", "a damaged line", "Restore the file, or delete the line"
        ) from None
    if not isinstance(record, dict):
        raise DataError(
            f"{path} byte {offset}", "not a JSON object", "Restore the file, or delete the line"
        )
    return record


# ---------------------------------------------------------------- records

# Kinds of records besides VERDICT and the reasons for a reply without one.
FAILED, REJECTED = "failed", "rejected"
INCOMPLETE = "incomplete"  # a reply without a verdict on some of its criteria
ASK_AGAIN = frozenset({UNPARSABLE, OFF_SCALE, TWO_VERDICTS, EMPTY, CUT_OFF, LEFT_OUT, INCOMPLETE})
# Refusals of a request that resuming does not change.
LASTING = frozenset({calls.BLOCKED, calls.TOO_LONG, calls.NO_SOURCE, calls.NO_NUMBER})


@dataclass
class Answered:
    """What the journals of a run contain. settled: keys of questions that need not be asked.
    unreadable: key -> number of unreadable replies so far.

    rejected: judge -> parameter -> the model's message when it rejected the parameter. begins:
    judge -> how many questions at the beginning of its plan are known to be settled. spent: US
    dollars that count towards `max_cost`.
    """

    settled: set[bytes] = field(default_factory=set)
    unreadable: Counter[bytes] = field(default_factory=Counter)
    rejected: dict[str, dict[str, str]] = field(default_factory=dict)
    begins: dict[str, int] = field(default_factory=dict)
    spent: float = 0.0


def read_answered(reasks: int, *journals: Path) -> Answered:
    """Read which questions these journals answer. reasks: how often a question is asked again after
    an unreadable reply.
    """
    answered = Answered()
    for path in journals:
        for name, kind, offset, line in scan(path):
            if kind == REJECTED:
                record = read_line(path, line, offset)
                answered.rejected.setdefault(record["judge"], {})[record["parameter"]] = record[
                    "said"
                ]
            elif kind in ASK_AGAIN:
                answered.unreadable[bytes.fromhex(name)] += 1
            elif kind != FAILED:
                answered.settled.add(bytes.fromhex(name))
    answered.settled.update(key for key, count in answered.unreadable.items() if count > reasks)
    return answered


@dataclass(frozen=True, slots=True)
class Record:
    """A line for the journal. kind: the kind of the reply or failure. settled: whether its question
    is done and need not be asked again.
    """

    line: bytes
    kind: str
    settled: bool


@dataclass
class Attempt:
    """The requests made for one reply. number: how often the question has been asked. failures: how
    many requests got no reply.

    began, took: start and duration of the last request, in seconds; took is None in a batch,
    because batches do not report it. batch: the token of the batch. sent: the parameters of the
    last request.
    """

    number: int = 1
    failures: int = 0
    began: float = 0.0
    took: float | None = 0.0
    batch: str = ""
    sent: dict[str, Any] = field(default_factory=dict)


def reply_line(judge: str, question: Question, kind: str, reply: Reply, attempt: Attempt) -> bytes:
    """The line of a reply: its question, the request, the response, and the raw reply."""
    record = _about(judge, question, attempt, kind) | {
        "seconds": None if attempt.took is None else round(attempt.took, 4),
        "retries": attempt.failures,
        "sent": attempt.sent,
        "model": reply.model,
        "fingerprint": reply.fingerprint,
        "tokens": [reply.tokens_in, reply.tokens_out],
        "ending": reply.ending,
        "text": reply.text,
    }
    return _dump(record)[:-1] + b',"reply":' + reply.raw + b"}"


def failure_line(judge: str, question: Question, failure: CallFailed, attempt: Attempt) -> bytes:
    """The line of a question without a reply. The question is asked again when the run is resumed,
    unless the failure is LASTING.
    """
    kind = failure.kind if failure.kind in LASTING else FAILED
    record = _about(judge, question, attempt, kind) | {
        "retries": max(0, attempt.failures - 1),
        "why": failure.kind,
        "status": failure.status,
        "said": failure.message,
    }
    if failure.body:
        record["body"] = failure.body
    return _dump(record)


def rejected_line(judge: str, parameter: str, why: str) -> bytes:
    """The line that says that requests leave out a parameter from now on."""
    return _dump(
        {
            "key": "",
            "kind": REJECTED,
            "judge": judge,
            "parameter": parameter,
            "said": why,
            "at": _now(),
        }
    )


def _about(judge: str, question: Question, attempt: Attempt, kind: str) -> dict[str, Any]:
    """The beginning of a record. Its key and kind come first, because `scan` reads no further."""
    batch = {"batch": attempt.batch} if attempt.batch else {}
    head = {"key": question.key, "kind": kind, "judge": judge}
    return head | {**question.about, "ask": attempt.number, **batch, "at": _now()}


def _dump(record: Mapping[str, Any]) -> bytes:
    """One line of JSON; lone surrogates, which UTF-8 cannot hold, stay escaped."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
