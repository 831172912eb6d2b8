"""What a provider's error means, by the same rules of status, error code and message for all
providers.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed

LONGEST = 300  # characters of a provider's message that are kept
MOST_BODY = 20_000  # characters of a body that is not a reply

_REJECTS = re.compile(
    r"unsupported|not support|n't support|not enabled|not allowed|not permitted|not available|only"
    r" the default|unknown|"
    r"unrecognized|unexpected|extra inputs|invalid|deprecated|cannot find field|must be",
    re.I,
)
# How messages speak of a parameter -> its name in Model.parameters; response_format is
# `structured`.
_PARAMETERS = {
    r"response_?format|output_config|output_?format|json_?schema|json mode|json_object|structured"
    r" output|"
    r"response_?(?:json_?)?schema|response_?mime_?type|guided": "response_format",
    r"temperature": "temperature",
    r"\bseed\b": "seed",
    r"max_tokens|max_output_tokens|maxoutputtokens": "max_tokens",
    r"top_p|topp": "top_p",
    r"top_k|topk": "top_k",
    r"logprobs": "logprobs",
}
_TOO_LONG = re.compile(
    r"context.{0,20}length|maximum context|too long|too large|token count .{0,40}exceeds", re.I
)
_QUOTA = re.compile(r"insufficient_quota|billing|credit balance|payment", re.I)
_FILTER = re.compile(
    r"content_filter|content management policy|responsible.?ai|safety|prohibited", re.I
)

_OF_STATUS = {
    401: calls.DENIED,
    403: calls.DENIED,
    404: calls.UNKNOWN_MODEL,
    402: calls.QUOTA,
    408: calls.SERVER,
    409: calls.SERVER,
    425: calls.SERVER,
}


def failure(
    status: int,
    message: str,
    *,
    code: str = "",
    parameter: str = "",
    wait: float = 0.0,
    whose: str = "",
) -> CallFailed:
    """The failure behind an HTTP error.

    code, parameter: as the error names them. wait: the seconds for which the provider asks to wait.
    whose: the key, model or deployment that the error is about, in words for people.
    """
    text = f"HTTP {status}: {one_line(message) or 'no message'}"
    kind = _kind(status, message, code, parameter, wait)
    if kind in (calls.DENIED, calls.UNKNOWN_MODEL):
        return CallFailed(kind, f"{whose}; {text}", status=status)
    if kind in (calls.BUSY, calls.SERVER):
        return CallFailed(kind, text, status=status, wait=wait)
    if kind == calls.REJECTED and (parameter or _REJECTS.search(f"{code} {message}")):
        rejected = _parameter(parameter, message)
        kind = calls.PARAMETER if rejected else kind
        return CallFailed(kind, text, status=status, parameter=rejected)
    return CallFailed(kind, text, status=status)


def _kind(status: int, message: str, code: str, parameter: str, wait: float) -> str:
    """The kind of failure behind an HTTP error; `REJECTED` if nothing is more specific."""
    code_and_message = f"{code} {message}"
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if status == 429:
        is_limit = wait or "rate_limit" in code or not _QUOTA.search(code_and_message)
        return calls.BUSY if is_limit else calls.QUOTA
    if status >= 500:
        return calls.SERVER
    if code == "content_filter" or (status == 400 and _FILTER.search(code_and_message)):
        return calls.BLOCKED
    if status == 413 or code == "context_length_exceeded":
        return calls.TOO_LONG
    # and not, say, a max_tokens too large
    about_texts = parameter in ("", "messages", "prompt", "input", "contents")
    return calls.TOO_LONG if about_texts and _TOO_LONG.search(message) else calls.REJECTED


def _parameter(named: str, message: str) -> str:
    """The parameter that an error is about: the one in its field, else the one in its message."""
    for text in filter(None, (named, message)):
        for pattern, name in _PARAMETERS.items():
            if re.search(pattern, text, re.I):
                return name
    return "" if "messages" in named else named.split(".")[0]


# What a code in a reply's body says -> the HTTP status that says the same. Others say that nothing
# came of the call.
_SAME_AS = {
    r"quota|billing|credit": 402,
    r"rate.?limit|too many requests": 429,
    r"api.?key|authenticat|unauthorized": 401,
    r"permission|forbidden": 403,
    r"model.?not.?found": 404,
    r"context.?length|content.?filter": 400,
}


def error_in_reply(error: object, body: bytes, whose: str = "the model") -> CallFailed:
    """The failure behind an error that came with status 200, as some routers send it.

    If the error contains an HTTP status, or a known code, this decides its kind. For any other
    error, the question is not asked again, because it would give the same error and may have been
    paid for.
    """
    fields = error if isinstance(error, dict) else {"message": error}
    message, codes = (
        str(fields.get("message") or ""),
        [fields.get("code"), fields.get("type"), fields.get("status")],
    )
    status = next((code for code in codes if type(code) is int and 400 <= code < 600), 0)
    named = " ".join(code for code in codes if isinstance(code, str))
    status = status or next(
        (same for code, same in _SAME_AS.items() if re.search(code, named, re.I)), 0
    )
    if status:
        return failure(status, message, code=named, whose=whose)
    text = f"an error instead of a reply: {one_line(message or json.dumps(error))}"
    return CallFailed(calls.NOT_A_REPLY, text, body=body.decode("utf-8", "replace")[:MOST_BODY])


def first_choice(choices: object) -> dict[str, Any]:
    """The choice with the lowest index in a reply, in whatever order choices come; empty if there
    is none.
    """
    listed = list(map(as_object, choices)) if isinstance(choices, list) else []
    places = [index if type(index := choice.get("index")) is int else 0 for choice in listed]
    return listed[places.index(min(places))] if listed else {}


def one_line(text: str) -> str:
    """A message as one short line."""
    line = " ".join(str(text).split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def retry_after(headers: Mapping[str, Any]) -> float:
    """The seconds for which a provider asks to wait, from retry-after-ms, or Retry-After in seconds
    or as a date; 0 if there is none.
    """
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = str(headers.get("retry-after") or headers.get("Retry-After") or "")
        if not value:
            return 0.0
        if re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
        now = headers.get("date") or headers.get("Date")  # the provider's clock: ours may be wrong
        began = parsedate_to_datetime(now).timestamp() if now else time.time()
        return max(0.0, parsedate_to_datetime(value).timestamp() - began)
    except (ValueError, TypeError, OverflowError):
        return 0.0


def retry_delay(details: object) -> float:
    """The seconds in the RetryInfo of a Google error; 0 if there is none."""
    error = details.get("error", details) if isinstance(details, dict) else {}
    for detail in error.get("details") or [] if isinstance(error, dict) else []:
        delay = str(detail.get("retryDelay", "")) if isinstance(detail, dict) else ""
        if re.fullmatch(r"\d+(\.\d+)?s", delay):
            return float(delay[:-1])
    return 0.0


def one_line_json(body: bytes) -> bytes:
    """A JSON text on one line, in UTF-8. Line breaks are removed, because in JSON they can only
    stand between parts.
    """
    # a byte order mark, or UTF-16: JSON, but not inside another
    if body[:3] == b"\xef\xbb\xbf" or b"\0" in body:
        body = body.decode(json.detect_encoding(body), "surrogatepass").encode(
            "utf-8", "surrogatepass"
        )
    try:
        body.decode()
    except UnicodeDecodeError:
        body = body.decode("utf-8", "replace").encode()
    return body.replace(b"\r", b" ").replace(b"\n", b" ")


def read_json(body: bytes, kind: str = calls.SERVER) -> dict[str, Any]:
    """Read the JSON object in the body of a response. A byte that is not UTF-8 becomes U+FFFD.
    Raises CallFailed if the body is not a JSON object.
    """
    try:
        value = json.loads(body.decode(json.detect_encoding(body), "replace"))
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    text = body.decode("utf-8", "replace")
    raise CallFailed(
        kind, f"not a JSON object: {one_line(text[:200]) or 'nothing'}", body=text[:MOST_BODY]
    )


def as_object(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def token_counts(
    usage: object, names: tuple[str, str] = ("prompt_tokens", "completion_tokens")
) -> tuple[int | None, int | None]:
    """Tokens in and out according to the provider; None if it does not count them.

    Tokens out are all tokens that are paid, including thoughts. Some providers leave thoughts out
    of the answer's count, but not out of the total.
    """
    counts = [as_object(usage).get(name) for name in (*names, "total_tokens")]
    asked, answered, total = (
        count if type(count) is int and count >= 0 else None for count in counts
    )
    if asked is not None and total is not None:
        answered = max(answered or 0, total - asked)
    return asked, answered


def encoded(line: dict[str, Any]) -> bytes:
    """One line of JSON in UTF-8; half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    try:
        return json.dumps(line, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(line).encode()


def key_in(line: bytes, *candidates: object) -> str:
    """The key in a line of a batch's results: the first candidate that is a key. Raises CallFailed
    if none is.
    """
    for key in candidates:
        if isinstance(key, str) and key:
            return key
    raise CallFailed(
        calls.SERVER, "a result without its key", body=line[:MOST_BODY].decode("utf-8", "replace")
    )
