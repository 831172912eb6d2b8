"""Batches of Gemini by key, of Gemini on Vertex AI, and of a model deployed there, against a local
server of theirs.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal.errors import MetalError, MissingExtra, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import BatchClient, CallFailed, Reply, Status
from metal.raters.judges.models import BatchSettings, Model, find_model, with_settings
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers import open_batch_client, open_client
from tests.batch_jobs import EXPIRED, Behaviour, drawn, in_turn
from tests.google_batch_server import NOT_PERMITTED, QUEUE_FULL, ROUGH, GoogleBatchServer, machine
from tests.judges.batch_trips import TOKEN, asks, ended, results, submitted, trip
from tests.judges.test_batch_run import session
from tests.judges.test_runner import a_plan
from tests.judges.test_runner import session as local_session
from tests.llm_server import Fault

GEMINI, VERTEX, ENDPOINT = (
    "gemini:gemini-2.5-flash",
    "vertex:gemini-2.5-flash",
    "vertex-endpoint:123",
)
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning")
]
BOTH = pytest.mark.parametrize("name", [GEMINI, VERTEX])
ALL = pytest.mark.parametrize("name", [GEMINI, VERTEX, ENDPOINT])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleBatchServer]:
    with GoogleBatchServer() as server:
        monkeypatch.setenv("GEMINI_API_KEY", "secret-key-of-gemini")
        monkeypatch.setenv("VERTEX_TOKEN", "secret-token-of-vertex")
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
        monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


def model_of(name: str, server: GoogleBatchServer, **batch: Any) -> Model:
    own = {} if name == GEMINI else {"api_key_env": "VERTEX_TOKEN"}
    model = with_settings(find_model(name, {}), base_url=server.url, **own)
    return replace(model, batch=BatchSettings(**({"bucket": "gs://ours/judging"} | batch)))


def opened(name: str, server: GoogleBatchServer, **batch: Any) -> BatchClient:
    return open_batch_client(model_of(name, server, **batch))


@BOTH
def test_a_batch_asks_what_a_direct_call_asks(name: str, server: GoogleBatchServer) -> None:
    ask = asks(1)["0" * 32]
    parameters = {"temperature": 0.5, "max_tokens": 7, "stop": ["x"], "seed": 3}
    parameters |= {
        "thinking_config": {"thinking_budget": 0},
        "response_logprobs": True,
        "logprobs": 20,
    }
    odd = Message("", "half \ud83d a pair")
    for item in (
        ask,
        replace(ask, parameters=parameters, structured="json_object"),
        replace(ask, message=odd),
    ):

        async def directly(item: calls.ModelRequest = item) -> None:
            client = open_client(model_of(name, server))
            await client.ask(item)
            await client.close()

        asyncio.run(directly())
        client = opened(name, server)
        request = json.loads(client.line("0" * 32, item))["request"]
        if name == VERTEX:
            assert request.pop("labels") == {"metal": "0" * 32}
        assert request == server.bodies[-1]


def test_a_parameter_that_gemini_does_not_have_is_refused_before_anything_is_sent(
    server: GoogleBatchServer,
) -> None:
    ask = replace(asks(1)["0" * 32], parameters={"temprature": 1})
    with pytest.raises(CallFailed, match="temprature"):
        opened(GEMINI, server).line("0" * 32, ask)
    # Vertex AI has it, Gemini by key does not
    ask = replace(ask, parameters={"audio_timestamp": True})
    with pytest.raises(CallFailed) as result:
        opened(GEMINI, server).line("0" * 32, ask)
    assert result.value.kind == calls.REJECTED


@ALL
@pytest.mark.parametrize(
    ("refusal", "kind"), [(QUEUE_FULL, calls.BUSY), (NOT_PERMITTED, calls.DENIED)]
)
def test_a_refused_batch_says_why(
    name: str, refusal: object, kind: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.service.behaviour = in_turn(Behaviour(refusal=refusal))  # type: ignore[arg-type]

    async def steps(client: BatchClient) -> None:
        status = await ended(client, await submitted(client, tmp_path, asks(2)))
        assert status.stage == "failed"
        assert status.failure
        assert status.failure.kind == kind

    trip(opened(name, server), steps)


@BOTH
def test_blocked_cut_and_broken_replies_are_read_as_direct_ones(
    name: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    for number, (fault, ending) in enumerate(
        [
            ("content_filter", calls.FILTERED),
            ("truncated", calls.TRUNCATED),
            ("fenced", calls.COMPLETE),
        ]
    ):
        server.service.behaviour = lambda job, fault=fault: Behaviour(failing=1, fault=Fault(fault))  # type: ignore[misc]

        async def steps(client: BatchClient, token: str = TOKEN[:-1] + str(number)) -> str:
            _, result = await results(
                client, await submitted(client, tmp_path, asks(1), token), tmp_path
            )
            reply = result[0][1]
            assert isinstance(reply, Reply)
            return reply.ending

        assert trip(opened(name, server), steps) == ending


@ALL
def test_a_batch_that_nobody_knows(name: str, server: GoogleBatchServer) -> None:
    place = "us-central1" if name == ENDPOINT else "global"
    batch = (
        "batches/none" if name == GEMINI else f"projects/p1/locations/{place}/batchPredictionJobs/1"
    )
    with pytest.raises(CallFailed) as unknown:
        trip(opened(name, server), lambda client: client.status(batch))
    assert unknown.value.kind == calls.UNKNOWN_MODEL


@BOTH
def test_a_model_that_takes_no_batches(
    name: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.batchless = frozenset({"gemini-2.5-flash"})
    with pytest.raises(CallFailed, match="batch") as refused:
        trip(opened(name, server), lambda client: submitted(client, tmp_path, asks(1)))
    assert refused.value.kind in (calls.UNKNOWN_MODEL, calls.REJECTED)


@BOTH
def test_a_large_file_goes_up_in_pieces(
    name: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(b"0123456\n" * 1_100_000)  # above the 8 MB of one piece

    async def steps(client: BatchClient) -> None:
        await client.upload(file, TOKEN)

    trip(opened(name, server), steps)
    kept = list((server.files if name == GEMINI else server.storage.objects).values())
    assert kept == [file.read_bytes()]


@BOTH
def test_lines_that_cannot_be_read(name: str, server: GoogleBatchServer) -> None:
    client = opened(name, server)
    for line in (
        b"",
        b"{",
        b"[1]",
        b'{"response": {}}',
        b'{"key": 3}',
        b"[" * 100_000,
        b'{"request": {"labels": 1}}',
    ):
        with pytest.raises(CallFailed) as failed:
            client.read(line)
        assert failed.value.kind == calls.SERVER
    for odd in (
        '{"candidates": [{"content": 1}]}',
        '{"candidates": {"a": 1}}',
        '{"usageMetadata": 5}',
        '"text"',
    ):
        key, result = client.read(b'{"key": "k", "response": ' + odd.encode() + b"}")
        assert key == "k"
        assert isinstance(result, CallFailed)
        assert result.kind == calls.SERVER


def test_vertex_echoing_the_key(server: GoogleBatchServer, tmp_path: Path) -> None:
    server.echoes_keys = True
    client = opened(VERTEX, server)
    result = trip(client, lambda client: all_of(client, tmp_path))
    assert sorted(key for key, _ in result) == list(asks(3))
    body = server.created[0]
    assert body["labels"] == {"metal": TOKEN}
    assert (
        body["outputConfig"]["gcsDestination"]["outputUriPrefix"]
        == f"gs://ours/judging/metal/{TOKEN}/results/"
    )


async def all_of(client: BatchClient, folder: Path) -> list[tuple[str, Reply | CallFailed]]:
    return (await results(client, await submitted(client, folder, asks(3)), folder))[1]


@pytest.mark.parametrize("bucket", ["", "ours", "gs://", "s3://ours"])
def test_vertex_without_a_bucket_says_what_to_write(bucket: str, server: GoogleBatchServer) -> None:
    with pytest.raises(UsageError, match="gs://") as refused:
        opened(VERTEX, server, bucket=bucket)
    assert "\n" not in str(refused.value)


def test_a_bucket_that_is_missing_or_may_not_be_touched(
    server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.storage.missing, server.storage.denied = frozenset({"gone"}), frozenset({"theirs"})
    for bucket, kind in (("gs://gone", calls.UNKNOWN_MODEL), ("gs://theirs", calls.DENIED)):
        client = opened(VERTEX, server, bucket=bucket)
        with pytest.raises(CallFailed, match=f"bucket {bucket[5:]}") as failed:
            trip(client, lambda client: submitted(client, tmp_path, asks(1)))
        assert failed.value.kind == kind


def test_nothing_is_asked_behind_a_run(
    server: GoogleBatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client would ask what the bucket is, on a thread that goes on when the run is over."""
    begun: list[str] = []

    class Thread(threading.Thread):
        def start(self) -> None:
            begun.append(self._target.__module__)  # type: ignore[attr-defined]
            super().start()

    monkeypatch.setattr(threading, "Thread", Thread)
    trip(opened(VERTEX, server), lambda client: submitted(client, tmp_path, asks(1)))
    assert begun
    assert not [module for module in begun if module.startswith("google.")]


