"""OpenAI, Azure OpenAI, and servers with OpenAI's protocol, called through the openai package."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx2
import openai

from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.providers.bounded import BoundedAsync
from metal.raters.judges.providers.failures import (
    as_object,
    error_in_reply,
    failure,
    first_choice,
    one_line_json,
    read_json,
    retry_after,
    token_counts,
)
from metal.raters.judges.providers.posting import Sender, settings_of
from metal.raters.judges.secrets import key_from_environment

API_VERSION = "2024-10-21"  # of Azure, the newest that is not a preview
ENDINGS = {
    "stop": calls.COMPLETE,
    "length": calls.TRUNCATED,
    "content_filter": calls.FILTERED,
    "refusal": calls.REFUSED,
    "error": calls.WITH_ERROR,  # of a router whose provider failed while it answered
}


class OpenAIHttpClient(BoundedAsync, openai.DefaultAioHttpClient):
    """The package's client on aiohttp, with bounds on replies."""


class PlainHttpClient(BoundedAsync, openai.DefaultAsyncHttpxClient):
    """The package's own client, with bounds on replies, for requests through the package."""


def open_client(model: Model) -> OpenAILike:
    """A client for openai:, azure: and openai-compatible: models."""
    return OpenAILike(*connect(model), model)


def connect(model: Model) -> tuple[openai.AsyncOpenAI, httpx2.AsyncClient]:
    """The package's client for the model's service, without retries, and the HTTP client that it
    uses.

    Raises UsageError if a key or an address is missing.
    """
    shared = settings_of(model, OpenAIHttpClient)
    http: httpx2.AsyncClient = shared["http_client"]
    if model.provider == "azure":
        return _azure(model, shared), http
    if model.provider == "openai":
        key = key_from_environment([model.api_key_env or "OPENAI_API_KEY"], model.name)
        return openai.AsyncOpenAI(api_key=key, base_url=model.base_url or None, **shared), http
    url = model.base_url or os.environ["OPENAI_COMPATIBLE_BASE_URL"]
    wanted = model.api_key_env or "OPENAI_COMPATIBLE_API_KEY"
    # Servers of one's own mostly want no key; OpenAI's is never sent to somebody else.
    key = (
        key_from_environment([wanted], model.name)
        if model.api_key_env
        else os.environ.get(wanted) or "none"
    )
    shared["default_headers"] |= {
        "OpenAI-Organization": openai.Omit(),
        "OpenAI-Project": openai.Omit(),
    }
    return openai.AsyncOpenAI(api_key=key, base_url=url, **shared), http


def _azure(model: Model, shared: dict[str, Any]) -> openai.AsyncOpenAI:
    key = key_from_environment([model.api_key_env or "AZURE_OPENAI_API_KEY"], model.name)
    endpoint = model.base_url or os.environ.get("AZURE_OPENAI_ENDPOINT", "")
    if not endpoint:
        raise UsageError(
            f"{model.name} needs your resource's address: set AZURE_OPENAI_ENDPOINT, or base_url in"
            " judges.toml"
        )
    if "/openai/v1" in endpoint:  # the newer address, without versions
        return openai.AsyncOpenAI(api_key=key, base_url=endpoint, **shared)
    version = model.api_version or os.environ.get("OPENAI_API_VERSION") or API_VERSION
    return openai.AsyncAzureOpenAI(
        azure_endpoint=endpoint, api_version=version, api_key=key, **shared
    )


class OpenAILike:
    """A connection to one model."""

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        http: httpx2.AsyncClient,
        model: Model,
        path: str = "/chat/completions",
    ) -> None:
        self._client, self._model, self._whose = client, model, whose(model, client)
        self._sender = Sender(openai, client, http, path)

    async def close(self) -> None:
        await self._client.close()

    async def ask(self, ask: ModelRequest) -> Reply:
        """Make one call. Raises CallFailed."""
        return await self.post(request_body(self._model.model, ask), ask.timeout)

    async def post(self, body: dict[str, Any], seconds: float) -> Reply:
        """Send one request with this body and return its whole reply within that time. Raises
        CallFailed.
        """
        return read_body(await self.content(body, seconds))

    async def content(self, body: dict[str, Any], seconds: float) -> bytes:
        """Send a request and return the bytes that come back, unchanged. Raises CallFailed."""
        response = await self._sender.response(body, seconds)
        if response.is_error:
            raise read_failure(
                response.status_code, response.content, self._whose, retry_after(response.headers)
            )
        return response.content


def request_body(model: str, ask: ModelRequest) -> dict[str, Any]:
    """The body of a chat completion."""
    messages = [{"role": "system", "content": ask.message.system}] if ask.message.system else []
    messages.append({"role": "user", "content": ask.message.user})
    body: dict[str, Any] = {"model": model, "messages": messages, **ask.parameters}
    if ask.structured == "json_schema":
        schema = {"name": "verdict", "strict": True, "schema": ask.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif ask.structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def whose(model: Model, client: openai.AsyncOpenAI) -> str:
    """The model and key that a failure is about, in words for people."""
    what = "deployment" if model.provider == "azure" else "model"
    usual = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY"}
    key = model.api_key_env or usual.get(model.provider, "OPENAI_COMPATIBLE_API_KEY")
    return f"{what} {model.model} with the key in {key} at {client.base_url.host}"


def error_in(body: bytes) -> dict[str, Any]:
    """The error in the body of a response; empty if there is none."""
    try:
        content = as_object(json.loads(body))
    except (ValueError, RecursionError):
        return {}
    return as_object(content.get("error", content))


def read_failure(status: int, body: bytes, whose: str, wait: float = 0.0) -> CallFailed:
    """The failure in the body of an HTTP error. wait: the seconds for which its headers ask to
    wait.
    """
    error = error_in(body)
    return failure(
        status,
        str(error.get("message") or body.decode("utf-8", "replace")),
        code=str(error.get("code") or error.get("type") or ""),
        parameter=str(error.get("param") or ""),
        wait=wait,
        whose=whose,
    )


def read_body(body: bytes) -> Reply:
    """The reply in the body of a chat completion. Raises CallFailed if there is no reply."""
    content = read_json(body, calls.NOT_A_REPLY)
    choice, error = first_choice(content.get("choices")), content.get("error")
    if error and not choice:
        raise error_in_reply(error, body)
    message = as_object(choice.get("message"))
    refusal, text = message.get("refusal"), _text(message.get("content"))
    ending = (
        ENDINGS.get(str(choice.get("finish_reason")), calls.COMPLETE)
        if choice
        else calls.NO_CHOICES
    )
    if error or choice.get("error"):  # what stands beside it is not a judge's verdict
        ending = calls.WITH_ERROR
    elif not text and (message.get("tool_calls") or message.get("function_call")):
        ending = calls.TOOL_CALL
    if refusal:
        ending = calls.REFUSED
        text = refusal if isinstance(refusal, str) else text
    return Reply(
        text,
        ending,
        one_line_json(body),
        str(content.get("model") or ""),
        str(content.get("system_fingerprint") or ""),
        *token_counts(content.get("usage")),
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # parts, as some servers send them
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""
