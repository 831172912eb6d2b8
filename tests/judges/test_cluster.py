"""The Ray engine on a real cluster of two nodes (one rate, one budget, keys), and its parts without
one.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal.errors import UsageError
from metal.raters.judges.cluster.coordinator import LOSSES, Coordinator
from metal.raters.judges.cluster.engine import RayRun
from metal.raters.judges.cluster.leases import (
    ClusterJudge,
    Places,
    SharedBudget,
    WorkerReport,
    WorkerSetup,
)
from metal.raters.judges.cluster.shards import (
    FOLDER,
    lock_shards,
    merge_leftovers,
    read_shards,
    shard_journal,
    write_shards,
)
from metal.raters.judges.engine import EngineOptions, JudgeSetup, Progress, Rules, Session
from metal.raters.judges.journal import Answered, Journal, Record
from metal.raters.judges.models import Model
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.prices import Price
from metal.raters.judges.secrets import Secrets
from tests.conftest import HALLUCINATIONS, TASK_QUALITY
from tests.judges.test_runner import KEY, QUICK, Outcome, a_model, a_plan, carried_out
from tests.llm_server import Fault, LlmServer, always
from tests.ray_cluster import IGNORED, session_logs, two_nodes

pytestmark = [
    pytest.mark.usefixtures("openai_environment"),
    *(pytest.mark.filterwarnings(kind) for kind in IGNORED),
]

MODEL = Model("m", "openai", "m")


def on_cluster(
    plan: JudgingPlan, folder: Path, rules: Rules = QUICK, address: str = ""
) -> Outcome[RayRun]:
    """One session on the cluster."""
    options = EngineOptions(address=address or two_nodes())

    def make(journal: Journal, answered: Answered) -> RayRun:
        return RayRun(Session(plan, journal, answered, rules, Secrets([KEY]), folder, options))

    folder.mkdir(exist_ok=True)
    outcome = carried_out(plan, folder, rules, make)
    assert sorted(path.name for path in folder.iterdir()) == ["journal.jsonl"]
    return outcome


# ---------------------------------------------------------------- on a cluster


@pytest.mark.slow
@pytest.mark.cluster
def test_one_rate_and_one_budget(llm_server: LlmServer, tmp_path: Path) -> None:
    """Two workers together keep a judge's requests a minute, its calls in flight, and the run's
    --max-cost.
    """
    price = Price(1000.0, 1000.0)
    model = a_model(llm_server, concurrency=9, requests_per_minute=1800, price=price)
    plan = a_plan(model.asked_for_probabilities(), count=300)
    outcome = on_cluster(plan, tmp_path / "ray", Rules(backoff=0.01, max_cost=20.0))
    run, records = outcome.run, outcome.records
    spent = sum(price.cost(*record["tokens"]) for record in records)
    assert spent <= 20.0
    assert spent == pytest.approx(run.progress[0].cost)
    assert run.over_budget
    dearest = max(price.cost(*record["tokens"]) for record in records)
    assert spent + 9 * dearest > 20.0  # it was used up
    assert len(outcome.ratings) == len(records) == llm_server.requests < 300
    assert all(rating.confidence and rating.confidence >= 0.6 for rating in outcome.ratings)
    assert llm_server.max_in_flight <= 9
    times = sorted(call.time for call in llm_server.calls)
    for window in (30, 60):  # 30 a second, one second's worth may come at once
        pairs = zip(times, times[30 + window :], strict=False)
        assert all(last - first > window / 30 - 0.4 for first, last in pairs)


@pytest.mark.slow
@pytest.mark.cluster
def test_a_refused_key_stops_everybody_and_is_written_nowhere(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    llm_server.faults = always(Fault("401", text=f"Incorrect API key: {KEY}"))
    plan = a_plan(a_model(llm_server, concurrency=8), count=200)
    outcome = on_cluster(plan, tmp_path / "ray")
    assert outcome.stopped[0].startswith("access denied")
    assert outcome.stopped[0].endswith("Incorrect API key: [key hidden]")
    assert (outcome.ratings, outcome.records) == ([], [])
    assert llm_server.requests <= 16
    logs = [path for path in session_logs().rglob("*") if path.is_file()]
    assert logs
    assert not [path.name for path in logs if KEY.encode() in path.read_bytes()]


def test_what_answers_but_is_no_cluster_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()
    monkeypatch.setattr("metal.raters.judges.cluster.nodes.connect", lambda address: never.wait())
    monkeypatch.setattr("metal.raters.judges.cluster.engine.PATIENCE", 0.0)
    try:
        with pytest.raises(UsageError, match="not a Ray cluster"):
            on_cluster(a_plan(MODEL), tmp_path / "ray", address="127.0.0.1:9")
    finally:
        never.set()


# ---------------------------------------------------------------- what there is one of


def test_places_are_shared_and_never_more_than_there_are() -> None:
    places = Places(7)
    places.join("a")
    assert places.held == {"a": 7}
    places.join("b")
    assert places.held == {"a": 7, "b": 0}  # until a has given back
    assert (places.share("a"), places.share("b")) == (4, 3)
    places.keep("a", 4)
    assert places.held == {"a": 4, "b": 3}
    places.leave("a")
    assert places.held == {"b": 7}


def setup_of(model: Model) -> WorkerSetup:
    return WorkerSetup(JudgeSetup(model, Rules(), Secrets()), False, {})


def a_judge(
    model: Model = MODEL, max_cost: float | None = None, limit: int | None = None
) -> ClusterJudge:
    return ClusterJudge(setup_of(model), Progress(model), SharedBudget(max_cost, most_calls=limit))


def test_turns_of_two_workers_are_one_rate() -> None:
    judge = a_judge(replace(MODEL, requests_per_minute=60))
    # of the second that may be used at once, and of the next
    judge.lease("a", (1.0,) * 2, (), 100.0)
    second = judge.lease("b", (1.0,) * 3, (), 100.0)
    assert (second.delay, second.spacing) == (1.0, 1.0)
    assert judge.lease("a", (1.0,), (), 100.0).delay == 4.0


def test_tokens_make_turns_too() -> None:
    judge = a_judge(replace(MODEL, tokens_per_minute=6000, requests_per_minute=6000))
    first = judge.lease("a", (50.0, 150.0), (), 100.0)
    assert (first.delay, first.spacing) == (0.0, 1.0)
    assert judge.lease("a", (1.0,), (), 100.0).delay == 1.0


def test_a_budget_is_one_until_it_is_spent() -> None:
    judge = a_judge(replace(MODEL, price=Price(1, 1)), max_cost=10.0)
    assert judge.lease("a", (), (3.0, 3.0), 0.0).calls == 1  # until a reply tells what calls cost
    assert judge.lease("b", (), (3.0,), 0.0).calls == 0
    judge.hear("a", WorkerReport(ended=1, released=3.0, spent=2.0, learned=[(1.0, 1.0, 1, 1)]), 0.0)
    assert judge.lease("a", (), (3.0, 3.0), 0.0).calls == 2
    waiting = judge.lease("b", (), (3.0,), 0.0)
    assert (waiting.calls, waiting.over) == (0, False)  # the others may turn out cheaper
    judge.hear("a", WorkerReport(ended=1, released=3.0, spent=1.0), 0.0)
    assert judge.lease("b", (), (3.0,), 0.0).calls == 1
    judge.lost("b")  # its request may have been answered
    assert judge.budget.spent == 6.0
    judge.hear("a", WorkerReport(ended=1, released=3.0, spent=2.0), 0.0)
    last = judge.lease("a", (), (3.0,), 0.0)
    assert (last.calls, last.over, judge.over_budget) == (0, True, True)


def test_a_limit_is_of_all_workers() -> None:
    judge = a_judge(limit=3)
    assert judge.lease("a", (), (0.0, 0.0), 0.0).calls == 2
    second = judge.lease("b", (), (0.0, 0.0), 0.0)
    assert (second.calls, second.over, judge.over_budget) == (1, True, False)


def test_a_wait_and_a_fault_are_everybodys() -> None:
    judge = a_judge()
    judge.hear("a", WorkerReport(busy=5.0, rejected={"seed": ("no seed", b"{}")}), 10.0)
    news = judge.status("b", 12.0, halted=False)
    assert (news.hold, news.rejected) == (3.0, {"seed": "no seed"})
    judge.hear("a", WorkerReport(stopped="access denied"), 12.0)
    assert judge.status("b", 12.0, halted=False).closed
    assert judge.status("b", 12.0, halted=False).stopped == "access denied"


# ---------------------------------------------------------------- requests and journals


def test_requests_are_the_questions(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    models = (MODEL, replace(MODEL, name="again"), replace(MODEL, name="n", model="n"))
    texts = ["one", "two", "half \ud83d a letter", "two"]
    plan = a_plan(*models, texts=texts, criteria=(TASK_QUALITY, HALLUCINATIONS))
    questions: dict[str, Any] = {}
    for call in (call for model in models for call in plan.questions(model)):
        questions.setdefault(call.key, call)
    first, *_ = questions
    answered = Answered({bytes.fromhex(first)})
    shards = write_shards(plan, answered, None, tmp_path / "requests", rows=4)
    # answered, or asked under another name; equal texts
    assert shards.left_out == {"m": 3, "again": 8, "n": 2}
    assert {name: len(numbers) for name, numbers in shards.numbers.items()} == {
        "m": 2,
        "again": 0,
        "n": 2,
    }
    tables = [
        pq.read_table(shards.path(number)) for name in ("m", "n") for number in shards.numbers[name]
    ]
    rows = [question for table in tables for _, part in read_shards(table) for question, _ in part]
    assert {row.key for row in rows} == set(questions) - {first}
    for row in rows:
        same = questions[row.key]
        assert (row.message, row.schema, row.about) == (same.message, same.schema, same.about)
        assert (row.rough_tokens, row.parameters) == (same.rough_tokens, same.parameters)
        for text in ('{"score": 2, "justification": ""}', "nothing", '{"score": 7}'):
            assert row.kind(text, "complete") == same.kind(text, "complete")
    limited = write_shards(plan, Answered(), 3, tmp_path / "limited", rows=1)
    assert {name: len(numbers) for name, numbers in limited.numbers.items()} == {
        "m": 3,
        "again": 3,
        "n": 3,
    }


LINES = [b'{"key":"%02x","kind":"verdict","n":%d}\n' % (number, number) for number in range(6)]


def test_leftovers_are_merged_once(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    journal = tmp_path / "journal.jsonl"
    # the driver was killed while it merged the first shard
    journal.write_bytes(LINES[0] + LINES[1])
    shard_journal(tmp_path / FOLDER, 1).write_bytes(LINES[1] + LINES[2])
    shard_journal(tmp_path / FOLDER, 2).write_bytes(LINES[3] + LINES[4] + LINES[5][:-9])
    (tmp_path / "requests").mkdir()
    assert asyncio.run(merge_leftovers(tmp_path)) == 3
    assert journal.read_bytes() == b"".join(LINES[:5])
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]
    assert asyncio.run(merge_leftovers(tmp_path)) == 0


def test_shards_have_one_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metal.raters.judges.cluster.shards.PATIENCE", 0.01)
    lock = lock_shards(tmp_path)
    with pytest.raises(Exception, match=r"coordinator.*another run"):
        lock_shards(tmp_path)
    lock.release()
    lock_shards(tmp_path).release()


def coordinated(folder: Path, what: Callable[[Coordinator], Any]) -> Coordinator:
    """A coordinator outside of any cluster, and what is done with it."""
    coordinator = Coordinator()

    async def work() -> None:
        await coordinator.start(folder, Rules(), 0.0, [(setup_of(MODEL), Progress(MODEL))])
        await what(coordinator)
        await coordinator.close()

    asyncio.run(work())
    return coordinator


def test_a_shard_begun_again_is_told_what_is_answered(tmp_path: Path) -> None:
    async def what(coordinator: Coordinator) -> None:
        await coordinator.begin("a", "m", 1)
        await coordinator.report(
            "a", "m", WorkerReport([(1, Record(LINES[3][:-1], "verdict", True))])
        )
        answered = await coordinator.begin("b", "m", 1)
        assert answered is not None
        assert answered.settled == {b"\x03"}
        assert coordinator.judges["m"].places.held == {"b": 16}
        await coordinator.end("a", 1)  # a is no longer asked
        assert (await coordinator.status()).at_work == 1
        await coordinator.end("b", 1)
        status = await coordinator.status()
        assert (status.at_work, status.progress[0].done) == (0, 1)

    coordinated(tmp_path, what)


def test_a_silent_workers_places_are_others_until_it_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def what(coordinator: Coordinator) -> None:
        monkeypatch.setattr("metal.raters.judges.cluster.coordinator.PATIENCE", 0.0)
        held = coordinator.judges["m"].places.held
        await coordinator.begin("a", "m", 1)
        coordinator.heard["a"] -= 100.0
        await coordinator.begin("b", "m", 2)
        assert held == {"a": 16, "b": 0}
        assert (await coordinator.status()).at_work == 1
        assert held == {"b": 16}
        assert (await coordinator.news("a", "m", None)).places == 0
        assert held == {"b": 16, "a": 0}
        await coordinator.report("b", "m", WorkerReport(places=8))
        assert (await coordinator.news("a", "m", None)).places == 8
        assert (await coordinator.status()).at_work == 2

    coordinated(tmp_path, what)


def test_losing_worker_after_worker_stops_the_judge(tmp_path: Path) -> None:
    async def what(coordinator: Coordinator) -> None:
        for number in range(LOSSES):
            assert await coordinator.begin(f"w{number}", "m", 1) is not None
        assert await coordinator.begin("last", "m", 1) is None

    judge = coordinated(tmp_path, what).judges["m"]
    assert "4 workers were lost" in judge.progress.stopped
    assert judge.closed


def test_a_full_disk_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def what(coordinator: Coordinator) -> None:
        await coordinator.begin("a", "m", 1)

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match="No space"):
                await coordinator.report(
                    "a", "m", WorkerReport([(1, Record(LINES[0][:-1], "verdict", True))])
                )
        status = await coordinator.status()
        assert status.all_closed
        assert status.failure == (28, "No space left on device", str(shard_journal(tmp_path, 1)))
        coordinator.shards.clear()

    coordinated(tmp_path, what)
