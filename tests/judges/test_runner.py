"""The runner against a local server that fails on demand: what is asked, how often, what is kept,
when it stops.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from metal.data.plugins import plugins
from metal.data.records import Criterion, Output, Rating, Source
from metal.errors import UnknownName
from metal.raters.judges import attempts
from metal.raters.judges import call as calls
from metal.raters.judges import journal as journals
from metal.raters.judges.call import MOST_BYTES, TIMEOUT, CallFailed, Client, ModelRequest, Reply
from metal.raters.judges.collect import CallStatistics, Collected, index_journal
from metal.raters.judges.engine import Engine, Rules, Session, load_engine
from metal.raters.judges.journal import Answered, Journal, read_answered
from metal.raters.judges.models import Model
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.prices import Price
from metal.raters.judges.providers import open_client
from metal.raters.judges.providers.openai_like import read_body
from metal.raters.judges.reply_words import Deferred
from metal.raters.judges.runner import LocalRun
from metal.raters.judges.secrets import Secrets
from metal.running.judging import JudgeRequest
from metal.running.prompting import load_prompts, prompt_folders
from tests.cli.runs import KEY
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.llm_server import (
    Fault,
    LlmServer,
    always,
    by_attempt,
    first_attempts,
    random_faults,
    rejects_parameters,
    when_prompt_has,
)
from tests.saying import tells

pytestmark = [
    *[
        pytest.mark.filterwarnings(f"ignore::{kind}")
        for kind in ("DeprecationWarning", "FutureWarning")
    ],
    pytest.mark.usefixtures("openai_environment"),
]


QUICK = Rules(backoff=0.01)
# seconds after which a run counts as hanging; waits that must not be sat out are longer
HANGS = 240.0
AnyRun = TypeVar("AnyRun", bound=Engine)
UNREADABLE = Fault("text", text="I would rather not say.")


def a_model(server: LlmServer, name: str = "gpt-4o", **settings: Any) -> Model:
    return Model(f"openai:{name}", "openai", name, **({"base_url": server.openai_url} | settings))


def a_plan(
    *models: Model,
    count: int = 6,
    texts: list[str] | None = None,
    criteria: tuple[Criterion, ...] = (TASK_QUALITY,),
    repeat: int = 1,
    prompt: str = "simple",
) -> JudgingPlan:
    texts = texts if texts is not None else [f"summary {item}." for item in range(count)]
    outputs = [Output(f"o{item}", "s", "g", "en", text) for item, text in enumerate(texts)]
    prompts = load_prompts(JudgeRequest((), (prompt,)), criteria, prompt_folders((), None))
    named = {criterion.name: criterion for criterion in criteria}
    return JudgingPlan(
        models, prompts, named, outputs, {"s": Source("s", "en", "the passage")}, repeat
    )


@dataclass
class Outcome(Generic[AnyRun]):
    """A session's end: the run, the ratings of its journal, a tally a judge, the journal's
    records.
    """

    run: AnyRun
    ratings: list[Rating]
    statistics: dict[str, CallStatistics]
    records: list[dict[str, Any]]
    seconds: float

    @property
    def reasons(self) -> Counter[str]:
        return Counter(rating.reason or "verdict" for rating in self.ratings)

    @property
    def tally(self) -> CallStatistics:
        return next(iter(self.statistics.values()))

    @property
    def stopped(self) -> list[str]:
        return [progress.stopped for progress in self.run.progress]


def carried_out(
    plan: JudgingPlan,
    folder: Path,
    rules: Rules,
    make: Callable[[Journal, Answered], AnyRun],
    during: Callable[[AnyRun], Any] | None = None,
) -> Outcome[AnyRun]:
    """A run over the folder's journal, from its first call to its end. during: awaited beside
    it.
    """
    path = folder / "journal.jsonl"

    async def work() -> AnyRun:
        answered = read_answered(rules.reasks, path)
        journal = Journal(path)
        try:
            run = make(journal, answered)
            async with asyncio.timeout(HANGS):
                going = asyncio.create_task(run.go())
                try:
                    if during:
                        await during(run)
                    await going
                finally:
                    going.cancel()
                    await asyncio.gather(going, return_exceptions=True)
        finally:
            await journal.close()
        return run

    began = time.monotonic()
    run = asyncio.run(work())
    seconds = time.monotonic() - began
    outcome = index_journal(plan, path)
    ratings = list(Collected(plan, outcome).ratings())
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert KEY.encode() not in path.read_bytes()
    return Outcome(
        run, ratings, dict(outcome.statistics), [json.loads(line) for line in lines], seconds
    )


def session(
    plan: JudgingPlan,
    folder: Path,
    rules: Rules = QUICK,
    opener: Callable[[Model], Client] = open_client,
    during: Callable[[LocalRun], Any] | None = None,
) -> Outcome[LocalRun]:
    """One session over the folder's journal, as `metal judge` has it. during: awaited beside the
    run.
    """

    def make(journal: Journal, answered: Answered) -> LocalRun:
        return LocalRun(
            Session(plan, journal, answered, rules, Secrets([KEY]), folder, open_client=opener)
        )

    return carried_out(plan, folder, rules, make, during)


class Scripted:
    """A client that answers as told, without a network, after so many turns of the event loop."""

    def __init__(
        self, answer: Callable[[ModelRequest, int], Reply | Exception], turns: int = 1
    ) -> None:
        self.answer, self.turns, self.asked, self.flying, self.most = answer, turns, 0, 0, 0

    async def ask(self, ask: ModelRequest) -> Reply:
        self.asked += 1
        number = self.asked
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            for _ in range(self.turns):
                await asyncio.sleep(0)
        finally:
            self.flying -= 1
        outcome = self.answer(ask, number)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def close(self) -> None:
        return


GOOD = Reply(
    '{"score": 2, "justification": "fine"}', raw=b"{}", model="m", tokens_in=100, tokens_out=20
)
LOCAL = Model("local", "openai", "local")


# ---------------------------------------------------------------- a run without faults


def test_engines_are_chosen_by_name() -> None:
    assert set(plugins("metal.engines")) >= {"local", "batch", "ray"}
    assert load_engine("local") is LocalRun
    with pytest.raises(UnknownName, match=r"engine 'bach'.*did you mean 'batch'"):
        load_engine("bach")


def test_every_question_is_asked_once_and_counted(llm_server: LlmServer, tmp_path: Path) -> None:
    plan = a_plan(a_model(llm_server), count=40, criteria=(TASK_QUALITY, HALLUCINATIONS))
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 80}
    assert set(llm_server.counts.values()) == {1}
    assert llm_server.requests == 80
    progress = outcome.run.progress[0]
    assert (progress.total, progress.done, progress.sent) == (80, 80, 80)
    assert progress.kinds == {"verdict": 80}
    assert outcome.tally.answered == 80
    assert outcome.tally.versions == {"gpt-4o-2026-01-01 fp_1": 80}
    assert all(record["reply"]["choices"] for record in outcome.records)
    again = session(plan, tmp_path)
    assert llm_server.requests == 80
    assert again.run.progress[0].done == 80
    assert again.ratings == outcome.ratings


def test_a_first_reply_that_has_come_does_not_wait_to_be_written(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    """A kill would lose it. What reading it takes was compiled before anything was sent."""
    for pattern in Deferred.every:
        vars(pattern).pop("compiled", None)
    compiled: list[int] = []

    def answer(prompt: str, body: dict[str, Any]) -> str:
        compiled.append(sum("compiled" in vars(pattern) for pattern in Deferred.every))
        return '{"score": 2, "justification": "Because."}'

    llm_server.answer = answer
    assert session(a_plan(a_model(llm_server)), tmp_path).reasons == {"verdict": 6}
    assert compiled == [len(Deferred.every)] * 6


def test_concurrency_is_bounded(llm_server: LlmServer, tmp_path: Path) -> None:
    # the first is answered, and so the others begin
    llm_server.held_from, llm_server.latency_ms = 2, 5

    async def release(_: LocalRun) -> None:
        while llm_server.in_flight < 3:
            await asyncio.sleep(0)
        llm_server.release()

    session(a_plan(a_model(llm_server, concurrency=3), count=20), tmp_path, during=release)
    assert llm_server.max_in_flight == 3


def test_equal_questions_are_asked_once(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.latency_ms = 20
    outcome = session(a_plan(a_model(llm_server), texts=["one", "same", "same", "same"]), tmp_path)
    assert llm_server.requests == 2
    assert outcome.reasons == {"verdict": 4}
    assert outcome.run.progress[0].done == 4


def test_two_names_of_one_model_pay_once(llm_server: LlmServer, tmp_path: Path) -> None:
    """judges.toml may name a model that is also asked for by its own name: the answers are the
    same.
    """
    llm_server.latency_ms = 20
    first = a_model(llm_server)
    other = Model("mine", "openai", "gpt-4o", base_url=llm_server.openai_url)
    outcome = session(a_plan(first, other), tmp_path)
    assert set(llm_server.counts.values()) == {1}
    assert outcome.reasons == {"verdict": 12}


def test_repeats_are_asked_so_often_and_are_raters_of_their_own(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    outcome = session(a_plan(a_model(llm_server), repeat=3), tmp_path)
    assert set(llm_server.counts.values()) == {3}
    names = Counter(rating.rater for rating in outcome.ratings)
    assert names == {
        "openai:gpt-4o/simple": 6,
        "openai:gpt-4o/simple#2": 6,
        "openai:gpt-4o/simple#3": 6,
    }


# ---------------------------------------------------------------- faults that pass


@pytest.mark.parametrize(
    "fault",
    [
        Fault("429", retry_after=0.05),
        Fault("429"),
        *(
            Fault(kind)
            for kind in ("500", "502", "503", "504", "408", "409", "drop", "drop_mid_body")
        ),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.retry_after or ''}",
)
def test_a_passing_fault_is_retried(fault: Fault, llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = first_attempts(fault)
    outcome = session(a_plan(a_model(llm_server)), tmp_path)
    assert outcome.reasons == {"verdict": 6}
    assert len(outcome.records) == outcome.tally.retried == 6
    assert llm_server.requests == 12
    assert {record["retries"] for record in outcome.records} == {1}
    assert sum(outcome.run.progress[0].retries.values()) == 6


@pytest.mark.parametrize("kind", ["hang", "slow", "slow_body"])
def test_a_reply_that_does_not_come_in_time_is_asked_for_again(
    kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    """Where the machine is busy a healthy reply may be late too, and is asked for again."""
    llm_server.faults = first_attempts(Fault(kind, seconds=300.0))
    outcome = session(
        a_plan(a_model(llm_server, timeout=0.3)), tmp_path, replace(QUICK, attempts=100)
    )
    assert outcome.reasons == {"verdict": 6}
    assert min(record["retries"] for record in outcome.records) >= 1
    progress = outcome.run.progress[0]
    assert (
        sum(record["retries"] for record in outcome.records)
        == progress.retries[TIMEOUT]
        == progress.sent - 6
    )
    assert 12 <= llm_server.requests <= progress.sent


def test_a_model_that_never_replies(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = always(Fault("hang"))
    outcome = session(a_plan(a_model(llm_server, timeout=0.05), count=1), tmp_path)
    assert outcome.reasons == {"failed: timeout": 1}
    assert outcome.run.progress[0].sent == 3
    assert outcome.stopped == [""]
    llm_server.faults = None
    assert session(a_plan(a_model(llm_server), count=1), tmp_path).reasons == {"verdict": 1}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault("not_json_body"), "failed: not a reply"),
        (Fault("text", text="x" * MOST_BYTES), "failed: reply too large"),
        (Fault("body", text='{"choices": []}'), "no choices"),
        (
            Fault("body", text='{"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]}'),
            "tool call",
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_what_asking_again_does_not_mend_is_asked_once(
    fault: Fault, reason: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(fault)
    outcome = session(a_plan(a_model(llm_server)), tmp_path)
    # where three are no replies at all, the judge is stopped
    asked = 3 if reason.startswith("failed") else 6
    assert outcome.reasons == {reason: asked}
    assert (llm_server.requests, len(outcome.records)) == (asked, asked)
    assert (tmp_path / "journal.jsonl").stat().st_size < 20_000


def test_a_redirect_elsewhere_stops_the_judge(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = always(Fault("redirect", text="http://portal.example/login"))
    outcome = session(a_plan(a_model(llm_server, concurrency=1)), tmp_path)
    assert (llm_server.requests, len(outcome.records)) == (1, 0)
    assert "redirects to http://portal.example/login" in outcome.run.progress[0].stopped


LASTING = {  # fault: the reason in the ratings, requests for each question
    "text": ("unparsable", 2),
    "off_schema": ("off the scale", 2),
    "empty": ("empty", 2),
    "truncated": ("truncated", 1),
    "refusal": ("refused", 1),
    "content_filter_reply": ("filtered", 1),
    "content_filter": ("filtered", 1),
    "context_length_exceeded": ("too long", 1),
    "413": ("too long", 1),
    "500": ("failed: server error", 6),
    "drop": ("failed: connection lost", 6),
    "400": ("failed: request rejected", 1),
}


@pytest.mark.parametrize("kind", LASTING)
def test_what_a_lasting_fault_becomes(kind: str, llm_server: LlmServer, tmp_path: Path) -> None:
    reason, times = LASTING[kind]
    llm_server.faults = when_prompt_has("summary 3", UNREADABLE if kind == "text" else Fault(kind))
    plan = a_plan(a_model(llm_server))
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 5, reason: 1}
    assert llm_server.requests == 5 + times
    assert outcome.tally.kinds == outcome.reasons
    assert outcome.run.progress[0].done == 6
    assert outcome.stopped == [""]
    missing = next(rating for rating in outcome.ratings if rating.score is None)
    assert missing.output == "o3"
    llm_server.reset()
    llm_server.faults = None
    # what failed is asked again; what was answered, however badly, is not
    again = session(plan, tmp_path)
    assert llm_server.requests == (1 if reason.startswith("failed") else 0)
    assert again.reasons == ({"verdict": 6} if reason.startswith("failed") else outcome.reasons)


@pytest.mark.parametrize(
    "kind", ["malformed", "off_schema", "empty", "truncated", "refusal", "content_filter_reply"]
)
def test_every_reply_is_kept_as_it_arrived(
    kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault(kind))
    outcome = session(a_plan(a_model(llm_server)), tmp_path)
    assert len(outcome.records) == llm_server.completed
    assert all(record["reply"]["object"] == "chat.completion" for record in outcome.records)
    for record in outcome.records:
        replied = record["reply"]["choices"][0]["message"]["content"]
        assert record["text"] == (replied or record["text"])


def test_an_unreadable_reply_keeps_its_text_as_comment(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(UNREADABLE)
    outcome = session(a_plan(a_model(llm_server)), tmp_path)
    assert {rating.comment for rating in outcome.ratings} == {"I would rather not say."}


def test_a_storm_of_faults_ends_with_every_answer(llm_server: LlmServer, tmp_path: Path) -> None:
    rates = dict.fromkeys(
        ("429", "500", "503", "drop", "drop_mid_body", "malformed", "empty"), 0.08
    )
    llm_server.faults = random_faults(1, rates, max_attempt=1, retry_after=0.01)
    outcome = session(a_plan(a_model(llm_server), count=200), tmp_path)
    assert outcome.reasons == {"verdict": 200}
    assert len({record["key"] for record in outcome.records}) == 200
    assert len(outcome.records) == llm_server.completed


# ---------------------------------------------------------------- too many requests


def test_retry_after_holds_back_all_calls(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = lambda call: Fault("429", retry_after=0.3) if call.number == 1 else None
    session(a_plan(a_model(llm_server, concurrency=1), count=3), tmp_path)
    times = [call.time for call in llm_server.calls]
    assert times[1] - times[0] >= 0.3


def test_a_storm_of_429_cuts_the_calls_in_flight_and_they_grow_again(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.latency_ms = 5
    llm_server.faults = lambda call: (
        Fault("429", retry_after=0.02) if 5 < call.number <= 45 else None
    )
    lowest = 99.0

    async def look(run: LocalRun) -> None:
        nonlocal lowest
        while run.progress[0].done < 200:
            lowest = min(lowest, run.judges[0].attempts.pace.limit)
            await asyncio.sleep(0.005)

    outcome = session(a_plan(a_model(llm_server, concurrency=32), count=300), tmp_path, during=look)
    assert outcome.reasons == {"verdict": 300}
    assert lowest < 32 * 0.7
    assert outcome.run.judges[0].attempts.pace.limit > lowest
    assert outcome.run.judges[0].attempts.pace.in_flight == 0


@pytest.mark.parametrize("kind", ["429", "503"])
def test_a_provider_that_wants_an_hour_is_not_waited_for(
    kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    """Nor by the calls that were under way, nor by those that wait for their turn."""
    llm_server.faults = always(Fault(kind, retry_after=3600.0))
    outcome = session(a_plan(a_model(llm_server, concurrency=4), count=40), tmp_path)
    assert "60 minutes" in outcome.stopped[0]
    assert llm_server.requests <= 4
    assert outcome.tally.not_asked == 40


def test_requests_a_minute(llm_server: LlmServer, tmp_path: Path) -> None:
    outcome = session(a_plan(a_model(llm_server, requests_per_minute=1200.0), count=30), tmp_path)
    assert outcome.seconds > (30 - 21) / 20  # twenty a second, after one second's worth at once


def test_tokens_a_minute(tmp_path: Path) -> None:
    client = Scripted(lambda ask, number: GOOD)
    model = Model("local", "openai", "local", tokens_per_minute=60 * 4800.0)
    outcome = session(a_plan(model, count=60), tmp_path, opener=lambda model: client)
    assert outcome.seconds > (60 - 50) * 120 / 4800


# ---------------------------------------------------------------- stopping


async def stopped_when(run: LocalRun, ready: Callable[[], object]) -> None:
    while not ready():
        await asyncio.sleep(0)
    run.stop()


async def after(run: LocalRun, calls_sent: int) -> None:
    await stopped_when(run, lambda: run.progress[0].sent >= calls_sent)


def test_a_stop_finishes_calls_in_flight_and_begins_no_more(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.held_from = 2

    async def stop(run: LocalRun) -> None:
        await stopped_when(run, lambda: llm_server.in_flight == 5)
        llm_server.release()

    plan = a_plan(a_model(llm_server, concurrency=5), count=50)
    outcome = session(plan, tmp_path, during=stop)
    assert llm_server.requests == 6
    assert outcome.reasons == {"verdict": 6}
    assert session(plan, tmp_path).reasons == {"verdict": 50}
    assert set(llm_server.counts.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "settings"),
    [
        (Fault("429", retry_after=300.0), {}),
        (Fault("503", retry_after=300.0), {}),
        (None, {"requests_per_minute": 0.1}),
        (None, {"tokens_per_minute": 6}),
    ],
    ids=["429", "503", "requests", "tokens"],
)
def test_a_stop_does_not_sit_out_a_wait(
    fault: Fault | None, settings: dict[str, Any], llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(fault) if fault else None
    plan = a_plan(a_model(llm_server, **settings), count=40)

    # once one call was answered or put off, so that all others wait
    async def stop(run: LocalRun) -> None:
        await stopped_when(run, lambda: run.progress[0].done or run.progress[0].retries)

    outcome = session(plan, tmp_path, during=stop)
    assert outcome.tally.failed == 0  # what was abandoned is no failure


@pytest.mark.parametrize("why", ["limit", "budget", "key"])
def test_an_end_does_not_wait_for_the_rate_limit(
    why: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    """Workers that wait for their turn under a limit of requests a minute go home when there are no
    more turns.
    """
    price = Price(1.0, 1.0)
    llm_server.faults = always(Fault("401")) if why == "key" else None
    plan = a_plan(a_model(llm_server, requests_per_minute=0.1, price=price), count=40)
    rules = Rules(
        backoff=0.01,
        limit=1 if why == "limit" else None,
        max_cost=0.0005 if why == "budget" else None,
    )
    session(plan, tmp_path, rules)
    assert llm_server.requests <= 2


def test_what_may_be_spent_is_spent_on_thoughts_too(llm_server: LlmServer, tmp_path: Path) -> None:
    """A reply of 40 tokens after 960 that were thought is 1,000 to pay: three dollars are three
    replies.
    """
    reply = {"choices": [{"message": {"content": '{"score": 1}'}, "finish_reason": "stop"}]}
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 1000,
        "completion_tokens_details": {"reasoning_tokens": 960},
    }
    llm_server.faults = always(Fault("body", text=json.dumps(reply | {"usage": usage})))
    model = a_model(llm_server, price=Price(0.0, 1000.0), concurrency=8)
    outcome = session(a_plan(model, count=20), tmp_path, Rules(max_cost=3.0))
    assert len(outcome.records) == 3
    assert outcome.run.over_budget
    assert outcome.tally.cost(model.price) == pytest.approx(3.0)


def test_a_stopped_judge_wakes_calls_that_wait_to_be_retried(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    fault = Fault("500", retry_after=600.0)
    faults = [None, *[fault] * 3]
    llm_server.faults = lambda call: (
        faults[call.number - 1] if call.number <= 4 else Fault("401", seconds=0.2)
    )
    outcome = session(a_plan(a_model(llm_server, concurrency=5), count=30), tmp_path)
    assert "access denied" in outcome.stopped[0]


def test_a_filtered_call_that_ends_after_the_stop_is_kept(tmp_path: Path) -> None:
    client = Scripted(lambda ask, number: CallFailed(calls.BLOCKED, "no", status=400), turns=50)
    plan = a_plan(LOCAL, count=3)
    outcome = session(plan, tmp_path, opener=lambda model: client, during=lambda run: after(run, 3))
    assert outcome.reasons == {"filtered": 3}


def test_no_new_ask_after_the_stop(tmp_path: Path) -> None:
    client = Scripted(lambda ask, number: Reply("?", raw=b"{}"), turns=50)
    plan = a_plan(LOCAL, count=4)
    rules = Rules(3, backoff=0.01)
    outcome = session(plan, tmp_path, rules, lambda model: client, lambda run: after(run, 5))
    assert client.asked == 5
    assert sorted(record["ask"] for record in outcome.records) == [1, 1, 1, 1, 2]
    again = session(plan, tmp_path, rules, lambda model: client)
    assert client.asked == 16
    assert sorted(record["ask"] for record in again.records) == sorted([1, 2, 3, 4] * 4)


# ---------------------------------------------------------------- a provider that is down; fatal
# errors


@pytest.mark.parametrize("kind", ["500", "drop"])
def test_a_provider_that_goes_down_is_left_alone(
    kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault(kind) if call.number > 1 else None
    plan = a_plan(a_model(llm_server, concurrency=4), count=100)
    outcome = session(plan, tmp_path)
    assert "seems to be down" in outcome.stopped[0]
    assert llm_server.requests <= 30
    llm_server.faults = None
    assert session(plan, tmp_path).reasons == {"verdict": 100}
    assert set(llm_server.counts.values()) == {1}


@pytest.mark.parametrize("kind", ["500", "503", "429", "drop", "drop_mid_body", "hang"])
def test_where_every_call_fails_one_question_is_tried_and_another_once(
    kind: str, llm_server: LlmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other because the text of the first may be what the server fails at."""
    monkeypatch.setattr(attempts, "BUSY_ATTEMPTS", 8)  # 40 with waits of up to a minute
    llm_server.faults = always(Fault(kind))
    plan = a_plan(
        a_model(llm_server, concurrency=4, timeout=0.2 if kind == "hang" else 20), count=100
    )
    outcome = session(plan, tmp_path, Rules(backoff=0.001))
    assert llm_server.requests == (8 if kind == "429" else 3) + 1
    if kind != "hang":  # a server may still hold what was given up
        assert llm_server.max_in_flight == 1
    assert outcome.stopped[0].startswith(KINDS[kind])
    assert (outcome.tally.failed, outcome.tally.not_asked) == (1, 99)
    assert session(plan, tmp_path, Rules(backoff=0.001)).stopped == outcome.stopped, (
        "nothing was ever answered"
    )
    llm_server.faults = None
    assert session(plan, tmp_path).reasons == {"verdict": 100}


