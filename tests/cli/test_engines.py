"""2,000 calls in pairs through three engines, with faults and kills: the same ratings, nothing paid for twice."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import DEMO
from tests.batch_jobs import drawn
from tests.cli.forks import Metal, Started, environment, shared
from tests.cli.runs import KEY, records, until, verdicts
from tests.llm_server import random_faults
from tests.openai_batch_server import ROUGH, OpenAIBatchServer
from tests.ray_cluster import IGNORED, two_nodes, workers

pytestmark = [pytest.mark.filterwarnings(kind) for kind in IGNORED]

JOB = ("judge", DEMO, "-j", "g", "-p", "simple", "--pairs", "all", "--repeat", 5)
CALLS, IN_FLIGHT = 2_000, 16
FAULTS = {"429": 0.03, "500": 0.03, "empty": 0.03, "off_schema": 0.03}


@pytest.fixture
def server() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer(rate=3000.0) as server:
        yield server


@pytest.fixture
def metal(server: OpenAIBatchServer, tmp_path: Path) -> Metal:
    (tmp_path / "judges.toml").write_text(
        f'[judges.g]\nmodel = "openai:gpt-4o"\nconcurrency = {IN_FLIGHT}\n'
        "[judges.g.batch]\nrequests = 300\npoll = 0.02\nsettle = 0.1\n"
    )
    return shared().at(tmp_path, environment(tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.openai_url))


def killed(started: Started, run: Path, when: Callable[[int], bool], victim: Callable[[], int] | None = None) -> bool:
    """Kill a run, or a process of it, once it has so many verdicts; whether it was still at work."""
    until(lambda: when(len(verdicts(run))) or started.over)
    if started.over:
        return False
    if victim:
        os.kill(victim(), signal.SIGKILL)
    else:
        started.send(signal.SIGKILL)
    return True


@pytest.mark.cluster
def test_the_same_ratings(metal: Metal, server: OpenAIBatchServer, tmp_path: Path) -> None:
    rng = random.Random(1)
    expected = b""
    for engine in ("local", "batch", "ray"):
        server.reset()
        server.faults = random_faults(5, FAULTS, max_attempt=1, retry_after=0.01)
        server.latency_ms = 15
        server.service.behaviour = drawn(2, *ROUGH, attempts=2)
        run = tmp_path / engine
        how = ("--engine", "ray", "--address", two_nodes()) if engine == "ray" else ("--engine", engine)
        kills = 0
        for goal in (150, 500, 900) if engine != "ray" else (500,):
            started = metal.start(*JOB, *how, "--out", run)
            aim = goal + rng.randrange(200)
            kills += killed(started, run, lambda done, aim=aim: done >= aim)
            started.wait()
            server.settle()
        before = verdicts(run)
        started = metal.start("judge", "--resume", run, *how)
        if engine == "ray":
            kills += killed(started, run, lambda done: done >= 1100, lambda: workers()[0])
        done = started.wait()
        assert done.code == 0, done.out + done.err
        assert kills >= 2
        rated = (run / "ratings.parquet").read_bytes()
        expected = expected or rated
        assert rated == expected, f"{engine} gave other ratings"
        lines = records(run)
        settled = [record["key"] for record in lines if record["kind"] == "verdict"]
        assert len(settled) == len(set(settled)) == CALLS
        assert before <= set(settled)
        asked = {(record["key"], record["ask"]) for record in lines if "ask" in record and "text" in record}
        replies = sum("text" in record for record in lines)
        assert replies == len(asked), "a reply that had arrived was asked for again"
        assert server.completed - replies <= (0 if engine == "batch" else kills * IN_FLIGHT)
