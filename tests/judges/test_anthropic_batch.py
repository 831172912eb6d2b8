"""The batch client of Anthropic against a local server of its Message Batches."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import metal
from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import BatchClient, CallFailed
from metal.raters.judges.models import find_model, with_settings
from metal.raters.judges.providers import open_batch_client
from tests.anthropic_batch_server import AnthropicBatchServer
from tests.batch_jobs import Behaviour, in_turn
from tests.judges.batch_trips import TOKEN, asks, submitted, trip

T = TypeVar("T")
NAME = "anthropic:claude-haiku-4-5"
OTHER = "zyxwvutsrq9876543210"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnthropicBatchServer]:
    with AnthropicBatchServer() as running:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        yield running


def with_client(server: AnthropicBatchServer, does: Callable[[BatchClient], Awaitable[T]]) -> T:
    return trip(open_batch_client(with_settings(find_model(NAME, {}), base_url=server.url)), does)


@pytest.mark.slow
def test_a_batch_whose_submission_was_not_answered_is_found(
    server: AnthropicBatchServer, tmp_path: Path
) -> None:
    server.service.behaviour = in_turn(Behaviour(), Behaviour(lost=True, wait=0.0))
    server.page = 1  # the list comes in pages

    async def begins(client: BatchClient) -> tuple[str, str | None, str | None]:
        other = await submitted(client, tmp_path, asks(2), OTHER)
        with pytest.raises(CallFailed):
            await submitted(client, tmp_path, asks(3))
        for job in server.service.jobs:
            job.made -= 60 * 86_400  # as to a client whose clock is two months ahead
        return other, await client.find(TOKEN), await client.find("a" * 20)

    other, batch, none = with_client(server, begins)
    assert (batch, none) == (server.service.jobs[1].id, None)
    assert batch != other
    server.archived = True  # their results are gone
    assert with_client(server, lambda client: client.find(TOKEN)) is None


def test_while_another_batch_is_under_way_nobody_says_there_is_none(
    server: AnthropicBatchServer, tmp_path: Path
) -> None:
    """It may be the one that is looked for: submitting again could be paid twice."""
    server.service.wait = 1000.0
    batch = with_client(server, lambda client: submitted(client, tmp_path, asks(2)))

    async def looks(client: BatchClient) -> str | None:
        return await client.find(OTHER)

    with pytest.raises(CallFailed, match="1 batches are in progress") as waiting:
        with_client(server, looks)
    assert waiting.value.kind in calls.TRANSIENT
    server.service.ahead = 2000.0
    assert with_client(server, looks) is None

    async def own(client: BatchClient) -> str | None:
        server.service.wait, server.service.ahead = 1e6, 0.0
        await submitted(client, tmp_path, asks(2))
        return await client.find(OTHER)

    assert with_client(server, own) is None  # its own batches are known to it
    assert batch


def test_a_batch_and_a_file_there_are_not(server: AnthropicBatchServer, tmp_path: Path) -> None:
    for steps, kind in (
        (lambda client: client.status("msgbatch_none"), calls.UNKNOWN_MODEL),
        (lambda client: client.submit(str(tmp_path / "nowhere.jsonl"), TOKEN), calls.SERVER),
    ):
        with pytest.raises(CallFailed) as failed:
            with_client(server, steps)
        assert failed.value.kind == kind


def test_judging_through_batches(server: AnthropicBatchServer, tmp_path: Path) -> None:
    """The same ratings as by single calls, at half the price, through a lost answer and requests
    that failed.
    """
    server.service.behaviour = in_turn(Behaviour(failing=0.3), Behaviour(expires_after=0.5))
    ask: dict[str, Any] = {"criteria": "task_quality", "languages": "en", "sample": 12}
    batched = metal.judge("datasets/demo", NAME, batch=True, out=tmp_path / "batch", **ask)
    single = metal.judge("datasets/demo", NAME, out=tmp_path / "single", **ask)
    columns = ["output", "criterion", "rater", "score", "comment"]
    assert batched.ratings[columns].equals(single.ratings[columns])
    assert batched.ratings["score"].notna().all()
    assert set(batched.ratings["rater"]) == {f"{NAME}/detailed"}
    assert max(server.service.answers.values()) == 1


def test_what_a_message_says() -> None:
    from metal.raters.judges.providers.anthropic_messages import read_body

    blocks = [
        {"type": "thinking", "thinking": "3?"},
        {"type": "text", "text": '{"score": '},
        {"type": "text", "text": "2}"},
    ]
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": None,
        "output_tokens": 70,
    }
    message = {"content": blocks, "stop_reason": "end_turn", "model": "claude-x", "usage": usage}
    reply = read_body(json.dumps(message).encode())
    # thoughts are paid, not read
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ('{"score": 2}', 100, 70)
    endings = {
        "refusal": calls.REFUSED,
        "max_tokens": calls.TRUNCATED,
        "stop_sequence": calls.COMPLETE,
    }
    for reason, ending in endings.items():
        assert read_body(json.dumps(message | {"stop_reason": reason}).encode()).ending == ending
    assert read_body(b'{"content": null}').ending == calls.NO_CHOICES


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            calls.QUOTA,
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 208310 tokens > 200000 maximum",
            calls.TOO_LONG,
        ),
        (
            400,
            "invalid_request_error",
            "`temperature` is deprecated for this model.",
            calls.PARAMETER,
        ),
        (
            400,
            "invalid_request_error",
            "output_config.format: not supported by this model",
            calls.PARAMETER,
        ),
        (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit.",
            calls.BUSY,
        ),
        (529, "overloaded_error", "Overloaded", calls.SERVER),
    ],
)
def test_errors(status: int, kind: str, message: str, expected: str) -> None:
    from metal.raters.judges.providers.anthropic_messages import read_failure

    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    assert read_failure(status, body, "model x").kind == expected


def test_without_a_key_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        open_batch_client(find_model(NAME, {}))
