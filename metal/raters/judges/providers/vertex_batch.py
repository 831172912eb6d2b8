"""Batches of a model you deployed on Vertex AI (vertex-endpoint:ID), through google-cloud-aiplatform.

A batch does not go to the endpoint: Vertex AI starts machines of its own for the model behind it, as many and such as
the endpoint has unless judges.toml says otherwise, and they are paid by the hour. Each line of requests is an instance
as Endpoint.predict is given it, and its key, which the service keeps from the model and gives back with the prediction.
BatchPredictionJob of the package has no way to name that key (instance_config.key_field), so JobServiceClient is used.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from google.protobuf import json_format, struct_pb2

with warnings.catch_warnings():  # about its own dependencies
    warnings.simplefilter("ignore")
    from google.cloud import aiplatform_v1 as vertex

from metal.data.files import new_file
from metal.errors import UnknownName, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import BatchClient, BatchLimits, CallFailed, ModelRequest, Reply, Status
from metal.raters.judges.models import FILE, Model
from metal.raters.judges.providers.cloud_storage import Bucket, open_bucket
from metal.raters.judges.providers.failures import as_object, read_json, without_keys
from metal.raters.judges.providers.google import credentials, login_needed, project_and_location
from metal.raters.judges.providers.google_batch import encoded
from metal.raters.judges.providers.google_cloud import cloud_failures
from metal.raters.judges.providers.google_jobs import (
    QUEUE_FULL,
    ask_to_cancel,
    batch_name,
    file_gone,
    job_status,
    on_thread,
    read_error,
)
from metal.raters.judges.providers.vertex_endpoint import instance_of, region, resource_name, text_of
from metal.raters.judges.secrets import Secrets

KEY = "key"  # what the key is called in requests; results always call it so
REPLICAS = 1


def open_batch_client(model: Model) -> BatchClient:
    """The batch service for the model behind a vertex-endpoint:."""
    project, location = project_and_location(model)
    location = region(location)
    bucket = open_bucket(model, project)
    options: dict[str, Any] = {
        "transport": "rest",
        "client_options": {"api_endpoint": model.base_url or f"{location}-aiplatform.googleapis.com"},
    }
    with login_needed(model):
        options["credentials"] = credentials(model)
        jobs, endpoints = vertex.JobServiceClient(**options), vertex.EndpointServiceClient(**options)
    return VertexBatches(model, resource_name(model, project, location), jobs, endpoints, bucket)


class VertexBatches:
    """Batch prediction with the model behind one endpoint. The limits are ours: nothing but the bucket has any."""

    limits = BatchLimits(200_000, 1_000_000_000)

    def __init__(
        self,
        model: Model,
        endpoint: str,
        jobs: vertex.JobServiceClient,
        endpoints: vertex.EndpointServiceClient,
        bucket: Bucket,
    ) -> None:
        self._model, self._endpoint, self._whose = model, endpoint, f"endpoint {endpoint}"
        self._jobs, self._endpoints, self._bucket = jobs, endpoints, bucket
        self.secrets = Secrets.of([model])
        self._parent = endpoint.partition("/endpoints/")[0]
        self._settings: dict[str, Any] = {"timeout": model.timeout, "retry": None}

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """An instance with its key."""
        return encoded({**instance_of(ask), KEY: key})

    @on_thread
    def upload(self, file: Path, token: str) -> str:
        """The file's place in the bucket. Raises UsageError when the endpoint does not say what to run a batch on."""
        self._model_and_machines()  # before a large file is sent in vain
        place = self._bucket.requests(token)
        self._bucket.upload(file, place)
        return place

    @on_thread
    def find(self, token: str) -> str | None:
        """The batch with this token in its display name."""
        request = {"parent": self._parent, "filter": f'display_name="{batch_name(token)}"'}
        with cloud_failures(self._whose):
            for job in self._jobs.list_batch_prediction_jobs(request=request, **self._settings):
                if job.display_name == batch_name(token):
                    return str(job.name)
        return None

    @on_thread
    def status(self, batch: str) -> Status:
        """As the service says; its state without JOB_STATE_."""
        job = self._get(batch)
        counts = job.completion_stats
        error = {"code": job.error.code, "message": job.error.message}
        return job_status(
            vertex.JobState(job.state).name,
            counts.successful_count,
            counts.failed_count,
            self._error(error) if any(error.values()) else None,
            counted="completion_stats" in job,
        )

    @on_thread
    def fetch(self, batch: str, into: Path) -> None:
        """All files of predictions and of errors."""
        folder = self._get(batch).output_config.gcs_destination.output_uri_prefix
        if not folder:
            raise CallFailed(calls.SERVER, f"{batch} does not say where its results are")
        with new_file(into) as partial:
            self._bucket.download(folder, partial)

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """A line of results: {"key", "prediction"}, or {"instance", "prediction"}, or with an error instead."""
        result = read_json(line)
        key = result.get("key") or as_object(result.get("instance")).get(KEY)
        if not isinstance(key, str):
            raise CallFailed(calls.SERVER, "a result without its key", body=line[:2000].decode("utf-8", "replace"))
        prediction = result.get("prediction", result.get("predictions"))
        if prediction is None:
            return key, self._error(result.get("error") or result.get("status"))
        return key, Reply(text_of(prediction), calls.COMPLETE, encoded({"prediction": prediction}))

    async def cancel(self, batch: str) -> None:
        """Ask the service to stop; what is answered by then may still come."""
        await ask_to_cancel(self._cancel(batch), lambda: self.status(batch))

    @on_thread
    def _cancel(self, batch: str) -> None:
        with cloud_failures(self._whose):
            self._jobs.cancel_batch_prediction_job(name=batch, **self._settings)

    @on_thread
    def forget(self, uploaded: str) -> None:
        """Take the file of requests out of the bucket."""
        self._bucket.remove(uploaded)

    async def close(self) -> None:
        """Give back connections."""
        for client in (self._jobs, self._endpoints):
            client.transport.close()  # type: ignore[no-untyped-call]
        self._bucket.close()

    @on_thread
    def submit(self, uploaded: str, token: str) -> str:
        """The batch's resource name. Raises UsageError like upload."""
        model, machines = self._model_and_machines()
        job = vertex.BatchPredictionJob(
            display_name=batch_name(token),
            model=model,
            input_config={"instances_format": "jsonl", "gcs_source": {"uris": [uploaded]}},
            instance_config={"instance_type": "object", "key_field": KEY},
            model_parameters=json_format.ParseDict(dict(self._model.parameters), struct_pb2.Value()),
            output_config={
                "predictions_format": "jsonl",
                "gcs_destination": {"output_uri_prefix": self._bucket.results(token)},
            },
            dedicated_resources=machines,
            labels={"metal": token},
        )
        try:
            with cloud_failures(self._whose, QUEUE_FULL):
                created = self._jobs.create_batch_prediction_job(
                    parent=self._parent, batch_prediction_job=job, **self._settings
                )
        except CallFailed as error:
            raise file_gone(error, uploaded) from None
        return str(created.name)

    def _model_and_machines(self) -> tuple[str, vertex.BatchDedicatedResources]:
        """The model behind the endpoint, and the machines for its batch."""
        with cloud_failures(self._whose):
            endpoint = self._endpoints.get_endpoint(name=self._endpoint, **self._settings)
        deployed = list(endpoint.deployed_models)
        served = [model for model in deployed if endpoint.traffic_split.get(model.id)] or deployed
        if len({(model.model, model.model_version_id) for model in served}) != 1:
            many = f"{len(served)} models, and a batch is for one" if served else "no model"
            raise UsageError(f"{self._model.name}: {self._whose} serves {many}; leave or deploy one there")
        model = served[0]
        version = f"@{model.model_version_id}" if model.model_version_id and "@" not in model.model else ""
        return f"{model.model}{version}", self._machines(model)

    def _machines(self, deployed: vertex.DeployedModel) -> vertex.BatchDedicatedResources:
        """The machines that judges.toml names, else those that the endpoint has."""
        settings, endpoints_own = self._model.batch, deployed.dedicated_resources
        machine = vertex.MachineSpec(endpoints_own.machine_spec)
        if settings.machine_type:  # another machine: its accelerators are others as well
            machine = vertex.MachineSpec(machine_type=settings.machine_type)
        if settings.accelerator_type:
            kinds = vertex.AcceleratorType.__members__
            if settings.accelerator_type not in kinds:
                raise UnknownName(f"{self._model.name}: batch: accelerator_type", settings.accelerator_type, kinds)
            machine.accelerator_type = kinds[settings.accelerator_type]
            machine.accelerator_count = machine.accelerator_count or 1
        if settings.accelerator_count:
            machine.accelerator_count = settings.accelerator_count
        if not machine.machine_type:
            raise UsageError(
                f"{self._model.name}: {self._whose} has no machines of its own, so a batch needs to be told: write "
                f'machine_type = "..." under [judges.NAME.batch] in {FILE}, and accelerator_type for a GPU'
            )
        most = settings.replicas or endpoints_own.max_replica_count or REPLICAS
        first = settings.replicas or endpoints_own.min_replica_count or REPLICAS
        return vertex.BatchDedicatedResources(
            machine_spec=machine, starting_replica_count=first, max_replica_count=most
        )

    def _error(self, error: object) -> CallFailed:
        return without_keys(read_error(error, self._whose), self.secrets)

    def _get(self, batch: str) -> vertex.BatchPredictionJob:
        with cloud_failures(self._whose):
            return self._jobs.get_batch_prediction_job(name=batch, **self._settings)
