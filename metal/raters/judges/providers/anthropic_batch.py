"""Anthropic's Message Batches: half the price, an answer within a day.

A batch is submitted with its requests in one call, and has no field for our token. So the token is
in the `custom_id` of each request, after our key; `find` sees it in the results of ended batches.
While a batch is under way that this client did not begin, nobody can tell whether it has the token.
Then `find` raises an error, so that nothing is paid twice.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anthropic
import httpx2

from metal.data.files import naming, new_file
from metal.raters.judges import call as calls
from metal.raters.judges.call import BatchLimits, CallFailed, ModelRequest, Reply, Status
from metal.raters.judges.models import Model
from metal.raters.judges.providers import anthropic_messages
from metal.raters.judges.providers.failures import (
    as_object,
    encoded,
    key_in,
    read_json,
    retry_after,
)
from metal.raters.judges.providers.posting import (
    BYTES_A_SECOND,
    PATIENCE,
    BatchConnection,
    id_in,
    write_lines,
)

LIMITS = BatchLimits(100_000, 250_000_000)  # 256 MB by the documentation
_PATH = "/v1/messages/batches"
_PAGE = 100
_STATUS = {  # the HTTP status that an error in a result would have had
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def open_batch_client(model: Model) -> AnthropicBatch:
    """The batch service of an anthropic: model. Raises UsageError if the key is missing."""
    return AnthropicBatch(*anthropic_messages.connect(model), model)


class AnthropicBatch(BatchConnection):
    """A BatchClient of one model."""

    limits = LIMITS

    def __init__(
        self, client: anthropic.AsyncAnthropic, http: httpx2.AsyncClient, model: Model
    ) -> None:
        super().__init__(
            anthropic,
            client,
            anthropic_messages.whose(model, client),
            anthropic_messages.read_failure,
        )
        self._http, self._model = http, model
        self._begun: set[str] = set()  # by this client

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """The line of a request."""
        return encoded(
            {"custom_id": key, "params": anthropic_messages.request_body(self._model.model, ask)}
        )

    async def upload(self, file: Path, token: str) -> str:
        """Return the file's path, because the file is sent only when the batch is submitted."""
        return str(file.resolve())

    async def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch with the requests of this file. Raises CallFailed."""
        try:
            lines = Path(uploaded).read_bytes().splitlines()
        except FileNotFoundError:
            raise CallFailed(calls.SERVER, "the file of requests is gone") from None
        requests = list(map(json.loads, lines))
        for request in requests:
            request["custom_id"] += f"-{token}"
        seconds = PATIENCE + sum(map(len, lines)) / BYTES_A_SECOND
        name = id_in(await self._post(_PATH, {"requests": requests}, seconds), "batch")
        self._begun.add(name)
        return name

    async def find(self, token: str) -> str | None:
        """The batch whose requests have this token. Raises CallFailed while a batch under way may
        be this one.

        The service says whether it still keeps results (`archived_at`), because our clock may be
        wrong by weeks.
        """
        seen, unseen = set[str](), 0
        async for batch in self._listed():
            name = str(batch.get("id") or "")
            if name in self._begun or name in seen or batch.get("archived_at"):
                continue
            seen.add(name)
            if batch.get("processing_status") != "ended":
                unseen += 1
            elif f'-{token}"' in (await self._first_line(name)).replace(" ", ""):
                return name
        if unseen:
            raise CallFailed(
                calls.SERVER,
                f"{unseen} batches are in progress; only finished batches show to which run they"
                " belong",
            )
        return None

    async def _listed(self) -> AsyncIterator[dict[str, Any]]:
        """The batches of the account, page by page, up to the first page that ends with an archived
        batch.
        """
        after = ""
        while True:
            page = await self._get(_PATH, {"limit": _PAGE} | ({"after_id": after} if after else {}))
            data = page.get("data")
            batches = list(map(as_object, data)) if isinstance(data, list) else []
            for batch in batches:
                yield batch
            after = str(batches[-1].get("id") or "") if batches else ""
            if not page.get("has_more") or not after or batches[-1].get("archived_at"):
                return

    async def status(self, batch: str) -> Status:
        """How far a batch is."""
        content = await self._get(f"{_PATH}/{quote(batch, safe='')}")
        stage = str(content.get("processing_status") or "")
        counts = as_object(content.get("request_counts"))
        done = [
            count for name, count in counts.items() if name != "processing" and type(count) is int
        ]
        return Status(
            {"canceling": "cancelling"}.get(stage, stage),
            stage == "ended",
            sum(done) if done else None,
        )

    async def cancel(self, batch: str) -> None:
        """Ask a batch to stop."""
        await self._post(f"{_PATH}/{quote(batch, safe='')}/cancel")

    async def forget(self, uploaded: str) -> None:
        """Do nothing, because the file is on this machine."""

    async def fetch(self, batch: str, into: Path) -> None:
        """Write the lines of results to `into`. A broken download leaves no file there."""
        most = 4 * LIMITS.bytes
        with new_file(into) as partial, naming(partial), partial.open("wb") as file:
            async with (
                self._guarded(PATIENCE + most / BYTES_A_SECOND),
                self._results(batch) as answer,
            ):
                await write_lines(answer.aiter_bytes(1 << 20), file, most)

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """Read (key, reply or failure) from a line of results. Raises CallFailed (SERVER) for a
        line without a key.
        """
        content = read_json(line)
        key = key_in(line, str(content.get("custom_id") or "").partition("-")[0])
        result = as_object(content.get("result"))
        kind = str(result.get("type"))
        try:
            if kind == "succeeded":
                return key, anthropic_messages.read_body(encoded(as_object(result.get("message"))))
            if kind in ("expired", "canceled"):
                return key, CallFailed(calls.EXPIRED, f"the batch was {kind} before it was asked")
            error = as_object(result.get("error"))
            inner = as_object(error.get("error", error))
            status = _STATUS.get(str(inner.get("type")), 500)
            return key, anthropic_messages.read_failure(
                status, encoded({"error": inner}), self._whose
            )
        except CallFailed as failed:
            return key, failed

    # ------------------------------------------------------------ connection

    async def _first_line(self, batch: str) -> str:
        text = b""
        async with self._guarded(), self._results(batch) as answer:
            async for piece in answer.aiter_bytes(1 << 12):
                text += piece
                if b"\n" in text:
                    break
        return text.partition(b"\n")[0].decode("utf-8", "replace")

    @asynccontextmanager
    async def _results(self, batch: str) -> AsyncIterator[httpx2.Response]:
        """The lines of results as they come. (The package would parse each line.)"""
        url = f"{str(self._client.base_url).rstrip('/')}{_PATH}/{quote(batch, safe='')}/results"
        headers = {
            name: value
            for name, value in self._client.default_headers.items()
            if isinstance(value, str)
        }
        async with self._http.stream("GET", url, headers=headers) as response:
            if response.is_error:
                content = await response.aread()
                wait = retry_after(response.headers)
                raise anthropic_messages.read_failure(
                    response.status_code, content, self._whose, wait
                )
            yield response
