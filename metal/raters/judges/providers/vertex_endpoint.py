"""A model you deployed on Vertex AI (vertex-endpoint:ID), through google-cloud-aiplatform's Endpoint.predict.

The package has no asynchronous way that leaves retries to us, so calls run on threads, as many as may be in flight.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

with warnings.catch_warnings():  # about its own dependencies
    warnings.simplefilter("ignore")
    from google.cloud import aiplatform

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Client, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.providers.failures import as_object
from metal.raters.judges.providers.google import credentials, login_needed, project_and_location
from metal.raters.judges.providers.google_cloud import cloud_failures

REGION = "us-central1"
GRACE = 5.0  # seconds beyond the call's own timeout, before a thread that does not come back is given up
TEXT_KEYS = ("content", "text", "generated_text", "output", "prediction")


def open_client(model: Model) -> Client:
    """A client for vertex-endpoint: models; the name is an endpoint's number or its whole resource name."""
    project, location = project_and_location(model)
    location = region(location)
    name = resource_name(model, project, location)
    with login_needed(model):
        aiplatform.init(
            project=project,
            location=location,
            credentials=credentials(model),
            api_transport="rest",
            api_endpoint=model.base_url or None,
        )
        return VertexEndpoint(aiplatform.Endpoint(name), model, name)


def region(location: str) -> str:
    """Where endpoints are, which are never in `global`."""
    return location if location and location != "global" else REGION


def resource_name(model: Model, project: str, location: str) -> str:
    """The endpoint's whole name."""
    return model.model if "/" in model.model else f"projects/{project}/locations/{location}/endpoints/{model.model}"


def instance_of(ask: ModelRequest) -> dict[str, Any]:
    """What the serving container is given."""
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
            raise CallFailed(calls.TIMEOUT, f"no whole reply in {ask.timeout:g} s") from None

    def _predict(self, ask: ModelRequest) -> Reply:
        with cloud_failures(self._whose):
            answer = self._endpoint.predict(
                instances=[instance_of(ask)], parameters=dict(ask.parameters), timeout=ask.timeout
            )
        raw = {"predictions": answer.predictions, "metadata": answer.metadata, "model": answer.model_resource_name}
        return Reply(
            text_of(answer.predictions[0] if answer.predictions else ""),
            calls.COMPLETE,
            json.dumps(raw, ensure_ascii=False, default=str).encode("utf-8", "replace"),
            str(answer.deployed_model_id or ""),
            str(answer.model_version_id or ""),
            *_tokens(answer.metadata),
        )


def text_of(prediction: object) -> str:
    """The text of a prediction: a text, an object with one, a chat completion; what serving containers give."""
    if isinstance(prediction, str):  # Model Garden's vLLM containers repeat the prompt before the answer
        return prediction.rpartition("Output:\n")[2] if prediction.startswith("Prompt:\n") else prediction
    if isinstance(prediction, list) and prediction:
        return text_of(prediction[0])
    if isinstance(prediction, dict):
        if isinstance(prediction.get("message"), dict):
            return text_of(prediction["message"])
        if prediction.get("choices"):
            return text_of(prediction["choices"])
        return next((text_of(prediction[key]) for key in TEXT_KEYS if key in prediction), json.dumps(prediction))
    return ""


def _tokens(metadata: object) -> tuple[int | None, int | None]:
    usage = as_object(metadata).get("tokenMetadata", {})
    counts = [(usage.get(name) or {}).get("totalTokens") for name in ("inputTokenCount", "outputTokenCount")]
    tokens_in, tokens_out = (int(count) if isinstance(count, int | float) else None for count in counts)
    return tokens_in, tokens_out