def test_what_states_mean() -> None:
    from metal.raters.judges.providers.google_cloud import job_status

    broken = CallFailed(calls.SERVER, "broken")
    assert job_status("JOB_STATE_QUEUED", 0, 0, None, counted=False) == Status("queued")
    assert job_status("JOB_STATE_PARTIALLY_SUCCEEDED", 3, 1, broken) == Status(
        "partially succeeded", True, 4
    )
    assert job_status("JOB_STATE_FAILED", 0, 2, broken) == Status("failed", True, 2, broken)
    # what there is can be fetched
    assert job_status("JOB_STATE_FAILED", 1, 2, broken) == Status("failed", True, 3)
    unsaid = job_status("JOB_STATE_FAILED", 0, 0, None).failure
    assert unsaid
    assert unsaid.kind == calls.SERVER
    assert job_status("", 0, 0, None).stage == "unknown"


def test_which_files_of_a_batch_are_results() -> None:
    from metal.raters.judges.providers.google_cloud import result_files

    assert result_files(["a/", "a/predictions.jsonl", "a/incremental_predictions.jsonl"]) == [
        "a/predictions.jsonl"
    ]
    assert result_files(["a/incremental_predictions.jsonl"]) == ["a/incremental_predictions.jsonl"]
    own = ["b/prediction.errors_stats-00000-of-00001", "b/prediction.results-00000-of-00001"]
    assert result_files(own) == own[1:]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 8, "message": "Quota; see billing"}, calls.BUSY),
        ({"code": 1, "message": "cancelled"}, calls.EXPIRED),
        ({"code": 4, "message": "late"}, calls.SERVER),
        ({"code": "7", "message": "no"}, calls.DENIED),
        ({"code": 400, "status": "RESOURCE_EXHAUSTED"}, calls.BUSY),
        ({"error": {"code": 3, "message": "bad"}}, calls.REJECTED),
        (
            'Bad Request: {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x"}}',
            calls.BUSY,
        ),
        ("Deadline exceeded", calls.SERVER),
        ("The job expired before this request was processed", calls.EXPIRED),
        ("HTTP 403 for you", calls.DENIED),
        ("A new kind of trouble", calls.SERVER),
        ("{broken", calls.SERVER),
        ("", calls.SERVER),
        (None, calls.SERVER),
        ({"code": None}, calls.SERVER),
        (17, calls.SERVER),
    ],
)
def test_what_errors_mean(error: object, kind: str) -> None:
    from metal.raters.judges.providers.google_cloud import read_error

    assert read_error(error, "us").kind == kind


