"""The batch services of OpenAI, of Azure OpenAI, and of servers that speak OpenAI's protocol of files and batches.

A batch is a file of chat completions, a line each, that is uploaded and then submitted with our token in its metadata.
When it has ended there are up to two files: of replies, and of what came to nothing. Everything is read as it came: the
package's own types would lose what they do not expect (Azure's older versions write states and dates differently).
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import httpx2
import openai

from metal.data.files import naming
from metal.raters.judges import call as calls
from metal.raters.judges.call import BatchLimits, CallFailed, ModelRequest, Reply, Status
from metal.raters.judges.models import Model
from metal.raters.judges.providers.failures import MOST_BODY, as_object, one_line, read_json, retry_after, without_keys
from metal.raters.judges.providers.openai_like import connect, lost, request_body, whose
from metal.raters.judges.providers.openai_results import read_code, read_http_failure, read_result
from metal.raters.judges.secrets import Secrets

OURS = "metal"  # what our token is called in a batch's metadata
LIMITS = {  # requests and bytes of a file, a margin below what is written in the services' documentation
    "openai": BatchLimits(50_000, 190_000_000),
    "azure": BatchLimits(100_000, 190_000_000),
    "openai-compatible": BatchLimits(50_000, 190_000_000),
}
ENDED = ("completed", "failed", "expired", "cancelled", "canceled")
OLDEST = 35 * 86_400.0  # seconds; results are kept for 30 days, so an older batch is of no use
_PAGE = 100  # batches a page of the list, the most there may be
_PATIENCE = 120.0  # seconds for an answer, and between two pieces of a file
_BYTES_A_SECOND = 100_000  # of a slow line: how long an upload or a download may take as a whole


def open_batch_client(model: Model) -> OpenAIBatch:
    """The batch service of an openai:, azure: or openai-compatible: model.

    Raises UsageError when a key or an address is missing.
    """
    return OpenAIBatch(connect(model)[0], model)


class OpenAIBatch:
    """A BatchClient of one model."""

    def __init__(self, client: openai.AsyncOpenAI, model: Model) -> None:
        self._client, self._model = client, model
        self._whose, self._secrets = whose(model, client), Secrets.of([model])
        self._endpoint = "/chat/completions" if model.provider == "azure" else "/v1/chat/completions"

    @property
    def limits(self) -> BatchLimits:
        """Requests and bytes of one file. How many tokens may wait depends on the account, and is not told."""
        return LIMITS[self._model.provider]

    async def close(self) -> None:
        """Give back connections."""
        await self._client.close()

    # ------------------------------------------------------------ requests

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """The line of a request. Raises CallFailed (REJECTED) for a text that no UTF-8 can hold, as a call does."""
        body = request_body(self._model.model, ask)
        asked = {"custom_id": key, "method": "POST", "url": self._endpoint, "body": body}
        try:
            return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode()
        except (ValueError, TypeError) as error:
            raise CallFailed(calls.REJECTED, one_line(f"cannot be sent: {error}")) from None

    async def upload(self, file: Path, token: str) -> str:
        """Upload a file, read from the disk as it goes, and wait until the service has looked at it."""
        seconds = _PATIENCE + file.stat().st_size / _BYTES_A_SECOND
        async with self._guarded(seconds):
            with file.open("rb") as content:
                sent = await self._client.files.with_raw_response.create(
                    file=(f"metal-{token}.jsonl", content, "application/jsonl"), purpose="batch", timeout=_PATIENCE
                )
            answer, pause = read_json(sent.content), 0.2
            name = _id_in(answer, "file")
            while _state(answer) in ("pending", "running"):  # Azure's files; OpenAI's are there at once
                await asyncio.sleep(pause)
                pause = min(2 * pause, 10.0)
                answer = await self._get(f"/files/{_quoted(name)}")
        if _state(answer) == "error":
            reason = answer.get("status_details")
            raise CallFailed(calls.REJECTED, one_line(f"the request file was refused: {reason}"))
        return name

    async def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch with this file, and the token in its metadata."""
        asked = {"input_file_id": uploaded, "endpoint": self._endpoint, "completion_window": "24h"}
        try:
            async with self._guarded():
                return _id_in(await self._post("/batches", asked | {"metadata": {OURS: token}}), "batch")
        except CallFailed as refused:
            if refused.status == 404 and uploaded in refused.message:  # not the model: uploading once more mends it
                raise CallFailed(calls.SERVER, f"the uploaded file is gone; {refused.message}", status=404) from None
            raise

    async def forget(self, uploaded: str) -> None:
        """Delete a request file; one that is gone is no failure."""
        try:
            async with self._guarded():
                await self._client.delete(f"/files/{_quoted(uploaded)}", cast_to=httpx2.Response)
        except CallFailed as refused:
            if refused.status != 404:
                raise

    # ------------------------------------------------------------ batches

    async def find(self, token: str) -> str | None:
        """The batch with this token, among all that were made within the time that results are kept."""
        after, seen = "", set[str]()
        async with self._guarded(5 * _PATIENCE):
            while True:
                query = {"limit": _PAGE} | ({"after": after} if after else {})
                page = await self._get("/batches", query)
                data = page.get("data")
                if not isinstance(data, list):
                    raise CallFailed(calls.SERVER, "the list of batches is none", body=json.dumps(page)[:MOST_BODY])
                batches = [batch for batch in map(as_object, data) if batch.get("id")]
                for batch in batches:
                    if as_object(batch.get("metadata")).get(OURS) == token:
                        return str(batch["id"])
                ids = [str(batch["id"]) for batch in batches]
                if not page.get("has_more") or not set(ids) - seen or _created(batches[-1]) < time.time() - OLDEST:
                    return None
                seen |= set(ids)
                after = ids[-1]

    async def status(self, batch: str) -> Status:
        """How far a batch is. A failed one of which something was answered is one that ended, to be fetched."""
        async with self._guarded():
            content = await self._get(f"/batches/{_quoted(batch)}")
        stage, counts = _state(content), as_object(content.get("request_counts"))
        done = [count for count in (counts.get("completed"), counts.get("failed")) if isinstance(count, int)]
        refused = stage == "failed" and not counts.get("completed")
        return Status(stage, stage in ENDED, sum(done) if done else None, self._refusal(content) if refused else None)

    async def cancel(self, batch: str) -> None:
        """Ask a batch to stop; one that has ended or is stopping already is left alone."""
        try:
            async with self._guarded():
                await self._post(f"/batches/{_quoted(batch)}/cancel")
        except CallFailed as refused:
            if refused.status not in (400, 409):
                raise
            now = await self.status(batch)
            if not now.ended and now.stage != "cancelling":
                raise refused from None

    def _refusal(self, batch: dict[str, Any]) -> CallFailed:
        """Why a batch failed as a whole: the first of its errors."""
        listed = as_object(batch.get("errors")).get("data")
        error = as_object(listed[0] if isinstance(listed, list) and listed else None)
        code = str(error.get("code") or "")
        message = str(error.get("message") or "") or code
        if not message:
            return CallFailed(calls.SERVER, "the batch failed, and does not say why")
        where = f" (line {error['line']})" if isinstance(error.get("line"), int) else ""
        failed = read_code(code, f"{message}{where}", str(error.get("param") or ""), self._whose)
        return without_keys(failed, self._secrets)

    # ------------------------------------------------------------ results

    async def fetch(self, batch: str, into: Path) -> None:
        """Write the lines of both files, replies first. A download that breaks off leaves nothing under `into`."""
        async with self._guarded():
            content = await self._get(f"/batches/{_quoted(batch)}")
        partial = into.with_name(f".{into.name}.part")
        try:
            with naming(partial), partial.open("wb") as file:
                for name in filter(None, (content.get("output_file_id"), content.get("error_file_id"))):
                    seconds = _PATIENCE + LIMITS[self._model.provider].bytes * 4 / _BYTES_A_SECOND
                    async with (
                        self._guarded(seconds),
                        self._client.files.with_streaming_response.content(str(name), timeout=_PATIENCE) as answer,
                    ):
                        last = b"\n"
                        async for piece in answer.iter_bytes(1 << 20):
                            file.write(piece)
                            last = piece[-1:] or last
                    if last != b"\n":
                        file.write(b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, into)
        finally:
            partial.unlink(missing_ok=True)

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """(key, reply or failure) of a line of either file. Raises CallFailed (SERVER) for one that has no key."""
        return read_result(line, self._whose)

    # ------------------------------------------------------------ connection

    async def _get(self, path: str, query: dict[str, Any] | None = None) -> dict[str, Any]:
        response = await self._client.get(
            path, cast_to=httpx2.Response, options={"params": query or {}, "timeout": _PATIENCE}
        )
        return read_json(response.content)

    async def _post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        response = await self._client.post(path, cast_to=httpx2.Response, body=body, options={"timeout": _PATIENCE})
        return read_json(response.content)

    @asynccontextmanager
    async def _guarded(self, seconds: float = _PATIENCE) -> AsyncIterator[None]:
        """Whatever goes wrong with a request becomes a CallFailed, without the key that some services echo."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise CallFailed(calls.TIMEOUT, f"no whole answer in {seconds:g} s") from None
        except openai.APIStatusError as error:
            response = error.response
            wait = retry_after(response.headers)
            failed = read_http_failure(response.status_code, response.content, self._whose, wait)
            raise without_keys(failed, self._secrets) from None
        except (openai.APIConnectionError, httpx2.TransportError, aiohttp.ClientError, ConnectionError) as error:
            raise lost(self._client.base_url.host, error) from None
        except (ValueError, httpx2.HTTPError) as error:
            raise CallFailed(calls.REJECTED, one_line(f"cannot be sent: {error}")) from None


def _id_in(content: dict[str, Any], what: str) -> str:
    """The id in an answer. Raises CallFailed when there is none."""
    name = content.get("id")
    if not isinstance(name, str) or not name:
        raise CallFailed(calls.SERVER, f"a {what} was given no id", body=json.dumps(content)[:MOST_BODY])
    return name


def _quoted(name: str) -> str:
    """An id as a part of an address; one from a hostile server leads nowhere else."""
    return quote(name, safe="")


def _state(content: dict[str, Any]) -> str:
    """The state in small letters: older versions of Azure's begin with capitals."""
    return str(content.get("status") or "").lower()


def _created(batch: dict[str, Any]) -> float:
    """When a batch was created, in seconds like time.time(): a number or, in older Azure, a date; else now."""
    created = batch.get("created_at")
    if isinstance(created, int | float):
        return float(created)
    try:
        return datetime.fromisoformat(str(created)).timestamp()
    except (ValueError, OverflowError):
        return time.time()
