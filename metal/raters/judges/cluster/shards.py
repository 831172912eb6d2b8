"""Journals of shards: OUT/shards/NNNNNN.jsonl, beside the journal of the run until they are merged into it.

A shard's journal is only deleted when its lines are on the disk in the run's journal. A killed driver leaves journals
behind, and some of their lines may be in the run's journal already: those are not merged twice.
"""

from __future__ import annotations

import asyncio
import shutil
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from metal.errors import UsageError
from metal.raters.judges.cluster.requests import FOLDER as REQUESTS
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.journal import Journal, heal, scan

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER = "shards"
PATIENCE = 60.0  # seconds within which a killed driver's coordinator has to be gone
REJECTED_PARAMETERS = 0  # the number of the journal of parameters that models reject


def shard_journal(folder: Path, number: int) -> Path:
    """The journal of a shard. folder: OUT/shards."""
    return folder / f"{number:06d}.jsonl"


def journals(out: Path) -> list[Path]:
    """Every journal of a run: its own, and those that a killed driver left; a line may be in two of them."""
    return [out / JOURNAL, *_leftovers(out)]


async def merge_leftovers(out: Path) -> int:
    """Merge what a killed driver left into OUT/journal.jsonl; how many lines. Hold the run's lock.

    Raises DataError for a damaged line, UsageError while the killed driver's coordinator still runs, OSError.
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
    """Append the shards' journals to the run's, each line once, and delete their folder; how many lines.

    Raises as merge_leftovers does.
    """
    merged = 0
    if _leftovers(out):
        lock = await asyncio.to_thread(lock_shards, out / FOLDER)
        try:
            coming = {_digest(line) for path in _leftovers(out) for *_, line in scan(path)}
            present = {digest for *_, line in scan(journal.path) if (digest := _digest(line)) in coming}
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
    """Hold OUT/shards, as its only writer; the lock ends with the process, however that ends. Raises UsageError."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock", thread_local=False)
    try:
        return lock.acquire(timeout=PATIENCE).lock
    except Timeout:
        raise UsageError(f"{folder}: another run's coordinator still writes there; wait until it has ended") from None


def clear(out: Path) -> None:
    """Delete the folders of requests and of shards, with everything in them."""
    for name in (REQUESTS, FOLDER):
        shutil.rmtree(out / name, ignore_errors=True)


def _leftovers(out: Path) -> list[Path]:
    return sorted((out / FOLDER).glob("*.jsonl"))


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()
