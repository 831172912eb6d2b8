"""A run through batch services, against a local one: what is submitted, what is asked again, what a
kill leaves.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from metal.errors import DataError
from metal.raters.judges.batch.ledger import (
    DROPPED,
    FETCHED,
    MADE,
    MERGED,
    SUBMITTED,
    SUBMITTING,
    Batch,
    Ledger,
    read_ledger,
)
from metal.raters.judges.batch.questions import SAMPLE
from metal.raters.judges.batch.run import BatchRun
from metal.raters.judges.call import MOST_BYTES, TIMEOUT, BatchClient, CallFailed
from metal.raters.judges.engine import EngineOptions, Rules, Session
from metal.raters.judges.journal import Answered, Journal
from metal.raters.judges.models import BatchSettings, Model
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.prices import Price
from metal.raters.judges.providers import open_batch_client
from metal.raters.judges.secrets import Secrets
from tests.batch_jobs import TOO_MANY_TOKENS, Behaviour, Job, Refusal, drawn, in_turn
from tests.judges.test_runner import HALLUCINATIONS, KEY, TASK_QUALITY, Outcome, a_plan, carried_out
from tests.judges.test_runner import session as local_session
from tests.llm_server import (
    Fault,
    SideRequest,
    always,
    by_attempt,
    rejects_parameters,
    when_prompt_has,
)
from tests.openai_batch_server import ROUGH, OpenAIBatchServer

pytestmark = [
    *[
        pytest.mark.filterwarnings(f"ignore::{kind}")
        for kind in ("DeprecationWarning", "FutureWarning")
    ],
    pytest.mark.usefixtures("openai_environment"),
]

QUICK = Rules(backoff=0.005)
SOON = BatchSettings(poll=0.01, settle=0.05)


@pytest.fixture
def server() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer() as server:
        yield server


def a_model(server: OpenAIBatchServer, name: str = "gpt-4o", **settings: Any) -> Model:
    return Model(
        f"openai:{name}",
        "openai",
        name,
        **({"base_url": server.openai_url, "batch": SOON} | settings),
    )


def on_azure(server: OpenAIBatchServer, **settings: Any) -> Model:
    """Asked in batches from the first question on."""
    return Model(
        "azure:gpt-4o",
        "azure",
        "gpt-4o",
        **({"base_url": server.azure_v1_url, "batch": SOON} | settings),
    )


@dataclass
class BatchOutcome(Outcome[BatchRun]):
    """A session's end; the batches of its ledger."""

    batches: list[Batch]

    @property
    def states(self) -> Counter[str]:
        return Counter(batch.state for batch in self.batches)


class Killed(BaseException):
    """Stands for kill -9: nothing after it happens."""


def session(
    plan: JudgingPlan,
    folder: Path,
    rules: Rules = QUICK,
    during: Callable[[BatchRun], Awaitable[Any]] | None = None,
    opener: Callable[[Model], BatchClient] = open_batch_client,
    **how: bool,
) -> BatchOutcome:
    """One session over the folder, as `metal judge --batch` has it. during: awaited beside the
    run.
    """

    def make(journal: Journal, answered: Answered) -> BatchRun:
        options, secrets = EngineOptions(**how), Secrets([KEY])
        return BatchRun(
            Session(
                plan, journal, answered, rules, secrets, folder, options, open_batch_client=opener
            )
        )

    outcome = carried_out(plan, folder, rules, make, during)
    return BatchOutcome(**vars(outcome), batches=read_ledger(folder))


def nothing_twice(server: OpenAIBatchServer) -> None:
    """No question was answered twice, directly or in a batch, and none was in two open batches."""
    stats = server.stats()
    assert {
        name: stats[name] for name in ("answered_twice", "overlapping", "prompts_answered_twice")
    } == {
        "answered_twice": 0,
        "overlapping": 0,
        "prompts_answered_twice": 0,
    }


# ---------------------------------------------------------------- what comes of it


