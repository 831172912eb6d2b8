"""The batch services of OpenAI, Azure OpenAI, and servers with OpenAI's protocol of files and
batches.

A batch is a file of chat completions, one per line. It is uploaded, and then submitted with our
token in its metadata. After its end, there are up to two files: one of replies, and one of
failures. METAL reads the raw JSON, because the package's types would lose unexpected parts (Azure's
older versions write states and dates differently).
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import openai

from metal.data.files import naming, new_file
from metal.raters.judges import call as calls
from metal.raters.judges.call import BatchLimits, CallFailed, ModelRequest, Reply, Status
from metal.raters.judges.models import Model
from metal.raters.judges.providers import openai_like
from metal.raters.judges.providers.failures import (
    MOST_BODY,
    as_object,
    failure,
    key_in,
    one_line,
    read_json,
)
from metal.raters.judges.providers.posting import (
    BYTES_A_SECOND,
    PATIENCE,
    BatchConnection,
    id_in,
    write_lines,
)

OURS = "metal"  # what our token is called in a batch's metadata
# of a file; like the requests, a margin below what the services' documentation says
MOST_BYTES = 190_000_000
_MOST_RESULTS = 4 * MOST_BYTES
ENDED = ("completed", "failed", "expired", "cancelled", "canceled")
OLDEST = 35 * 86_400.0  # seconds; results are kept for 30 days, so an older batch is of no use
_PAGE = 100  # batches per page of the list, the most there may be
_BODY = re.compile(r'"body"\s*:\s*')
# What error codes mean that do not come with a telling HTTP status.
_KINDS = {
    calls.BUSY: re.compile(
        r"tokens?_?limit|enqueued|rate_?limit|too_many_(?:batches|requests)", re.I
    ),
    calls.QUOTA: re.compile(r"billing|insufficient_quota|quota_exceeded", re.I),
    calls.UNKNOWN_MODEL: re.compile(r"(?:model|deployment)_?not_?found", re.I),
    calls.SERVER: re.compile(r"server|internal|timeout|unavailable", re.I),
}
_NEVER_ASKED = ("batch_expired", "batch_cancelled", "batch_canceled")
# Fields of a line that an error may name and that are not parameters of a model.
_FIELDS = (
    "model",
    "custom_id",
    "url",
    "method",
    "body",
    "endpoint",
    "input_file_id",
    "metadata",
    "line",
)


def open_batch_client(model: Model) -> OpenAIBatch:
    """The batch service of an openai:, azure: or openai-compatible: model.

    Raises UsageError if a key or an address is missing.
    """
    return OpenAIBatch(openai_like.connect(model)[0], model)


class OpenAIBatch(BatchConnection):
    """A BatchClient of one model. How many tokens may wait depends on the account, and is not
    disclosed.
    """

    def __init__(self, client: openai.AsyncOpenAI, model: Model) -> None:
        super().__init__(openai, client, openai_like.whose(model, client), read_http_failure)
        self._model, azure = model, model.provider == "azure"
        self._endpoint = "/chat/completions" if azure else "/v1/chat/completions"
        self.limits = BatchLimits(100_000 if azure else 50_000, MOST_BYTES)

    # ------------------------------------------------------------ requests

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """The line of a request. Like a call, it raises CallFailed (REJECTED) for a text that UTF-8
        cannot hold.
        """
        body = openai_like.request_body(self._model.model, ask)
        asked = {"custom_id": key, "method": "POST", "url": self._endpoint, "body": body}
        try:
            return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode()
        except (ValueError, TypeError) as error:
            raise CallFailed(calls.REJECTED, one_line(f"cannot be sent: {error}")) from None

    async def upload(self, file: Path, token: str) -> str:
        """Upload a file, reading it from the disk piece by piece, and wait until the service has
        checked it.
        """
        seconds = PATIENCE + file.stat().st_size / BYTES_A_SECOND
        async with self._guarded(seconds):
            with file.open("rb") as content:
                sent = await self._client.files.with_raw_response.create(
                    file=(f"metal-{token}.jsonl", content, "application/jsonl"),
                    purpose="batch",
                    timeout=PATIENCE,
                )
            answer, pause = read_json(sent.content), 0.2
            name = id_in(answer, "file")
            # Azure's files; OpenAI's are there at once
            while _state(answer) in ("pending", "running"):
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
            return id_in(await self._post("/batches", asked | {"metadata": {OURS: token}}), "batch")
        except CallFailed as refused:
            # not the model: uploading once more mends it
            if refused.status == 404 and uploaded in refused.message:
                raise CallFailed(
                    calls.SERVER, f"the uploaded file is gone; {refused.message}", status=404
                ) from None
            raise

    async def forget(self, uploaded: str) -> None:
        """Delete a request file."""
        async with self._guarded():
            await self._client.delete(f"/files/{_quoted(uploaded)}", cast_to=httpx2.Response)

    # ------------------------------------------------------------ batches

    async def find(self, token: str) -> str | None:
        """The batch with this token. It is looked for among batches that are not older than the
        newest by more than the time for which results are kept.

        Times are compared only with each other. If our clock were used and wrong by a month, a
        batch might seem too old and be paid twice.
        """
        after, seen, newest = "", set[str](), 0.0
        async with self._guarded(5 * PATIENCE):
            while True:
                query = {"limit": _PAGE} | ({"after": after} if after else {})
                page = await self._get("/batches", query)
                data = page.get("data")
                if not isinstance(data, list):
                    raise CallFailed(
                        calls.SERVER,
                        "the list of batches is not a list",
                        body=json.dumps(page)[:MOST_BODY],
                    )
                batches = [batch for batch in map(as_object, data) if batch.get("id")]
                for batch in batches:
                    if as_object(batch.get("metadata")).get(OURS) == token:
                        return str(batch["id"])
                ids = [str(batch["id"]) for batch in batches]
                newest = max([newest, *filter(math.isfinite, map(_created, batches))])
                if (
                    not page.get("has_more")
                    or not set(ids) - seen
                    or _created(batches[-1]) < newest - OLDEST
                ):
                    return None
                seen |= set(ids)
                after = ids[-1]

    async def status(self, batch: str) -> Status:
        """The status of a batch. A failed batch with some answers counts as ended, so that these
        are fetched.
        """
        content = await self._get(f"/batches/{_quoted(batch)}")
        stage, counts = _state(content), as_object(content.get("request_counts"))
        done = [
            count
            for count in (counts.get("completed"), counts.get("failed"))
            if isinstance(count, int)
        ]
        refusal = None
        if stage == "failed" and not counts.get("completed"):
            refusal = self._refusal(content)
        return Status(stage, stage in ENDED, sum(done) if done else None, refusal)

    async def cancel(self, batch: str) -> None:
        """Ask a batch to stop."""
        await self._post(f"/batches/{_quoted(batch)}/cancel")

    def _refusal(self, batch: dict[str, Any]) -> CallFailed:
        """Why a batch failed as a whole, from the first of its errors."""
        listed = as_object(batch.get("errors")).get("data")
        error = as_object(listed[0] if isinstance(listed, list) and listed else None)
        code = str(error.get("code") or "")
        message = str(error.get("message") or "") or code
        if not message:
            return CallFailed(calls.SERVER, "the batch failed and does not say why")
        in_line = f" (line {error['line']})" if isinstance(error.get("line"), int) else ""
        return read_code(code, f"{message}{in_line}", str(error.get("param") or ""), self._whose)

    # ------------------------------------------------------------ results

    async def fetch(self, batch: str, into: Path) -> None:
        """Write the lines of both files to `into`, replies first. A broken download leaves no file
        there.
        """
        content = await self._get(f"/batches/{_quoted(batch)}")
        seconds = PATIENCE + _MOST_RESULTS / BYTES_A_SECOND
        with new_file(into) as partial, naming(partial), partial.open("wb") as file:
            for name in filter(None, (content.get("output_file_id"), content.get("error_file_id"))):
                async with (
                    self._guarded(seconds),
                    self._client.files.with_streaming_response.content(
                        str(name), timeout=PATIENCE
                    ) as answer,
                ):
                    await write_lines(answer.iter_bytes(1 << 20), file, _MOST_RESULTS)

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """(key, reply or failure) of a line of either file. Raises CallFailed (SERVER) for one that
        has no key.
        """
        return read_result(line, self._whose)


def _quoted(name: str) -> str:
    """Quote an id for an address, so that an id from a hostile server cannot lead elsewhere."""
    return quote(name, safe="")


def _state(content: dict[str, Any]) -> str:
    """The state in small letters, because older versions of Azure write it with a capital."""
    return str(content.get("status") or "").lower()


def _created(batch: dict[str, Any]) -> float:
    """When a batch was created, in seconds since 1970, from a number or, in older Azure, a date;
    infinite if there is neither.
    """
    created = batch.get("created_at")
    if isinstance(created, int | float):
        return float(created)
    try:
        return datetime.fromisoformat(str(created)).timestamp()
    except (ValueError, OverflowError):
        return math.inf


# ---------------------------------------------------------------- lines of results


def read_result(line: bytes, whose: str) -> tuple[str, Reply | CallFailed]:
    """(key, reply or failure) of a line of either file. Raises CallFailed (SERVER) for one that has
    no key.
    """
    result = read_json(line)
    key = key_in(line, result.get("custom_id"))
    response, error = as_object(result.get("response")), as_object(result.get("error"))
    try:
        if not response:
            return key, _without_response(error, line, whose)
        return key, _read_response(response, error, line, whose)
    except CallFailed as failed:
        return key, failed


def _read_response(
    response: dict[str, Any], error: dict[str, Any], line: bytes, whose: str
) -> Reply:
    status, body = response.get("status_code"), _body_of(line, response.get("body"))
    status = int(status) if isinstance(status, str) and re.fullmatch("[0-9]{3}", status) else status
    if status == 200:
        return openai_like.read_body(body)
    if response.get("body") is None and error:
        body = json.dumps({"error": error}).encode()
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise CallFailed(
            calls.SERVER,
            "a result without status",
            body=body[:MOST_BODY].decode("utf-8", "replace"),
        )
    raise read_http_failure(status, body, whose)


def _without_response(error: dict[str, Any], line: bytes, whose: str) -> CallFailed:
    """The failure behind a line without a response. Most often, the request was never asked."""
    code = str(error.get("code") or "")
    message = str(error.get("message") or "") or code
    if code in _NEVER_ASKED:
        return CallFailed(calls.EXPIRED, one_line(message))
    if code == "request_timeout":
        return CallFailed(calls.TIMEOUT, one_line(message))
    failed = read_code(code, message, str(error.get("param") or ""), whose)
    if failed.kind != calls.REJECTED:
        return failed
    text = line[:MOST_BODY].decode("utf-8", "replace")  # nothing says that the request is at fault
    return CallFailed(calls.SERVER, one_line(message or "a result without a reply"), body=text)


def read_code(code: str, message: str, parameter: str, whose: str) -> CallFailed:
    """The failure behind an error without an HTTP status, of a whole batch or of a line."""
    for kind, pattern in _KINDS.items():
        if pattern.search(code):
            return CallFailed(
                kind, one_line(f"{whose}; {message}" if kind == calls.UNKNOWN_MODEL else message)
            )
    named = parameter.removeprefix("body.")
    field = named.split(".")[0].split("[")[0]
    if field in _FIELDS:  # a line that is built wrongly, whatever words say so
        return CallFailed(calls.REJECTED, one_line(message))
    failed = failure(400, message, code=code, parameter=named, whose=whose)
    return CallFailed(failed.kind, one_line(message), parameter=failed.parameter)


def read_http_failure(status: int, body: bytes, whose: str, wait: float = 0.0) -> CallFailed:
    """The failure behind an HTTP error. The code may say more than the status, because an exhausted
    account also answers with 400.
    """
    failed = openai_like.read_failure(status, body, whose, wait)
    if status in (400, 403, 429) and failed.kind != calls.TOO_LONG:
        code = str(openai_like.error_in(body).get("code") or "")
        for kind in (calls.BUSY, calls.QUOTA):
            if _KINDS[kind].search(code):
                return CallFailed(kind, failed.message, status=status, wait=wait)
    return failed


def _body_of(line: bytes, body: object) -> bytes:
    """The bytes of a response's body as they are in its line. If they are not found, the body is
    written as new JSON.
    """
    text = line.decode(json.detect_encoding(line), "replace")
    decode = json.JSONDecoder().raw_decode
    for match in _BODY.finditer(text):
        try:
            value, end = decode(text, match.end())
            if value == body:
                return text[match.end() : end].encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            continue
    return json.dumps(body).encode()
