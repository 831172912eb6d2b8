"""How Google speaks of a batch, in METAL's terms: states, errors of the whole and of lines, names."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import ParamSpec, TypeVar

from metal.raters.judges import call as calls
from metal.raters.judges.batch.contract import Status
from metal.raters.judges.call import CallFailed
from metal.raters.judges.models import Model
from metal.raters.judges.providers.failures import failure, one_line, retry_delay
from metal.raters.judges.secrets import Secrets

P = ParamSpec("P")
T = TypeVar("T")
# Waiting requests are what RESOURCE_EXHAUSTED is about here, though its words may speak of plans and billing.
QUEUE_FULL = "rate_limit_exceeded"
ENDED = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
# google.rpc.Code: number, name, HTTP status of ours.
_RPC = {
    1: ("CANCELLED", 499),
    2: ("UNKNOWN", 500),
    3: ("INVALID_ARGUMENT", 400),
    4: ("DEADLINE_EXCEEDED", 504),
    5: ("NOT_FOUND", 404),
    6: ("ALREADY_EXISTS", 409),
    7: ("PERMISSION_DENIED", 403),
    8: ("RESOURCE_EXHAUSTED", 429),
    9: ("FAILED_PRECONDITION", 400),
    10: ("ABORTED", 409),
    11: ("OUT_OF_RANGE", 400),
    12: ("UNIMPLEMENTED", 400),
    13: ("INTERNAL", 500),
    14: ("UNAVAILABLE", 503),
    15: ("DATA_LOSS", 500),
    16: ("UNAUTHENTICATED", 401),
}
_BY_NAME = dict(_RPC.values())


class Threads:
    """Where blocking calls are made; no key is in what goes wrong with them."""

    def __init__(self, model: Model) -> None:
        self._secrets = Secrets.of([model])

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` returns; it is called on a thread."""
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except CallFailed as failed:
            raise self.without_keys(failed) from None

    def without_keys(self, failed: CallFailed) -> CallFailed:
        """The same failure, should the service have repeated a key."""
        failed.said, failed.body = (
            self._secrets.hidden(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
            for text in (failed.said, failed.body)
        )
        return failed


def batch_name(token: str) -> str:
    """What a batch is called where people see it, and found by."""
    return f"metal-{token}"


def job_status(state: str, answered: int, failed: int, failure: CallFailed | None, *, counted: bool = True) -> Status:
    """The status behind JOB_STATE_...; answered, failed: requests, where they are counted.

    A failed batch with answers is no failure as a whole: they can be fetched.
    """
    stage = state.removeprefix("JOB_STATE_")
    refused = None
    if stage == "FAILED" and not answered:
        refused = failure or CallFailed(calls.SERVER, "the batch failed, and does not say why")
    done = answered + failed if counted else None
    return Status(stage.lower().replace("_", " ") or "unknown", stage in ENDED, done, refused)


async def ask_to_cancel(cancel: Awaitable[None], status: Callable[[], Awaitable[Status]]) -> None:
    """Cancel a batch. One that has ended cannot be cancelled, nor one that is being; both are as good."""
    try:
        await cancel
    except CallFailed as refused:
        now = await status()
        if not now.ended and now.stage != "cancelling":
            raise refused from None


def file_gone(refused: CallFailed, uploaded: str) -> CallFailed:
    """What refused a batch; when it was that its file is not there, uploading it once more mends it."""
    gone = refused.status in (400, 404) or "not exist" in refused.said
    if gone and uploaded.removeprefix("files/") in refused.said:
        return CallFailed(calls.SERVER, f"the uploaded file is gone; {refused.said}", status=refused.status)
    return refused


def told_failure(error: object, whose: str) -> CallFailed:
    """What a google.rpc.Status means, or the text of one: {"code", "message"}, or `Bad Request: {"error": {...}}`."""
    if isinstance(error, Mapping):
        if isinstance(error.get("error"), Mapping):
            return told_failure(error["error"], whose)
        code, name = error.get("code"), str(error.get("status") or "")
        number = code if isinstance(code, int) else int(code) if isinstance(code, str) and code.isdigit() else 0
        status = _BY_NAME.get(name) or (_RPC[number][1] if number in _RPC else number if 400 <= number < 600 else 500)
        said = str(error.get("message") or name or json.dumps(dict(error), default=str))
        if status == 499:  # the batch came to its end before
            return CallFailed(calls.EXPIRED, one_line(said))
        return failure(status, said, code=QUEUE_FULL, wait=retry_delay(dict(error)), whose=whose)
    text = str(error or "")
    inner = re.search(r"\{.*\}", text, re.S)
    if inner:
        try:
            found = json.loads(inner[0])
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and found:
            return told_failure(found, whose)
    if not text:
        return CallFailed(calls.SERVER, "a result with neither reply nor error")
    if re.search(r"expired|cancell?ed", text, re.I):
        return CallFailed(calls.EXPIRED, one_line(text))
    http = re.search(r"\b[45]\d\d\b", text)
    named = next((status for name, status in _BY_NAME.items() if name in text.upper().replace(" ", "_")), 500)
    return failure(int(http[0]) if http else named, one_line(text), code=QUEUE_FULL, whose=whose)
