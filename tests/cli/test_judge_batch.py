"""`metal judge --batch` as people run it: processes against a local batch service, killed,
interrupted, cancelled.
"""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.run_toml import read_run_toml
from metal.raters.judges.batch.ledger import read_ledger
from metal.raters.judges.engine import Progress
from metal.raters.judges.models import Model
from metal.show.terminal.asking_text import _progress_words
from tests import DEMO
from tests.batch_jobs import COMPLETED, EXPIRED, FAILED, TOO_MANY_TOKENS, Behaviour, drawn, in_turn
from tests.cli.forks import Killer, Metal, environment, shared
from tests.cli.runs import KEY, records, until
from tests.llm_server import Fault
from tests.openai_batch_server import ROUGH, OpenAIBatchServer
from tests.saying import tells

JUDGE = ("-j", "g", "-p", "simple")
SMALL = (*JUDGE, "-c", "task_quality")


@pytest.fixture
def server() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer(rate=2000.0) as server:
        yield server


@pytest.fixture
def metal(server: OpenAIBatchServer, tmp_path: Path) -> Metal:
    (tmp_path / "judges.toml").write_text(
        '[judges.g]\nmodel = "openai:gpt-4o"\n[judges.g.batch]\nrequests = 60\npoll = 0.02\nsettle'
        ' = 0.1\n[judges.slow]\nmodel = "openai:gpt-4o"\n'
    )
    return shared().at(
        tmp_path, environment(tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.openai_url)
    )


def nothing_twice(server: OpenAIBatchServer, **but: Any) -> None:
    stats = server.stats()
    names = ("answered_twice", "overlapping", "prompts_answered_twice")
    assert {name: stats[name] for name in names} == dict.fromkeys(names, 0) | but


@pytest.mark.slow
def test_the_same_bytes_at_half_the_price(
    metal: Metal, server: OpenAIBatchServer, tmp_path: Path
) -> None:
    estimate = metal("judge", DEMO, *JUDGE, "--batch", "--dry-run").said
    assert "within 24 h" in estimate
    assert "Batch prices" in estimate
    direct = metal("judge", DEMO, *JUDGE, "--out", "direct").said
    batched = metal("judge", DEMO, *JUDGE, "--batch", "--out", "batched").said
    one, other = (
        (tmp_path / run / "ratings.parquet").read_bytes() for run in ("direct", "batched")
    )
    assert one == other

    def dollars(said: str) -> float:
        return float(said.rpartition("$")[2].split()[0])

    assert dollars(batched) == pytest.approx(dollars(direct) / 2, abs=0.011)
    assert "metal audit" in batched
    assert [len(job.requests) for job in server.service.jobs] == [60, 60, 60, 60, 60, 60, 39]


@pytest.mark.slow
def test_killed_twenty_times(metal: Metal, server: OpenAIBatchServer, tmp_path: Path) -> None:
    """Slow, failed, expired, half-failed, lost batches, and a kill -9 at any request: no answer is
    paid for twice.
    """
    metal("judge", DEMO, *JUDGE, "--out", "direct")
    server.reset()
    first = in_turn(
        Behaviour(expires_after=0.5), Behaviour(refusal=TOO_MANY_TOKENS), Behaviour(failing=0.5)
    )
    rough = drawn(3, *ROUGH, attempts=2)
    server.service.behaviour = lambda job: first(job) if job.number <= 3 else rough(job)
    # time passes as this test moves the service's clock, however slow the machine
    server.service.rate = 1.0
    rng = random.Random(8)
    killer, refused = Killer(), False
    server.disturbs = lambda request, number: Fault("503") if killer.strikes() and refused else None
    command = ("judge", DEMO, *JUDGE, "--batch", "--out", "r")
    for number in range(20):
        if number == 16:
            server.service.behaviour = lambda job: ROUGH[0]
        resume = (tmp_path / "r" / "run.toml").exists() and number % 3
        server.service.ahead += rng.uniform(0.0, 30.0)
        refused = rng.random() < 0.3  # else the request is carried out, and nobody learns of it
        killed = killer.start(
            metal, *(("judge", "--resume", "r") if resume else command), requests=rng.randint(1, 12)
        )
        assert killed.wait().code == -signal.SIGKILL
    server.service.rate = 2000.0
    metal("judge", "--resume", "r")
    nothing_twice(server)
    assert server.stats()["states"].keys() >= {COMPLETED, EXPIRED, FAILED}
    assert (tmp_path / "r" / "ratings.parquet").read_bytes() == (
        tmp_path / "direct" / "ratings.parquet"
    ).read_bytes()
    keys = [record["key"] for record in records(tmp_path / "r") if record["kind"] == "verdict"]
    assert len(keys) == len(set(keys)) == 400


def test_killed_while_the_first_question_is_asked_directly(
    metal: Metal, server: OpenAIBatchServer
) -> None:
    """Only what is in flight at a kill can be paid for again: that question, and nothing beside
    it.
    """
    server.held_from = 1
    started = metal.start("judge", DEMO, *SMALL, "--batch", "--out", "r")
    until(lambda: server.held or started.over)
    started.send(signal.SIGKILL)
    assert started.wait().code == -signal.SIGKILL
    server.settle()
    server.release()
    assert server.requests == 1
    assert not server.service.jobs
    assert "80 ratings" in metal("judge", "--resume", "r").said
    nothing_twice(server)


