"""Gemini with an API key (gemini:) or through Vertex AI (vertex:), called with the google-genai
package.

The package returns the reply as it arrived and parses nothing. Its own retries are off, and it
sends through our client. Otherwise it would silently send a request again if a connection breaks.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import google.auth.exceptions
import httpx
from google import genai
from google.genai import errors, types

from metal.errors import UsageError
from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Client, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.providers.bounded import BoundedAsync
from metal.raters.judges.providers.connecting import connection_failure
from metal.raters.judges.providers.failures import (
    as_object,
    error_in_reply,
    failure,
    first_choice,
    one_line,
    one_line_json,
    read_json,
    retry_after,
    retry_delay,
)
from metal.raters.judges.secrets import key_from_environment

KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
LOCATION = "global"
ENDINGS = {
    "STOP": calls.COMPLETE,
    "MAX_TOKENS": calls.TRUNCATED,
    "FINISH_REASON_UNSPECIFIED": calls.COMPLETE,
}
# METAL's name of a parameter -> Gemini's
OURS = {"max_tokens": "max_output_tokens", "stop": "stop_sequences"}
OF_THE_DISK = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ENOENT)
# In batches, waiting requests are what RESOURCE_EXHAUSTED is about, though its words may speak of
# plans and billing.
QUEUE_FULL = "rate_limit_exceeded"
NO_LOGIN = "no Google Cloud login (run: gcloud auth application-default login)"


class GoogleHttpClient(BoundedAsync, httpx.AsyncClient):
    """httpx's client, with bounds on replies."""


def open_client(model: Model) -> Client:
    """A client for gemini: and vertex: models."""
    http = GoogleHttpClient(limits=httpx.Limits(max_connections=1024))
    client, whose = connect(model, httpx_async_client=http)
    return Gemini(client, http, model, whose)


def connect(model: Model, **http: Any) -> tuple[genai.Client, str]:
    """The package's client for a gemini: or vertex: model, and the model and key in words for
    errors. http: further HttpOptions.
    """
    options = types.HttpOptions(
        base_url=model.base_url or None,
        timeout=round(model.timeout * 1000),
        headers=model.sent_headers() or None,
        retry_options=types.HttpRetryOptions(attempts=1),
        **http,
    )
    subject = f"model {model.model} with"
    if model.provider == "gemini":
        key = key_from_environment([model.api_key_env] if model.api_key_env else KEYS, model.name)
        return genai.Client(vertexai=False, api_key=key, http_options=options), f"{subject} the key"
    project, location = project_and_location(model)
    with login_needed(model):
        client = genai.Client(
            vertexai=True,
            project=project,
            location=location or LOCATION,
            credentials=credentials(model),
            http_options=options,
        )
    return client, f"{subject} project {project} in {location or LOCATION}"


@contextmanager
def login_needed(model: Model) -> Iterator[None]:
    """Turn errors of Google's libraries about a missing login or an odd setting into a
    UsageError.
    """
    try:
        yield
    except google.auth.exceptions.GoogleAuthError:
        raise UsageError(f"{model.name}: {NO_LOGIN}") from None
    except ValueError as error:
        raise UsageError(f"{model.name}: {one_line(str(error))}") from None


def project_and_location(model: Model) -> tuple[str, str]:
    """The project and location on Google Cloud, from judges.toml, else from the environment. Raises
    UsageError without a project.
    """
    project = model.project or os.environ.get("GOOGLE_CLOUD_PROJECT", "")
    if not project:
        raise UsageError(
            f"{model.name}: which project? Set GOOGLE_CLOUD_PROJECT, or project in judges.toml"
        )
    return project, model.location or os.environ.get("GOOGLE_CLOUD_LOCATION", "")


def credentials(model: Model) -> Any:
    """The access token in the environment variable that judges.toml names; None for Google's own
    defaults.
    """
    if not model.api_key_env:
        return None
    from google.oauth2.credentials import Credentials

    return Credentials(key_from_environment([model.api_key_env], model.name))  # type: ignore[no-untyped-call]


class Gemini:
    """A connection to one model."""

    def __init__(
        self, client: genai.Client, http: GoogleHttpClient, model: Model, whose: str
    ) -> None:
        self._client, self._http, self._model, self._whose = client, http, model, whose

    async def close(self) -> None:
        await self._client.aio.aclose()
        await self._http.aclose()
        self._client.close()

    async def ask(self, ask: ModelRequest) -> Reply:
        """One call. Raises CallFailed."""
        with gemini_failures(self._whose, ask.timeout):
            async with asyncio.timeout(ask.timeout):
                response = await self._client.aio.models.generate_content(
                    model=self._model.model, contents=ask.message.user, config=configured(ask)
                )
            raw = response.sdk_http_response.body if response.sdk_http_response else None
            return read_body((raw or "").encode("utf-8", "surrogatepass"))