KINDS = {"500": "server error: HTTP 500", "503": "server error: HTTP 503",
         "429": "too many requests: HTTP 429", "drop": "connection lost: http://127.0.0.1:",
         "drop_mid_body": "connection lost: http://127.0.0.1:", "hang": "timeout"}  # fmt: skip


def test_a_first_text_that_the_server_fails_at_stops_nothing(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = when_prompt_has("summary 0.", Fault("500"))
    outcome = session(a_plan(a_model(llm_server, concurrency=4), count=20), tmp_path)
    assert outcome.reasons == {"failed: server error": 1, "verdict": 19}
    assert outcome.stopped == [""]
    assert llm_server.requests == 3 + 19


def test_a_first_call_that_fails_twice_stops_nothing(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = lambda call: Fault("503") if call.number <= 2 else None
    outcome = session(a_plan(a_model(llm_server, concurrency=4), count=20), tmp_path)
    assert (outcome.reasons, outcome.stopped) == ({"verdict": 20}, [""])
    assert llm_server.requests == 2 + 20


def test_a_provider_that_always_fails_does_not_stop_another(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault("500") if call.model == "broken" else None
    plan = a_plan(a_model(llm_server, "broken"), a_model(llm_server), count=20)
    outcome = session(plan, tmp_path)
    assert outcome.stopped[0].startswith("server error: HTTP 500")
    assert outcome.stopped[1] == ""
    assert sum(call.model == "broken" for call in llm_server.calls) == 4
    assert outcome.statistics["openai:gpt-4o/simple"].answered == 20


def test_what_is_left_of_an_answered_run_fails_and_stops_nothing(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    """Each is asked when the run is resumed: one that always fails does not stand in the way of the
    others.
    """
    plan = a_plan(a_model(llm_server, concurrency=2), count=8)
    llm_server.faults = lambda call: (
        Fault("500") if re.search("summary [3-5]", call.prompt) else None
    )
    assert session(plan, tmp_path).stopped == [""]
    llm_server.faults = lambda call: (
        Fault("500") if re.search("summary [3-4]", call.prompt) else None
    )
    outcome = session(plan, tmp_path)
    assert outcome.stopped == [""]
    assert outcome.reasons == {"failed: server error": 2, "verdict": 6}


def test_a_server_that_is_gone(llm_server: LlmServer, tmp_path: Path) -> None:
    plan = a_plan(a_model(llm_server, base_url="http://127.0.0.1:9/v1"), count=100)
    outcome = session(plan, tmp_path)
    assert len(outcome.stopped) == 1
    assert tells(outcome.stopped, "http://127.0.0.1:9:", "connection refused")
    assert outcome.run.progress[0].sent == 1
    assert outcome.tally.not_asked == 100


FATAL = {
    "401": ("access denied", "OPENAI_API_KEY"),
    "403": ("access denied", "OPENAI_API_KEY"),
    "404": ("model unknown", "bad-model"),
    "insufficient_quota": ("quota used up", "billing"),
}


@pytest.mark.parametrize("kind", FATAL)
def test_a_fatal_error_stops_one_judge_and_not_another(
    kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.latency_ms = 5
    llm_server.faults = lambda call: Fault(kind) if call.model == "bad-model" else None
    plan = a_plan(a_model(llm_server, "bad-model", concurrency=4), a_model(llm_server), count=30)
    outcome = session(plan, tmp_path)
    what, named = FATAL[kind]
    assert what in outcome.stopped[0]
    assert named in outcome.stopped[0]
    assert "\n" not in outcome.stopped[0]
    assert KEY not in outcome.stopped[0]
    assert outcome.stopped[1] == ""
    assert outcome.reasons == {"verdict": 30}
    assert sum(call.model == "bad-model" for call in llm_server.calls) <= 4
    assert outcome.statistics["openai:bad-model/simple"].not_asked == 30


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_request_that_is_always_wrong_stops_the_judge(
    concurrency: int, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault("400"))
    outcome = session(a_plan(a_model(llm_server, concurrency=concurrency), count=40), tmp_path)
    assert "request rejected" in outcome.stopped[0]
    assert llm_server.requests <= 2 + concurrency


def test_texts_that_are_always_rejected_stop_nothing_when_resumed(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = lambda call: Fault("400") if "bad" in call.prompt else None
    plan = a_plan(
        a_model(llm_server, concurrency=2),
        texts=[
            *(f"fine {n}" for n in range(8)),
            *(f"bad {n}" for n in range(6)),
        ],
    )
    for _ in range(2):
        outcome = session(plan, tmp_path)
        assert outcome.stopped == [""]
        assert outcome.reasons == {"verdict": 8, "failed: request rejected": 6}


# ---------------------------------------------------------------- parameters that a model does not
# take


@pytest.mark.parametrize("name", ["temperature", "seed", "response_format", "max_tokens"])
@pytest.mark.parametrize("code", ["unsupported_value", "unsupported_parameter"])
def test_a_parameter_is_left_out_after_the_first_refusal(
    name: str, code: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = rejects_parameters(name, code=code)
    model = a_model(
        llm_server, parameters={"temperature": 0, "seed": 7, "max_tokens": 300}, concurrency=4
    )
    plan = a_plan(model, count=20)
    outcome = session(plan, tmp_path)
    assert outcome.reasons == {"verdict": 20}
    steps = 2 if name == "response_format" else 1  # json_schema, then json_object
    assert llm_server.requests <= 20 + 4 * steps
    assert set(outcome.tally.rejected) == (
        {"json_schema", "json_object"} if name == "response_format" else {name}
    )
    assert outcome.run.progress[0].retries == {
        f"rejects {parameter}": 1 for parameter in outcome.tally.rejected
    }
    sent = (
        Collected(plan, index_journal(plan, tmp_path / "journal.jsonl")).raters()[0].about["sent"]
    )
    assert name not in sent or name == "response_format"
    assert (sent["structured"] == "none") == (name == "response_format")
    if name == "max_tokens":
        assert sent["max_completion_tokens"] == 300
    llm_server.reset()
    more = a_plan(model, count=30)
    again = session(more, tmp_path)  # it is remembered
    assert again.reasons == {"verdict": 30}
    assert llm_server.requests == 10
    assert again.run.progress[0].retries == {}


@pytest.mark.parametrize(
    "message",
    [
        "response_format is not supported",
        "max_tokens is not supported",
        "max_completion_tokens: unsupported",
    ],
)
def test_a_parameter_that_is_refused_even_when_it_is_gone(
    message: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    """Each step down is taken once; then the request counts as rejected."""
    llm_server.faults = lambda call: Fault("400", text=message)
    outcome = session(
        a_plan(a_model(llm_server, parameters={"max_tokens": 9}, concurrency=2), count=20), tmp_path
    )
    assert outcome.stopped[0]
    assert llm_server.requests < 20


def test_neither_name_of_max_tokens(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = rejects_parameters("max_tokens", "max_completion_tokens")
    model = a_model(llm_server, parameters={"max_tokens": 300}, concurrency=1)
    outcome = session(a_plan(model, count=5), tmp_path)
    assert outcome.reasons == {"verdict": 5}
    assert llm_server.requests == 7


# ---------------------------------------------------------------- asking again


@pytest.mark.parametrize("reasks", [0, 1, 3])
@pytest.mark.parametrize("kind", ["text", "off_schema", "empty"])
def test_unreadable_replies_are_asked_again_so_often(
    reasks: int, kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(UNREADABLE if kind == "text" else Fault(kind))
    plan = a_plan(a_model(llm_server))
    outcome = session(plan, tmp_path, Rules(reasks, backoff=0.01))
    assert llm_server.requests == 6 * (1 + reasks)
    assert sorted(record["ask"] for record in outcome.records) == sorted(
        [*range(1, reasks + 2)] * 6
    )
    # the same parameters
    assert len({json.dumps(body, sort_keys=True) for body in llm_server.bodies}) == 6
    assert outcome.tally.asked_again == 6 * reasks
    session(plan, tmp_path, Rules(reasks, backoff=0.01))
    assert llm_server.requests == 6 * (1 + reasks)


def test_a_readable_reply_at_the_second_ask_counts(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = by_attempt(UNREADABLE)
    outcome = session(a_plan(a_model(llm_server)), tmp_path)
    assert outcome.reasons == {"verdict": 6}
    assert list(dict.fromkeys(record["kind"] for record in outcome.records)) == [
        "unparsable",
        "verdict",
    ]
    assert outcome.run.progress[0].kinds == {"verdict": 6}


def test_more_reasks_later(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = by_attempt(UNREADABLE, UNREADABLE)
    plan = a_plan(a_model(llm_server))
    assert session(plan, tmp_path, Rules(1, backoff=0.01)).reasons == {"unparsable": 6}
    assert session(plan, tmp_path, Rules(2, backoff=0.01)).reasons == {"verdict": 6}
    assert llm_server.requests == 18


# ---------------------------------------------------------------- limits on calls and money


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_a_limit_is_kept(limit: int, llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.latency_ms = 10
    plan = a_plan(a_model(llm_server), a_model(llm_server, "other"), count=30)
    outcome = session(plan, tmp_path, Rules(limit=limit, backoff=0.01))
    assert llm_server.requests == limit
    assert outcome.reasons == {"verdict": limit}
    assert session(plan, tmp_path).reasons == {"verdict": 60}
    assert set(llm_server.counts.values()) == {2}  # once for each model


def test_a_limit_holds_for_asks_again_too(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = always(UNREADABLE)
    plan = a_plan(a_model(llm_server, concurrency=2), count=30)
    session(plan, tmp_path, Rules(3, limit=5, backoff=0.01))
    assert llm_server.requests == 5


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize("tokens_out", [20, 120, 3000])
@pytest.mark.parametrize("reasks", [0, 5])
def test_the_budget_is_never_exceeded(
    concurrency: int, tokens_out: int, reasks: int, tmp_path: Path
) -> None:
    """However many calls are in flight, however long answers are, and however often they have to be
    asked again.
    """
    text = "?" if reasks else GOOD.text
    reply = Reply(text, raw=b"{}", tokens_in=400, tokens_out=tokens_out)
    client = Scripted(lambda ask, number: reply, turns=20)
    model = Model("local", "openai", "local", concurrency=concurrency, price=Price(1.0, 4.0))
    price_of_call = model.price.cost(400, tokens_out) if model.price else 0.0
    most = 10.5 * price_of_call
    outcome = session(
        a_plan(model, count=200),
        tmp_path,
        Rules(reasks, max_cost=most, backoff=0.01),
        lambda _: client,
    )
    assert outcome.run.over_budget
    assert client.asked * price_of_call <= most
    assert client.asked >= 5
    assert outcome.run.progress[0].cost == pytest.approx(client.asked * price_of_call)


def test_a_budget_that_suffices_stops_nothing(tmp_path: Path) -> None:
    client = Scripted(lambda ask, number: GOOD, turns=100)
    model = Model("local", "openai", "local", concurrency=32, price=Price(1.0, 1.0))
    outcome = session(a_plan(model, count=100), tmp_path, Rules(max_cost=1.0), lambda _: client)
    assert outcome.reasons == {"verdict": 100}
    assert client.most > 8


def test_a_free_judge_goes_on_when_the_money_is_spent(tmp_path: Path) -> None:
    dear = Model("dear", "openai", "dear", price=Price(1000.0, 1000.0))
    free = Model("free", "openai", "free", price=Price(0.0, 0.0))
    client = Scripted(lambda ask, number: GOOD, turns=20)
    outcome = session(a_plan(dear, free, count=50), tmp_path, Rules(max_cost=0.5), lambda _: client)
    assert outcome.run.over_budget
    assert outcome.statistics["free/simple"].answered == 50


# ---------------------------------------------------------------- hostile replies


@pytest.mark.parametrize("kind", ["500", "401", "400", "content_filter"])
def test_half_a_surrogate_in_an_error_message(
    kind: str, llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = when_prompt_has(
        "summary 3", Fault(kind, text="bad \ud83d and \x1b[31m and \0 text")
    )
    outcome = session(a_plan(a_model(llm_server, concurrency=1)), tmp_path)
    assert len(outcome.records) >= 3


HOSTILE = {
    "half a surrogate": '{"score": 1, "justification": "\\ud83d"}',
    "raw half": '{"score": 1, "justification": "\ud83d"}',
    "nul": '{"score": 1, "justification": "a\\u0000b\0"}',
    "line separators": '{"score": 1, "justification": "a\u2028b\u0085c\r\nd"}',
    "deep": "[" * 100_000,
    "deep objects": '{"a":' * 10_000,
    "long": "score " * 20_000,
    "numbers": "1" * 200_000,
    "huge number": '{"score": ' + "9" * 5000 + "}",
    "megabyte": json.dumps({"score": 1, "justification": "x" * 1_000_000}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str, llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.answer = lambda prompt, body: HOSTILE[name]
    outcome = session(a_plan(a_model(llm_server), count=2), tmp_path, Rules(0, backoff=0.01))
    assert sum(outcome.reasons.values()) == 2
    assert all(len(record["text"]) == len(HOSTILE[name]) for record in outcome.records)
    for rating in outcome.ratings:
        rating.comment.encode()


BODIES = {
    "byte order mark": b'\xef\xbb\xbf{"choices":[{"message":{"content":"2"}}]}',
    "utf-16": '{"choices":\n[{"message":{"content":"2 \u020a"}}]}'.encode("utf-16"),
    "line breaks": b'{\r\n"choices":\n[{"message":{"content":"2"}}]}\n',
    "not a number": b'{"choices":[{"message":{"content":"2"},"logprob":NaN}]}',
    "parts": b'{"choices":[{"message":{"content":[{"type":"text","text":"2"}]}}]}',
    "a text": b'"2"',
    "null": b"null",
    "empty": b"",
    "no choices": b"{}",
    "choices of another kind": b'{"choices":{"message":2},"usage":[1]}',
    "deep": b"[" * 100_000,
    "too many digits": b'{"id":' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("name", BODIES)
def test_hostile_bodies(name: str, tmp_path: Path) -> None:
    """Whatever the body is, it is a reply or a failed call, and the journal stays readable."""

    def answer(ask: ModelRequest, number: int) -> Reply | Exception:
        try:
            return read_body(BODIES[name])
        except CallFailed as failure:
            return failure

    outcome = session(a_plan(LOCAL, count=2), tmp_path, opener=lambda model: Scripted(answer))
    assert len(outcome.ratings) == 2


def test_a_change_of_version_is_noted(llm_server: LlmServer, tmp_path: Path) -> None:
    llm_server.faults = lambda call: Fault("model_version") if call.number > 4 else None
    plan = a_plan(a_model(llm_server))
    outcome = session(plan, tmp_path)
    assert outcome.tally.versions == {"gpt-4o-2026-01-01 fp_1": 4, "gpt-4o-2026-02-02 fp_2": 2}
    assert Collected(plan, index_journal(plan, tmp_path / "journal.jsonl")).raters()[0].about[
        "versions"
    ] == dict(outcome.tally.versions)


# ---------------------------------------------------------------- the journal


@pytest.mark.parametrize("taken", [-1, 0, 30], ids=["refused", "nothing", "a part"])
def test_a_full_disk_loses_no_answer_that_was_written(
    taken: int, llm_server: LlmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(a_model(llm_server, concurrency=1), count=6)
    write, times = os.write, 0

    def full(file: int, line: bytes) -> int:
        nonlocal times
        if not line.startswith(b'{"key":'):
            return write(file, line)
        times += 1
        if times <= 3:
            return write(file, line)
        if taken < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, line[:taken])

    with monkeypatch.context() as patch:
        patch.setattr(journals.os, "write", full)
        with pytest.raises(OSError, match="No space left") as outcome:
            session(plan, tmp_path)
    # which file, for the one line people see
    assert str(outcome.value.filename) == str(tmp_path / "journal.jsonl")
    llm_server.reset()
    assert session(plan, tmp_path).reasons == {"verdict": 6}
    assert llm_server.requests == 3


def test_a_fault_of_ours_loses_no_answer_that_was_written(tmp_path: Path) -> None:
    client = Scripted(lambda ask, number: GOOD if number <= 5 else RuntimeError("a bug"))
    model = Model("local", "openai", "local", concurrency=1)
    plan = a_plan(model, count=10)
    with pytest.raises(RuntimeError, match="a bug"):
        session(plan, tmp_path, opener=lambda model: client)
    better = Scripted(lambda ask, number: GOOD)
    assert session(plan, tmp_path, opener=lambda model: better).reasons == {"verdict": 10}
    assert better.asked == 5


def test_progress_counts_only_what_is_on_the_disk(
    llm_server: LlmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = 0

    def sync(file: int) -> None:
        nonlocal synced
        synced = os.fstat(file).st_size
        time.sleep(0.02)

    monkeypatch.setattr(journals, "_to_disk", sync)
    llm_server.latency_ms = 10

    async def look(run: LocalRun) -> None:
        while run.progress[0].done < 30:
            done, safe = run.progress[0].done, (tmp_path / "journal.jsonl").read_bytes()[:synced]
            assert safe.count(b"\n") >= done
            await asyncio.sleep(0.005)

    session(a_plan(a_model(llm_server, concurrency=4), count=60), tmp_path, during=look)
