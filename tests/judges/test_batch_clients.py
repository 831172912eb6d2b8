"""What every batch client has to do, whoever's service it is: the same questions put to local
servers of each.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from metal.raters.judges import call as calls
from metal.raters.judges.batch.judge import cancel_batch
from metal.raters.judges.call import BatchClient, CallFailed, Reply
from metal.raters.judges.models import BatchSettings, Model, find_model, with_settings
from metal.raters.judges.providers import open_batch_client, open_client
from tests.anthropic_batch_server import AnthropicBatchServer
from tests.batch_jobs import Behaviour, in_turn
from tests.google_batch_server import GoogleBatchServer
from tests.judges.batch_trips import TOKEN, asks, results, submitted, trip
from tests.llm_server import Fault, HttpReply
from tests.openai_batch_server import OpenAIBatchServer

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning")
]
T = TypeVar("T")
JOB = "projects/p1/locations/global/batchPredictionJobs/1"


@dataclass(frozen=True)
class Service:
    """A model, the kind of its server and the address there; a batch's id, and what is in the path
    of its results.
    """

    model: str
    kind: type[Any]
    address: str
    batch: str
    results: str
    own: tuple[tuple[str, Any], ...] = ()


GOOGLE = (("timeout", 5.0), ("batch", BatchSettings(bucket="gs://ours/judging")))
VERTEX = (*GOOGLE, ("api_key_env", "VERTEX_TOKEN"))
SERVICES = {
    "openai": Service("openai:gpt-4o", OpenAIBatchServer, "/v1", "batch_1", "/content"),
    "compatible": Service(
        "openai-compatible:org/llama", OpenAIBatchServer, "/v1", "batch_1", "/content"
    ),
    "azure": Service("azure:my-deployment", OpenAIBatchServer, "", "batch_1", "/content"),
    "azure v1": Service(
        "azure:v1-deployment", OpenAIBatchServer, "/openai/v1", "batch_1", "/content"
    ),
    "gemini": Service(
        "gemini:gemini-2.5-flash", GoogleBatchServer, "", "batches/1", "download", GOOGLE
    ),
    "vertex": Service("vertex:gemini-2.5-flash", GoogleBatchServer, "", JOB, "download", VERTEX),
    "endpoint": Service("vertex-endpoint:123", GoogleBatchServer, "", JOB, "download", VERTEX),
    "anthropic": Service(
        "anthropic:claude-haiku-4-5", AnthropicBatchServer, "", "msgbatch_1", "/results"
    ),
}
# it has neither files nor a place for a token
OTHERS = [name for name in SERVICES if name != "anthropic"]
EACH, ALL = pytest.mark.parametrize("name", OTHERS), pytest.mark.parametrize("name", SERVICES)


class Asked:
    """A service on a server of its own."""

    def __init__(self, name: str, server: Any, folder: Path) -> None:
        self.service, self.server, self.folder = SERVICES[name], server, folder
        url = server.url + self.service.address
        settings = {"base_url": url} | dict(self.service.own)
        self.done: int | None = None
        self.model: Model = with_settings(
            find_model(self.service.model, {}, base_url=url), **settings
        )

    def do(self, steps: Callable[[BatchClient], Awaitable[T]]) -> T:
        """What the steps give."""
        return trip(open_batch_client(self.model), steps)

    def answers(self, behaviour: Behaviour, count: int = 4) -> dict[str, Reply | CallFailed]:
        """What comes of a batch of so many requests."""
        self.server.service.behaviour = in_turn(behaviour)

        async def steps(client: BatchClient) -> dict[str, Reply | CallFailed]:
            status, lines = await results(
                client, await submitted(client, self.folder, asks(count)), self.folder
            )
            assert (status.ended, status.failure) == (True, None)
            assert len(dict(lines)) == len(lines)
            self.done = status.done
            return dict(lines)

        return self.do(steps)

    def fails(
        self, steps: Callable[[BatchClient], Awaitable[object]], match: str = "."
    ) -> CallFailed:
        """How the steps fail."""
        with pytest.raises(CallFailed, match=match) as failed:
            self.do(steps)
        return failed.value


@pytest.fixture
def asked(
    name: str, openai_environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Asked]:
    with ExitStack() as opened:
        server = opened.enter_context(SERVICES[name].kind())
        for key in ("GEMINI_API_KEY", "VERTEX_TOKEN", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(key, "secret")
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
        monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield Asked(name, server, tmp_path)


@pytest.mark.slow
@ALL
def test_a_batch_is_answered_as_single_calls_are(name: str, asked: Asked) -> None:
    answers = asked.answers(Behaviour(shuffled=True), 30)
    assert list(answers) != list(asks(30))
    assert sorted(answers) == list(asks(30))
    assert asked.done == 30

    async def directly() -> list[Reply]:
        client = open_client(asked.model)
        try:
            return [await client.ask(question) for question in asks(4).values()]
        finally:
            await client.close()

    for key, single in zip(asks(4), asyncio.run(directly()), strict=True):
        answer = answers[key]
        assert isinstance(answer, Reply)
        assert answer.text == single.text
        if name != "endpoint":  # which says no more in a batch
            assert json.loads(answer.raw) == json.loads(single.raw)
            assert replace(answer, raw=b"") == replace(single, raw=b"")
    if name not in ("vertex", "endpoint"):  # of labels, of instances: test_google_batch.py
        assert asked.server.bodies[0] == asked.server.bodies[-4], "the same body is sent"


@pytest.mark.parametrize(
    ("name", "behaviour", "kinds"),
    [
        *(
            (name, Behaviour(expires_after=0.5), ["reply"] * 2 + [calls.EXPIRED] * 2)
            for name in ("openai", "vertex")
        ),
        ("anthropic", Behaviour(expires_after=0.5), ["reply"] * 2 + [calls.EXPIRED] * 2),
        ("anthropic", Behaviour(stops_after=0.5), ["reply"] * 2 + [calls.EXPIRED] * 2),
        ("openai", Behaviour(expires_after=0.5, silent=True), ["reply"] * 2),
        ("openai", Behaviour(stops_after=0.5), ["reply"] * 2),
        ("endpoint", Behaviour(expires_after=0.5), ["reply"] * 2),
        ("gemini", Behaviour(expires_after=0.5), []),  # it keeps nothing
    ],
)
def test_a_batch_that_ends_early_has_what_there_is(
    name: str, behaviour: Behaviour, kinds: list[str], asked: Asked
) -> None:
    answers = asked.answers(behaviour)
    assert [
        each.kind if isinstance(each, CallFailed) else "reply" for each in answers.values()
    ] == kinds
    assert list(answers) == list(asks(len(kinds)))
    assert calls.EXPIRED in calls.TRANSIENT  # it can be asked again


FAILING = {
    "openai": {
        Fault("429"): calls.BUSY,
        Fault("500"): calls.SERVER,
        Fault("content_filter"): calls.BLOCKED,
        Fault("context_length_exceeded"): calls.TOO_LONG,
        Fault("insufficient_quota"): calls.QUOTA,
        Fault("model_not_found"): calls.UNKNOWN_MODEL,
        Fault("drop"): calls.SERVER,
        Fault("not_json_body", text="x"): calls.NOT_A_REPLY,
    },
    "gemini": {Fault("500"): calls.SERVER, Fault("429"): calls.BUSY, Fault("400"): calls.REJECTED},
    "vertex": {Fault("500"): calls.SERVER, Fault("429"): calls.BUSY, Fault("400"): calls.REJECTED},
    "anthropic": {
        Fault("429"): calls.BUSY,
        Fault("400"): calls.REJECTED,
        Fault("503"): calls.SERVER,
    },
}


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name, faults in FAILING.items() for fault in faults],
    ids=lambda value: value.kind if isinstance(value, Fault) else value,
)
def test_half_the_requests_fail(name: str, fault: Fault, asked: Asked) -> None:
    answers = asked.answers(Behaviour(failing=0.5, fault=fault, shuffled=True))
    assert sorted(answers) == list(asks(4))
    failures = [each.kind for each in answers.values() if isinstance(each, CallFailed)]
    assert failures == [FAILING[name][fault]] * 2


@ALL
def test_a_batch_waits_and_is_cancelled(name: str, asked: Asked) -> None:
    asked.server.service.wait = 1000.0

    async def steps(client: BatchClient) -> None:
        batch = await submitted(client, asked.folder, asks(3))
        assert not (await client.status(batch)).ended
        await client.cancel(batch)
        status, lines = await results(client, batch, asked.folder)
        assert status.failure is None
        assert {each.kind for _, each in lines if isinstance(each, CallFailed)} <= {calls.EXPIRED}
        assert len(lines) == (3 if name == "anthropic" else 0)
        await cancel_batch(client, batch)  # nothing happens
        with pytest.raises(CallFailed):
            await cancel_batch(client, batch[:-3] + "999")

    asked.do(steps)


@EACH
def test_a_batch_whose_answer_was_lost_is_found(name: str, asked: Asked) -> None:
    asked.server.service.behaviour = in_turn(Behaviour(lost=True), *[Behaviour()] * 5)

    async def steps(client: BatchClient) -> None:
        with pytest.raises(CallFailed) as lost:
            await submitted(client, asked.folder, asks(2))
        assert lost.value.kind == calls.DROPPED
        for number in range(5):  # so that the list has pages
            await submitted(client, asked.folder, asks(2), f"other{number}")
        batch = await client.find(TOKEN)
        assert batch
        assert batch.endswith(asked.server.service.jobs[0].id)
        assert await client.find("z" * 20) is None
        assert len((await results(client, batch, asked.folder))[1]) == 2

    asked.do(steps)
    assert len(asked.server.service.jobs) == 6  # nothing was sent twice by the package


@EACH
def test_a_refused_call_makes_no_batch(name: str, asked: Asked) -> None:
    for status, kind in ((503, calls.SERVER), (429, calls.BUSY), (403, calls.DENIED)):
        asked.server.service.behaviour = in_turn(*[Behaviour(refused_call=status)] * 3)
        assert asked.fails(lambda client: submitted(client, asked.folder, asks(1))).kind == kind
    assert asked.server.service.jobs == []


@EACH
def test_a_request_file_is_taken_away_and_that_is_no_fault_of_the_model(
    name: str, asked: Asked
) -> None:
    (file := asked.folder / "requests.jsonl").write_bytes(b"{}\n")

    async def steps(client: BatchClient) -> None:
        uploaded = await client.upload(file, TOKEN)
        await client.forget(uploaded)
        with pytest.raises(CallFailed, match=r"404|not exist"):
            await client.forget(uploaded)
        await client.submit(uploaded, TOKEN)

    assert asked.fails(steps, "gone").kind == calls.SERVER


@ALL
def test_nothing_goes_to_another_host(
    name: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = HttpReply(b"", 302, headers={"location": "http://portal.example/"})
    monkeypatch.setattr(asked.server, "side_reply", lambda request: away)
    assert asked.fails(lambda client: client.status(asked.service.batch)).kind == calls.REDIRECTED
    (file := asked.folder / "requests.jsonl").write_bytes(b"{}\n")
    if name != "anthropic":
        assert asked.fails(lambda client: client.upload(file, TOKEN)).kind == calls.REDIRECTED


@pytest.mark.parametrize("name", ["openai", "gemini", "vertex", "anthropic"])
@pytest.mark.parametrize("fault", ["drop", "drop_mid_body", "500"])
def test_results_that_do_not_come_whole_leave_no_file(name: str, fault: str, asked: Asked) -> None:
    def disturbs(request: Any, number: int) -> Fault | None:
        return (
            Fault(fault)
            if request.method == "GET" and asked.service.results in request.path
            else None
        )

    async def steps(client: BatchClient) -> None:
        batch = await submitted(client, asked.folder, asks(3))
        while not (await client.status(batch)).ended:
            await asyncio.sleep(0.01)
        asked.server.disturbs = disturbs
        with pytest.raises(CallFailed) as failed:
            await client.fetch(batch, asked.folder / "results.jsonl")
        assert failed.value.kind in calls.TRANSIENT
        assert [file.name for file in asked.folder.iterdir()] == ["requests.jsonl"]
        asked.server.disturbs = None
        assert len((await results(client, batch, asked.folder))[1]) == 3

    asked.do(steps)
