"""2,000 calls in pairs through three engines, with faults and kills: the same ratings, nothing paid
for twice.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import DEMO
from tests.batch_jobs import drawn
from tests.cli.forks import Killer, Metal, environment, shared
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
    return shared().at(
        tmp_path, environment(tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.openai_url)
    )


@pytest.mark.slow
@pytest.mark.cluster
def test_the_same_ratings(metal: Metal, server: OpenAIBatchServer, tmp_path: Path) -> None:
    rng, killer = random.Random(1), Killer()
    expected = b""
    for engine in ("local", "batch", "ray"):
        server.reset()
        spoilt = random_faults(5, FAULTS, max_attempt=1, retry_after=0.01)
        server.faults = lambda call, spoilt=spoilt: None if killer.strikes() else spoilt(call)
        server.latency_ms = 15
        server.service.behaviour = drawn(2, *ROUGH, attempts=2)
        run = tmp_path / engine
        how = (
            ("--engine", "ray", "--address", two_nodes())
            if engine == "ray"
            else ("--engine", engine)
        )
        kills = 1 if engine == "ray" else 3
        for _ in range(kills):
            started = killer.start(
                metal, *JOB, *how, "--out", run, requests=rng.randrange(150, 450)
            )
            assert started.wait().code == -signal.SIGKILL
            server.settle()
        before = verdicts(run)
        started = metal.start("judge", "--resume", run, *how)
        if engine == "ray":
            until(lambda run=run, started=started: len(verdicts(run)) >= 1100 or started.over)
            os.kill(workers()[0], signal.SIGKILL)
            kills += 1
        done = started.wait()
        assert done.code == 0, done.out + done.err
        rated = (run / "ratings.parquet").read_bytes()
        expected = expected or rated
        assert rated == expected, f"{engine} gave other ratings"
        lines = records(run)
        settled = [record["key"] for record in lines if record["kind"] == "verdict"]
        assert len(settled) == len(set(settled)) == CALLS
        assert before <= set(settled)
        asked = {
            (record["key"], record["ask"])
            for record in lines
            if "ask" in record and "text" in record
        }
        replies = sum("text" in record for record in lines)
        assert replies == len(asked), "a reply that had arrived was asked for again"
        assert server.completed - replies <= (0 if engine == "batch" else kills * IN_FLIGHT)
