"""Batches of Gemini with an API key (gemini:) or through Vertex AI (vertex:), with the google-genai
package.

With an API key (https://ai.google.dev/gemini-api/docs/batch-api), a file of {"key", "request"}
lines is uploaded; results have the same key, with "response" or "error". Through Vertex AI
(https://docs.cloud.google.com/vertex-ai/generative-ai/
docs/multimodal/batch-prediction-from-cloud-storage) requests and results are files in Cloud
Storage; results come in any order, each with its request, whose labels have the key. The package is
called synchronously, on threads: its asynchronous upload sleeps on the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials

from metal.data.files import naming, new_file
from metal.raters.judges import call as calls
from metal.raters.judges.call import (
    BatchClient,
    BatchLimits,
    CallFailed,
    ModelRequest,
    Reply,
    Status,
)
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message
from metal.raters.judges.providers import google_cloud as cloud
from metal.raters.judges.providers.bounded import Bounded
from metal.raters.judges.providers.failures import as_object, encoded, key_in, one_line, read_json
from metal.raters.judges.providers.google import (
    configured,
    connect,
    gemini_failures,
    project_and_location,
    read_body,
)

Json = dict[str, Any]


def open_batch_client(model: Model) -> BatchClient:
    """The batch service of a gemini: or vertex: model."""
    if model.provider == "gemini":
        return GeminiBatches(model)
    return VertexGeminiBatches(model, cloud.open_bucket(model, project_and_location(model)[0]))


class BatchHttpClient(Bounded, httpx.Client):
    """httpx's client with limits on replies. seen: called with each response except streams."""

    def __init__(self, seen: Callable[[httpx.Response], None]) -> None:
        super().__init__()
        self._seen = seen

    def send(self, request: httpx.Request, *, stream: bool = False, **how: Any) -> httpx.Response:
        response: httpx.Response = super().send(request, stream=stream, **how)
        if not stream:
            self._seen(response)
        return response


class GeminiBatches:
    """Gemini's batches with an API key. A file may have 2 GB; the limit of waiting tokens depends
    on the account and is not disclosed.

    The number of requests in a file is not limited; METAL uses Vertex AI's limit. Uploaded files
    are deleted automatically after two days, results stay. A batch that is not done within two days
    expires, and has no results.
    """

    limits = BatchLimits(200_000, 2_000_000_000)

    def __init__(self, model: Model) -> None:
        self._model, self._requests = model, Requests(model)
        self._raw: dict[str, bytes] = {}  # batch -> the body it was described with
        self._http = BatchHttpClient(self._keep)
        self._client, self._whose = connect(model, httpx_client=self._http)

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """A request with its key. Raises CallFailed(REJECTED) for parameters that Gemini does not
        have.
        """
        return encoded({"key": key, "request": self._requests.body(ask)})

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """A line of results."""
        result = read_json(line)
        key = key_in(
            line,
            result.get("key"),
            as_object(as_object(result.get("request")).get("labels")).get("metal"),
        )
        response = result.get("response")
        if not (isinstance(response, dict) and response):
            return key, cloud.read_error(result.get("error") or result.get("status"), self._whose)
        try:
            return key, read_body(encoded(response))
        except CallFailed as error:
            return key, error
        except (AttributeError, TypeError, KeyError) as error:  # of another shape than any reply
            return key, CallFailed(calls.SERVER, f"not a reply: {one_line(repr(error))}")

    async def close(self) -> None:
        """Give back connections."""
        self._http.close()
        self._client.close()

    @cloud.on_thread
    def upload(self, file: Path, token: str) -> str:
        """Upload the file; return its name there, files/..."""
        settings = types.UploadFileConfig(
            mime_type="application/jsonl", display_name=cloud.batch_name(token)
        )
        with self._failures():
            uploaded = self._client.files.upload(file=str(file), config=settings)
        if not uploaded.name:
            raise CallFailed(calls.SERVER, "an uploaded file was given no name")
        return uploaded.name

    @cloud.on_thread
    def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch; return its id, batches/..."""
        try:
            with self._failures():
                job = self._client.batches.create(
                    model=self._model.model, src=uploaded, config=self._settings(uploaded, token)
                )
        except CallFailed as error:
            if error.kind == calls.UNKNOWN_MODEL:
                error.message += " (perhaps the model takes no batches)"
            raise cloud.file_gone(error, uploaded) from None
        if not job.name:
            raise CallFailed(calls.SERVER, "a batch was given no name")
        return job.name

    def _settings(self, uploaded: str, token: str) -> types.CreateBatchJobConfig:
        return types.CreateBatchJobConfig(display_name=cloud.batch_name(token))

    @cloud.on_thread
    def find(self, token: str) -> str | None:
        """The batch with this token in its display name."""
        with self._failures():
            jobs = self._client.batches.list(config=self._listing(token))
            return next(
                (job.name for job in jobs if job.display_name == cloud.batch_name(token)), None
            )

    def _listing(self, token: str) -> types.ListBatchJobsConfig:
        return types.ListBatchJobsConfig(page_size=100)  # the service has no filter

    def _get(self, batch: str) -> tuple[types.BatchJob, Json]:
        """A batch and its raw JSON, because the package leaves out the batch's error and counts."""
        with self._failures():
            job = self._client.batches.get(name=batch)
        return job, read_json(self._raw.pop(batch.rsplit("/", 1)[-1], b"{}"))

    @cloud.on_thread
    def status(self, batch: str) -> Status:
        """The batch's status from the service, without the prefix JOB_STATE_."""
        _, raw = self._get(batch)
        # by API key the facts are in "metadata", and have other names
        facts = raw.get("metadata") or raw
        counts = facts.get("batchStats") or facts.get("completionStats") or {}
        answered, failed = (
            int(counts.get(f"{result}RequestCount") or counts.get(f"{result}Count") or 0)
            for result in ("successful", "failed")
        )
        state = str(facts.get("state", "")).replace("BATCH_STATE_", "JOB_STATE_")
        failure = cloud.read_error(raw["error"], self._whose) if raw.get("error") else None
        return cloud.job_status(state, answered, failed, failure, counted=bool(counts))

    @cloud.on_thread
    def fetch(self, batch: str, into: Path) -> None:
        """Download the file of results; the file is empty if the batch wrote none."""
        job, raw = self._get(batch)
        results = (job.dest and job.dest.file_name) or (raw.get("response") or {}).get(
            "responsesFile"
        )
        with new_file(into) as partial, naming(partial), self._failures():
            if results:
                self._client.files.download(file=results, destination=partial)
            else:
                partial.touch()

    @cloud.on_thread
    def cancel(self, batch: str) -> None:
        """Ask the service to stop the batch. Answers given before then may still come."""
        with self._failures():
            self._client.batches.cancel(name=batch)

    @cloud.on_thread
    def forget(self, uploaded: str) -> None:
        """Delete the file."""
        with self._failures():
            self._client.files.delete(name=uploaded)

    def _keep(self, response: httpx.Response) -> None:
        """Keep the JSON in a response that describes a batch."""
        folder, _, name = response.request.url.path.rpartition("/")
        if response.request.method == "GET" and folder.endswith(
            ("/batches", "/batchPredictionJobs")
        ):
            self._raw[name] = response.read()

    def _failures(self) -> AbstractContextManager[None]:
        return gemini_failures(self._whose, self._model.timeout, batch=True)


