"""How Google speaks of a batch, in METAL's terms: states, errors of a batch and of its lines, names."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Status
from metal.raters.judges.providers.failures import failure, one_line, retry_delay, without_keys

P = ParamSpec("P")
T = TypeVar("T")
# Waiting requests are what RESOURCE_EXHAUSTED is about here, though its words may speak of plans and billing.
QUEUE_FULL = "rate_limit_exceeded"
ENDED = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
# google.rpc.Code, in the order of its numbers, with the HTTP status of each.
_STATUS = {
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 400,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DATA_LOSS": 500,
    "UNAUTHENTICATED": 401,
}
_STATUS_OF_NUMBER = dict(enumerate(_STATUS.values(), 1))


def on_thread(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """A method that blocks, as a coroutine method: it runs on a thread, and its failures hold no key.

    The object has its keys in `secrets`.
    """

    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.to_thread(method, self, *args, **kwargs)
        except CallFailed as failed:
            raise without_keys(failed, self.secrets) from None

    return call


def batch_name(token: str) -> str:
    """What a batch is called where people see it; it is also found by this name."""
    return f"metal-{token}"


def job_status(state: str, answered: int, failed: int, failure: CallFailed | None, *, counted: bool = True) -> Status:
    """The status behind JOB_STATE_... answered, failed: requests, where they are counted.

    A failed batch with answers has not failed as a whole: they can be fetched.
    """
    stage = state.removeprefix("JOB_STATE_")
    refused = None
    if stage == "FAILED" and not answered:
        refused = failure or CallFailed(calls.SERVER, "the batch failed, and does not say why")
    done = answered + failed if counted else None
    return Status(stage.lower().replace("_", " ") or "unknown", stage in ENDED, done, refused)


async def ask_to_cancel(cancel: Awaitable[None], status: Callable[[], Awaitable[Status]]) -> None:
    """Cancel a batch. One that has ended or is being cancelled refuses, which is as good."""
    try:
        await cancel
    except CallFailed as refused:
        now = await status()
        if not now.ended and now.stage != "cancelling":
            raise refused from None


def file_gone(refused: CallFailed, uploaded: str) -> CallFailed:
    """What refused a batch; when its file is no longer there, a failure that uploading it once more mends."""
    gone = refused.status in (400, 404) or "not exist" in refused.message
    if gone and uploaded.removeprefix("files/") in refused.message:
        return CallFailed(calls.SERVER, f"the uploaded file is gone; {refused.message}", status=refused.status)
    return refused


def read_error(error: object, whose: str) -> CallFailed:
    """What a google.rpc.Status means, or the text of one: {"code", "message"}, or `Bad Request: {"error": {...}}`."""
    if isinstance(error, Mapping):
        inner = error.get("error")
        return _read_status(inner if isinstance(inner, Mapping) else error, whose)
    text = str(error or "")
    if match := re.search(r"\{.*\}", text, re.S):
        try:
            inner = json.loads(match[0])
        except (ValueError, RecursionError):
            inner = None
        if isinstance(inner, dict) and inner:
            return read_error(inner, whose)
    if not text:
        return CallFailed(calls.SERVER, "a result with neither reply nor error")
    if re.search(r"expired|cancell?ed", text, re.I):
        return CallFailed(calls.EXPIRED, one_line(text))
    http = re.search(r"\b[45]\d\d\b", text)
    by_name = next((status for name, status in _STATUS.items() if name in text.upper().replace(" ", "_")), 500)
    return failure(int(http[0]) if http else by_name, one_line(text), code=QUEUE_FULL, whose=whose)


def _read_status(error: Mapping[str, Any], whose: str) -> CallFailed:
    name, code = str(error.get("status") or ""), str(error.get("code") or "")
    number = int(code) if code.isdigit() else 0
    status = _STATUS.get(name) or _STATUS_OF_NUMBER.get(number) or (number if 400 <= number < 600 else 500)
    message = str(error.get("message") or name or json.dumps(dict(error), default=str))
    if status == 499:  # the batch ended before this request's turn
        return CallFailed(calls.EXPIRED, one_line(message))
    return failure(status, message, code=QUEUE_FULL, wait=retry_delay(dict(error)), whose=whose)