# ---------------------------------------------------------------- a model deployed on Vertex AI


def test_a_batch_says_what_to_ask_and_on_what(server: GoogleBatchServer, tmp_path: Path) -> None:
    trip(
        opened(ENDPOINT, server, bucket="gs://ours"),
        lambda client: submitted(client, tmp_path, asks(1)),
    )
    body = server.created[0]
    assert (
        body["outputConfig"]["gcsDestination"]["outputUriPrefix"]
        == f"gs://ours/metal/{TOKEN}/results/"
    )
    assert body["model"] == "projects/1/locations/us-central1/models/77@3"
    assert body["labels"] == {"metal": TOKEN}
    assert body["instanceConfig"] == {"instanceType": "object", "keyField": "key"}
    assert body["modelParameters"] == {"temperature": 0.0}
    assert body["dedicatedResources"] == {
        # 11: NVIDIA_L4
        "machineSpec": {
            "machineType": "n1-standard-8",
            "acceleratorType": 11,
            "acceleratorCount": 1,
        },
        "startingReplicaCount": 1,
        "maxReplicaCount": 2,
    }


def test_the_model_is_given_what_a_direct_call_gives_it(server: GoogleBatchServer) -> None:
    ask = asks(1)["0" * 32]

    async def directly() -> None:
        client = open_client(model_of(ENDPOINT, server))
        await client.ask(ask)
        await client.close()

    asyncio.run(directly())
    line = json.loads(opened(ENDPOINT, server).line("0" * 32, ask))
    assert line.pop("key") == "0" * 32
    assert [line] == server.bodies[-1]["instances"]


