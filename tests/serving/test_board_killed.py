"""A worker of boards is killed while it scores: nothing runs twice, and the team sees it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import update

import metal
from metal.serving import tables
from metal.serving.submissions import submissions_of
from tests.saying import tells
from tests.serving.boards_at_work import BoardAtWork, board_at_work, outputs_of, sent
from tests.serving.web import eventually

# What a worker runs for a moment to ask for the function, it runs for long to score with it.
SLOW = """
import time
first = True

def score(output):
    global first
    if first:
        time.sleep(6)
    first = False
    return float(len(output))
"""
SCORING = 2.0  # seconds after which a process is no longer only asked for its function
API = "/boards/news/api/submissions"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]


@contextmanager
def worker_of(work: BoardAtWork, database: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker as a process of its own."""
    command = [sys.executable, "-m", "metal.serving.board_worker", str(work.root), str(os.getpid())]
    process = subprocess.Popen(command, env={**os.environ, "METAL_DATABASE": database})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def children(of: int) -> set[int]:
    """The processes below a process."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if fields[0] not in "ZX":
            parents[int(path.parent.name)] = int(fields[1])
    below, level = set[int](), {of}
    while level := {each for each, parent in parents.items() if parent in level}:
        below |= level
    return below


def kill_while_scoring(worker: subprocess.Popen[bytes]) -> None:
    """Kill a worker in the middle of a program's run, and wait until the program has ended, too."""
    since: dict[int, float] = {}

    def scores() -> bool:
        now = time.monotonic()
        present = children(worker.pid)
        for each in since.keys() - present:
            del since[each]
        for each in present:
            since.setdefault(each, now)
        return any(now - began > SCORING for began in since.values())

    eventually(scores, 120)
    programs = children(worker.pid)
    worker.kill()
    worker.wait()
    eventually(lambda: not any(Path("/proc", str(each)).exists() for each in programs))


def time_passes(work: BoardAtWork) -> None:
    """Let the dead worker's claim on its job be over."""
    over = update(tables.jobs).where(tables.jobs.c.state == "running").values(until=0.0)
    work.ledger.writes(lambda connection: connection.execute(over))


def record_of(team: httpx.Client, name: str) -> dict[str, object]:
    """What the team sees of its submission."""
    return next(each for each in team.get(API).json() if each["name"] == name)


@pytest.mark.parametrize("kind", ["metric-program", "generator"])
def test_a_worker_killed_while_it_scores(
    kind: str, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with board_at_work(tmp_path, database) as work:
        work.opens(readers="public")
        team = work.team("A team")
        if kind == "generator":  # it is scored by the metrics of the board
            sent(team, "metric-program", "slow", SLOW.encode()).raise_for_status()
            work.works()
        name = "new"
        content = outputs_of(name) if kind == "generator" else SLOW.encode()
        versions = list(metal.billboard_history(work.folder)["name"])
        sent(team, kind, name, content).raise_for_status()
        with worker_of(work, database) as worker:
            kill_while_scoring(worker)
        assert record_of(team, name)["state"] == "running"
        assert list(metal.billboard_history(work.folder)["name"]) == versions
        work.works()  # the claim of the dead worker is not over
        assert record_of(team, name)["state"] == "running"

        time_passes(work)
        with worker_of(work, database):
            eventually(lambda: record_of(team, name)["state"] == "joined", 120)
        record = record_of(team, name)
        assert tells(str(record["log"]), "ended while it ran", "runs again")
        assert record["version"] == len(versions) + 1
        assert list(metal.billboard_history(work.folder)["name"]) == [*versions, name]
        work.works()
        assert [each.state for each in submissions_of(work.ledger, "news")].count("joined") == len(
            submissions_of(work.ledger, "news")
        )
        assert name in work.browser().get("/boards/news").text


def test_a_program_that_ends_two_workers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with board_at_work(tmp_path) as work:
        work.opens(readers="public")
        team = work.team("A team")
        sent(team, "metric-program", "slow", SLOW.encode()).raise_for_status()
        for _ in range(2):
            with worker_of(work, "") as worker:
                kill_while_scoring(worker)
            time_passes(work)
        work.works()
        record = record_of(team, "slow")
        assert record["state"] == "failed"
        assert tells(str(record["log"]), "the worker ended twice")
        assert "slow" not in set(metal.billboard_history(work.folder)["name"])
