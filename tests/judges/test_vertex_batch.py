"""Batches of a model deployed on Vertex AI, against a local server that speaks its endpoints and Cloud Storage's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal.errors import MetalError, MissingExtra, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.batch.judge import cancel_batch
from metal.raters.judges.call import BatchClient, CallFailed, Reply
from metal.raters.judges.models import BatchSettings, Model, find_model, with_settings
from metal.raters.judges.providers import open_batch_client
from metal.raters.judges.providers.vertex_endpoint import open_client
from tests.batch_jobs import Behaviour, in_turn
from tests.google_batch_server import NOT_PERMITTED, QUEUE_FULL, GoogleBatchServer, machine
from tests.judges.batch_trips import TOKEN, asks, ended, results, submitted, trip
from tests.llm_server import Fault

pytestmark = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleBatchServer]:
    with GoogleBatchServer() as server:
        monkeypatch.setenv("VERTEX_TOKEN", "secret-token-of-vertex")
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
        monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


def model_of(server: GoogleBatchServer, **batch: Any) -> Model:
    model = find_model("vertex-endpoint:123", {})
    model = with_settings(model, timeout=5.0, base_url=server.url, api_key_env="VERTEX_TOKEN")
    return replace(model, batch=BatchSettings(**({"bucket": "gs://ours"} | batch)))


def opened(server: GoogleBatchServer, **batch: Any) -> BatchClient:
    return open_batch_client(model_of(server, **batch))


def test_all_answers_come_in_whatever_order(server: GoogleBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(shuffled=True))
    questions = asks(20)

    async def steps(client: BatchClient) -> None:
        status, result = await results(client, await submitted(client, tmp_path, questions), tmp_path)
        assert (status.stage, status.done, status.failure) == ("succeeded", 20, None)
        assert [key for key, _ in result] != list(questions)
        assert sorted(key for key, _ in result) == list(questions)
        direct = open_client(model_of(server))
        for key, reply in result[:5]:
            assert isinstance(reply, Reply)
            assert reply.text == (await direct.ask(questions[key])).text
        await direct.close()

    trip(opened(server), steps)
    body = server.created[0]
    assert body["model"] == "projects/1/locations/us-central1/models/77@3"
    assert body["labels"] == {"metal": TOKEN}
    assert body["instanceConfig"] == {"instanceType": "object", "keyField": "key"}
    assert body["modelParameters"] == {"temperature": 0.0}
    assert (
        body["dedicatedResources"]
        == {
            "machineSpec": {"machineType": "n1-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1},
            "startingReplicaCount": 1,
            "maxReplicaCount": 2,
        }
        or body["dedicatedResources"]["machineSpec"]["machineType"] == "n1-standard-8"
    )


def test_the_model_is_given_what_a_direct_call_gives_it(server: GoogleBatchServer) -> None:
    ask = asks(1)["0" * 32]

    async def directly() -> None:
        client = open_client(model_of(server))
        await client.ask(ask)
        await client.close()

    asyncio.run(directly())
    line = json.loads(opened(server).line("0" * 32, ask))
    assert line.pop("key") == "0" * 32
    assert [line] == server.bodies[-1]["instances"]


@pytest.mark.parametrize(("refusal", "kind"), [(QUEUE_FULL, calls.BUSY), (NOT_PERMITTED, calls.DENIED)])
def test_a_failed_batch_says_why(refusal: Any, kind: str, server: GoogleBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(refusal=refusal))

    async def steps(client: BatchClient) -> None:
        status = await ended(client, await submitted(client, tmp_path, asks(2)))
        assert status.stage == "failed"
        assert status.failure
        assert status.failure.kind == kind

    trip(opened(server), steps)


def test_an_expired_batch_has_what_there_is(server: GoogleBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(expires_after=0.5))

    async def steps(client: BatchClient) -> None:
        status, result = await results(client, await submitted(client, tmp_path, asks(10)), tmp_path)
        assert (status.stage, status.failure) == ("expired", None)
        assert sorted(key for key, _ in result) == list(asks(5))

    trip(opened(server), steps)


@pytest.mark.parametrize("named", [True, False])
def test_lines_that_failed(named: bool, server: GoogleBatchServer, tmp_path: Path) -> None:
    server.names_errors = named
    server.service.behaviour = in_turn(Behaviour(failing=0.5, fault=Fault("500")))

    async def steps(client: BatchClient) -> None:
        status, result = await results(client, await submitted(client, tmp_path, asks(8)), tmp_path)
        assert (status.stage, status.done) == ("succeeded", 8)
        assert sum(isinstance(item, Reply) for _, item in result) == 4
        assert len(result) == (8 if named else 4)  # what is missing was not answered
        assert {item.kind for _, item in result if isinstance(item, CallFailed)} <= {calls.SERVER}

    trip(opened(server), steps)


def test_a_cancelled_batch(server: GoogleBatchServer, tmp_path: Path) -> None:
    server.service.wait = 60.0

    async def steps(client: BatchClient) -> None:
        batch = await submitted(client, tmp_path, asks(3))
        assert not (await client.status(batch)).ended
        await client.cancel(batch)
        status, result = await results(client, batch, tmp_path)
        assert (status.stage, status.failure, result) == ("cancelled", None, [])
        await cancel_batch(client, batch)  # nothing happens

    trip(opened(server), steps)


def test_a_batch_whose_answer_was_lost_is_found(server: GoogleBatchServer, tmp_path: Path) -> None:
    server.service.behaviour = in_turn(Behaviour(lost=True))

    async def steps(client: BatchClient) -> None:
        with pytest.raises(CallFailed) as lost:
            await submitted(client, tmp_path, asks(2))
        assert lost.value.kind == calls.DROPPED
        await submitted(client, tmp_path, asks(2), "other")
        result = await client.find(TOKEN)
        assert result
        assert result.endswith(server.service.jobs[0].id)
        assert await client.find("z" * 20) is None
        assert (await results(client, result, tmp_path))[0].stage == "succeeded"

    trip(opened(server), steps)
    assert len(server.service.jobs) == 2


def test_a_batch_that_nobody_knows(server: GoogleBatchServer) -> None:
    batch = "projects/p1/locations/us-central1/batchPredictionJobs/1"
    with pytest.raises(CallFailed) as unknown:
        trip(opened(server), lambda client: client.status(batch))
    assert unknown.value.kind == calls.UNKNOWN_MODEL


def test_a_refused_call_makes_no_batch(server: GoogleBatchServer, tmp_path: Path) -> None:
    for status, kind in ((503, calls.SERVER), (429, calls.BUSY), (403, calls.DENIED)):
        server.service.behaviour = lambda job, status=status: Behaviour(refused_call=status)  # type: ignore[misc]
        with pytest.raises(CallFailed) as refused:
            trip(opened(server), lambda client: submitted(client, tmp_path, asks(1)))
        assert refused.value.kind == kind
    assert server.service.jobs == []


def test_a_request_file_is_taken_away_again(server: GoogleBatchServer, tmp_path: Path) -> None:
    async def steps(client: BatchClient) -> None:
        file = tmp_path / "requests.jsonl"
        file.write_bytes(client.line("0" * 32, asks(1)["0" * 32]) + b"\n")
        uploaded = await client.upload(file, TOKEN)
        assert uploaded == f"gs://ours/metal/{TOKEN}/requests.jsonl"
        await client.forget(uploaded)
        with pytest.raises(CallFailed, match="404"):
            await client.forget(uploaded)
        assert not server.storage.objects

    trip(opened(server), steps)


def test_machines_that_judges_toml_names(server: GoogleBatchServer, tmp_path: Path) -> None:
    message = {"machine_type": "a2-highgpu-2g", "accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 2}
    trip(opened(server, replicas=4, **message), lambda client: submitted(client, tmp_path, asks(1)))
    result = server.created[0]["dedicatedResources"]
    assert result["machineSpec"]["machineType"] == "a2-highgpu-2g"
    assert result["machineSpec"]["acceleratorCount"] == 2
    assert (result["startingReplicaCount"], result["maxReplicaCount"]) == (4, 4)
    trip(opened(server, machine_type="n1-standard-4"), lambda client: submitted(client, tmp_path, asks(1), "second"))
    assert server.created[1]["dedicatedResources"]["machineSpec"] == {"machineType": "n1-standard-4"}


@pytest.mark.parametrize(
    ("deployed", "batch", "says"),
    [
        ([machine("")], {}, "machine_type"),
        ([machine("n1-standard-4")], {"accelerator_type": "NVIDIA_T5"}, "NVIDIA_TESLA_T4"),
        ([machine("n1-standard-4"), machine("n1-standard-4", model="m2") | {"id": "2"}], {}, "2 models"),
        ([], {}, "no model"),
    ],
)
def test_endpoints_whose_batch_needs_more_to_be_said(
    deployed: list[Any], batch: Any, says: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.deployed, server.traffic = deployed, {item["id"]: 50 for item in deployed}
    with pytest.raises(MetalError, match=says) as refused:
        trip(opened(server, **batch), lambda client: submitted(client, tmp_path, asks(1)))
    assert "\n" not in str(refused.value)
    assert not server.storage.objects  # nothing was sent in vain


def test_the_model_that_gets_the_traffic_is_the_one(server: GoogleBatchServer, tmp_path: Path) -> None:
    server.deployed = [machine("n1-standard-4", model="m1"), machine("n1-standard-4", model="m2@5") | {"id": "2"}]
    server.traffic = {"2": 100}
    trip(opened(server), lambda client: submitted(client, tmp_path, asks(1)))
    assert server.created[0]["model"] == "m2@5"


def test_without_a_bucket_or_the_package(server: GoogleBatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="bucket"):
        opened(server, bucket="")
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingExtra, match=r"metal-eval\[vertex\]"):
        opened(server)


def test_lines_that_cannot_be_read(server: GoogleBatchServer) -> None:
    client = opened(server)
    for line in (b"", b"{", b"('Failed', 4)", b'{"prediction": "x"}', b'{"key": 3}', b"[" * 100_000):
        with pytest.raises(CallFailed) as failed:
            client.read(line)
        assert failed.value.kind == calls.SERVER
    key, result = client.read(b'{"instance": {"prompt": "p", "key": "k"}, "prediction": ["the text"]}')
    assert (key, result) == ("k", Reply("the text", raw=b'{"prediction": ["the text"]}'))
    key, result = client.read(b'{"instance": {"key": "k"}, "error": {"code": 8, "message": "busy"}}')
    assert isinstance(result, CallFailed)
    assert (key, result.kind) == ("k", calls.BUSY)
