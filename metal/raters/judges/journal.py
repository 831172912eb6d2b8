"""The journal of a run: every reply that arrived, one JSON object a line, on disk before it counts.

A line is written as soon as its reply is here (a killed process loses nothing that was written) and counted once it
is synced to the disk, several at a time, on a thread. Lines begin with their key, so that a resumed run knows
within seconds what is answered. A last line cut short by a crash is taken off when the journal is opened.

    {"key": K, "kind": "verdict", ...}    a reply with a verdict; other kinds of reply: unparsable, refused, ...
    {"key": K, "kind": "failed", ...}     a call given up; asked again when resumed
    {"key": "", "kind": "rejected", ...}  a parameter that a model would not take
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
    """One process a run folder: the lock goes with the process, however it ends. Raises UsageError when it is held."""
    import filelock

    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise UsageError(
            f"{folder}: another `metal judge` is working on this run; wait until it has ended, or stop it"
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
        self._syncing = asyncio.create_task(self._sync())

    def append(self, line: bytes, then: Callable[[], None]) -> None:
        """Write a line now; `then` is called when it is safe on the disk. Raises OSError, as when the disk is full."""
        if self._failure:
            raise self._failure
        whole = line + b"\n"
        try:
            if os.write(self._file, whole) != len(whole):  # a full disk takes a part
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._file, self._end)
            self._failure = OSError(error.errno, error.strerror, str(self.path))
            raise self._failure from None
        self._end += len(whole)
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

    async def _sync(self) -> None:
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
    """Take off a last line that a crash cut short; whether there was one."""
    if not path.is_file():
        return False
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if not size:
            return False
        end = size
        while end:  # the place after the last line break
            start = max(0, end - (1 << 16))
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end == size:
            return False
        file.truncate(end)
        file.flush()
        os.fsync(file.fileno())
    return True


def head(key: str, kind: str) -> bytes:
    """How a line begins, so that `keys` need not read further."""
    return b'{"key":"%b","kind":"%b"' % (key.encode(), kind.encode())


def scan(path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    """(key, kind, place, line) of every whole line.

    Raises DataError for a line that no METAL wrote.
    """
    if not path.is_file():
        return
    place = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            found = _LINE.match(line)
            if not found:
                raise DataError(
                    f"{path} line {number}", "not a line of a journal", "Restore the file, or begin a new run"
                )
            yield found[1].decode(), found[2].decode("ascii", "replace"), place, line
            place += len(line)


def read_line(path: Path, line: bytes, place: int = 0) -> dict[str, Any]:
    """A line as the record it is. Raises DataError when it is damaged."""
    try:
        found = json.loads(line)
    except ValueError:
        raise DataError(f"{path} byte {place}", "a damaged line", "Restore the file, or take the line out") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} byte {place}", "not a JSON object", "Restore the file, or take the line out")
    return found
