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

import google.auth.exceptions
from google.protobuf import json_format, struct_pb2

with warnings.catch_warnings():  # of its own dependencies' future, which is nobody's business here
    warnings.simplefilter("ignore")
    from google.cloud import aiplatform_v1 as vertex

from metal.data.folders import new_file
from metal.errors import UnknownName, UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.batch.contract import BatchClient, Limits, Status
from metal.raters.judges.call import Ask, CallFailed, Reply
from metal.raters.judges.models import FILE, Model
from metal.raters.judges.providers.cloud_storage import Bucket, open_bucket
from metal.raters.judges.providers.failures import one_line, read_json
from metal.raters.judges.providers.google import NO_LOGIN, credentials, project_and_location
from metal.raters.judges.providers.google_batch import encoded
from metal.raters.judges.providers.google_cloud import cloud_failures
from metal.raters.judges.providers.google_jobs import (
    QUEUE_FULL,
    Threads,
    ask_to_cancel,
    batch_name,
    file_gone,
    job_status,
    told_failure,
)
from metal.raters.judges.providers.vertex_endpoint import instance_of, region, resource_name, text_of

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
    try:
        options["credentials"] = credentials(model)
        jobs, endpoints = vertex.JobServiceClient(**options), vertex.EndpointServiceClient(**options)
    except google.auth.exceptions.GoogleAuthError:
        raise UsageError(f"{model.name}: {NO_LOGIN}") from None
    except ValueError as error:
        raise UsageError(f"{model.name}: {one_line(str(error))}") from None
    return VertexBatches(model, resource_name(model, project, location), jobs, endpoints, bucket)


