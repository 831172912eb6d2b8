"""What stands in the result files of OpenAI's batches, and what their errors mean."""

from __future__ import annotations

import json
import re
from typing import Any

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Reply
from metal.raters.judges.providers.failures import MOST_BODY, as_object, failure, one_line, read_json
from metal.raters.judges.providers.openai_like import read_body, read_failure

_BODY = re.compile(r'"body"\s*:\s*')
# What error codes mean that do not come with a telling HTTP status.
_BUSY = re.compile(r"tokens?_?limit|enqueued|rate_?limit|too_many_(?:batches|requests)", re.I)
_QUOTA = re.compile(r"billing|insufficient_quota|quota_exceeded", re.I)
_UNKNOWN = re.compile(r"(?:model|deployment)_?not_?found", re.I)
_SERVER = re.compile(r"server|internal|timeout|unavailable", re.I)
_NEVER_ASKED = ("batch_expired", "batch_cancelled", "batch_canceled")
# Fields of a line that an error may name and that are no parameters of a model.
_FIELDS = ("model", "custom_id", "url", "method", "body", "endpoint", "input_file_id", "metadata", "line")


def read_result(line: bytes, whose: str) -> tuple[str, Reply | CallFailed]:
    """(key, reply or failure) of a line of either file. Raises CallFailed (SERVER) for one that has no key."""
    result = read_json(line)
    key = result.get("custom_id")
    if not isinstance(key, str) or not key:
        text = line.decode("utf-8", "replace")
        raise CallFailed(calls.SERVER, one_line(f"a result without custom_id: {text[:200]}"), body=text[:MOST_BODY])
    response, error = as_object(result.get("response")), as_object(result.get("error"))
    try:
        if not response:
            return key, _without_response(error, line, whose)
        return key, _read_response(response, error, line, whose)
    except CallFailed as failed:
        return key, failed


def _read_response(response: dict[str, Any], error: dict[str, Any], line: bytes, whose: str) -> Reply:
    status, body = response.get("status_code"), _body_of(line, response.get("body"))
    status = int(status) if isinstance(status, str) and re.fullmatch("[0-9]{3}", status) else status
    if status == 200:
        return read_body(body)
    if response.get("body") is None and error:
        body = json.dumps({"error": error}).encode()
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise CallFailed(calls.SERVER, "a result without status", body=body[:MOST_BODY].decode("utf-8", "replace"))
    raise read_http_failure(status, body, whose)


def _without_response(error: dict[str, Any], line: bytes, whose: str) -> CallFailed:
    """What a line without a response says: most often that the request was never asked."""
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
    """An error without HTTP status: of a batch as a whole, or of a line."""
    if _BUSY.search(code):
        return CallFailed(calls.BUSY, one_line(message))
    if _QUOTA.search(code):
        return CallFailed(calls.QUOTA, one_line(message))
    if _UNKNOWN.search(code):
        return CallFailed(calls.UNKNOWN_MODEL, one_line(f"{whose}; {message}"))
    if _SERVER.search(code):
        return CallFailed(calls.SERVER, one_line(message))
    named = parameter.removeprefix("body.")
    field = named.split(".")[0].split("[")[0]
    if field in _FIELDS:  # a line that is built wrongly, whatever words say so
        return CallFailed(calls.REJECTED, one_line(message))
    failed = failure(400, message, code=code, parameter=named, whose=whose)
    return CallFailed(failed.kind, one_line(message), parameter=failed.parameter)


def read_http_failure(status: int, body: bytes, whose: str, wait: float = 0.0) -> CallFailed:
    """An HTTP error, where the code says more than the status: an account that is used up answers with 400 as well."""
    failed = read_failure(status, body, whose, wait)
    try:
        code = str(as_object(as_object(json.loads(body)).get("error")).get("code") or "")
    except (ValueError, RecursionError):
        return failed
    if status in (400, 403, 429) and failed.kind != calls.TOO_LONG:
        if _BUSY.search(code):
            return CallFailed(calls.BUSY, failed.message, status=status, wait=wait)
        if _QUOTA.search(code):
            return CallFailed(calls.QUOTA, failed.message, status=status)
    return failed


def _body_of(line: bytes, body: object) -> bytes:
    """The body of a response as it stands in its line, else written anew."""
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
