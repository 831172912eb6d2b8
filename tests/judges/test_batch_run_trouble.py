"""Runs through batch services in rarer trouble: nothing is paid twice and no answer is lost by it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal.raters.judges.batch.ledger import FETCHED, MERGED, SUBMITTED, Batch, Ledger, read_ledger
from metal.raters.judges.batch.questions import SAMPLE
from metal.raters.judges.call import TIMEOUT, BatchClient, CallFailed
from metal.raters.judges.engine import Rules
from metal.raters.judges.models import Model, Price
from metal.raters.judges.providers import open_batch_client
from tests.batch_jobs import TOO_MANY_TOKENS, Behaviour, Job, in_turn
from tests.judges.test_batch_run import (
    QUICK,
    SOON,
    Killed,
    a_model,
    dying,
    nothing_twice,
    session,
    until_ended,
)
from tests.judges.test_runner import HALLUCINATIONS, KEY, TASK_QUALITY, a_plan
from tests.llm_server import Fault, SideRequest
from tests.openai_batch_server import OpenAIBatchServer

pytestmark = [
    *[pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")],
    pytest.mark.usefixtures("openai_environment"),
]


@pytest.fixture
def server() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer() as server:
        yield server


@pytest.mark.parametrize("change", ["order", "gone"])
def test_answers_find_their_calls_in_a_plan_that_has_changed(
    server: OpenAIBatchServer, tmp_path: Path, change: str
) -> None:
    model = a_model(server, batch=replace(SOON, requests=7))
    server.service.wait = 0.3
    texts = [f"summary {item}." for item in range(10)]
    session(a_plan(model, texts=texts, criteria=(TASK_QUALITY, HALLUCINATIONS)), tmp_path, wait=False)
    until_ended(server)
    asked = sum(len(job.requests) for job in server.service.jobs)
    criteria = (HALLUCINATIONS, TASK_QUALITY) if change == "order" else (TASK_QUALITY, HALLUCINATIONS)
    plan = a_plan(model, texts=texts if change == "order" else texts[1:], criteria=criteria)
    assert session(plan, tmp_path).reasons == {"verdict": plan.questions_per_model}
    assert sum(len(job.requests) for job in server.service.jobs) == asked
    nothing_twice(server)


def test_a_submission_that_took_longer_than_the_list_takes(server: OpenAIBatchServer, tmp_path: Path) -> None:
    """No answer came in time, and the batch was begun at the very end of it."""
    server.service.behaviour = in_turn(Behaviour(hidden=0.2))

    def opener(model: Model) -> BatchClient:
        client = open_batch_client(model)
        real = client.submit

        async def slow(uploaded: str, token: str) -> str:
            await asyncio.sleep(0.4)
            await real(uploaded, token)
            raise CallFailed(TIMEOUT)

        client.submit = slow  # type: ignore[method-assign]
        return client

    plan = a_plan(a_model(server, batch=replace(SOON, settle=0.4)), count=20)
    assert session(plan, tmp_path, opener=opener).reasons == {"verdict": 20}
    assert len(server.service.jobs) == 1
    nothing_twice(server)


def test_a_service_that_is_busy_while_a_batch_is_open_is_left_alone(server: OpenAIBatchServer, tmp_path: Path) -> None:
    def behaves(job: Job) -> Behaviour:
        if job.number == 1:
            return Behaviour(wait=0.5)
        return Behaviour() if server.service.jobs[0].is_over else Behaviour(refused_call=429)

    server.service.behaviour = behaves
    plan = a_plan(a_model(server, batch=replace(SOON, requests=10)), count=31)
    outcome = session(plan, tmp_path, Rules(backoff=0.05))
    assert outcome.stopped == [""]
    assert outcome.reasons == {"verdict": 31}
    assert len(server.sizes) < 12
    nothing_twice(server)


def out_of_reach(server: OpenAIBatchServer, looks: float) -> None:
    """So many looks at batches come to nothing."""
    seen = [0]

    def disturbs(request: SideRequest, number: int) -> Fault | None:
        if request.method == "GET" and "/batches/" in request.path:
            seen[0] += 1
            return Fault("drop") if seen[0] <= looks else None
        return None

    server.disturbs = disturbs


def test_a_service_out_of_reach_is_waited_for(
    server: OpenAIBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(a_model(server), count=20)
    out_of_reach(server, 12)
    with monkeypatch.context() as changed:
        changed.setattr("metal.raters.judges.batch.judge.OUTAGE", 0.0)
        assert "connection lost" in session(plan, tmp_path, replace(QUICK, attempts=2)).stopped[0]
    outcome = session(plan, tmp_path, replace(QUICK, attempts=2))
    assert outcome.stopped == [""]
    assert outcome.reasons == {"verdict": 20}
    nothing_twice(server)


@pytest.mark.parametrize("cancelling", [False, True])
def test_results_that_are_fetched_are_merged_whatever_the_provider_knows(
    server: OpenAIBatchServer, tmp_path: Path, cancelling: bool
) -> None:
    plan = a_plan(a_model(server), count=20)
    with pytest.raises(Killed):
        session(plan, tmp_path, opener=dying("fetch", after=True))
    [batch] = read_ledger(tmp_path)
    asyncio.run(fetched(plan.models[0], batch, tmp_path))
    server.service.remove(batch.id)
    assert session(plan, tmp_path, cancelling=cancelling).reasons == {"verdict": 20}


async def fetched(model: Model, batch: Batch, folder: Path) -> None:
    client, ledger = open_batch_client(model), Ledger(folder)
    await client.fetch(batch.id, ledger.results(batch.token))
    ledger.note(ledger.batches[batch.token], FETCHED)
    await client.close()


def test_fetched_results_that_are_lost_are_fetched_again(server: OpenAIBatchServer, tmp_path: Path) -> None:
    plan = a_plan(a_model(server), count=20)
    with pytest.raises(Killed):
        session(plan, tmp_path, opener=dying("fetch", after=True))
    [batch] = read_ledger(tmp_path)
    asyncio.run(fetched(plan.models[0], batch, tmp_path))
    Ledger(tmp_path).results(batch.token).unlink()
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    nothing_twice(server)


def test_results_that_the_provider_no_longer_has_can_be_given_up(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.disturbs = lambda request, number: Fault("404") if request.path.endswith("/content") else None
    plan = a_plan(a_model(server), count=20)
    outcome = session(plan, tmp_path)
    assert "give it up with `metal.judge_cancel(...)`" in outcome.stopped[0]
    assert outcome.states == {SUBMITTED: 1}
    assert session(plan, tmp_path, cancelling=True).states == {MERGED: 1}
    server.disturbs = None
    assert session(plan, tmp_path).reasons == {"verdict": 20}


@pytest.mark.parametrize("step", ["os.fsync", "metal.raters.judges.batch.ledger._sync"])
def test_a_full_disk_names_the_file(
    server: OpenAIBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As a request file is written, or when results are there; and it goes on from there."""

    def full(file: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), None if step == "os.fsync" else str(file))

    plan = a_plan(a_model(server), count=20)
    with monkeypatch.context() as changed:
        changed.setattr(step, full)
        with pytest.raises(OSError, match="No space left") as raised:
            session(plan, tmp_path)
    assert str(raised.value.filename).startswith(str(tmp_path / "batches"))
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    nothing_twice(server)


