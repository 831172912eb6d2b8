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
from metal.raters.judges.call import (
    BatchClient,
    BatchLimits,
    CallFailed,
    ModelRequest,
    Reply,
    Status,
)
from metal.raters.judges.models import find_model, with_settings
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers import open_client, openai_batch
from metal.raters.judges.providers.openai_batch import open_batch_client, read_result
from tests import batch_jobs
from tests.batch_jobs import Behaviour, Refusal, in_turn
from tests.judges.batch_trips import TOKEN, asks, ended, results, submitted, trip
from tests.llm_server import Fault, SideRequest
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
    return trip(
        open_batch_client(with_settings(find_model(name, {}, base_url=url), base_url=url)), does
    )


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


def carried_out(
    name: str, server: OpenAIBatchServer, folder: Path, count: int = 4
) -> dict[str, Reply | CallFailed]:
    async def does(client: BatchClient) -> dict[str, Reply | CallFailed]:
        _, read = await results(client, await submitted(client, folder, asks(count)), folder)
        assert len(dict(read)) == len(read)
        return dict(read)

    return with_client(name, MODELS[name](server), does)


def failed(
    does: Callable[[BatchClient], Awaitable[object]], url: str, name: str = OPENAI
) -> CallFailed:
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
        return client.line(
            "k" * 32, replace(asks(1)[keys(1)[0]], message=Message("You judge.", "\ud800"))
        )

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
        for seconds in (10_000.0, 2_000.0, 4_000.0):
            server.service.ahead += seconds
            seen.append(await client.status(batch))
        return seen

    server.service.behaviour = in_turn(Behaviour(wait=10_500.0, rate=0.001))
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


def test_a_deployment_for_batches_alone_answers_batches(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
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
        [sys.executable, "tests/openai_batch_server.py"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path.cwd(),
    )
    try:
        assert process.stdout
        url = process.stdout.readline().strip() + "/v1"
        tracemalloc.start()
        name = with_client(OPENAI, url, lambda client: client.upload(file, TOKEN))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        request = urllib.request.Request(
            f"{url}/files/{name}/content", headers={"Authorization": "x"}
        )
        assert urllib.request.urlopen(request).read() == file.read_bytes()
    finally:
        process.kill()
        process.communicate()
    assert peak < file.stat().st_size / 2


# ---------------------------------------------------------------- batches that go wrong


@pytest.mark.parametrize(
    ("refusal", "kind", "parameter"),
    [
        (batch_jobs.TOO_MANY_TOKENS, calls.BUSY, ""),
        (Refusal("TokenLimitExceeded", "Enqueued tokens surpassed the limit."), calls.BUSY, ""),
        (
            Refusal("billing_hard_limit_reached", "Billing hard limit has been reached."),
            calls.QUOTA,
            "",
        ),
        (
            Refusal("model_not_found", "The model does not exist.", "body.model", 1),
            calls.UNKNOWN_MODEL,
            "",
        ),
        (
            Refusal("mismatched_model", "Unexpected: the models differ.", "body.model", 2),
            calls.REJECTED,
            "",
        ),
        (
            Refusal("unsupported_value", "It does not support 0.", "body.temperature", 1),
            calls.PARAMETER,
            "temperature",
        ),
        (
            Refusal(
                "invalid_request", "Invalid parameter: 'response_format' is not supported", None, 1
            ),
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
@pytest.mark.parametrize("what", ["upload", "submit", "status", "find", "cancel", "fetch"])
def test_each_fault_of_a_request_has_its_name(
    what: str, fault: Fault, kind: str, server: OpenAIBatchServer, tmp_path: Path
) -> None:
    def does(client: BatchClient) -> Awaitable[object]:
        (file := tmp_path.parent / "requests.jsonl").write_bytes(b"{}\n")
        requests: dict[str, Callable[[], Awaitable[object]]] = {
            "upload": lambda: client.upload(file, TOKEN),
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
    # HTTP's own: a GET again
    again = what not in ("upload", "submit", "cancel") and fault.kind == "drop"
    assert sum(server.asked.values()) == 1 + again, "a hidden retry"
    assert not list(tmp_path.iterdir())


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
    assert failed(lambda client: client.find(TOKEN), url).kind == calls.UNREACHED
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_batch_client(find_model(OPENAI, {}))


# ---------------------------------------------------------------- lost answers


def test_the_list_is_read_page_by_page_and_not_for_ever(server: OpenAIBatchServer) -> None:
    for number in range(250):
        server.service.submit(
            "/v1/chat/completions", [], {"metal": f"{number:020d}"}, file="f", endpoint="e"
        )

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


# ---------------------------------------------------------------- cancelling


def test_cancelled_batches_keep_what_was_answered(
    server: OpenAIBatchServer, tmp_path: Path
) -> None:
    server.service.behaviour = in_turn(Behaviour(rate=0.001, cancelling=5_000.0))

    async def does(client: BatchClient) -> list[Any]:
        batch = await submitted(client, tmp_path, asks(4))
        server.service.ahead += 2_500.0
        await client.cancel(batch)
        await cancel_batch(client, batch)  # it is stopping already
        stage = (await client.status(batch)).stage
        server.service.ahead += 60_000.0
        _, outcome = await results(client, batch, tmp_path)
        await cancel_batch(client, batch)  # it has ended
        return [stage, [key for key, _ in outcome], (await client.status(batch)).stage]

    assert with_client(OPENAI, server.openai_url, does) == ["cancelling", keys(2), "cancelled"]
    assert sum(server.counts.values()) == 2


def test_a_batch_that_cannot_be_cancelled(server: OpenAIBatchServer, tmp_path: Path) -> None:
    async def does(client: BatchClient) -> None:
        batch = await submitted(client, tmp_path, asks(4))
        server.disturbs = lambda request, time: (
            Fault("409") if request.path.endswith("cancel") else None
        )
        await cancel_batch(client, batch)

    server.service.wait = 60.0
    assert failed(does, server.openai_url).status == 409


# ---------------------------------------------------------------- results


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


COMPLETION = {
    "model": "m",
    "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
    "usage": {},
}


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
        (
            result({"error": {"code": "billing_hard_limit_reached", "message": "used up"}}, 400),
            calls.QUOTA,
        ),
        (result(None, 400, error={"code": "content_filter", "message": "filtered"}), calls.BLOCKED),
        (b'{"custom_id": "k", "response": null, "error": null}', calls.SERVER),
        (b'{"custom_id": "k", "response": [], "error": "text"}', calls.SERVER),
        (
            b'{"custom_id": "k", "error": {"code": "batch_expired", "message": "time"}}',
            calls.EXPIRED,
        ),
        (
            b'{"custom_id": "k", "error": {"code": "batch_cancelled", "message": "stop"}}',
            calls.EXPIRED,
        ),
        (
            b'{"custom_id": "k", "error": {"code": "request_timeout", "message": "late"}}',
            calls.TIMEOUT,
        ),
        (b'{"custom_id": "k", "error": {"code": "server_error", "message": "oh"}}', calls.SERVER),
        (
            b'{"custom_id": "k", "error": {"code": "rate_limit_exceeded", "message": "oh"}}',
            calls.BUSY,
        ),
        (
            b'{"custom_id": "k", "error": {"code": "content_filter", "message": "no"}}',
            calls.BLOCKED,
        ),
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
    line = (
        b'{"body": 0, "custom_id":"k","response":{"status_code":"200","body":  '
        + body
        + b'},"error":null}'
    )
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