@pytest.mark.parametrize("named", [True, False])
def test_lines_that_failed_with_and_without_names(
    named: bool, server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.names_errors = named
    server.service.behaviour = in_turn(Behaviour(failing=0.5, fault=Fault("500")))

    async def steps(client: BatchClient) -> None:
        status, result = await results(client, await submitted(client, tmp_path, asks(8)), tmp_path)
        assert (status.stage, status.done) == ("succeeded", 8)
        assert sum(isinstance(item, Reply) for _, item in result) == 4
        assert len(result) == (8 if named else 4)  # what is missing was not answered
        assert {item.kind for _, item in result if isinstance(item, CallFailed)} <= {calls.SERVER}

    trip(opened(ENDPOINT, server), steps)


def test_machines_that_judges_toml_names(server: GoogleBatchServer, tmp_path: Path) -> None:
    message = {
        "machine_type": "a2-highgpu-2g",
        "accelerator_type": "NVIDIA_TESLA_A100",
        "accelerator_count": 2,
    }
    trip(
        opened(ENDPOINT, server, replicas=4, **message),
        lambda client: submitted(client, tmp_path, asks(1)),
    )
    result = server.created[0]["dedicatedResources"]
    assert result["machineSpec"]["machineType"] == "a2-highgpu-2g"
    assert result["machineSpec"]["acceleratorCount"] == 2
    assert (result["startingReplicaCount"], result["maxReplicaCount"]) == (4, 4)
    trip(
        opened(ENDPOINT, server, machine_type="n1-standard-4"),
        lambda client: submitted(client, tmp_path, asks(1), "second"),
    )
    assert server.created[1]["dedicatedResources"]["machineSpec"] == {
        "machineType": "n1-standard-4"
    }


@pytest.mark.parametrize(
    ("deployed", "batch", "says"),
    [
        ([machine("")], {}, "machine_type"),
        ([machine("n1-standard-4")], {"accelerator_type": "NVIDIA_T5"}, "NVIDIA_TESLA_T4"),
        (
            [machine("n1-standard-4"), machine("n1-standard-4", model="m2") | {"id": "2"}],
            {},
            "2 models",
        ),
        ([], {}, "no model"),
    ],
)
def test_endpoints_whose_batch_needs_more_to_be_said(
    deployed: list[Any], batch: Any, says: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.deployed, server.traffic = deployed, {item["id"]: 50 for item in deployed}
    with pytest.raises(MetalError, match=says) as refused:
        trip(opened(ENDPOINT, server, **batch), lambda client: submitted(client, tmp_path, asks(1)))
    assert "\n" not in str(refused.value)
    assert not server.storage.objects  # nothing was sent in vain


def test_the_model_that_gets_the_traffic_is_the_one(
    server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.deployed = [
        machine("n1-standard-4", model="m1"),
        machine("n1-standard-4", model="m2@5") | {"id": "2"},
    ]
    server.traffic = {"2": 100}
    trip(opened(ENDPOINT, server), lambda client: submitted(client, tmp_path, asks(1)))
    assert server.created[0]["model"] == "m2@5"


def test_without_a_bucket_or_the_package(
    server: GoogleBatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="bucket"):
        opened(ENDPOINT, server, bucket="")
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingExtra, match=r"metal-eval\[vertex\]"):
        opened(ENDPOINT, server)


def test_lines_of_an_endpoint_that_cannot_be_read(server: GoogleBatchServer) -> None:
    client = opened(ENDPOINT, server)
    for line in (
        b"",
        b"{",
        b"('Failed', 4)",
        b'{"prediction": "x"}',
        b'{"key": 3}',
        b"[" * 100_000,
    ):
        with pytest.raises(CallFailed) as failed:
            client.read(line)
        assert failed.value.kind == calls.SERVER
    key, result = client.read(
        b'{"instance": {"prompt": "p", "key": "k"}, "prediction": ["the text"]}'
    )
    assert (key, result) == ("k", Reply("the text", raw=b'{"prediction": ["the text"]}'))
    key, result = client.read(
        b'{"instance": {"key": "k"}, "error": {"code": 8, "message": "busy"}}'
    )
    assert isinstance(result, CallFailed)
    assert (key, result.kind) == ("k", calls.BUSY)


# ---------------------------------------------------------------- whole runs


@ALL
def test_rough_batches_come_to_what_is_asked_directly(
    name: str, server: GoogleBatchServer, tmp_path: Path
) -> None:
    server.service.behaviour = drawn(5, *ROUGH, attempts=2)
    plan = a_plan(model_of(name, server, requests=12, poll=0.01, settle=0.05), count=40)
    outcome = session(plan, tmp_path)
    assert outcome.stopped == [""]
    assert not server.service.overlapping
    twice = {key for key, times in server.service.answers.items() if times > 1}
    if name.startswith("gemini"):  # it keeps what a batch that expires has answered
        twice -= {
            key for job in server.service.jobs if job.state == EXPIRED for key, _ in job.requests
        }
    assert not twice
    server.service.behaviour = lambda job: Behaviour()
    (tmp_path / "local").mkdir()
    assert outcome.ratings == local_session(plan, tmp_path / "local").ratings
    assert outcome.reasons == {"verdict": 40}
