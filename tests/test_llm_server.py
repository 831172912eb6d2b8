"""The test server itself: the real clients understand it, and every fault looks on the wire as it should."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm_server import (
    ERRORS,
    REPLY_KINDS,
    Call,
    Fault,
    LlmServer,
    always,
    by_attempt,
    first_attempts,
    prompt_digest,
    random_faults,
    rejects_parameters,
    when_prompt_has,
)

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [3, 4]}, "justification": {"type": "string"}},
    "required": ["score", "justification"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA, "strict": True}}
MESSAGES = [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Is it good?"}]
PROMPT = "You judge.\nIs it good?"
OPENAI = "/v1/chat/completions"
GEMINI = "/v1beta/models/gemini-9:generateContent"
VERTEX = "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-9:generateContent"
ENDPOINT = "/v1/projects/p/locations/l/endpoints/77"


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


def openai_body(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-9", "messages": MESSAGES, "response_format": FORMAT, **more}


def gemini_body(**config: Any) -> dict[str, Any]:
    return {
        "systemInstruction": {"parts": [{"text": "You judge."}]},
        "contents": [{"role": "user", "parts": [{"text": "Is it good?"}]}],
        "generationConfig": {"responseJsonSchema": SCHEMA, **config},
    }


def send(server: LlmServer, path: str = OPENAI, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
    """Status, headers and body (parsed when it is JSON) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        default = gemini_body() if "generateContent" in path else openai_body()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, json.dumps(default if body is None else body), sent)
        response = connection.getresponse()
        raw = response.read()
        is_json = response.headers["content-type"] == "application/json"
        return response.status, response.headers, json.loads(raw) if is_json else raw
    finally:
        connection.close()


def openai_text(reply: Any) -> str:
    return reply["choices"][0]["message"]["content"]


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# The real clients


def test_openai_and_azure_clients(server: LlmServer) -> None:
    openai = pytest.importorskip("openai")

    async def ask(client: Any) -> Any:
        async with client:
            return await client.chat.completions.create(model="gpt-9", messages=MESSAGES, response_format=FORMAT)

    azure = openai.AsyncAzureOpenAI(azure_endpoint=server.url, api_key="k-azure", api_version="2024-10-21")
    azure_v1 = openai.AsyncOpenAI(base_url=server.url + "/openai/v1", api_key="k")
    replies = [asyncio.run(ask(openai.AsyncOpenAI(base_url=server.openai_url, api_key="k")))]
    replies += [asyncio.run(ask(client)) for client in (azure_v1, azure)]
    assert server.seen_headers["api-key"] == "k-azure"
    texts = {reply.choices[0].message.content for reply in replies}
    assert len(texts) == 1
    assert json.loads(texts.pop())["score"] in (3, 4)
    assert {reply.model for reply in replies} == {"gpt-9-2026-01-01"}
    assert {reply.system_fingerprint for reply in replies} == {"fp_1"}
    assert replies[0].usage.total_tokens > 0
    assert [call.path for call in server.calls] == [
        OPENAI,
        "/openai/v1/chat/completions",
        "/openai/deployments/gpt-9/chat/completions",
    ]
    assert server.counts == {prompt_digest(PROMPT): 3}


def test_openai_client_sees_typed_errors(server: LlmServer) -> None:
    openai = pytest.importorskip("openai")

    async def ask(fault: Fault) -> Any:
        server.faults = always(fault)
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="k-1", max_retries=0, timeout=0.5) as client:
            return await client.chat.completions.create(model="gpt-9", messages=MESSAGES, temperature=0)

    expected = {
        Fault("429", retry_after=2): openai.RateLimitError,
        Fault("insufficient_quota"): openai.RateLimitError,
        Fault("unauthorized"): openai.AuthenticationError,
        Fault("forbidden"): openai.PermissionDeniedError,
        Fault("model_not_found"): openai.NotFoundError,
        Fault("rejects_parameter", param="temperature"): openai.BadRequestError,
        Fault("content_filter"): openai.BadRequestError,
        Fault("503"): openai.InternalServerError,
        Fault("drop"): openai.APIConnectionError,
        Fault("drop_mid_body"): openai.APIConnectionError,
        Fault("hang"): openai.APITimeoutError,
    }
    for fault, error in expected.items():
        with pytest.raises(error) as raised:
            asyncio.run(ask(fault))
        if fault.kind == "rejects_parameter":
            assert (raised.value.code, raised.value.param) == ("unsupported_value", "temperature")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("vertex", [False, True])
