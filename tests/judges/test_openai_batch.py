"""The batch client of OpenAI and Azure against a local server of their files and batches."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.batch.judge import cancel_batch
from metal.raters.judges.call import BatchClient, BatchLimits, CallFailed, ModelRequest, Reply, Status
from metal.raters.judges.models import find_model, with_settings
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers import open_client, openai_batch
from metal.raters.judges.providers.openai_batch import open_batch_client, read_http_failure, read_result
from tests import batch_jobs
from tests.batch_jobs import Behaviour, Refusal, in_turn
from tests.judges.batch_trips import TOKEN, asks, ended, results, submitted, trip
from tests.llm_server import Fault, HttpReply, SideRequest, rejects_parameters
from tests.openai_batch_server import OpenAIBatchServer

pytestmark = pytest.mark.usefixtures("openai_environment")
T = TypeVar("T")


@pytest.fixture
def server() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer() as running:
        yield running


# name, where its server is
MODELS: dict[str, Callable[[OpenAIBatchServer], str]] = {
    "openai:gpt-4o": lambda server: server.openai_url,
    "openai-compatible:org/llama": lambda server: server.openai_url,
    "azure:my-deployment": lambda server: server.url,
    "azure:v1-deployment": lambda server: server.azure_v1_url,
}
OPENAI = "openai:gpt-4o"


def with_client(name: str, url: str, does: Callable[[BatchClient], Awaitable[T]]) -> T:
    return trip(open_batch_client(with_settings(find_model(name, {}, base_url=url), base_url=url)), does)


def directly(name: str, url: str, questions: Iterable[ModelRequest]) -> list[Reply]:
    async def once() -> list[Reply]:
        client = open_client(with_settings(find_model(name, {}, base_url=url), base_url=url))
        try:
            return [await client.ask(question) for question in questions]
        finally:
            await client.close()

    return asyncio.run(once())


def keys(count: int) -> list[str]:
    return list(asks(count))


def carried_out(name: str, server: OpenAIBatchServer, folder: Path, count: int = 4) -> dict[str, Reply | CallFailed]:
    async def does(client: BatchClient) -> dict[str, Reply | CallFailed]:
        _, read = await results(client, await submitted(client, folder, asks(count)), folder)
        assert len(dict(read)) == len(read)
        return dict(read)

    return with_client(name, MODELS[name](server), does)


def failed(does: Callable[[BatchClient], Awaitable[object]], url: str, name: str = OPENAI) -> CallFailed:
    with pytest.raises(CallFailed) as outcome:
        with_client(name, url, does)
    return outcome.value


def refused(server: OpenAIBatchServer, folder: Path, refusal: Refusal) -> CallFailed:
    server.service.behaviour = in_turn(Behaviour(refusal=refusal))

    async def does(client: BatchClient) -> Status:
        return await ended(client, await submitted(client, folder, asks(4)))

    outcome = with_client(OPENAI, server.openai_url, does)
    assert outcome.stage == "failed"
    assert outcome.failure
    return outcome.failure


# ---------------------------------------------------------------- all is well


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_answered_as_single_calls_are(name: str, server: OpenAIBatchServer, tmp_path: Path) -> None:
    outcome = carried_out(name, server, tmp_path)
    assert list(outcome) == keys(4)
    assert list(outcome.values()) == directly(name, MODELS[name](server), asks(4).values())
    batched, single = server.bodies[0], server.bodies[-4]
    assert batched == single, "the same body is sent"


@pytest.mark.parametrize("name", MODELS)
def test_lines_name_the_endpoint_of_their_service(name: str, server: OpenAIBatchServer) -> None:
    async def line(client: BatchClient) -> bytes:
        return client.line("k" * 32, asks(2)[keys(2)[1]])

    written = with_client(name, MODELS[name](server), line)
    assert b"\n" not in written
    assert "这个摘要怎么样？".encode() in written
    asked = json.loads(written)
    azure = name.startswith("azure")
    assert asked["url"] == ("/chat/completions" if azure else "/v1/chat/completions")
    assert (asked["custom_id"], asked["method"]) == ("k" * 32, "POST")
    assert asked["body"]["model"] == name.partition(":")[2]


def test_a_text_that_cannot_be_sent_is_rejected(server: OpenAIBatchServer) -> None:
    async def line(client: BatchClient) -> bytes:
        return client.line("k" * 32, replace(asks(1)[keys(1)[0]], message=Message("You judge.", "\ud800")))

    assert failed(line, server.openai_url).kind == calls.REJECTED


def test_limits(server: OpenAIBatchServer) -> None:
    async def limits(client: BatchClient) -> BatchLimits:
        return client.limits

    assert with_client(OPENAI, server.openai_url, limits).requests == 50_000
    azure = with_client("azure:mine", server.url, limits)
    assert azure.requests == 100_000
    assert 150e6 < azure.bytes < 200e6
    assert azure.tokens is None


def test_stages_and_counts(server: OpenAIBatchServer, tmp_path: Path) -> None:
    async def does(client: BatchClient) -> list[Status]:
        batch = await submitted(client, tmp_path, asks(4))
        seen = [await client.status(batch)]
        for seconds in (10.0, 2.0, 4.0):
            server.service.ahead += seconds
            seen.append(await client.status(batch))
        return seen

    server.service.behaviour = in_turn(Behaviour(wait=10.5, rate=1.0))
    seen = with_client(OPENAI, server.openai_url, does)
    assert [item.stage for item in seen] == ["validating", "validating", "in_progress", "completed"]
    assert [item.ended for item in seen] == [False, False, False, True]
    assert [item.done for item in seen] == [0, 0, 1, 4]
    assert not any(item.failure for item in seen)


def test_older_versions_of_azure_are_understood(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.old_azure = True
    server.file_pending = 0.3
    queries: list[str] = []
    server.disturbs = lambda request, time: queries.append(request.query)

    async def does(client: BatchClient) -> tuple[Status, str | None, str | None]:
        batch = await submitted(client, tmp_path, asks(4))
        status = await ended(client, batch)
        return status, await client.find(TOKEN), await client.find("z" * 20)

    status, outcome, none = with_client("azure:mine", server.url, does)
    assert status == Status("completed", True, None, None)
    assert outcome == server.service.jobs[0].id
    assert none is None
    assert server.asked["GET", "/openai/files/file-000001"] >= 1, "a file is waited for"
    assert all("api-version=2024-10-21" in query for query in queries)


def test_a_clock_that_is_wrong_by_months_hides_no_batch(
    server: OpenAIBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not found is submitted again, and paid twice."""
    monkeypatch.setattr(openai_batch, "_PAGE", 1)

    async def does(client: BatchClient) -> tuple[str | None, str | None]:
        await submitted(client, tmp_path, asks(1))
        for token in ("a" * 20, "b" * 20):
            await submitted(client, tmp_path, asks(1), token)
        first, *others = server.service.jobs
        for job in server.service.jobs:
            job.made -= 60 * 86_400
        seen = await client.find(TOKEN)
        for job in (first, others[0]):
            job.made -= openai_batch.OLDEST + 60
        return seen, await client.find(TOKEN)

    assert with_client("openai:gpt-4o", server.url, does) == (server.service.jobs[0].id, None)


