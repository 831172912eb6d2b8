"""A model that you deployed on Vertex AI (vertex-endpoint:ID), asked directly or in batches, with
google-cloud-aiplatform.

Direct questions go through Endpoint.predict. The package has no asynchronous call without retries,
so calls run on threads, as many as may be in flight.

A batch does not go to the endpoint. Vertex AI starts separate machines for the endpoint's model,
which are paid by the hour. They are of the same kind and number as the endpoint's, unless
judges.toml names others. Each line of requests is an instance, as for Endpoint.predict, with its
key. The service hides the key from the model and returns it with the prediction. The package's
BatchPredictionJob cannot name the field of the key (instance_config.key_field), so JobServiceClient
is used.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from google.protobuf import json_format, struct_pb2

with warnings.catch_warnings():  # about its own dependencies
    warnings.simplefilter("ignore")
    from google.cloud import aiplatform
    from google.cloud import aiplatform_v1 as vertex

from metal.errors import UsageError, check_known
from metal.raters.judges import call as calls
from metal.raters.judges.call import (
    BatchClient,
    BatchLimits,
    CallFailed,
    Client,
    ModelRequest,
    Reply,
    Status,
)
from metal.raters.judges.models import FILE, Model
from metal.raters.judges.providers import google_cloud as cloud
from metal.raters.judges.providers.bounded import bound
from metal.raters.judges.providers.failures import as_object, encoded, key_in, read_json
from metal.raters.judges.providers.google import (
    QUEUE_FULL,
    credentials,
    login_needed,
    project_and_location,
)

REGION = "us-central1"
# seconds beyond the call's own timeout, before a thread that does not come back is given up
GRACE = 5.0
TEXT_KEYS = ("content", "text", "generated_text", "output", "prediction")
KEY = "key"  # what the key is called in requests; results always call it so
REPLICAS = 1


def _place(model: Model) -> tuple[str, str, str]:
    """The project, the region (endpoints are never in `global`), and the endpoint's whole name."""
    project, location = project_and_location(model)
    location = location if location and location != "global" else REGION
    name = (
        model.model
        if "/" in model.model
        else f"projects/{project}/locations/{location}/endpoints/{model.model}"
    )
    return project, location, name


def open_client(model: Model) -> Client:
    """A client for vertex-endpoint: models. The model's name is an endpoint's number or its whole
    resource name.
    """
    project, location, name = _place(model)
    with login_needed(model):
        aiplatform.init(
            project=project,
            location=location,
            credentials=credentials(model),
            api_transport="rest",
            api_endpoint=model.base_url or None,
        )
        endpoint = aiplatform.Endpoint(name)
        bound(endpoint._prediction_client.transport._session)
        return VertexEndpoint(endpoint, model, name)


def instance_of(ask: ModelRequest) -> dict[str, Any]:
    """The input for the serving container."""
    return {"prompt": f"{ask.message.system}\n\n{ask.message.user}".strip(), **ask.parameters}