class VertexGeminiBatches(GeminiBatches):
    """Gemini's batches through Vertex AI. A file may have 200,000 requests and 1 GB, and is in the
    user's bucket.

    A batch may wait for three days, and is cancelled one day after it began. However it ends, its
    results so far are kept. The service agent of Vertex AI needs permission to read and write the
    bucket.
    """

    limits = BatchLimits(200_000, 1_000_000_000)

    def __init__(self, model: Model, bucket: cloud.Bucket) -> None:
        super().__init__(model)
        self._bucket = bucket

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """A request with its key. The key is also a label of the request, because results repeat
        labels.
        """
        body = self._requests.body(ask)
        return encoded(
            {"key": key, "request": {**body, "labels": {**body.get("labels", {}), "metal": key}}}
        )

    async def close(self) -> None:
        """Give back connections."""
        await super().close()
        self._bucket.close()

    @cloud.on_thread
    def upload(self, file: Path, token: str) -> str:
        """Upload the file; return its place in the bucket."""
        return self._bucket.upload(file, token)

    def _settings(self, uploaded: str, token: str) -> types.CreateBatchJobConfig:
        return types.CreateBatchJobConfig(
            display_name=cloud.batch_name(token),
            dest=self._bucket.results(token),
            http_options=types.HttpOptions(extra_body={"labels": {"metal": token}}),
        )

    def _listing(self, token: str) -> types.ListBatchJobsConfig:
        return types.ListBatchJobsConfig(
            page_size=100, filter=f'display_name="{cloud.batch_name(token)}"'
        )

    @cloud.on_thread
    def fetch(self, batch: str, into: Path) -> None:
        """Download all files of results from the bucket."""
        job, _ = self._get(batch)
        self._bucket.fetch(batch, job.dest.gcs_uri if job.dest else None, into)

    @cloud.on_thread
    def forget(self, uploaded: str) -> None:
        """Delete the file of requests from the bucket."""
        self._bucket.remove(uploaded)


class Requests:
    """The bodies that the package would send. The package is asked only once for all questions that
    differ only in their text.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._sent = model, b""
        self._shapes: dict[str, Json] = {}

    def body(self, ask: ModelRequest) -> Json:
        """The body of generateContent. Raises CallFailed(REJECTED) for parameters that Gemini does
        not have.
        """
        kind = json.dumps(
            [bool(ask.message.system), ask.structured, ask.parameters, ask.schema], default=str
        )
        if kind not in self._shapes:
            self._shapes[kind] = self._shape(ask)
        body = dict(self._shapes[kind])
        body["contents"] = [{**body["contents"][0], "parts": [{"text": ask.message.user}]}]
        if ask.message.system:
            body["systemInstruction"] = {
                **body["systemInstruction"],
                "parts": [{"text": ask.message.system}],
            }
        return body

    def _shape(self, ask: ModelRequest) -> Json:
        wordless = replace(ask, message=Message("." if ask.message.system else "", "."))
        try:
            self._client.models.generate_content(
                model=self._model.model, contents=".", config=configured(wordless)
            )
        except ValueError as error:
            raise CallFailed(
                calls.REJECTED, f"parameters {sorted(ask.parameters)}: {one_line(str(error))}"
            ) from None
        return read_json(self._sent)

    @cached_property
    def _client(self) -> genai.Client:
        """A client without any connection."""
        options = types.HttpOptions(client_args={"transport": httpx.MockTransport(self._keep)})
        if self._model.provider == "gemini":
            return genai.Client(vertexai=False, api_key="none", http_options=options)
        unused = Credentials("none")  # type: ignore[no-untyped-call]
        return genai.Client(
            vertexai=True,
            project="none",
            location="global",
            credentials=unused,
            http_options=options,
        )

    def _keep(self, request: httpx.Request) -> httpx.Response:
        self._sent = request.read()
        return httpx.Response(200, json={})
