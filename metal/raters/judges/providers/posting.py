"""Send requests through the packages of OpenAI and Anthropic, which have the same structure.

The package's client makes the first request through its low-level `post`, which leaves the
response's body unchanged, so no part of an unexpected reply is lost. Later requests repeat the
first with another body over the same HTTP client, which costs a quarter of the package's own
`create`. The package's own retries are off.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, BinaryIO

import aiohttp
import httpx2

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed
from metal.raters.judges.models import Model
from metal.raters.judges.providers.connecting import connection_failure, server
from metal.raters.judges.providers.failures import MOST_BODY, one_line, read_json, retry_after

PATIENCE = 120.0  # seconds for an answer of a batch service, and between two pieces of a file
BYTES_A_SECOND = 100_000  # of a slow line: how long an upload or a download may take as a whole


def settings_of(model: Model, http: type[httpx2.AsyncClient]) -> dict[str, Any]:
    """The settings of a package's client: without retries, with a bounded HTTP client."""
    timeout = httpx2.Timeout(model.timeout, connect=min(model.timeout, 20.0), pool=None)
    client = http(limits=httpx2.Limits(max_connections=1024), timeout=timeout)
    return {
        "max_retries": 0,
        "timeout": timeout,
        "default_headers": model.sent_headers(),
        "http_client": client,
    }


class Sender:
    """Sends bodies to one path of a package's client. package: the imported package, openai or
    anthropic.
    """

    def __init__(self, package: Any, client: Any, http: httpx2.AsyncClient, path: str) -> None:
        self._package, self._client, self._http, self._path = package, client, http, path
        self._first: httpx2.Request | None = None  # as the package made it

    async def response(self, body: dict[str, Any], seconds: float) -> httpx2.Response:
        """Send a body and return the whole response within that time, even if it reports an error.
        Raises CallFailed.
        """
        async with guarded(self._package, seconds, "reply", self._client):
            try:
                return await self._send(body)
            except self._package.APIStatusError as error:
                response: httpx2.Response = error.response
                return response

    async def _send(self, body: dict[str, Any]) -> httpx2.Response:
        first = self._first
        if first is None:
            response: httpx2.Response = await self._client.post(
                self._path, cast_to=httpx2.Response, body=body
            )
            self._first = response.request
            self._first.headers.pop("content-length", None)
            return response
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        again = httpx2.Request(
            "POST", first.url, headers=first.headers, content=content, extensions=first.extensions
        )
        return await self._http.send(again)


@asynccontextmanager
async def guarded(package: Any, seconds: float, what: str, client: Any) -> AsyncIterator[None]:
    """Turn every error of a request, except the response's status, into a CallFailed. what: what
    has to arrive in time.

    The client's own timeout covers only the time between two pieces of a response.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise CallFailed(calls.TIMEOUT, f"no complete {what} within {seconds:g} s") from None
    except (
        package.APIConnectionError,
        httpx2.TransportError,
        aiohttp.ClientError,
        ConnectionError,
    ) as error:
        # the transport calls some timeouts lost connections; the innermost cause tells
        cause: BaseException = error
        while cause.__cause__:
            cause = cause.__cause__
        if isinstance(cause, CallFailed):  # of the bounded HTTP client
            raise cause from None
        raise connection_failure(error, server(str(client.base_url))) from None
    except (ValueError, httpx2.HTTPError) as error:  # an address or a header that cannot be sent
        raise CallFailed(calls.REJECTED, one_line(f"cannot be sent: {error}")) from None


class BatchConnection:
    """The common part of the batch services of both packages: requests and their failures.

    package: openai or anthropic. read_failure: a function (status, body, whose, seconds to wait) ->
    the failure behind an HTTP error.
    """

    def __init__(
        self, package: Any, client: Any, whose: str, read_failure: Callable[..., CallFailed]
    ) -> None:
        self._package, self._client, self._whose, self._read_failure = (
            package,
            client,
            whose,
            read_failure,
        )

    async def close(self) -> None:
        """Give back connections."""
        await self._client.close()

    async def _get(self, path: str, query: dict[str, Any] | None = None) -> dict[str, Any]:
        options = {"params": query or {}, "timeout": PATIENCE}
        async with self._guarded():
            response = await self._client.get(path, cast_to=httpx2.Response, options=options)
        return read_json(response.content)

    async def _post(
        self, path: str, body: dict[str, Any] | None = None, seconds: float = PATIENCE
    ) -> dict[str, Any]:
        async with self._guarded(seconds):
            response = await self._client.post(
                path, cast_to=httpx2.Response, body=body, options={"timeout": PATIENCE}
            )
        return read_json(response.content)

    @asynccontextmanager
    async def _guarded(self, seconds: float = PATIENCE) -> AsyncIterator[None]:
        """Turn every error of a request into a CallFailed."""
        try:
            async with guarded(self._package, seconds, "answer", self._client):
                yield
        except self._package.APIStatusError as error:
            response, wait = error.response, retry_after(error.response.headers)
            raise self._read_failure(
                response.status_code, response.content, self._whose, wait
            ) from None


def id_in(content: dict[str, Any], what: str) -> str:
    """The id in a response. Raises CallFailed if there is none."""
    name = content.get("id")
    if not isinstance(name, str) or not name:
        raise CallFailed(
            calls.SERVER, f"the service gave the {what} no id", body=json.dumps(content)[:MOST_BODY]
        )
    return name


async def write_lines(pieces: AsyncIterator[bytes], file: BinaryIO, most: int) -> None:
    """Write a download, and end it with a line break. Raises CallFailed if the file has more bytes
    than `most`.
    """
    last = b"\n"
    async for piece in pieces:
        file.write(piece)
        calls.check_size(file.tell(), most)
        last = piece[-1:] or last
    if last != b"\n":
        file.write(b"\n")