def test_gemini_client(server: LlmServer, vertex: bool) -> None:
    genai = pytest.importorskip("google.genai")
    from google.oauth2.credentials import Credentials

    options = {"base_url": server.url}
    if vertex:
        who = {"vertexai": True, "project": "p", "location": "l", "credentials": Credentials("token")}
    else:
        who = {"api_key": "k-google"}
    config = {
        "system_instruction": "You judge.",
        "response_mime_type": "application/json",
        "response_json_schema": SCHEMA,
        "temperature": 0,
    }

    async def ask() -> Any:
        client = genai.Client(http_options=options, **who)
        async with client.aio as aio:
            return await aio.models.generate_content(model="gemini-9", contents="Is it good?", config=config)

    reply = asyncio.run(ask())
    assert json.loads(reply.text)["score"] in (3, 4)
    assert reply.model_version == "gemini-9-2026-01-01"
    assert reply.usage_metadata.total_token_count > 0
    assert reply.candidates[0].finish_reason.name == "STOP"
    assert [call.path for call in server.calls] == [VERTEX if vertex else GEMINI]
    assert server.counts == {prompt_digest(PROMPT): 1}
    server.faults = always(Fault("429", retry_after=3))
    with pytest.raises(genai.errors.ClientError) as raised:
        asyncio.run(ask())
    assert (raised.value.code, raised.value.status) == (429, "RESOURCE_EXHAUSTED")
    server.faults = always(Fault("content_filter"))
    assert asyncio.run(ask()).prompt_feedback.block_reason.name == "PROHIBITED_CONTENT"
    server.faults = always(Fault("refusal"))
    assert asyncio.run(ask()).candidates[0].finish_reason.name == "SAFETY"


@pytest.mark.filterwarnings("ignore")
def test_anthropic_client(server: LlmServer) -> None:
    anthropic = pytest.importorskip("anthropic")

    def ask() -> Any:
        with anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client:
            messages = [{"role": "user", "content": "Is it good?"}]
            return client.messages.create(model="claude-9", max_tokens=9, system="You judge.", messages=messages)

    reply = ask()
    assert json.loads(reply.content[0].text)["score"] in (0, 1, 2)
    assert (reply.model, reply.stop_reason) == ("claude-9-2026-01-01", "end_turn")
    assert server.counts == {prompt_digest(PROMPT): 1}
    server.faults = always(Fault("429"))
    with pytest.raises(anthropic.RateLimitError):
        ask()


def test_vertex_endpoint(server: LlmServer) -> None:
    status, _, reply = send(server, ENDPOINT + ":predict", {"instances": [{"prompt": "Is it good?"}]})
    assert (status, server.calls[0].model) == (200, "77")
    assert json.loads(reply["predictions"][0]["content"])["score"] in (0, 1, 2)
    with urllib.request.urlopen(server.url + ENDPOINT) as response:
        assert json.load(response)["name"] == ENDPOINT.removeprefix("/v1/")
    assert server.requests == 1


# The answers


def test_answers_follow_from_the_prompt(server: LlmServer) -> None:
    first, again, other_model = (send(server, body=openai_body(model=name))[2] for name in ("a", "a", "b"))
    assert openai_text(first) == openai_text(again) == openai_text(other_model)
    prompts = [openai_body(messages=[{"role": "user", "content": f"item {i}"}]) for i in range(40)]
    assert {json.loads(openai_text(send(server, body=body)[2]))["score"] for body in prompts} == {3, 4}
    server.answer = lambda prompt, body: f"{body['model']}: {prompt}"
    assert openai_text(send(server)[2]) == f"gpt-9: {PROMPT}"
    parts = [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}]
    assert openai_text(send(server, body=openai_body(messages=parts))[2]) == "gpt-9: one\ntwo"


