"""Requests through the packages of OpenAI and Anthropic, which are of one make.

The package's client makes the first request, through its low-level `post`, which leaves the body as it is: nothing is
lost of a reply that is not what the package expects. Later requests are that one with another body, sent by the same
HTTP client: a call costs a quarter of the package's own `create`. The package's own retries are off.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed
from metal.raters.judges.models import Model
from metal.raters.judges.providers.failures import one_line


def settings_of(model: Model, http: type[httpx2.AsyncClient]) -> dict[str, Any]:
    """What a package's client is made with: without retries, with a bounded HTTP client."""
    timeout = httpx2.Timeout(model.timeout, connect=min(model.timeout, 20.0), pool=None)
    client = http(limits=httpx2.Limits(max_connections=1024), timeout=timeout)
    return {"max_retries": 0, "timeout": timeout, "default_headers": model.sent_headers(), "http_client": client}


class Sender:
    """Sends bodies to one path of a package's client. package: openai or anthropic."""

    def __init__(self, package: Any, client: Any, http: httpx2.AsyncClient, path: str) -> None:
        self._package, self._client, self._http, self._path = package, client, http, path
        self._first: httpx2.Request | None = None  # as the package made it

    async def response(self, body: dict[str, Any], seconds: float) -> httpx2.Response:
        """The whole response within that time, also one that says what is wrong. Raises CallFailed."""
        async with guarded(self._package, seconds, "reply", self._client):
            try:
                return await self._send(body)
            except self._package.APIStatusError as error:
                response: httpx2.Response = error.response
                return response

    async def _send(self, body: dict[str, Any]) -> httpx2.Response:
        first = self._first
        if first is None:
            response: httpx2.Response = await self._client.post(self._path, cast_to=httpx2.Response, body=body)
            self._first = response.request
            self._first.headers.pop("content-length", None)
            return response
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        again = httpx2.Request("POST", first.url, headers=first.headers, content=content, extensions=first.extensions)
        return await self._http.send(again)


@asynccontextmanager
async def guarded(package: Any, seconds: float, what: str, client: Any) -> AsyncIterator[None]:
    """Whatever goes wrong with a request but an answer's status becomes a CallFailed; `what` has to come in time.

    The client's own timeout is between two pieces of an answer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise CallFailed(calls.TIMEOUT, f"no whole {what} in {seconds:g} s") from None
    except (package.APIConnectionError, httpx2.TransportError, aiohttp.ClientError, ConnectionError) as error:
        cause: BaseException = error  # the transport calls some timeouts lost connections; the innermost cause tells
        while cause.__cause__:
            cause = cause.__cause__
        if isinstance(cause, CallFailed):  # of the bounded HTTP client
            raise cause from None
        kind = calls.TIMEOUT if isinstance(cause, TimeoutError) else calls.DROPPED
        message = f"{client.base_url.host}: {str(cause) or type(cause).__name__}"
        raise CallFailed(kind, one_line(message)) from None
    except (ValueError, httpx2.HTTPError) as error:  # an address or a header that cannot be sent
        raise CallFailed(calls.REJECTED, one_line(f"cannot be sent: {error}")) from None