def configured(ask: ModelRequest) -> types.GenerateContentConfig:
    """A question's settings without its text. Raises CallFailed for parameters that Gemini does not
    have.
    """
    parameters = {OURS.get(name, name): value for name, value in ask.parameters.items()}
    if ask.structured != "none":
        parameters["response_mime_type"] = "application/json"
    if ask.structured == "json_schema":
        parameters["response_json_schema"] = dict(ask.schema)
    try:
        return types.GenerateContentConfig(
            system_instruction=ask.message.system or None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            should_return_http_response=True,
            **parameters,
        )
    except ValueError as error:
        raise CallFailed(
            calls.REJECTED, f"parameters {sorted(parameters)}: {one_line(str(error))}"
        ) from None


@contextmanager
def gemini_failures(whose: str, seconds: float, *, batch: bool = False) -> Iterator[None]:
    """Turn the package's errors into CallFailed. whose: the model and key that they are about;
    seconds: the time within which it should answer.

    batch: whether the call is about a batch; then errors of the disk are possible, and are raised
    unchanged.
    """
    if batch:
        nothing, none, kind = "no answer", "not an answer", calls.SERVER
    else:
        nothing, none, kind = "no complete reply", "not a reply", calls.NOT_A_REPLY
    try:
        yield
    except errors.APIError as error:
        headers = getattr(error.response, "headers", None) or {}
        wait, code = retry_after(headers) or retry_delay(error.details), QUEUE_FULL if batch else ""
        raise failure(
            error.code, f"{error.message or error.details}", code=code, wait=wait, whose=whose
        ) from None
    except google.auth.exceptions.GoogleAuthError as error:
        raise CallFailed(calls.DENIED, f"{whose}: {NO_LOGIN}; {one_line(str(error))}") from None
    except httpx.ConnectTimeout as error:
        raise connection_failure(error) from None
    except (TimeoutError, httpx.TimeoutException):
        raise CallFailed(calls.TIMEOUT, f"{nothing} within {seconds:g} s") from None
    except (httpx.HTTPError, OSError) as error:
        if batch and isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise
        raise connection_failure(error) from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise CallFailed(kind, f"{none}: {one_line(str(error))}") from None


def read_body(body: bytes) -> Reply:
    """Read the reply in the body of generateContent. Raises CallFailed if there is none."""
    content = read_json(body, calls.NOT_A_REPLY)
    usage = content.get("usageMetadata") or {}
    candidates, error = content.get("candidates") or [], content.get("error")
    candidate = first_choice(candidates)
    if not isinstance(candidates, list):
        raise TypeError("its candidates are not a list")
    if error and not candidate:
        raise error_in_reply(error, body)
    finish = str(candidate.get("finishReason", ""))
    parts = (candidate.get("content") or {}).get("parts") or []
    blocked = (content.get("promptFeedback") or {}).get("blockReason")
    text = _text_of(parts)
    if not text:
        text = _why_without(blocked, finish)
    ending = _ending_of(candidate, text, parts)
    if blocked:
        ending = calls.FILTERED
    elif error:
        ending = calls.WITH_ERROR
    return Reply(
        text,
        ending,
        one_line_json(body),
        str(content.get("modelVersion") or ""),
        "",
        usage.get("promptTokenCount"),
        _tokens_written(usage),
    )


def _why_without(blocked: object, finish: str) -> str:
    """The text that says why Gemini withheld a reply."""
    if blocked:
        return f"blocked: {blocked}"
    return finish if finish not in ENDINGS else ""


def _tokens_written(usage: Mapping[str, Any]) -> int | None:
    """The tokens of thoughts and answer; None if neither is counted."""
    thoughts, answer = usage.get("thoughtsTokenCount"), usage.get("candidatesTokenCount")
    if answer is None and thoughts is None:
        return None
    return (answer or 0) + (thoughts or 0)


def _ending_of(candidate: Mapping[str, Any], text: str, parts: Iterable[Any]) -> str:
    if not text and any("functionCall" in part for part in map(as_object, parts)):
        return calls.TOOL_CALL
    if finish := str(candidate.get("finishReason", "")):
        return ENDINGS.get(finish, calls.FILTERED)
    return calls.COMPLETE if candidate else calls.NO_CHOICES


def _text_of(parts: Iterable[Any]) -> str:
    """The text in the parts of a candidate, without thoughts."""
    text = ""
    for part in parts:
        if isinstance(part, dict) and not part.get("thought"):
            text += str(part.get("text", ""))
    return text