@pytest.mark.slow
def test_left_with_the_provider_and_fetched(
    metal: Metal, server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.service.wait = 60.0
    said = metal("judge", DEMO, *SMALL, "--batch", "--no-wait", "--out", "r").said
    assert tells(said, "79 calls", "metal judge --resume r")
    assert "metal judge cancel r" in said
    assert "79 calls are in open" in metal.refused("judge", "--resume", "r", "--engine", "local")
    assert "79 calls are in open" in metal.refused("judge", DEMO, *SMALL, "--out", "r")
    forced = metal.refused("judge", DEMO, *SMALL, "--batch", "--out", "r", "--force")
    assert "r holds a journal of replies (journal.jsonl) and is not replaced" in forced
    (listed,) = json.loads(metal("ls", ".", "--json").out)
    assert listed["state"] == "waiting"
    assert tells(metal("ls").out, "waiting", "79 calls", "metal judge --resume r")
    audit = metal("audit", DEMO, "r", "-c", "task_quality", "--resamples", "100", "--out", "a")
    assert "not complete: 79 calls" in audit.said
    server.service.ahead += 60.0
    done = metal("judge", "--resume", "r")
    assert tells(done.said, "79 calls", "are fetched")
    assert "80 ratings" in done.said
    asked = server.requests
    assert "80 ratings" in metal("judge", "--resume", "r", "--engine", "local").said
    assert server.requests == asked
    nothing_twice(server)


def test_interrupted(metal: Metal, server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.wait = 60.0
    started = metal.start("judge", DEMO, *SMALL, "--batch", "--out", "r")
    until(lambda: sum(batch.state == "submitted" for batch in read_ledger(tmp_path / "r")) == 2)
    started.send(signal.SIGINT)
    done = started.wait()
    assert done.code == 130
    assert "79 calls stay with" in done.err
    assert "metal judge --resume r" in done.said
    assert "Traceback" not in done.err


def test_cancelled(metal: Metal, server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.rate = 0.01
    begun = ("judge", DEMO, *SMALL, "--batch", "--no-wait", "--max-cost", "5", "--out", "r")
    assert "no open batches" not in metal(*begun).said
    server.service.ahead += 500.0
    said = metal("judge", "cancel", "r").said
    answered = sum(job.answered for job in server.service.jobs)
    assert f"{79 - answered} calls not made. Continue with: metal judge --resume r" in said
    assert len(pd.read_parquet(tmp_path / "r" / "ratings.parquet")) == 1 + answered
    assert read_run_toml(tmp_path / "r")["settings"]["max_cost"] == 5.0
    assert "nothing to cancel" in metal("judge", "cancel", "r").said
    server.service.rate = 2000.0
    assert "80 ratings" in metal("judge", "--resume", "r").said
    nothing_twice(server)


@pytest.mark.parametrize(
    "given, told",
    [
        (
            ("-j", "langchain:anthropic:claude-sonnet-4-0"),
            ("langchain has no batch", "anthropic, azure, gemini"),
        ),
        (("-j", "g", "--engine", "local"), ("--batch and --engine local: give one of them",)),
        (("-j", "g", "--address", "a:1"), ("--address needs a Ray cluster",)),
    ],
)
def test_refused(
    metal: Metal, tmp_path: Path, given: tuple[str, ...], told: tuple[str, ...]
) -> None:
    assert tells(metal.refused("judge", DEMO, *given, "--batch", "--out", "r"), *told)
    assert not (tmp_path / "r").exists()


def test_cancelling_what_is_no_run(metal: Metal, tmp_path: Path) -> None:
    assert "no such run folder" in metal.refused("judge", "cancel", "nowhere")
    assert "Cancel the open batches" in metal("judge", "cancel", "--help").out


def test_baselines_need_no_batch(metal: Metal, server: OpenAIBatchServer, tmp_path: Path) -> None:
    assert (
        "800 ratings"
        in metal("judge", DEMO, *JUDGE, "-j", "majority", "--batch", "--out", "r").said
    )


def test_begun_in_batches_and_gone_on_with_in_batches(
    metal: Metal, server: OpenAIBatchServer
) -> None:
    """Also when nothing but the first question was asked by then: the rest is not to cost twice as
    much.
    """
    assert (
        "79 calls not made"
        in metal("judge", DEMO, *SMALL, "--batch", "--limit", "1", "--out", "r").said
    )
    assert not server.service.jobs
    assert "80 ratings" in metal("judge", "--resume", "r").said
    assert sum(len(job.requests) for job in server.service.jobs) == 79


def test_a_budget_that_was_enough_is_not_said_to_have_stopped_it(metal: Metal) -> None:
    """What is set aside for open batches is more than they cost; the rest follows when they have
    ended.
    """
    said = metal("judge", DEMO, *JUDGE, "--batch", "--max-cost", "0.27", "--out", "r").said
    assert "400 ratings" in said
    assert "--max-cost" not in said


def test_what_a_provider_says_of_a_batch_cannot_rewrite_the_screen() -> None:
    said = _progress_words(
        Progress(Model("g", "openai", "g"), awaited="1 batch \x1b[2J" + "x" * 1000), 1.0
    )
    assert "\x1b" not in said
    assert len(said) < 80