# The faults, on the wire


@pytest.mark.parametrize("kind", sorted({*ERRORS, "418"}))
@pytest.mark.parametrize("path", [OPENAI, GEMINI])
def test_http_errors(server: LlmServer, path: str, kind: str) -> None:
    server.faults = first_attempts(Fault(kind, retry_after=1.5 if kind == "429" else None))
    status, headers, reply = send(server, path)
    if kind == "content_filter" and path == GEMINI:
        assert (status, "candidates" in reply, "blockReason" in reply["promptFeedback"]) == (200, False, True)
        return
    assert status == (ERRORS[kind].status if kind in ERRORS else 418)
    assert headers["retry-after"] == ("1.5" if kind == "429" else None)
    if path == OPENAI:
        assert set(reply["error"]) >= {"message", "type", "param", "code"}
        assert kind not in ERRORS or reply["error"]["code"] == ERRORS[kind].code
    else:
        assert reply["error"]["code"] == status
        assert re.fullmatch("[A-Z_]+", reply["error"]["status"])
        assert ("details" in reply["error"]) == (kind == "429")
    assert send(server, path)[0] == 200
    assert [(call.status, call.fault) for call in server.calls] == [(status, kind), (200, "")]


@pytest.mark.parametrize(
    "headers",
    [{"authorization": "Bearer sk-1"}, {"api_key": "sk-1"}, {"x_goog_api_key": "sk-1"}, {"x_api_key": "sk-1"}],
)
def test_unauthorized_echoes_the_key(server: LlmServer, headers: dict[str, str]) -> None:
    server.faults = always(Fault("unauthorized"))
    for path in (OPENAI, GEMINI, "/v1/messages"):
        status, _, reply = send(server, path, **headers)
        assert status == 401
        assert "sk-1" in reply["error"]["message"]
    assert "sk-2" in send(server, GEMINI + "?key=sk-2")[2]["error"]["message"]