def test_a_deployment_for_batches_alone_answers_batches(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.batch_only = True
    outcome = carried_out("azure:my-deployment", server, tmp_path)
    assert [type(item) for item in outcome.values()] == [Reply] * 4
    with pytest.raises(CallFailed) as alone:
        directly("azure:my-deployment", server.url, asks(1).values())
    assert alone.value.kind == calls.REJECTED


# ---------------------------------------------------------------- files


def test_a_large_file_is_not_held_in_memory(server: OpenAIBatchServer, tmp_path: Path) -> None:
    import tracemalloc

    file = tmp_path / "requests.jsonl"
    line = json.dumps({"custom_id": "k", "body": {"text": "x" * 1000}}).encode() + b"\n"
    file.write_bytes(line * 30_000)
    process = subprocess.Popen(
        [sys.executable, "tests/openai_batch_server.py"], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    try:
        assert process.stdout
        url = process.stdout.readline().strip() + "/v1"
        tracemalloc.start()
        name = with_client(OPENAI, url, lambda client: client.upload(file, TOKEN))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        request = urllib.request.Request(f"{url}/files/{name}/content", headers={"Authorization": "x"})
        assert urllib.request.urlopen(request).read() == file.read_bytes()
    finally:
        process.kill()
        process.communicate()
    assert peak < file.stat().st_size / 2


def test_an_upload_that_is_cut_off_or_refused(server: OpenAIBatchServer, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(b"{}\n")

    def upload(client: BatchClient) -> Awaitable[str]:
        return client.upload(file, TOKEN)

    server.disturbs = lambda request, time: Fault("drop")
    assert failed(upload, server.openai_url).kind == calls.DROPPED
    server.disturbs = lambda request, time: Fault("429", retry_after=7.0)
    busy = failed(upload, server.openai_url)
    assert (busy.kind, busy.wait) == (calls.BUSY, 7.0)
    server.disturbs = lambda request, time: Fault("unauthorized")
    assert "OPENAI_API_KEY" in str(failed(upload, server.openai_url, "openai:gpt-4o").message)
    server.disturbs, server.most_bytes = None, 2
    assert failed(upload, server.openai_url).status == 413
    assert server.asked["POST", "/v1/files"] == 4, "a hidden retry"


def test_request_files_are_taken_away(server: OpenAIBatchServer, tmp_path: Path) -> None:
    async def does(client: BatchClient) -> None:
        await submitted(client, tmp_path, asks(4))
        await client.forget("file-000001")
        with pytest.raises(CallFailed, match="404"):
            await client.forget("file-000001")

    with_client(OPENAI, server.openai_url, does)
    assert not server.files


def test_a_batch_whose_file_is_gone_can_be_uploaded_again(server: OpenAIBatchServer) -> None:
    gone = failed(lambda client: client.submit("file-gone", TOKEN), server.openai_url)
    assert gone.kind in calls.TRANSIENT, "and not: the model is unknown"
    assert "file is gone" in gone.message


# ---------------------------------------------------------------- batches that go wrong


def test_what_expired_is_told_and_can_be_asked_again(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(expires_after=0.5))
    outcome = carried_out(OPENAI, server, tmp_path)
    assert [type(item) for item in outcome.values()] == [Reply, Reply, CallFailed, CallFailed]
    expired = outcome[keys(4)[3]]
    assert isinstance(expired, CallFailed)
    assert expired.kind == calls.EXPIRED
    assert expired.kind in calls.TRANSIENT
    assert sum(server.counts.values()) == 2


@pytest.mark.parametrize("behaviour", [Behaviour(expires_after=0.5, silent=True), Behaviour(stops_after=0.5)])
def test_what_was_not_asked_may_be_left_out(behaviour: Behaviour, server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(behaviour)
    assert list(carried_out(OPENAI, server, tmp_path)) == keys(2)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("429"), calls.BUSY),
        (Fault("500"), calls.SERVER),
        (Fault("content_filter"), calls.BLOCKED),
        (Fault("context_length_exceeded"), calls.TOO_LONG),
        (Fault("insufficient_quota"), calls.QUOTA),
        (Fault("model_not_found"), calls.UNKNOWN_MODEL),
        (Fault("drop"), calls.SERVER),
        (Fault("not_json_body", text="x"), calls.NOT_A_REPLY),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_half_the_lines_fail(fault: Fault, kind: str, server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(failing=0.5, fault=fault))
    outcome = carried_out(OPENAI, server, tmp_path)
    assert sorted(outcome) == keys(4)
    failures = [item for item in outcome.values() if isinstance(item, CallFailed)]
    assert [item.kind for item in failures] == [kind, kind]


def test_a_parameter_that_lines_reject_is_named(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.faults = rejects_parameters("temperature")
    outcome = list(carried_out(OPENAI, server, tmp_path, 1).values())
    assert isinstance(outcome[0], CallFailed)
    assert (outcome[0].kind, outcome[0].parameter) == (calls.PARAMETER, "temperature")


def test_all_lines_fail_and_there_is_no_file_of_replies(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(failing=1.0))
    outcome = carried_out(OPENAI, server, tmp_path)
    assert all(isinstance(item, CallFailed) for item in outcome.values())
    assert len(outcome) == 4


def test_results_come_in_any_order(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(shuffled=True))
    outcome = carried_out(OPENAI, server, tmp_path, 8)
    assert list(outcome) != keys(8)
    assert sorted(outcome) == keys(8)


@pytest.mark.parametrize(
    ("refusal", "kind", "parameter"),
    [
        (batch_jobs.TOO_MANY_TOKENS, calls.BUSY, ""),
        (Refusal("TokenLimitExceeded", "Enqueued tokens surpassed the limit."), calls.BUSY, ""),
        (Refusal("billing_hard_limit_reached", "Billing hard limit has been reached."), calls.QUOTA, ""),
        (Refusal("model_not_found", "The model does not exist.", "body.model", 1), calls.UNKNOWN_MODEL, ""),
        (Refusal("mismatched_model", "Unexpected: the models differ.", "body.model", 2), calls.REJECTED, ""),
        (Refusal("unsupported_value", "It does not support 0.", "body.temperature", 1), calls.PARAMETER, "temperature"),
        (
            Refusal("invalid_request", "Invalid parameter: 'response_format' is not supported", None, 1),
            calls.PARAMETER,
            "response_format",
        ),
        (Refusal("invalid_json_line", "This line is not parseable.", None, 3), calls.REJECTED, ""),
        (Refusal("internal_error", "Something went wrong."), calls.SERVER, ""),
        (Refusal("", ""), calls.SERVER, ""),
    ],
    ids=lambda value: value.code if isinstance(value, Refusal) else "",
)
def test_why_a_batch_was_refused(
    refusal: Refusal, kind: str, parameter: str, server: OpenAIBatchServer, tmp_path: Path
) -> None:
    outcome = refused(server, tmp_path, refusal)
    assert (outcome.kind, outcome.parameter) == (kind, parameter)
    assert refusal.message in outcome.message
    assert not server.counts
    assert refusal.line is None or f"line {refusal.line}" in outcome.message


def test_the_service_refuses_files_that_it_cannot_read(server: OpenAIBatchServer, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"

    async def does(client: BatchClient) -> CallFailed | None:
        return (await ended(client, await client.submit(await client.upload(file, TOKEN), TOKEN))).failure

    async def line(client: BatchClient) -> bytes:
        return client.line(*next(iter(asks(1).items())))

    good = with_client(OPENAI, server.openai_url, line)
    for content, code in [(b"", "empty"), (b"{\n", "parseable"), (good + b"\n" + good, "duplicate")]:
        file.write_bytes(content)
        outcome = with_client(OPENAI, server.openai_url, does)
        assert outcome
        assert (outcome.kind, code in outcome.message) == (calls.REJECTED, True)
    server.models = frozenset({"another"})
    file.write_bytes(good)
    unknown = with_client(OPENAI, server.openai_url, does)
    assert unknown
    assert unknown.kind == calls.UNKNOWN_MODEL


def test_too_many_tokens_wait(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.enqueued_tokens, server.service.wait = 60, 10.0

    async def does(client: BatchClient) -> list[CallFailed | None]:
        first = await submitted(client, tmp_path, asks(4))
        second = await submitted(client, tmp_path, asks(4), "b" * 20)
        server.service.ahead += 10.0
        third = await submitted(client, tmp_path, asks(4), "c" * 20)
        server.service.ahead += 10.0
        return [(await ended(client, item)).failure for item in (first, second, third)]

    first, second, third = with_client(OPENAI, server.openai_url, does)
    assert first is third is None
    assert second
    assert second.kind == calls.BUSY
    assert server.service.stats()["answered"] == 8


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("500"), calls.SERVER),
        (Fault("429", retry_after=7.0), calls.BUSY),
        (Fault("insufficient_quota"), calls.QUOTA),
        (Fault("drop"), calls.DROPPED),
        (Fault("drop_mid_body"), calls.DROPPED),
        (Fault("unauthorized"), calls.DENIED),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
@pytest.mark.parametrize("what", ["submit", "status", "find", "cancel", "fetch"])
def test_each_fault_of_a_request_has_its_name(
    what: str, fault: Fault, kind: str, server: OpenAIBatchServer, tmp_path: Path
) -> None:
    def does(client: BatchClient) -> Awaitable[object]:
        requests: dict[str, Callable[[], Awaitable[object]]] = {
            "submit": lambda: client.submit("file-000001", TOKEN),
            "status": lambda: client.status("batch_1"),
            "find": lambda: client.find(TOKEN),
            "cancel": lambda: client.cancel("batch_1"),
            "fetch": lambda: client.fetch("batch_1", tmp_path / "results"),
        }
        return requests[what]()

    server.disturbs = lambda request, time: fault
    outcome = failed(does, server.openai_url)
    assert outcome.kind == kind
    assert outcome.wait == (fault.retry_after or 0.0)
    again = what not in ("submit", "cancel") and fault.kind == "drop"  # HTTP's own: a GET whose connection had gone
    assert sum(server.asked.values()) == 1 + again, "a hidden retry"
    assert not list(tmp_path.iterdir())


def test_an_account_that_is_used_up_says_so_when_a_batch_begins() -> None:
    body = json.dumps({"error": {"code": "billing_hard_limit_reached", "message": "Billing hard limit"}}).encode()
    assert read_http_failure(400, body, "the model").kind == calls.QUOTA


def test_an_unknown_batch(server: OpenAIBatchServer) -> None:
    outcome = failed(lambda client: client.status("batch_none"), server.openai_url)
    assert outcome.kind == calls.UNKNOWN_MODEL
    assert "batch_none" in outcome.message
    assert failed(lambda client: client.status("../files"), server.openai_url).status == 404
    assert not server.files


def test_nobody_there_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    assert failed(lambda client: client.find(TOKEN), url).kind == calls.DROPPED
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_batch_client(find_model(OPENAI, {}))


# ---------------------------------------------------------------- lost answers


def test_a_batch_whose_answer_was_lost_is_found_by_its_token(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(lost=True, hidden=60.0))
    assert failed(lambda client: submitted(client, tmp_path, asks(4)), server.openai_url).kind == calls.DROPPED

    def find(token: str) -> str | None:
        return with_client(OPENAI, server.openai_url, lambda client: client.find(token))

    assert find(TOKEN) is None, "a list takes its time to show it"
    server.service.ahead += 60.0
    assert find(TOKEN) == server.service.jobs[0].id
    assert find("z" * 20) is None


def test_a_create_that_was_refused_makes_no_batch(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(refused_call=503))
    assert failed(lambda client: submitted(client, tmp_path, asks(4)), server.openai_url).kind == calls.SERVER
    assert not server.service.jobs


def test_the_list_is_read_page_by_page_and_not_for_ever(server: OpenAIBatchServer) -> None:
    for number in range(250):
        server.service.submit("/v1/chat/completions", [], {"metal": f"{number:020d}"}, file="f", endpoint="e")

    def find(number: int) -> str | None:
        return with_client(OPENAI, server.openai_url, lambda client: client.find(f"{number:020d}"))

    assert find(0) == server.service.jobs[0].id
    assert server.asked["GET", "/v1/batches"] == 3
    for job in server.service.jobs[:200]:
        job.made -= 40 * 86_400  # older than any results
    server.asked.clear()
    assert find(999) is None
    assert server.asked["GET", "/v1/batches"] == 1


def test_a_list_that_never_ends(server: OpenAIBatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.service.submit("/v1/chat/completions", [], {}, file="f", endpoint="e")
    page = server._list(SideRequest("GET", "/v1/batches", "", {}, b""))
    page.payload = page.payload.replace(b'"has_more": false', b'"has_more": true')
    monkeypatch.setattr(server, "_list", lambda request: page)
    assert with_client(OPENAI, server.openai_url, lambda client: client.find(TOKEN)) is None
    assert server.asked["GET", "/v1/batches"] == 2
    page.payload = b'{"data": 7}'
    assert failed(lambda client: client.find(TOKEN), server.openai_url).kind == calls.SERVER


def test_nothing_goes_to_another_host(server: OpenAIBatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    away = HttpReply(b"", 302, headers={"location": "http://portal.example/"})
    monkeypatch.setattr(server, "side_reply", lambda request: away)
    assert failed(lambda client: client.status("b"), server.openai_url).kind == calls.REDIRECTED


# ---------------------------------------------------------------- cancelling


def test_cancelled_batches_keep_what_was_answered(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(rate=1.0, cancelling=5.0))

    async def does(client: BatchClient) -> list[Any]:
        batch = await submitted(client, tmp_path, asks(4))
        server.service.ahead += 2.5
        await client.cancel(batch)
        await cancel_batch(client, batch)  # it is stopping already
        stage = (await client.status(batch)).stage
        server.service.ahead += 60.0
        _, outcome = await results(client, batch, tmp_path)
        await cancel_batch(client, batch)  # it has ended
        return [stage, [key for key, _ in outcome], (await client.status(batch)).stage]

    assert with_client(OPENAI, server.openai_url, does) == ["cancelling", keys(2), "cancelled"]
    assert sum(server.counts.values()) == 2


def test_a_batch_that_cannot_be_cancelled(server: OpenAIBatchServer, tmp_path: Path) -> None:
    async def does(client: BatchClient) -> None:
        batch = await submitted(client, tmp_path, asks(4))
        server.disturbs = lambda request, time: Fault("409") if request.path.endswith("cancel") else None
        await cancel_batch(client, batch)

    server.service.wait = 60.0
    assert failed(does, server.openai_url).status == 409


# ---------------------------------------------------------------- results


def test_a_download_that_breaks_off_leaves_nothing_and_can_be_repeated(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    async def does(client: BatchClient) -> int:
        batch = await submitted(client, tmp_path, asks(40))
        server.disturbs = lambda request, time: (
            Fault("drop_mid_body") if request.path.endswith("content") and time == 1 else None
        )
        with pytest.raises(CallFailed) as broken:
            await client.fetch(batch, tmp_path / "results.jsonl")
        assert broken.value.kind == calls.DROPPED
        assert sorted(path.name for path in tmp_path.iterdir()) == ["requests.jsonl"]
        return len((await results(client, batch, tmp_path))[1])

    assert with_client(OPENAI, server.openai_url, does) == 40


def test_nothing_to_fetch_is_an_empty_file(server: OpenAIBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(expires_after=0.0, silent=True))
    assert carried_out(OPENAI, server, tmp_path) == {}
    assert (tmp_path / "results.jsonl").read_bytes() == b""


def read(line: bytes) -> tuple[str, Reply | CallFailed]:
    return read_result(line, "model m")


def result(body: Any, status: Any = 200, **more: Any) -> bytes:
    return json.dumps(
        {"custom_id": "k", "response": {"status_code": status, "body": body}, "error": None} | more
    ).encode()


COMPLETION = {"model": "m", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {}}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"<html>",
        b"[1, 2]",
        b'{"custom_id": "k", "response": ',
        b'{"custom_id": 7, "response": {}}',
        b'{"custom_id": "", "response": {}}',
        b'{"response": {}}',
        b"[" * 100_000,
        b'{"custom_id": "k"' + b"\0" * 100,
        json.dumps({"custom_id": "k"}).encode("utf-16")[:-1],
        b"x" * 5_000_000,
    ],
    ids=lambda line: repr(line[:30]),
)
def test_lines_that_cannot_be_read_at_all(line: bytes) -> None:
    with pytest.raises(CallFailed) as outcome:
        read(line)
    assert outcome.value.kind == calls.SERVER
    assert len(str(outcome.value)) < 1000
    assert len(outcome.value.body) <= 20_000


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (result(None), calls.NOT_A_REPLY),
        (result("no JSON"), calls.NOT_A_REPLY),
        (result(COMPLETION, None), calls.SERVER),
        (result(COMPLETION, True), calls.SERVER),
        (result(COMPLETION, 7), calls.SERVER),
        (result({"error": {"message": "odd", "code": 7}}, 400), calls.REJECTED),
        (result([1], 500), calls.SERVER),
        (result({"error": {"code": "billing_hard_limit_reached", "message": "used up"}}, 400), calls.QUOTA),
        (result(None, 400, error={"code": "content_filter", "message": "filtered"}), calls.BLOCKED),
        (b'{"custom_id": "k", "response": null, "error": null}', calls.SERVER),
        (b'{"custom_id": "k", "response": [], "error": "text"}', calls.SERVER),
        (b'{"custom_id": "k", "error": {"code": "batch_expired", "message": "time"}}', calls.EXPIRED),
        (b'{"custom_id": "k", "error": {"code": "batch_cancelled", "message": "stop"}}', calls.EXPIRED),
        (b'{"custom_id": "k", "error": {"code": "request_timeout", "message": "late"}}', calls.TIMEOUT),
        (b'{"custom_id": "k", "error": {"code": "server_error", "message": "oh"}}', calls.SERVER),
        (b'{"custom_id": "k", "error": {"code": "rate_limit_exceeded", "message": "oh"}}', calls.BUSY),
        (b'{"custom_id": "k", "error": {"code": "content_filter", "message": "no"}}', calls.BLOCKED),
        (b'{"custom_id": "k", "error": {"code": "unheard_of", "message": "what"}}', calls.SERVER),
    ],
)
def test_lines_without_a_reply(line: bytes, kind: str) -> None:
    key, outcome = read(line)
    assert key == "k"
    assert isinstance(outcome, CallFailed)
    assert outcome.kind == kind


def test_the_raw_reply_is_the_body_as_it_came() -> None:
    body = b'{ "choices":[{"message":{"content":"\\"body\\": 1 \xc3\xa9"}}] ,"n":1.50}'
    line = b'{"body": 0, "custom_id":"k","response":{"status_code":"200","body":  ' + body + b'},"error":null}'
    _, outcome = read(line)
    assert isinstance(outcome, Reply)
    assert outcome.raw == body
    assert outcome.text == '"body": 1 é'


def test_bytes_that_are_no_text_cost_no_answer() -> None:
    line = result(COMPLETION).replace(b"Hi", b"Hi \xff\xfe \\ud800")
    _, outcome = read(line)
    assert isinstance(outcome, Reply)
    assert outcome.text.startswith("Hi \N{REPLACEMENT CHARACTER}")
    assert json.loads(outcome.raw)
    outcome.raw.decode()


def test_a_huge_reply_is_read() -> None:
    body = {"choices": [{"message": {"content": "x" * 5_000_000}}]}
    _, outcome = read(result(body))
    assert isinstance(outcome, Reply)
    assert len(outcome.text) == 5_000_000


def test_spoilt_lines_stand_where_they_came(server: OpenAIBatchServer, tmp_path: Path) -> None:
    cut = Behaviour(spoilt=lambda key, line: line[: len(line) // 2] if key == keys(4)[1] else line)
    server.service.behaviour = in_turn(cut)

    async def does(client: BatchClient) -> list[str]:
        batch = await submitted(client, tmp_path, asks(4))
        await ended(client, batch)
        await client.fetch(batch, tmp_path / "results")
        message = []
        for line in (tmp_path / "results").read_bytes().splitlines():
            try:
                message.append(client.read(line)[0])
            except CallFailed as unreadable:
                message.append(unreadable.kind)
        return message

    expected = keys(4)
    expected[1] = calls.SERVER
    assert with_client(OPENAI, server.openai_url, does) == expected