class VertexBatches:
    """Batch prediction with the model behind one endpoint. The limits are ours: nothing but the bucket has any."""

    limits = Limits(200_000, 1_000_000_000)

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
        self._threads = Threads(model)
        self._parent = endpoint.partition("/endpoints/")[0]
        self._settings: dict[str, Any] = {"timeout": model.timeout, "retry": None}

    def line(self, key: str, ask: Ask) -> bytes:
        """An instance with its key."""
        return encoded({**instance_of(ask), KEY: key})

    async def upload(self, file: Path, token: str) -> str:
        """The file's place in the bucket. Raises UsageError when the endpoint does not say what to run a batch on."""
        await self._threads.run(self._behind)  # before a large file is sent in vain
        place = self._bucket.requests(token)
        await self._threads.run(self._bucket.upload, file, place)
        return place

    async def submit(self, uploaded: str, token: str) -> str:
        """The batch's resource name. Raises UsageError like upload."""
        return await self._threads.run(self._submit, uploaded, token)

    async def find(self, token: str) -> str | None:
        """The batch with this token in its display name."""
        return await self._threads.run(self._find, token)

    async def status(self, batch: str) -> Status:
        """As the service says; its state without JOB_STATE_."""
        job = await self._threads.run(self._get, batch)
        counts = job.completion_stats
        error = {"code": job.error.code, "message": job.error.message}
        return job_status(
            vertex.JobState(job.state).name,
            counts.successful_count,
            counts.failed_count,
            self._told(error) if any(error.values()) else None,
            counted="completion_stats" in job,
        )

    async def fetch(self, batch: str, into: Path) -> None:
        """All files of predictions and of errors."""
        job = await self._threads.run(self._get, batch)
        folder = job.output_config.gcs_destination.output_uri_prefix
        if not folder:
            raise CallFailed(calls.SERVER, f"{batch} does not say where its results are")
        with new_file(into) as partial:
            await self._threads.run(self._bucket.download, folder, partial)

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """A line of results: {"key", "prediction"}, or {"instance", "prediction"}, or with an error instead."""
        found = read_json(line)
        instance = found.get("instance")
        key = found.get("key") or (instance.get(KEY) if isinstance(instance, dict) else None)
        if not isinstance(key, str):
            raise CallFailed(calls.SERVER, "a result without its key", body=line[:2000].decode("utf-8", "replace"))
        prediction = found.get("prediction", found.get("predictions"))
        if prediction is None:
            return key, self._told(found.get("error") or found.get("status"))
        return key, Reply(text_of(prediction), calls.COMPLETE, encoded({"prediction": prediction}))

    async def cancel(self, batch: str) -> None:
        """Ask the service to stop; what is answered by then may still come."""
        await ask_to_cancel(self._threads.run(self._cancel, batch), lambda: self.status(batch))

    async def forget(self, uploaded: str) -> None:
        """Take the file of requests out of the bucket."""
        await self._threads.run(self._bucket.remove, uploaded)

    async def close(self) -> None:
        """Give back connections."""
        for client in (self._jobs, self._endpoints):
            client.transport.close()  # type: ignore[no-untyped-call]
        self._bucket.close()

    # ---------------------------------------------------------------- on a thread

    def _submit(self, uploaded: str, token: str) -> str:
        model, resources = self._behind()
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
            dedicated_resources=resources,
            labels={"metal": token},
        )
        try:
            with cloud_failures(self._whose, QUEUE_FULL):
                made = self._jobs.create_batch_prediction_job(
                    parent=self._parent, batch_prediction_job=job, **self._settings
                )
        except CallFailed as error:
            raise file_gone(error, uploaded) from None
        return str(made.name)

    def _behind(self) -> tuple[str, vertex.BatchDedicatedResources]:
        """The model behind the endpoint, and the machines for its batch."""
        with cloud_failures(self._whose):
            endpoint = self._endpoints.get_endpoint(name=self._endpoint, **self._settings)
        deployed = list(endpoint.deployed_models)
        served = [one for one in deployed if endpoint.traffic_split.get(one.id)] or deployed
        if len({(one.model, one.model_version_id) for one in served}) != 1:
            many = f"{len(served)} models, and a batch is for one" if served else "no model"
            raise UsageError(f"{self._model.name}: {self._whose} serves {many}; leave or deploy one there")
        found = served[0]
        version = f"@{found.model_version_id}" if found.model_version_id and "@" not in found.model else ""
        return f"{found.model}{version}", self._machines(found)

    def _machines(self, deployed: vertex.DeployedModel) -> vertex.BatchDedicatedResources:
        """As judges.toml says, else as the endpoint has them."""
        said, there = self._model.batch, deployed.dedicated_resources
        machine = vertex.MachineSpec(there.machine_spec)
        if said.machine_type:  # another machine: its accelerators are others as well
            machine = vertex.MachineSpec(machine_type=said.machine_type)
        if said.accelerator_type:
            kinds = vertex.AcceleratorType.__members__
            if said.accelerator_type not in kinds:
                raise UnknownName(f"{self._model.name}: batch: accelerator_type", said.accelerator_type, kinds)
            machine.accelerator_type = kinds[said.accelerator_type]
            machine.accelerator_count = machine.accelerator_count or 1
        if said.accelerator_count:
            machine.accelerator_count = said.accelerator_count
        if not machine.machine_type:
            raise UsageError(
                f"{self._model.name}: {self._whose} has no machines of its own, so a batch needs to be told: write "
                f'machine_type = "..." under [judges.NAME.batch] in {FILE}, and accelerator_type for a GPU'
            )
        most = said.replicas or there.max_replica_count or REPLICAS
        first = said.replicas or there.min_replica_count or REPLICAS
        return vertex.BatchDedicatedResources(
            machine_spec=machine, starting_replica_count=first, max_replica_count=most
        )

    def _find(self, token: str) -> str | None:
        request = {"parent": self._parent, "filter": f'display_name="{batch_name(token)}"'}
        with cloud_failures(self._whose):
            for job in self._jobs.list_batch_prediction_jobs(request=request, **self._settings):
                if job.display_name == batch_name(token):
                    return str(job.name)
        return None

    def _told(self, error: object) -> CallFailed:
        return self._threads.without_keys(told_failure(error, self._whose))

    def _get(self, batch: str) -> vertex.BatchPredictionJob:
        with cloud_failures(self._whose):
            return self._jobs.get_batch_prediction_job(name=batch, **self._settings)

    def _cancel(self, batch: str) -> None:
        with cloud_failures(self._whose):
            self._jobs.cancel_batch_prediction_job(name=batch, **self._settings)