def test_what_may_be_spent_is_kept_when_the_first_answer_is_a_short_one(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    """All others are far longer: a first batch of a hundred tells, before thousands are bought at the wrong price."""
    long = Fault("text", text='{"justification": "' + "word " * 300 + '", "score": 1}')
    server.faults = lambda call: None if "summary 0." in call.prompt else long
    price = Price(1.0, 10.0)
    plan = a_plan(a_model(server, price=price, batch_price=price.halved()), count=600)
    outcome = session(plan, tmp_path, replace(QUICK, max_cost=0.5))
    assert len(server.service.jobs[0].requests) == SAMPLE
    assert outcome.run.over_budget
    assert 0.4 < (outcome.statistics["openai:gpt-4o/simple"].cost(price, price.halved()) or 0) <= 0.5


def test_answers_to_calls_that_are_gone_are_counted(server: OpenAIBatchServer, tmp_path: Path) -> None:
    texts = [f"summary {item}." for item in range(20)]
    server.service.wait = 100.0
    session(a_plan(a_model(server), texts=texts), tmp_path, wait=False)
    server.service.ahead += 100.0
    server.service.wait = 0.0
    outcome = session(
        a_plan(a_model(server), texts=[*texts[:15], *(f"{text} Edited." for text in texts[15:])]), tmp_path
    )
    assert outcome.reasons == {"verdict": 20}
    assert outcome.run.progress[0].unused == 5
    assert server.stats()["answered_twice"] == 0


def test_a_key_that_a_provider_repeats_is_on_no_disk(server: OpenAIBatchServer, tmp_path: Path) -> None:
    """Not even between fetching and merging."""
    server.answer = lambda prompt, body: json.dumps({"score": 1, "justification": f"Your key is {KEY}."})
    plan = a_plan(a_model(server), count=20)

    def opener(model: Model) -> BatchClient:
        client = open_batch_client(model)

        def die(line: bytes) -> Any:
            raise Killed

        client.read = die  # type: ignore[method-assign]
        return client

    def with_key() -> list[Path]:
        return [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]

    with pytest.raises(Killed):
        session(plan, tmp_path, opener=opener)
    assert b"[key hidden]" in next((tmp_path / "batches").glob("*.results.jsonl")).read_bytes()
    assert not with_key()
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    assert not with_key()


@pytest.mark.parametrize("path", ["/files", "/batches"])
def test_errors_are_shown_without_keys(server: OpenAIBatchServer, tmp_path: Path, path: str) -> None:
    echo = Fault("403", text=f"{KEY} may not")
    server.disturbs = lambda request, number: echo if request.path.endswith(path) else None
    outcome = session(a_plan(a_model(server), count=20), tmp_path)
    assert "[key hidden] may not" in outcome.stopped[0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_refused_batch_leaves_no_file_with_the_provider(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(refusal=TOO_MANY_TOKENS))
    assert session(a_plan(a_model(server), count=20), tmp_path).reasons == {"verdict": 20}
    assert len(server.sizes) >= 2
    assert not server.files