class VertexEndpoint:
    """A connection to one endpoint."""

    def __init__(self, endpoint: Any, model: Model, name: str) -> None:
        self._endpoint, self._whose = endpoint, f"endpoint {name}"
        self._threads = ThreadPoolExecutor(model.concurrency, thread_name_prefix="vertex-endpoint")

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def ask(self, ask: ModelRequest) -> Reply:
        """One call. Raises CallFailed."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(ask.timeout + GRACE):
                return await loop.run_in_executor(self._threads, self._predict, ask)
        except TimeoutError:
            raise CallFailed(calls.TIMEOUT, f"no complete reply within {ask.timeout:g} s") from None

    def _predict(self, ask: ModelRequest) -> Reply:
        with cloud.failures(self._whose, no_answer=calls.NOT_A_REPLY):
            answer = self._endpoint.predict(
                instances=[instance_of(ask)], parameters=dict(ask.parameters), timeout=ask.timeout
            )
        raw = {
            "predictions": answer.predictions,
            "metadata": answer.metadata,
            "model": answer.model_resource_name,
        }
        return Reply(
            text_of(answer.predictions[0] if answer.predictions else ""),
            calls.COMPLETE,
            json.dumps(raw, ensure_ascii=False, default=str).encode("utf-8", "replace"),
            str(answer.deployed_model_id or ""),
            str(answer.model_version_id or ""),
            *_tokens(answer.metadata),
        )


def text_of(prediction: object) -> str:
    """The text of a prediction. Serving containers return a text, an object with a text, or a chat
    completion.
    """
    # Model Garden's vLLM containers repeat the prompt before the answer
    if isinstance(prediction, str):
        return (
            prediction.rpartition("Output:\n")[2]
            if prediction.startswith("Prompt:\n")
            else prediction
        )
    if isinstance(prediction, list) and prediction:
        return text_of(prediction[0])
    if isinstance(prediction, dict):
        if isinstance(prediction.get("message"), dict):
            return text_of(prediction["message"])
        if prediction.get("choices"):
            return text_of(prediction["choices"])
        return next(
            (text_of(prediction[key]) for key in TEXT_KEYS if key in prediction),
            json.dumps(prediction),
        )
    return ""


def _tokens(metadata: object) -> tuple[int | None, int | None]:
    usage = as_object(metadata).get("tokenMetadata", {})
    counts = [
        (usage.get(name) or {}).get("totalTokens")
        for name in ("inputTokenCount", "outputTokenCount")
    ]
    tokens_in, tokens_out = (
        int(count) if isinstance(count, int | float) else None for count in counts
    )
    return tokens_in, tokens_out


# ---------------------------------------------------------------- batches


def open_batch_client(model: Model) -> BatchClient:
    """The batch service for the model behind an endpoint (vertex-endpoint:)."""
    project, location, name = _place(model)
    bucket = cloud.open_bucket(model, project)
    options: dict[str, Any] = {
        "transport": "rest",
        "client_options": {
            "api_endpoint": model.base_url or f"{location}-aiplatform.googleapis.com"
        },
    }
    with login_needed(model):
        options["credentials"] = credentials(model)
        jobs, endpoints = (
            vertex.JobServiceClient(**options),
            vertex.EndpointServiceClient(**options),
        )
        for client in (jobs, endpoints):
            bound(client.transport._session)  # type: ignore[union-attr]
    return VertexBatches(model, name, jobs, endpoints, bucket)


class VertexBatches:
    """Batch prediction with the model behind one endpoint. METAL sets the limits, because only the
    bucket has any.
    """

    limits = BatchLimits(200_000, 1_000_000_000)

    def __init__(
        self,
        model: Model,
        endpoint: str,
        jobs: vertex.JobServiceClient,
        endpoints: vertex.EndpointServiceClient,
        bucket: cloud.Bucket,
    ) -> None:
        self._model, self._endpoint, self._whose = model, endpoint, f"endpoint {endpoint}"
        self._jobs, self._endpoints, self._bucket = jobs, endpoints, bucket
        self._parent = endpoint.partition("/endpoints/")[0]
        self._settings: dict[str, Any] = {"timeout": model.timeout, "retry": None}

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """An instance with its key."""
        return encoded({**instance_of(ask), KEY: key})

    @cloud.on_thread
    def upload(self, file: Path, token: str) -> str:
        """Upload the file; return its address in the bucket. Raises UsageError if the endpoint does
        not say on which machines to run a batch.
        """
        self._model_and_machines()  # before a large file is sent in vain
        return self._bucket.upload(file, token)

    @cloud.on_thread
    def find(self, token: str) -> str | None:
        """The batch with this token in its display name."""
        request = {"parent": self._parent, "filter": f'display_name="{cloud.batch_name(token)}"'}
        with cloud.failures(self._whose):
            jobs = self._jobs.list_batch_prediction_jobs(request=request, **self._settings)
            return next(
                (str(job.name) for job in jobs if job.display_name == cloud.batch_name(token)), None
            )

    @cloud.on_thread
    def status(self, batch: str) -> Status:
        """The batch's status from the service, without the prefix JOB_STATE_."""
        job = self._get(batch)
        counts = job.completion_stats
        error = {"code": job.error.code, "message": job.error.message}
        return cloud.job_status(
            vertex.JobState(job.state).name,
            counts.successful_count,
            counts.failed_count,
            cloud.read_error(error, self._whose) if any(error.values()) else None,
            counted="completion_stats" in job,
        )

    @cloud.on_thread
    def fetch(self, batch: str, into: Path) -> None:
        """Download all files of predictions and errors."""
        self._bucket.fetch(
            batch, self._get(batch).output_config.gcs_destination.output_uri_prefix, into
        )

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """Read a line of results: {"key", "prediction"} or {"instance", "prediction"}, or the same
        with an error in place of the prediction.
        """
        result = read_json(line)
        key = key_in(line, result.get("key"), as_object(result.get("instance")).get(KEY))
        prediction = result.get("prediction", result.get("predictions"))
        if prediction is None:
            return key, cloud.read_error(result.get("error") or result.get("status"), self._whose)
        return key, Reply(text_of(prediction), calls.COMPLETE, encoded({"prediction": prediction}))

    @cloud.on_thread
    def cancel(self, batch: str) -> None:
        """Ask the service to stop the batch. Answers given before then may still come."""
        with cloud.failures(self._whose):
            self._jobs.cancel_batch_prediction_job(name=batch, **self._settings)

    @cloud.on_thread
    def forget(self, uploaded: str) -> None:
        """Delete the file of requests from the bucket."""
        self._bucket.remove(uploaded)

    async def close(self) -> None:
        """Give back connections."""
        for client in (self._jobs, self._endpoints):
            client.transport.close()  # type: ignore[no-untyped-call]
        self._bucket.close()

    @cloud.on_thread
    def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch; return its resource name. Raises UsageError like `upload`."""
        model, machines = self._model_and_machines()
        job = vertex.BatchPredictionJob(
            display_name=cloud.batch_name(token),
            model=model,
            input_config={"instances_format": "jsonl", "gcs_source": {"uris": [uploaded]}},
            instance_config={"instance_type": "object", "key_field": KEY},
            model_parameters=json_format.ParseDict(
                dict(self._model.parameters), struct_pb2.Value()
            ),
            output_config={
                "predictions_format": "jsonl",
                "gcs_destination": {"output_uri_prefix": self._bucket.results(token)},
            },
            dedicated_resources=machines,
            labels={"metal": token},
        )
        try:
            with cloud.failures(self._whose, QUEUE_FULL):
                created = self._jobs.create_batch_prediction_job(
                    parent=self._parent, batch_prediction_job=job, **self._settings
                )
        except CallFailed as error:
            raise cloud.file_gone(error, uploaded) from None
        return str(created.name)

    def _model_and_machines(self) -> tuple[str, vertex.BatchDedicatedResources]:
        """The model behind the endpoint, and the machines for its batch."""
        with cloud.failures(self._whose):
            endpoint = self._endpoints.get_endpoint(name=self._endpoint, **self._settings)
        deployed = list(endpoint.deployed_models)
        served = [model for model in deployed if endpoint.traffic_split.get(model.id)] or deployed
        if len({(model.model, model.model_version_id) for model in served}) != 1:
            many = f"{len(served)} models, but a batch needs exactly one" if served else "no model"
            raise UsageError(
                f"{self._model.name}: {self._whose} serves {many}; deploy or keep one model there"
            )
        model = served[0]
        version = (
            f"@{model.model_version_id}"
            if model.model_version_id and "@" not in model.model
            else ""
        )
        return f"{model.model}{version}", self._machines(model)

    def _machines(self, deployed: vertex.DeployedModel) -> vertex.BatchDedicatedResources:
        """The machines that judges.toml names, else the machines of the endpoint."""
        settings, endpoints_own = self._model.batch, deployed.dedicated_resources
        machine = vertex.MachineSpec(endpoints_own.machine_spec)
        if settings.machine_type:  # another machine: its accelerators are others as well
            machine = vertex.MachineSpec(machine_type=settings.machine_type)
        if settings.accelerator_type:
            kinds = vertex.AcceleratorType.__members__
            check_known(
                f"{self._model.name}: batch: accelerator_type", [settings.accelerator_type], kinds
            )
            machine.accelerator_type = kinds[settings.accelerator_type]
            machine.accelerator_count = machine.accelerator_count or 1
        if settings.accelerator_count:
            machine.accelerator_count = settings.accelerator_count
        if not machine.machine_type:
            raise UsageError(
                f"{self._model.name}: {self._whose} has no machines of its own; to name machines"
                " for batches, write "
                f'machine_type = "..." under [judges.NAME.batch] in {FILE}, and accelerator_type'
                " for a GPU"
            )
        most = settings.replicas or endpoints_own.max_replica_count or REPLICAS
        first = settings.replicas or endpoints_own.min_replica_count or REPLICAS
        return vertex.BatchDedicatedResources(
            machine_spec=machine, starting_replica_count=first, max_replica_count=most
        )

    def _get(self, batch: str) -> vertex.BatchPredictionJob:
        with cloud.failures(self._whose):
            return self._jobs.get_batch_prediction_job(name=batch, **self._settings)
