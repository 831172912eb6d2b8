"""The journal of a run: every reply that arrived, one JSON object a line, on disk before it counts.

A line is written as soon as its reply arrives (a killed process loses nothing that was written) and counts once it is
synced to the disk, several at a time, on a thread. Lines begin with their key, so that a resumed run learns within
seconds what is answered. A last line that a crash cut short is removed when the journal is opened.

    {"key": K, "kind": "verdict", ...}    a reply with a verdict; other kinds of reply: unparsable, refused, ...
    {"key": K, "kind": "failed", ...}     a question given up; it is asked again when the run is resumed
    {"key": "", "kind": "rejected", ...}  a parameter that a model rejects
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metal.errors import DataError, UsageError

FILE = "journal.jsonl"
LOCK = ".lock"
_LINE = re.compile(rb'\{"key":"([0-9a-f]*)","kind":"([^"]*)"')
_to_disk = getattr(os, "fdatasync", os.fsync)
_SYNC_EVERY = 0.05  # seconds between two syncs at most


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Hold a run folder: the lock ends with the process, however that ends. Raises UsageError when it is held."""
    import filelock

    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise UsageError(
            f"{folder}: another `metal.judge` is working on this run; wait until it has ended, or stop it"
        ) from None
    try:
        yield
    finally:
        lock.release()


class Journal:
    """The journal, open for appending; for one event loop. Hold the run's lock."""

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
        """Write a line now; `then` is called once it is on the disk. Raises OSError, for example of a full disk."""
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
        """Wait until all that was appended is safe on the disk. Raises OSError when it cannot be."""
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
        """Until the journal is closed, flush new lines to disk and wake those waiting for it."""
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
        """Sync what is left and close the file."""
        self._closing = True
        self._written.set()
        try:
            await self._syncing
        finally:
            os.close(self._file)
        if self._failure:
            raise self._failure


def heal(path: Path) -> bool:
    """Remove a last line that a crash cut short; whether there was one."""
    if not path.is_file():
        return False
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end:  # the place after the last line break
            start = max(0, end - (1 << 16))
            file.seek(start)
            line_break = file.read(end - start).rfind(b"\n")
            if line_break >= 0:
                end = start + line_break + 1
                break
            end = start
        if end == size:
            return False
        file.truncate(end)
        file.flush()
        os.fsync(file.fileno())
    return True


def head(key: str, kind: str) -> bytes:
    """The beginning of a line, beyond which `scan` need not read."""
    return b'{"key":"%b","kind":"%b"' % (key.encode(), kind.encode())


def scan(path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    """(key, kind, place, line) of every complete line. Raises DataError for a line that METAL did not write."""
    if not path.is_file():
        return
    place = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            match = _LINE.match(line)
            if not match:
                raise DataError(
                    f"{path} line {number}", "not a line of a journal", "Restore the file, or begin a new run"
                )
            yield match[1].decode(), match[2].decode("ascii", "replace"), place, line
            place += len(line)


def read_line(path: Path, line: bytes, place: int = 0) -> dict[str, Any]:
    """The record in a line. Raises DataError when it is damaged."""
    try:
        record = json.loads(line)
    except ValueError:
        raise DataError(f"{path} byte {place}", "a damaged line", "Restore the file, or take the line out") from None
    if not isinstance(record, dict):
        raise DataError(f"{path} byte {place}", "not a JSON object", "Restore the file, or take the line out")
    return record
