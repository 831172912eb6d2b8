"""What tests do with any BatchClient: ask, submit, wait, fetch, read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from metal.raters.judges.call import (
    BatchClient,
    CallFailed,
    ModelRequest,
    Reply,
    Status,
    answer_schema,
)
from metal.raters.judges.prompts import Message
from tests.conftest import TASK_QUALITY

T = TypeVar("T")
TOKEN = "abcdefghij0123456789"
SCHEMA = answer_schema(TASK_QUALITY.scale)


def asks(count: int) -> dict[str, ModelRequest]:
    """Questions by key, each with words of its own, in several scripts."""
    words = ("Kuinka hyvä on tämä?", "这个摘要怎么样？", "كم هي جيدة؟", "How good is this?")
    return {
        f"{number:032x}": ModelRequest(
            Message("You judge.", f"{words[number % 4]} {number}\nSecond \u2028line."),
            SCHEMA,
            {"temperature": 0},
            "json_schema",
            5.0,
        )
        for number in range(count)
    }


def trip(client: BatchClient, steps: Callable[[BatchClient], Awaitable[T]]) -> T:
    """What `steps` give, with the client closed after them."""

    async def run() -> T:
        try:
            return await steps(client)
        finally:
            await client.close()

    return asyncio.run(run())


async def submitted(
    client: BatchClient, folder: Path, questions: dict[str, ModelRequest], token: str = TOKEN
) -> str:
    """The id of a batch with these questions."""
    file = folder / "requests.jsonl"
    file.write_bytes(b"".join(client.line(key, ask) + b"\n" for key, ask in questions.items()))
    return await client.submit(await client.upload(file, token), token)


async def ended(client: BatchClient, batch: str, seconds: float = 60.0) -> Status:
    """Its status once it has ended."""
    until = time.monotonic() + seconds
    while not (status := await client.status(batch)).ended:
        assert time.monotonic() < until, status
        await asyncio.sleep(0.01)
    return status


async def results(
    client: BatchClient, batch: str, folder: Path
) -> tuple[Status, list[tuple[str, Reply | CallFailed]]]:
    """The last status of a batch, and what came of its requests, in the order of the results."""
    status = await ended(client, batch)
    if status.failure:
        return status, []
    into = folder / "results.jsonl"
    await client.fetch(batch, into)
    assert [file.name for file in folder.iterdir() if file.name.endswith(".part")] == []
    return status, [client.read(line) for line in into.read_bytes().split(b"\n")[:-1]]
