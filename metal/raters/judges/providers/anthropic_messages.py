"""Anthropic's models, called through the anthropic package and its Messages API."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.providers.bounded import BoundedAsync
from metal.raters.judges.providers.failures import (
    as_object,
    error_in_reply,
    failure,
    one_line_json,
    read_json,
    retry_after,
)
from metal.raters.judges.providers.posting import Sender, settings_of
from metal.raters.judges.secrets import key_from_environment

KEY = "ANTHROPIC_API_KEY"
# Of an answer, beside what it may think, unless judges.toml says otherwise: the API asks for a
# limit.
MOST_TOKENS = 4096
OURS = {"stop": "stop_sequences"}  # METAL's name of a parameter -> Anthropic's
ENDINGS = {
    "max_tokens": calls.TRUNCATED,
    "model_context_window_exceeded": calls.TRUNCATED,
    "refusal": calls.REFUSED,
    "tool_use": calls.TOOL_CALL,
}


class AnthropicHttpClient(BoundedAsync, anthropic.DefaultAioHttpClient):
    """The package's client on aiohttp, with bounds on replies."""


def open_client(model: Model) -> AnthropicMessages:
    """A client for anthropic: models. Raises UsageError if the key is missing."""
    return AnthropicMessages(*connect(model), model)


def connect(model: Model) -> tuple[anthropic.AsyncAnthropic, httpx2.AsyncClient]:
    """The package's client, without retries, and the HTTP client that it uses."""
    key = key_from_environment([model.api_key_env or KEY], model.name)
    settings = settings_of(model, AnthropicHttpClient)
    return anthropic.AsyncAnthropic(
        api_key=key, base_url=model.base_url or None, **settings
    ), settings["http_client"]


def whose(model: Model, client: anthropic.AsyncAnthropic) -> str:
    """The model and key that a failure is about, in words for people."""
    return (
        f"model {model.model} with the key in {model.api_key_env or KEY} at {client.base_url.host}"
    )


class AnthropicMessages:
    """A connection to one model."""

    def __init__(
        self, client: anthropic.AsyncAnthropic, http: httpx2.AsyncClient, model: Model
    ) -> None:
        self._client, self._model, self._whose = client, model, whose(model, client)
        self._sender = Sender(anthropic, client, http, "/v1/messages")

    async def close(self) -> None:
        await self._client.close()

    async def ask(self, ask: ModelRequest) -> Reply:
        """Make one call. Raises CallFailed."""
        response = await self._sender.response(request_body(self._model.model, ask), ask.timeout)
        if response.is_error:
            raise read_failure(
                response.status_code, response.content, self._whose, retry_after(response.headers)
            )
        return read_body(response.content)


def request_body(model: str, ask: ModelRequest) -> dict[str, Any]:
    """The body of a request. There is no counterpart of `json_object`, so only the prompt asks for
    JSON.
    """
    parameters = {OURS.get(name, name): value for name, value in ask.parameters.items()}
    thoughts = as_object(parameters.get("thinking")).get("budget_tokens", 0)
    body = {
        "model": model,
        "max_tokens": MOST_TOKENS + (thoughts if type(thoughts) is int else 0),
        **parameters,
    }
    if ask.message.system:
        body["system"] = ask.message.system
    body["messages"] = [{"role": "user", "content": ask.message.user}]
    if ask.structured == "json_schema":
        form = {"format": {"type": "json_schema", "schema": dict(ask.schema)}}
        body["output_config"] = as_object(body.get("output_config")) | form
    return body


def read_failure(status: int, body: bytes, whose: str, wait: float = 0.0) -> CallFailed:
    """The failure in the body of an HTTP error. wait: the seconds for which its headers ask to
    wait.
    """
    try:
        error = as_object(as_object(json.loads(body)).get("error"))
    except (ValueError, RecursionError):
        error = {}
    message = str(error.get("message") or body.decode("utf-8", "replace"))
    if status == 400 and "credit balance" in message:
        status = 402
    return failure(status, message, code=str(error.get("type") or ""), wait=wait, whose=whose)


def read_body(body: bytes) -> Reply:
    """Read the reply in the body of a message. Its text has no thoughts. Raises CallFailed if there
    is no reply.
    """
    content = read_json(body, calls.NOT_A_REPLY)
    blocks, error = content.get("content"), content.get("error")
    if error and not blocks:
        raise error_in_reply(error, body)
    if not isinstance(blocks, list):
        return Reply("", calls.NO_CHOICES, one_line_json(body))
    parts = list(map(as_object, blocks))
    usage = as_object(content.get("usage"))
    asked = list(
        map(usage.get, ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))
    )
    counted = [count for count in asked if type(count) is int]
    answered = usage.get("output_tokens")  # thoughts included
    tokens_out = answered if type(answered) is int else None
    ending = ENDINGS.get(str(content.get("stop_reason")), calls.COMPLETE)
    if error:
        ending = calls.WITH_ERROR
    text = ""
    for part in parts:
        if part.get("type") == "text":
            text += str(part.get("text", ""))
    return Reply(
        text,
        ending,
        one_line_json(body),
        str(content.get("model") or ""),
        "",
        sum(counted) if counted else None,
        tokens_out,
    )
