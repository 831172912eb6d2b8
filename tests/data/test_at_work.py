"""A process that works on a run is interrupted only if it is certain that it is this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metal.data.at_work import (
    WORKER,
    WorkerNote,
    ask_to_stop,
    can_stop,
    identity_of,
    worker_of,
)
from metal.raters.judges.journal import lock_run

CODE = """
import signal, sys
from pathlib import Path
from metal.raters.judges.journal import lock_run
with lock_run(Path(sys.argv[1]), stoppable=sys.argv[2] == "yes"):
    print("ready", flush=True)
    signal.pause()
"""


@contextmanager
def worker(folder: Path, stoppable: str = "yes") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock of a run until it is interrupted."""
    arguments = [sys.executable, "-c", CODE, str(folder), stoppable]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_process_at_work_is_interrupted(tmp_path: Path) -> None:
    with worker(tmp_path) as process:
        note = worker_of(tmp_path)
        assert note
        assert (note.pid, note.stoppable) == (process.pid, True)
        assert can_stop(tmp_path)
        assert ask_to_stop(tmp_path)
        assert process.wait(60) in (-signal.SIGINT, 1, 130)
    assert worker_of(tmp_path) is None
    assert not ask_to_stop(tmp_path)


def test_a_note_goes_with_the_work(tmp_path: Path) -> None:
    with lock_run(tmp_path):
        assert (tmp_path / WORKER).is_file()
    assert not (tmp_path / WORKER).exists()


def test_a_program_that_would_not_stop_in_good_order_is_left_alone(tmp_path: Path) -> None:
    with worker(tmp_path, "no") as process:
        assert not can_stop(tmp_path)
        assert not ask_to_stop(tmp_path)
        assert process.poll() is None


def test_a_recycled_number_is_left_alone(tmp_path: Path) -> None:
    with worker(tmp_path), worker_elsewhere() as other:
        note = json.loads((tmp_path / WORKER).read_text())
        # the number is now that of another process
        (tmp_path / WORKER).write_text(json.dumps(note | {"pid": other.pid}))
        assert not ask_to_stop(tmp_path)
        # and even with the right beginning: it does not hold the lock
        forged = note | {"pid": other.pid, "identity": identity_of(other.pid)}
        (tmp_path / WORKER).write_text(json.dumps(forged))
        assert not can_stop(tmp_path)
        assert not ask_to_stop(tmp_path)
        assert other.poll() is None


@contextmanager
def worker_elsewhere() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "[" * 5000,
        '{"pid": 0, "identity": "", "began": 1.0, "stoppable": true}',
        '{"pid": -1, "identity": "x", "began": 1.0, "stoppable": true}',
        '{"pid": "7", "identity": "x", "began": 1.0, "stoppable": true}',
        '{"pid": 7, "identity": "x", "began": 1.0, "stoppable": 1}',
        '{"pid": 99999999999999999999, "identity": "x", "began": 1.0, "stoppable": true}',
        "\udcff",
    ],
)
def test_a_note_of_others_is_not_trusted(tmp_path: Path, content: str) -> None:
    with worker(tmp_path) as process:
        (tmp_path / WORKER).write_bytes(content.encode("utf-8", "surrogateescape"))
        assert not ask_to_stop(tmp_path)
        assert process.poll() is None


def test_a_killed_process_leaves_no_one_at_work(tmp_path: Path) -> None:
    with worker(tmp_path) as process:
        process.kill()
        process.wait()
        assert (tmp_path / WORKER).is_file()
        assert worker_of(tmp_path) is None
    with lock_run(tmp_path):
        note = worker_of(tmp_path)
        assert note
        assert note.pid == os.getpid()


def test_the_identity_of_a_process() -> None:
    mine = identity_of(os.getpid())
    assert mine
    assert mine == identity_of(os.getpid())
    assert identity_of(2**22 + 5) == ""
    assert WorkerNote(1, mine, 0.0, True).identity == mine