def test_the_same_ratings_as_asked_directly(server: OpenAIBatchServer, tmp_path: Path) -> None:
    model = a_model(server).asked_for_probabilities()
    plan = a_plan(model, count=60, criteria=(TASK_QUALITY, HALLUCINATIONS))
    (tmp_path / "local").mkdir()
    outcome = session(plan, tmp_path)
    nothing_twice(server)
    assert outcome.ratings == local_session(plan, tmp_path / "local").ratings
    assert all(rating.confidence and rating.confidence >= 0.6 for rating in outcome.ratings)
    assert outcome.reasons == {"verdict": 120}
    assert outcome.states == {MERGED: 1}
    assert [len(job.requests) for job in server.service.jobs] == [119]  # one was asked directly
    assert not list((tmp_path / "batches").iterdir())
    assert not server.files, "request files are taken away again"


def test_a_reply_looks_as_if_asked_directly(server: OpenAIBatchServer, tmp_path: Path) -> None:
    plan = a_plan(a_model(server), count=2)
    direct, batched = session(plan, tmp_path).records
    assert "batch" not in direct
    assert batched["batch"] == read_ledger(tmp_path)[0].token
    assert batched["seconds"] is None
    assert batched["sent"] == direct["sent"] == {"temperature": 0, "structured": "json_schema"}
    assert batched.keys() - direct.keys() == {"batch"}
    assert batched["reply"].keys() == direct["reply"].keys()


def test_rough_batches_come_to_the_same(server: OpenAIBatchServer, tmp_path: Path) -> None:
    """They expire, fail in part and as a whole, get lost, are cancelled by others, come back
    shuffled.
    """
    server.service.behaviour = drawn(7, *ROUGH, attempts=3)
    plan = a_plan(a_model(server, batch=replace(SOON, requests=9)), count=80)
    outcome = session(plan, tmp_path)
    server.service.behaviour = lambda job: Behaviour()
    assert outcome.stopped == [""]
    assert outcome.reasons == {"verdict": 80}
    assert outcome.states[DROPPED]
    nothing_twice(server)


def test_two_models_and_two_names_of_one(server: OpenAIBatchServer, tmp_path: Path) -> None:
    first, other = a_model(server), a_model(server, "gpt-4o-mini")
    plan = a_plan(first, other, replace(first, name="again"), count=20)
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 60}
    assert sum(server.counts.values()) == 40, "what two names of a model ask is asked once"
    assert not server.service.overlapping


