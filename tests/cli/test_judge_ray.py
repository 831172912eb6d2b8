"""`metal judge --engine ray` as people run it: interrupted, resumed by the local engine,
refused.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from metal.errors import MissingExtra
from metal.raters.judges.cluster.nodes import check_ray
from metal.raters.judges.cluster.shards import FOLDER
from tests import DEMO
from tests.cli.forks import Metal
from tests.cli.runs import records, until, verdicts
from tests.llm_server import LlmServer, prompt_digest, random_faults
from tests.ray_cluster import IGNORED, below, listening, two_nodes

pytestmark = [pytest.mark.filterwarnings(kind) for kind in IGNORED]

CALLS = 400
JUDGE = ("judge", DEMO, "-j", "openai:gpt-4o", "-p", "simple")


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        server.answer = lambda prompt, body: json.dumps(
            {"score": 1, "justification": f"<{prompt_digest(prompt)}>"}
        )
        rates = dict.fromkeys(("429", "500", "empty"), 0.05)
        server.faults = random_faults(5, rates, max_attempt=1, retry_after=0.01)
        yield server


@pytest.mark.slow
@pytest.mark.cluster
def test_interrupted_and_resumed_here_it_ends_as_the_local_engine_does(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    local, run = tmp_path / "local", tmp_path / "ray"
    metal(*JUDGE, "--out", local)
    llm_server.reset()
    llm_server.latency_ms = 60
    ray = ("--engine", "ray", "--address", two_nodes(), "--concurrency", 8)

    interrupted = metal.start(*JUDGE, "--out", run, *ray)
    until(lambda: len(verdicts(run)) > 60 or interrupted.over)
    interrupted.send(signal.SIGINT)
    done = interrupted.wait()
    assert done.code == 130, done.out + done.err
    assert "calls in flight" in done.err
    assert "Traceback" not in done.err
    assert f"--resume {run} --engine ray --address {two_nodes()}" in done.said
    assert sorted(path.name for path in run.iterdir() if path.name != ".lock") == [
        "journal.jsonl", "raters.jsonl", "ratings.parquet", "run.toml",
    ]  # fmt: skip
    assert len(verdicts(run)) < CALLS

    llm_server.latency_ms = 0
    metal("judge", "--resume", run)  # the local engine goes on
    assert (run / "ratings.parquet").read_bytes() == (local / "ratings.parquet").read_bytes()
    keys = [record["key"] for record in records(run) if record["kind"] == "verdict"]
    assert len(keys) == len(set(keys)) == CALLS
    assert llm_server.completed == len(records(run)), "what was in flight is kept"


@pytest.mark.slow
@pytest.mark.cluster
def test_a_cluster_of_its_own_whose_head_dies(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """Without --address a cluster is started for the run. Its head gone, the run says so; resumed,
    it is complete.
    """
    small, run = (*JUDGE, "-c", "task_quality"), tmp_path / "ray"
    metal(*small, "--out", "local")
    llm_server.latency_ms = 2000
    started = metal.start(*small, "--out", run, "--engine", "ray", "--concurrency", 2)
    until(lambda: verdicts(run) or started.over)
    servers = listening(started.pid)
    assert servers
    assert servers <= {
        "0100007F",
        "0" * 16 + "FFFF00000100007F",
        "0" * 24 + "01000000",
    }, "not on this machine alone"
    for pid in below(started.pid, b"gcs_server"):
        os.kill(pid, signal.SIGKILL)
    done = started.wait()
    assert done.code == 2, done.out + done.err
    assert "head of the Ray" in done.err
    assert "Traceback" not in done.err
    assert 0 < len(verdicts(run)) < 80
    llm_server.latency_ms = 0
    assert "80 ratings" in metal("judge", "--resume", run).said
    assert (run / "ratings.parquet").read_bytes() == (
        tmp_path / "local" / "ratings.parquet"
    ).read_bytes()


@pytest.mark.slow
def test_what_a_killed_driver_left_in_shards_is_known(
    metal: Metal, llm_server: LlmServer, tmp_path: Path
) -> None:
    """To an estimate and to --reuse, which leave the run as it is."""
    run = tmp_path / "killed"
    metal(*JUDGE, "--out", run, "--limit", 100)
    settled = len(verdicts(run))
    known = f"openai:gpt-4o {CALLS - settled} {settled}"
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (run / FOLDER).mkdir()
    (run / "journal.jsonl").write_bytes(b"".join(lines[:40]))
    # some had been merged when it was killed
    (run / FOLDER / "000001.jsonl").write_bytes(b"".join(lines[30:]))
    asked = llm_server.requests
    assert known in metal("judge", "--resume", run, "--dry-run").said
    assert known in metal(*JUDGE, "--dry-run", "--reuse", run, "--out", "other").said
    assert llm_server.requests == asked
    assert (
        f"{settled} answers taken from"
        in metal(*JUDGE, "--reuse", run, "--out", "other", "--limit", 1).said
    )
    metal("judge", "--resume", run)  # which merges them, and asks for the rest
    assert not (run / FOLDER).exists()
    keys = [record["key"] for record in records(run) if record["kind"] == "verdict"]
    assert len(keys) == len(set(keys)) == CALLS


def test_what_does_not_go_together_is_said_before_anything_is_written(
    metal: Metal, tmp_path: Path
) -> None:
    assert "--engine ray" in metal.refused(*JUDGE, "--address", "auto")
    assert "add --batch" in metal.refused(*JUDGE, "--engine", "ray", "--no-wait")
    assert not (tmp_path / "runs").exists()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"`engine=\"ray\"` needs .* 'metal-eval\[ray\]'"):
        check_ray()


def test_an_address_where_nobody_is(metal: Metal, tmp_path: Path) -> None:
    done = metal(*JUDGE, "--engine", "ray", "--address", "127.0.0.1:1", "--out", "r", expect=2)
    assert "--address 127.0.0.1:1:" in done.err
    assert not (tmp_path / "r").exists()
