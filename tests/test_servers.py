"""The servers of tests: answers follow from the prompt, faults look as they should, time passes over batches."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.batch_jobs import BatchService
from tests.llm_server import Call, Fault, LlmServer, by_attempt, prompt_digest, random_faults

OPENAI = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Is it good?"}]


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


def body(**more: Any) -> dict[str, Any]:
    return {"model": "gpt-9", "messages": MESSAGES, **more}


def send(server: LlmServer, path: str = OPENAI, **more: Any) -> tuple[int, Any]:
    """Status and body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request("POST", path, json.dumps(body(**more)))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def text(reply: tuple[int, Any]) -> str:
    return str(reply[1]["choices"][0]["message"]["content"])


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_answers_follow_from_the_prompt(server: LlmServer) -> None:
    assert text(send(server)) == text(send(server)) == text(send(server, model="other"))
    prompts = [[{"role": "user", "content": f"item {number}"}] for number in range(40)]
    assert {json.loads(text(send(server, messages=messages)))["score"] for messages in prompts} == {0, 1, 2}


def test_broken_connections(server: LlmServer) -> None:
    server.faults = by_attempt(Fault("drop"), Fault("drop_mid_body"), Fault("hang"))
    with pytest.raises(http.client.RemoteDisconnected):
        send(server)
    with pytest.raises(http.client.IncompleteRead):
        send(server)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        content = json.dumps(body()).encode()
        client.sendall(f"POST {OPENAI} HTTP/1.1\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
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


def test_client_that_leaves_is_not_counted(server: LlmServer) -> None:
    server.latency_ms = 200
    content = json.dumps(body()).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"POST {OPENAI} HTTP/1.1\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        wait_for(lambda: server.in_flight == 1)
    wait_for(lambda: server.calls)
    assert (server.calls[0].completed, server.calls[0].status, server.requests) == (False, 0, 1)
    assert not server.counts.total()


def test_random_faults_repeat_and_end() -> None:
    def drawn(seed: int) -> list[list[str]]:
        draw = random_faults(seed, {"429": 0.2, "malformed": 0.2})
        calls = [[Call("openai", "", "", {}, {}, "m", f"item {i}", n, 1) for n in (1, 2, 3)] for i in range(500)]
        return [[fault.kind if (fault := draw(call)) else "" for call in attempts] for attempts in calls]

    kinds = drawn(1)
    assert kinds == drawn(1) != drawn(2)
    assert {attempts[2] for attempts in kinds} == {""}
    for kind in ("429", "malformed"):
        assert 0.15 < sum(attempts[:2].count(kind) for attempts in kinds) / 1000 < 0.25


def test_mistakes_of_the_test_are_raised() -> None:
    with pytest.raises(ValueError, match="unknown fault kind"):
        Fault("typo")
    with pytest.raises(ZeroDivisionError), LlmServer() as server:  # noqa: PT012
        server.answer = lambda prompt, body: str(1 / 0)
        assert send(server)[0] == 500


# ---------------------------------------------------------------- batches


@pytest.fixture
def service(server: LlmServer) -> BatchService:
    return BatchService(server.line_reply)


def requests(count: int = 4, start: int = 0) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"key-{number}", {"model": "m", "messages": [{"role": "user", "content": f"Question {number}"}]})
        for number in range(start, start + count)
    ]


def test_time_passes_only_when_somebody_looks(server: LlmServer, service: BatchService) -> None:
    service.wait, service.rate = 10.0, 2.0
    job = service.submit(OPENAI, requests())
    seen = []
    for seconds in (0.0, 11.0, 0.6, 1.0):  # 10 s of waiting, then one each half second
        service.ahead += seconds
        looked_at = service.job(job.id)
        assert looked_at
        seen.append((looked_at.state, looked_at.answered))
    assert seen == [("validating", 0), ("in_progress", 2), ("in_progress", 3), ("completed", 4)]
    assert job.ended == pytest.approx(job.made + 10 + 2)
    assert server.counts[prompt_digest("Question 0")] == 1


def test_what_is_paid_twice_is_seen(service: BatchService) -> None:
    service.wait = 10.0
    service.submit(OPENAI, requests(2))
    service.submit(OPENAI, requests(2, start=1))
    assert service.overlapping == {"key-1"}
    service.ahead += 10.0
    stats = service.stats()
    assert (stats["answered"], stats["answered_twice"], stats["overlapping"]) == (4, 1, 1)