def test_rejected_parameters(server: LlmServer) -> None:
    server.faults = rejects_parameters("temperature", "seed", code="unsupported_parameter")
    assert send(server)[0] == 200
    status, _, reply = send(server, body=openai_body(seed=1))
    assert (status, reply["error"]["code"], reply["error"]["param"]) == (400, "unsupported_parameter", "seed")
    server.faults = always(Fault("rejects_parameter", param="temperature"))
    assert send(server)[0] == 200
    reply = send(server, body=openai_body(temperature=0))[2]
    assert "'temperature' does not support 0" in reply["error"]["message"]
    status, _, reply = send(server, GEMINI, gemini_body(temperature=0))
    assert (status, reply["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert reply["error"]["details"][0]["fieldViolations"][0]["field"] == "generation_config.temperature"
    server.faults = always(Fault("rejects_parameter", param="response_format"))
    assert send(server)[2]["error"]["param"] == "response_format"


def test_spoilt_answers(server: LlmServer) -> None:
    good = openai_text(send(server)[2])

    def spoilt(kind: str, **fault: Any) -> tuple[Any, str]:
        server.faults = always(Fault(kind, **fault))
        choice = send(server)[2]["choices"][0]
        return choice["message"]["content"], choice["finish_reason"]

    assert spoilt("malformed") == (good[: len(good) // 2], "stop")
    assert spoilt("truncated") == (good[: len(good) // 2], "length")
    fenced, _ = spoilt("fenced")
    assert f"```json\n{good}\n```" in fenced
    assert json.loads(spoilt("off_schema")[0]) == json.loads(good) | {"score": 99}
    assert spoilt("empty") == ("", "stop")
    assert spoilt("text", text="no JSON") == ("no JSON", "stop")
    assert spoilt("content_filter_reply") == (None, "content_filter")
    assert spoilt("refusal") == (None, "stop")
    assert send(server)[2]["choices"][0]["message"]["refusal"]
    assert "content" not in send(server, GEMINI)[2]["candidates"][0]
    server.faults = always(Fault("model_version", model="gpt-10"))
    reply = send(server)[2]
    assert (reply["model"], reply["system_fingerprint"], openai_text(reply)) == ("gpt-10", "fp_2", good)
    server.faults = always(Fault("not_json_body"))
    status, headers, raw = send(server)
    assert (status, headers["content-type"], raw[:6]) == (200, "text/html", b"<html>")
    server.faults = always(Fault("bad_utf8"))
    with pytest.raises(UnicodeDecodeError):
        send(server)


def test_broken_connections(server: LlmServer) -> None:
    server.faults = by_attempt(Fault("drop"), Fault("drop_mid_body"), Fault("hang"))
    with pytest.raises(http.client.RemoteDisconnected):
        send(server)
    with pytest.raises(http.client.IncompleteRead):
        send(server)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        body = json.dumps(openai_body()).encode()
        client.sendall(f"POST {OPENAI} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)
        assert server.in_flight == 1
    wait_for(lambda: len(server.calls) == 3)
    assert [(call.fault, call.status, call.completed) for call in server.calls] == [
        ("drop", 0, False),
        ("drop_mid_body", 200, False),
        ("hang", 0, False),
    ]
    assert (server.in_flight, server.completed, server.counts.total()) == (0, 0, 0)


def test_slow_replies(server: LlmServer) -> None:
    server.faults = always(Fault("slow", seconds=0.2))
    began = time.monotonic()
    send(server)
    assert time.monotonic() - began >= 0.2
    server.faults = always(Fault("slow_body", seconds=0.4))
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", OPENAI, json.dumps(openai_body()))
    response = connection.getresponse()
    assert time.monotonic() - began < 0.2
    assert json.loads(response.read())["object"] == "chat.completion"
    assert time.monotonic() - began > 0.3
    assert [call.completed for call in server.calls] == [True, True]
    connection.request("POST", OPENAI, json.dumps(openai_body()))
    connection.getresponse()
    connection.close()  # the response still holds the socket
    response.close()


def test_client_that_leaves_is_not_counted(server: LlmServer) -> None:
    server.latency_ms = 200
    body = json.dumps(openai_body()).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"POST {OPENAI} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_for(lambda: server.in_flight == 1)
    wait_for(lambda: server.calls)
    assert (server.calls[0].completed, server.calls[0].status, server.requests) == (False, 0, 1)
    assert not server.counts.total()


@pytest.mark.parametrize("kind", sorted(REPLY_KINDS | set(ERRORS)))
@pytest.mark.parametrize("path", [OPENAI, GEMINI, ENDPOINT + ":predict", "/v1/messages"])
def test_every_fault_on_every_service(server: LlmServer, path: str, kind: str) -> None:
    server.faults = first_attempts(Fault(kind, seconds=0.01, param="temperature"))
    body = (gemini_body if "generate" in path else openai_body)()
    if path.endswith("predict"):
        body = {"instances": [{"prompt": "x"}]}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.05 if kind == "hang" else 5)
    connection.request("POST", path, json.dumps(body))
    broken = {"drop", "drop_mid_body", "hang"}
    try:
        connection.getresponse().read()
    except (http.client.HTTPException, TimeoutError):
        assert kind in broken
    connection.close()
    wait_for(lambda: server.calls)
    assert server.calls[0].completed == (kind not in broken)
    assert server.calls[0].fault == kind or kind == "rejects_parameter"
    assert send(server, path, body)[0] == 200


def test_random_faults_repeat_and_end(server: LlmServer) -> None:
    def drawn(seed: int) -> list[list[str]]:
        draw = random_faults(seed, {"429": 0.2, "malformed": 0.2})
        calls = [[Call("openai", "", "", {}, {}, "m", f"item {i}", n, 1) for n in (1, 2, 3)] for i in range(500)]
        return [[fault.kind if (fault := draw(call)) else "" for call in attempts] for attempts in calls]

    kinds = drawn(1)
    assert kinds == drawn(1) != drawn(2)
    assert {attempts[2] for attempts in kinds} == {""}
    for kind in ("429", "malformed"):
        assert 0.15 < sum(attempts[:2].count(kind) for attempts in kinds) / 1000 < 0.25
    server.faults = when_prompt_has("good", Fault("503"))
    assert (send(server)[0], send(server, body=openai_body(messages=[]))[0]) == (503, 200)


# The server


def test_records_and_reset(server: LlmServer) -> None:
    send(server, x_trace="7")
    assert server.seen_headers["x-trace"] == "7"
    assert server.bodies[-1] == openai_body()
    send(server, body=[1])
    record = server.calls[1]
    assert (record.status, record.completed, server.requests, server.completed) == (400, True, 2, 1)
    server.reset()
    assert (server.requests, server.calls, server.counts.total(), len(server.bodies)) == (0, [], 0, 0)


def test_light_mode_keeps_totals_only() -> None:
    with LlmServer(light=True) as server:
        send(server)
        assert (server.requests, server.completed, server.max_in_flight) == (1, 1, 1)
        assert not server.calls
        assert not server.counts
        assert not server.bodies
        assert not server._attempts


def test_concurrent_requests_are_seen_in_flight(server: LlmServer) -> None:
    openai = pytest.importorskip("openai")
    server.latency_ms = 100

    async def ask() -> None:
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="k") as client:
            await asyncio.gather(
                *(
                    client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"{i}"}])
                    for i in range(20)
                )
            )

    asyncio.run(ask())
    assert (server.max_in_flight, server.in_flight, len(server.counts)) == (20, 0, 20)


def test_chunked_and_expected_and_pipelined_requests(server: LlmServer) -> None:
    body = json.dumps(openai_body()).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for _ in range(2):  # keep-alive
        connection.request("POST", OPENAI, iter([body[:9], body[9:]]), encode_chunked=True)
        assert json.loads(connection.getresponse().read())["model"] == "gpt-9-2026-01-01"
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
        head = f"POST {OPENAI} HTTP/1.1\r\nContent-Length: {len(body)}\r\n".encode()
        client.sendall(head + b"Expect: 100-continue\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        for i in range(len(body)):
            client.sendall(body[i : i + 1])
        assert client.recv(9000).startswith(b"HTTP/1.1 200 OK")
        client.sendall((head + b"\r\n" + body) * 2 + head + b"Connection: close\r\n\r\n" + body)
        received = b"".join(iter(lambda: client.recv(9000), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert server.completed == 6


def test_large_request_and_reply(server: LlmServer) -> None:
    server.answer = lambda prompt, body: prompt
    big = "é" * 2_000_000
    assert openai_text(send(server, body=openai_body(messages=[{"role": "user", "content": big}]))[2]) == big
    wait_for(lambda: server.completed == 1)


def test_mistakes_of_the_test_are_raised() -> None:
    with pytest.raises(ValueError, match="unknown fault kind"):
        Fault("typo")
    with pytest.raises(ZeroDivisionError), LlmServer() as server:  # noqa: PT012
        server.answer = lambda prompt, body: str(1 / 0)
        assert send(server)[0] == 500
    with LlmServer() as server, pytest.raises(OSError, match="in use"), LlmServer(port=server.port):
        pass
    with LlmServer() as server:
        assert send(server, "/v2/nothing")[0] == 404


def test_as_a_process() -> None:
    command = [sys.executable, str(Path(__file__).with_name("llm_server.py")), "--light", "--faults", '{"503": 1}']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            server = LlmServer(port=int(url.rsplit(":", 1)[1]))
            assert [send(server)[0] for _ in range(3)] == [503, 503, 200]
            with urllib.request.urlopen(url + "/_stats") as response:
                assert json.load(response)["requests"] == 3
        finally:
            process.kill()
