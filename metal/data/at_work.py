"""The process that works on a run of judges or of generation, and how it is asked to stop.

The system gives the number of an ended process to another one. So a process is known by its number
and by when it began, and nothing is sent to a process of which this is not certain.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from metal.data.holdings import LOCK, WORKER
from metal.data.run_summary import is_running

LONGEST_NOTE = 10_000  # bytes


@dataclass(frozen=True)
class WorkerNote:
    """What a process writes into the folder of a run while it works on it.

    identity: when the process began, and on which system; empty if that cannot be told. began: when
    it began to work on the run, in seconds since 1970. stoppable: whether it stops in good order
    when it is interrupted.
    """

    pid: int
    identity: str
    began: float
    stoppable: bool


def note_worker(folder: Path, *, stoppable: bool) -> None:
    """Note that this process works on the run. A folder that takes no file goes without the
    note.
    """
    note = WorkerNote(os.getpid(), identity_of(os.getpid()), time.time(), stoppable)
    with suppress(OSError):
        (folder / WORKER).write_text(json.dumps(asdict(note)), encoding="utf-8")


def forget_worker(folder: Path) -> None:
    """Remove the note, because the work has ended."""
    with suppress(OSError):
        (folder / WORKER).unlink(missing_ok=True)


def worker_of(folder: Path) -> WorkerNote | None:
    """Who works on the run; None if nobody does, or if there is no note of it."""
    if not is_running(folder):
        return None
    try:
        with (folder / WORKER).open("rb") as file:
            note = WorkerNote(**json.loads(file.read(LONGEST_NOTE)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds = {"pid": int, "identity": str, "began": float, "stoppable": bool}
    as_written = all(type(getattr(note, name)) is kind for name, kind in kinds.items())
    return note if as_written and 1 < note.pid < 2**31 else None


def can_stop(folder: Path) -> bool:
    """Whether the process that works on the run is known for certain, and stops in good order."""
    note = worker_of(folder)
    return note is not None and note.stoppable and _is_certain(note, folder)


def ask_to_stop(folder: Path) -> bool:
    """Interrupt the process that works on the run, as Ctrl-C does; return whether it was done.

    Nothing is sent unless `can_stop` holds.
    """
    note = worker_of(folder)
    if note is None or not note.stoppable:
        return False
    with suppress(OSError):  # it has ended meanwhile
        return _interrupt(note, folder)
    return False


def identity_of(pid: int) -> str:
    """When a process began, and on which system; empty if that cannot be told."""
    with suppress(OSError, IndexError):
        if Path("/proc/self/stat").exists():
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            stat = Path(f"/proc/{pid}/stat").read_bytes()
            ticks = stat.rpartition(b")")[2].split()[19].decode()  # after a name of any letters
            return f"{boot} {os.readlink('/proc/self/ns/pid')} {ticks}"
    with suppress(OSError, subprocess.SubprocessError):
        asked = ["ps", "-o", "lstart=", "-p", str(pid)]
        plain = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(  # noqa: S603  no shell, and a number only
            asked, capture_output=True, text=True, timeout=5, check=True, env=plain
        )
        return f"{platform.node()} {done.stdout.strip()}"
    return ""


def _is_certain(note: WorkerNote, folder: Path) -> bool:
    """Whether the process of the note is the one that holds the run's lock."""
    if not note.identity or identity_of(note.pid) != note.identity:
        return False
    opened = Path(f"/proc/{note.pid}/fd")
    if not opened.is_dir():  # a system without such folders
        return True
    lock = (folder / LOCK).stat()
    for entry in list(opened.iterdir()):
        with suppress(OSError):  # closed meanwhile
            if os.path.samestat(entry.stat(), lock):
                return True
    return False


def _interrupt(note: WorkerNote, folder: Path) -> bool:
    if not hasattr(os, "pidfd_open"):
        if certain := _is_certain(note, folder):
            os.kill(note.pid, signal.SIGINT)
        return certain
    # while this is open, no other process has the number
    handle = os.pidfd_open(note.pid)
    try:
        if certain := _is_certain(note, folder):
            signal.pidfd_send_signal(handle, signal.SIGINT)
        return certain
    finally:
        os.close(handle)
