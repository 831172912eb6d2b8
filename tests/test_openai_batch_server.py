"""The server of OpenAI's files and batches: the openai package understands it, and any roughness is got through."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from metal.raters.judges.batch.contract import BatchClient
from metal.raters.judges.call import Ask, CallFailed, Reply
from metal.raters.judges.models import find_model, with_settings
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers.openai_batch import open_batch_client
from tests.batch_jobs import drawn
from tests.openai_batch_server import ROUGH, OpenAIBatchServer


@pytest.fixture
def server() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer() as running:
        yield running


def request(key: str, url: str = "/v1/chat/completions") -> bytes:
    body = {"model": "gpt-9", "messages": [{"role": "user", "content": f"Question {key}"}]}
    return json.dumps({"custom_id": key, "method": "POST", "url": url, "body": body}).encode() + b"\n"


def test_the_package_understands_it(server: OpenAIBatchServer) -> None:
    with openai.OpenAI(base_url=server.openai_url, api_key="test", max_retries=0) as client:
        content = request("a") + request("b")
        file = client.files.create(file=("x.jsonl", content), purpose="batch")
        assert (file.bytes, file.status, file.filename) == (len(content), "processed", "x.jsonl")
        assert client.files.content(file.id).content == content
        assert [one.id for one in client.files.list()] == [file.id]
        made = [
            client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={"metal": f"token {number}"},
            )
            for number in range(5)
        ]
        listed = list(client.batches.list(limit=2))  # three pages
        assert [one.id for one in listed] == [one.id for one in made][::-1]
        assert listed[0].metadata == {"metal": "token 4"}
        batch = client.batches.retrieve(made[0].id)
        assert batch.status == "completed"
        assert batch.request_counts
        assert (batch.request_counts.completed, batch.request_counts.total) == (2, 2)
        assert batch.output_file_id
        assert batch.error_file_id is None
        lines = client.files.content(batch.output_file_id).text.splitlines()
        assert [json.loads(line)["custom_id"] for line in lines] == ["a", "b"]
        with pytest.raises(openai.ConflictError):
            client.batches.cancel(batch.id)
        assert client.files.delete(file.id).deleted
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(file.id)


def test_azure_has_versions_and_its_own_endpoint(server: OpenAIBatchServer) -> None:
    client = openai.AzureOpenAI(azure_endpoint=server.url, api_key="test", api_version="2024-10-21", max_retries=0)
    with client:
        file = client.files.create(file=("x.jsonl", request("a", "/chat/completions")), purpose="batch")
        endpoint = {"endpoint": "/chat/completions"}
        made = client.batches.create(
            input_file_id=file.id, endpoint="/v1/completions", completion_window="24h", extra_body=endpoint
        )
        assert client.batches.retrieve(made.id).status == "completed"


@pytest.mark.parametrize("seed", range(4))
def test_any_roughness_is_got_through_without_paying_twice(
    seed: int, server: OpenAIBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    server.service.behaviour = drawn(seed, *ROUGH)
    questions = {f"{number:032x}": f"Question {number}" for number in range(60)}
    answered: set[str] = set()

    async def one_batch(client: BatchClient, turn: int) -> None:
        token, file = f"{turn:020d}", tmp_path / f"{turn}.jsonl"
        asks = {key: Ask(Message("", text), {}, {}, "none", 5.0) for key, text in questions.items()}
        file.write_bytes(b"".join(client.line(key, asks[key]) + b"\n" for key in asks if key not in answered))
        try:
            batch = await client.submit(await client.upload(file, token), token)
        except CallFailed:
            found = await client.find(token)
            if found is None:
                return
            batch = found
        while not (status := await client.status(batch)).ended:
            server.service.ahead += 0.1
        if not status.failure:
            await client.fetch(batch, tmp_path / "results")
            read = map(client.read, (tmp_path / "results").read_bytes().splitlines())
            answered.update(key for key, what in read if isinstance(what, Reply))

    async def all_batches() -> None:
        client = open_batch_client(with_settings(find_model("openai:gpt-4o", {}), base_url=server.openai_url))
        for turn in range(30):
            if len(answered) < len(questions):
                await one_batch(client, turn)
        await client.close()

    asyncio.run(all_batches())
    assert answered == set(questions)
    stats = server.stats()
    assert (stats["answered"], stats["answered_twice"], stats["prompts_answered_twice"]) == (60, 0, 0)