def test_an_unreadable_reply_is_asked_again_in_the_next_batch(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.faults = by_attempt(None)
    unreadable = Fault("text", text="I would rather not say.")
    server.faults = lambda call: (
        unreadable if "summary 3." in call.prompt and call.attempt == 1 else None
    )
    outcome = session(a_plan(a_model(server), count=6), tmp_path)
    assert outcome.reasons == {"verdict": 6}
    assert [len(job.requests) for job in server.service.jobs] == [5, 1]
    assert sorted(record["ask"] for record in outcome.records) == [1, 1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    "kind, reason", [("content_filter", "filtered"), ("context_length_exceeded", "too long")]
)
def test_a_lasting_refusal_is_written_down(
    server: OpenAIBatchServer, tmp_path: Path, kind: str, reason: str
) -> None:
    server.faults = when_prompt_has("summary 3.", Fault(kind))
    plan = a_plan(a_model(server), count=6)
    assert session(plan, tmp_path).reasons == {"verdict": 5, reason: 1}
    jobs = len(server.service.jobs)
    assert session(plan, tmp_path).reasons == {"verdict": 5, reason: 1}
    assert len(server.service.jobs) == jobs, "it is not asked again"


def test_a_reply_that_is_too_large(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.faults = when_prompt_has("summary 3.", Fault("text", text="x" * MOST_BYTES))
    assert session(a_plan(a_model(server), count=6), tmp_path).reasons == {
        "verdict": 5,
        "failed: reply too large": 1,
    }
    assert (tmp_path / "journal.jsonl").stat().st_size < 20_000


def test_a_call_that_always_fails_is_given_up_and_asked_again_when_resumed(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.faults = when_prompt_has("summary 3.", Fault("500"))
    plan = a_plan(a_model(server), count=6)
    outcome = session(plan, tmp_path, replace(QUICK, attempts=3))
    assert outcome.reasons == {"verdict": 5, "failed: server error": 1}
    assert [len(job.requests) for job in server.service.jobs] == [5, 1, 1]
    assert outcome.records[-1]["retries"] == 2
    server.faults = None
    assert session(plan, tmp_path).reasons == {"verdict": 6}


# ---------------------------------------------------------------- limits


def test_batches_keep_within_requests_bytes_and_tokens(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    texts = ["many words. " * (1 + item % 5) + str(item) for item in range(30)]
    plan = a_plan(a_model(server, batch=replace(SOON, requests=7)), texts=texts)
    session(plan, tmp_path)
    assert [len(job.requests) for job in server.service.jobs] == [7, 7, 7, 7, 1]
    (tmp_path / "bytes").mkdir()
    server.most_bytes = 20_000
    server.sizes.clear()
    session(
        a_plan(a_model(server, batch=replace(SOON, bytes=20_000)), texts=texts), tmp_path / "bytes"
    )
    assert len(server.sizes) > 1
    assert max(server.sizes) <= 20_000
    assert min(server.sizes[:-1]) > 15_000, "as full as can be"


def test_no_more_tokens_wait_than_may(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.enqueued_tokens = 4_000
    server.service.wait = 0.02
    plan = a_plan(a_model(server, batch=replace(SOON, tokens=3_000)), count=60)
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 60}
    assert not outcome.states[DROPPED], "none was refused for its tokens"
    assert max(batch.tokens for batch in outcome.batches) <= 3_000


@pytest.mark.parametrize(
    "message", [TOO_MANY_TOKENS.message, "Enqueued token limit reached for gpt-4o. Limit: 4,000."]
)
def test_a_limit_of_tokens_is_found_out(
    server: OpenAIBatchServer, tmp_path: Path, message: str
) -> None:
    server.service.enqueued_tokens = 4_000
    server.service.wait = 0.02
    server.service.too_many = TOO_MANY_TOKENS._replace(message=message)
    outcome = session(a_plan(a_model(server), count=60), tmp_path)
    assert outcome.stopped == [""]
    assert outcome.reasons == {"verdict": 60}
    assert outcome.states[DROPPED] >= 1
    nothing_twice(server)


def test_a_limit_counts_a_call_once_however_many_batches_it_takes(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    refused = Behaviour(refusal=TOO_MANY_TOKENS)
    server.service.behaviour = in_turn(
        Behaviour(failing=0.5), refused, Behaviour(expires_after=0.5)
    )
    outcome = session(a_plan(a_model(server), count=20), tmp_path, replace(QUICK, limit=8))
    assert len(outcome.ratings) == 8
    assert len(server.service.jobs) >= 4
    assert server.stats()["prompts_answered_twice"] == 0


def test_what_may_be_spent(server: OpenAIBatchServer, tmp_path: Path) -> None:
    """At batch prices, the batches still open counted: 100 in and 20 out a call at most is 0.00015
    dollars.
    """
    price = Price(1.0, 2.5)
    model = a_model(
        server, price=price, batch_price=price.halved(), batch=replace(SOON, requests=5)
    )
    plan = a_plan(model, count=40)
    statistics = session(plan, tmp_path).statistics["openai:gpt-4o/simple"]
    dollars = statistics.cost(price, price.halved())
    assert dollars is not None
    assert statistics.cost(price) is not None
    assert (
        price.halved().cost(statistics.tokens_in, statistics.tokens_out)
        < dollars
        < 0.6 * (statistics.cost(price) or 0)
    )
    (tmp_path / "half").mkdir()
    server.service.wait = 0.02
    outcome = session(plan, tmp_path / "half", replace(QUICK, max_cost=dollars / 2))
    assert outcome.run.over_budget
    spent = outcome.statistics["openai:gpt-4o/simple"].cost(price, price.halved()) or 0
    assert dollars / 4 < spent <= dollars / 2
    assert outcome.run.budget.committed == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------- when a judge cannot go on


@pytest.mark.parametrize("kind", ["unauthorized", "model_not_found", "insufficient_quota"])
def test_a_wrong_key_shows_at_once(server: OpenAIBatchServer, tmp_path: Path, kind: str) -> None:
    server.faults = always(Fault(kind))
    outcome = session(a_plan(a_model(server), count=20), tmp_path)
    assert server.requests == 1
    assert not server.service.jobs
    assert outcome.stopped[0]
    assert KEY not in outcome.stopped[0]


def test_a_refused_file_stops_the_judge(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(
        Behaviour(refusal=Refusal("billing_hard_limit_reached", "Billing hard limit"))
    )
    outcome = session(a_plan(a_model(server), count=20), tmp_path)
    assert "illing hard limit" in outcome.stopped[0]
    assert outcome.states == {DROPPED: 1}
    assert len(outcome.ratings) == 1
    assert len(session(a_plan(a_model(server), count=20), tmp_path).ratings) == 20


@pytest.mark.parametrize("on", [a_model, on_azure], ids=["openai", "azure"])
def test_a_parameter_that_is_not_taken(
    server: OpenAIBatchServer, tmp_path: Path, on: Callable[[OpenAIBatchServer], Model]
) -> None:
    """Found out by the first question; or, where none is asked directly, by the first batch."""
    server.faults = rejects_parameters("temperature")
    outcome = session(a_plan(on(server), count=20), tmp_path)
    assert outcome.reasons == {"verdict": 20}
    assert [record["kind"] for record in outcome.records].count("rejected") == 1
    assert next(iter(outcome.statistics.values())).rejected.keys() == {"temperature"}
    assert all(
        record["sent"] == {"structured": "json_schema"}
        for record in outcome.records
        if "sent" in record
    )
    assert len(server.service.jobs) == (1 if on is a_model else 2)
    # known when resumed
    assert session(a_plan(on(server), count=25), tmp_path).reasons == {"verdict": 25}


def test_a_model_that_takes_no_request_stops(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.faults = always(Fault("400"))
    outcome = session(a_plan(on_azure(server), count=20), tmp_path)
    assert "request rejected" in outcome.stopped[0]
    assert len(server.service.jobs) == 1


def test_batches_that_bring_nothing_come_to_an_end(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.service.behaviour = lambda job: Behaviour(expires_after=0.0)
    outcome = session(a_plan(a_model(server), count=20), tmp_path, replace(QUICK, attempts=3))
    assert "expired" in outcome.stopped[0]
    assert len(server.service.jobs) == 3
    assert len(outcome.ratings) <= 20


# ---------------------------------------------------------------- stopped, killed, resumed


def test_stopped_and_gone_on_with(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.wait = 600.0
    plan = a_plan(a_model(server), count=20)

    async def stop(run: BatchRun) -> None:
        while run.progress[0].under_way < 19:
            await asyncio.sleep(0.01)
        assert "19 calls stay with" in run.stop()

    outcome = session(plan, tmp_path, during=stop)
    assert len(outcome.ratings) == 1
    assert outcome.run.progress[0].under_way == 19
    server.service.ahead += 600.0
    assert len(session(plan, tmp_path).ratings) == 20
    assert len(server.service.jobs) == 1
    nothing_twice(server)


def test_without_waiting(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.wait = 1000.0
    plan = a_plan(a_model(server, batch=replace(SOON, requests=10)), count=21)
    outcome = session(plan, tmp_path, wait=False)
    assert (len(outcome.ratings), outcome.run.progress[0].under_way) == (1, 20)
    server.service.wait = 0.0
    until_ended(server)
    assert len(session(plan, tmp_path, wait=False).ratings) == 21
    nothing_twice(server)


def until_ended(server: OpenAIBatchServer) -> None:
    async def wait() -> None:
        while not all(job.is_over for job in server.service.jobs):
            await asyncio.sleep(0.02)

    asyncio.run(wait())


@pytest.mark.parametrize("answered", [0.0, 0.5])
def test_cancelled(server: OpenAIBatchServer, tmp_path: Path, answered: float) -> None:
    """What had been answered is kept; the rest is asked when somebody resumes."""
    server.service.behaviour = lambda job: Behaviour(
        wait=0.0 if answered else 1e6, rate=0.01, cancelling=0.05
    )
    plan = a_plan(a_model(server), count=41)
    session(plan, tmp_path, wait=False)
    server.service.ahead += 1500.0  # fifteen answers
    outcome = session(plan, tmp_path, cancelling=True)
    assert outcome.states == {MERGED: 1}
    done = server.service.jobs[0].answered
    assert len(outcome.ratings) == 1 + done
    assert bool(done) == bool(answered)
    assert done < 40
    server.service.behaviour = lambda job: Behaviour()
    assert len(session(plan, tmp_path).ratings) == 41
    nothing_twice(server)


def test_a_batch_the_provider_does_not_know(server: OpenAIBatchServer, tmp_path: Path) -> None:
    """It may be another key's: nothing is paid twice unless somebody says so."""
    server.service.wait = 100.0
    plan = a_plan(a_model(server), count=20)
    session(plan, tmp_path, wait=False)
    server.service.remove(server.service.jobs[0].id)
    outcome = session(plan, tmp_path)
    assert "key it was submitted" in outcome.stopped[0]
    assert not server.service.jobs
    assert session(plan, tmp_path, cancelling=True).states == {DROPPED: 1}
    server.service.wait = 0.0
    assert len(session(plan, tmp_path).ratings) == 20


def dying(step: str, after: bool, times: int = 1) -> Callable[[Model], BatchClient]:
    """Batch clients that die at a step, before or after the provider has had the request."""
    left = [times]

    def opener(model: Model) -> BatchClient:
        client = open_batch_client(model)
        real = getattr(client, step)

        async def die(*given: Any) -> Any:
            outcome = await real(*given) if after or not left[0] else None
            if left[0]:
                left[0] -= 1
                raise Killed
            return outcome

        setattr(client, step, die)
        return client

    return opener


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["upload", "submit", "status", "fetch", "forget"])
def test_killed_at_each_step(
    server: OpenAIBatchServer, tmp_path: Path, step: str, after: bool
) -> None:
    plan = a_plan(a_model(server), count=20)
    with pytest.raises(Killed):
        session(plan, tmp_path, opener=dying(step, after))
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 20}
    assert [len(job.requests) for job in server.service.jobs] == [19]
    nothing_twice(server)


def test_a_submission_that_shows_late(server: OpenAIBatchServer, tmp_path: Path) -> None:
    """The provider has the batch, and its list does not show it yet."""
    server.service.behaviour = in_turn(Behaviour(lost=True, hidden=0.3))
    plan = a_plan(a_model(server, batch=replace(SOON, settle=0.6)), count=20)
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    assert len(server.service.jobs) == 1


def test_a_clock_that_was_set_since_then(
    server: OpenAIBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock the submission was long ago; it is waited for all the same."""

    async def sleep_until(over: asyncio.Event, seconds: float) -> bool:
        server.service.ahead += seconds
        await asyncio.sleep(0.001)
        return over.is_set()

    monkeypatch.setattr("metal.raters.judges.batch.judge.sleep_until", sleep_until)
    server.service.behaviour = in_turn(Behaviour(hidden=20.0))
    plan = a_plan(a_model(server, batch=replace(SOON, settle=30.0)), count=20)
    with pytest.raises(Killed):
        session(plan, tmp_path, opener=dying("submit", after=True))
    ledger = tmp_path / "batches.jsonl"
    ledger.write_text(re.sub(r'"at":[0-9.]+', '"at":1', ledger.read_text()))
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    assert len(server.service.jobs) == 1


def test_a_submission_that_never_arrived(server: OpenAIBatchServer, tmp_path: Path) -> None:
    plan = a_plan(a_model(server), count=20)
    with pytest.raises(Killed):
        session(plan, tmp_path, opener=dying("submit", after=False))
    assert [batch.state for batch in read_ledger(tmp_path)] == [SUBMITTING]
    assert session(plan, tmp_path, cancelling=True).states == {DROPPED: 1}
    assert not server.service.jobs
    assert len(session(plan, tmp_path).ratings) == 20


@pytest.mark.parametrize("lines", [1, 4, 18])
def test_killed_in_the_middle_of_merging(
    server: OpenAIBatchServer, tmp_path: Path, lines: int
) -> None:
    """Replies that are in the journal are not written again, unreadable ones among them."""
    server.faults = lambda call: (
        Fault("text", text="No.") if "summary 2." in call.prompt and call.attempt < 2 else None
    )
    plan = a_plan(a_model(server), count=20)

    def opener(model: Model) -> BatchClient:
        client = open_batch_client(model)
        real, read = client.read, [0]

        def reading(line: bytes) -> Any:
            read[0] += 1
            if read[0] > lines:
                raise Killed
            return real(line)

        client.read = reading  # type: ignore[method-assign]
        return client

    with pytest.raises(Killed):
        session(plan, tmp_path, opener=opener)
    assert [batch.state for batch in read_ledger(tmp_path)] == [FETCHED]
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 20}
    assert len(outcome.records) == 21
    assert [len(job.requests) for job in server.service.jobs] == [19, 1]
    assert len({(record["key"], record["ask"]) for record in outcome.records}) == 21


def test_files_of_a_batch_that_was_never_whole_are_taken_away(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.requests("m0").write_text("half a file")
    ledger.write_keys("m1", [bytes(32)])
    ledger.requests("m1").write_text("whole\n")
    ledger.note(Batch("m1", "openai:m", 2, 1.0, 0.0, 0, {}), MADE)
    assert sorted(path.name for path in Ledger(tmp_path).folder.iterdir()) == [
        "m1.keys",
        "m1.requests.jsonl",
    ]


def test_a_ledger_cut_short_or_damaged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write_keys("m1", [bytes(16)])
    ledger.note(Batch("m1", "openai:m", 1, 1.0, 0.5, 0, {"seed": "no"}), MADE)
    ledger.note(ledger.batches["m1"], SUBMITTING)
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content[:-10])
    assert [(batch.state, batch.without) for batch in read_ledger(tmp_path)] == [
        (MADE, {"seed": "no"})
    ]
    assert Ledger(tmp_path).batches["m1"].state == MADE
    assert ledger.path.read_bytes().endswith(b"\n")
    ledger.path.write_bytes(content + b'{"token":"m1","state":"gone","at":1}\n')
    with pytest.raises(DataError, match=r"batches\.jsonl line 3"):
        Ledger(tmp_path)


def test_a_file_that_is_too_large_for_the_provider(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    """Its own limit, which is lower than the one we know: files are halved until they pass."""
    server.most_bytes = 30_000
    outcome = session(a_plan(a_model(server), count=40), tmp_path)
    assert outcome.stopped == [""]
    assert outcome.reasons == {"verdict": 40}
    assert outcome.states[DROPPED] == 2
    assert max(server.sizes) <= 30_000


# ---------------------------------------------------------------- rarer trouble


@pytest.mark.parametrize("change", ["order", "gone"])
def test_answers_find_their_calls_in_a_plan_that_has_changed(
    server: OpenAIBatchServer, tmp_path: Path, change: str
) -> None:
    model = a_model(server, batch=replace(SOON, requests=7))
    server.service.wait = 0.3
    texts = [f"summary {item}." for item in range(10)]
    session(
        a_plan(model, texts=texts, criteria=(TASK_QUALITY, HALLUCINATIONS)), tmp_path, wait=False
    )
    until_ended(server)
    asked = sum(len(job.requests) for job in server.service.jobs)
    criteria = (
        (HALLUCINATIONS, TASK_QUALITY) if change == "order" else (TASK_QUALITY, HALLUCINATIONS)
    )
    plan = a_plan(model, texts=texts if change == "order" else texts[1:], criteria=criteria)
    assert session(plan, tmp_path).reasons == {"verdict": plan.questions_per_model}
    assert sum(len(job.requests) for job in server.service.jobs) == asked
    nothing_twice(server)


def test_a_submission_that_took_longer_than_the_list_takes(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
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


def test_a_service_that_is_busy_while_a_batch_is_open_is_left_alone(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
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


def test_fetched_results_that_are_lost_are_fetched_again(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    plan = a_plan(a_model(server), count=20)
    with pytest.raises(Killed):
        session(plan, tmp_path, opener=dying("fetch", after=True))
    [batch] = read_ledger(tmp_path)
    asyncio.run(fetched(plan.models[0], batch, tmp_path))
    Ledger(tmp_path).results(batch.token).unlink()
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    nothing_twice(server)


def test_results_that_the_provider_no_longer_has_can_be_given_up(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.disturbs = lambda request, number: (
        Fault("404") if request.path.endswith("/content") else None
    )
    plan = a_plan(a_model(server), count=20)
    outcome = session(plan, tmp_path)
    assert "`metal.judge_cancel(...)`" in outcome.stopped[0]
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
        raise OSError(
            errno.ENOSPC, os.strerror(errno.ENOSPC), None if step == "os.fsync" else str(file)
        )

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
    """All others are far longer: a first batch of a hundred tells, before thousands are bought at
    the wrong price.
    """
    long = Fault("text", text='{"justification": "' + "word " * 300 + '", "score": 1}')
    server.faults = lambda call: None if "summary 0." in call.prompt else long
    price = Price(1.0, 10.0)
    plan = a_plan(a_model(server, price=price, batch_price=price.halved()), count=600)
    outcome = session(plan, tmp_path, replace(QUICK, max_cost=0.5))
    assert len(server.service.jobs[0].requests) == SAMPLE
    assert outcome.run.over_budget
    assert (
        0.4 < (outcome.statistics["openai:gpt-4o/simple"].cost(price, price.halved()) or 0) <= 0.5
    )


def test_answers_to_calls_that_are_gone_are_counted(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    texts = [f"summary {item}." for item in range(20)]
    server.service.wait = 100.0
    session(a_plan(a_model(server), texts=texts), tmp_path, wait=False)
    server.service.ahead += 100.0
    server.service.wait = 0.0
    outcome = session(
        a_plan(a_model(server), texts=[*texts[:15], *(f"{text} Edited." for text in texts[15:])]),
        tmp_path,
    )
    assert outcome.reasons == {"verdict": 20}
    assert outcome.run.progress[0].unused == 5
    assert server.stats()["answered_twice"] == 0


def test_a_key_that_a_provider_repeats_is_on_no_disk(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    """Not even between fetching and merging."""
    server.answer = lambda prompt, body: json.dumps(
        {"score": 1, "justification": f"Your key is {KEY}."}
    )
    plan = a_plan(a_model(server), count=20)

    def opener(model: Model) -> BatchClient:
        client = open_batch_client(model)

        def die(line: bytes) -> Any:
            raise Killed

        client.read = die  # type: ignore[method-assign]
        return client

    def with_key() -> list[Path]:
        return [
            path
            for path in tmp_path.rglob("*")
            if path.is_file() and KEY.encode() in path.read_bytes()
        ]

    with pytest.raises(Killed):
        session(plan, tmp_path, opener=opener)
    assert b"[key hidden]" in next((tmp_path / "batches").glob("*.results.jsonl")).read_bytes()
    assert not with_key()
    assert session(plan, tmp_path).reasons == {"verdict": 20}
    assert not with_key()


@pytest.mark.parametrize("path", ["/files", "/batches"])
def test_errors_are_shown_without_keys(
    server: OpenAIBatchServer, tmp_path: Path, path: str
) -> None:
    echo = Fault("403", text=f"{KEY} may not")
    server.disturbs = lambda request, number: echo if request.path.endswith(path) else None
    outcome = session(a_plan(a_model(server), count=20), tmp_path)
    assert "[key hidden] may not" in outcome.stopped[0]
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


def test_a_refused_batch_leaves_no_file_with_the_provider(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.service.behaviour = in_turn(Behaviour(refusal=TOO_MANY_TOKENS))
    assert session(a_plan(a_model(server), count=20), tmp_path).reasons == {"verdict": 20}
    assert len(server.sizes) >= 2
    assert not server.files
