"""A local server that answers like OpenAI, Azure, Gemini, Vertex AI and Anthropic, and fails like
them on demand.

    with LlmServer() as server:
        server.faults = first_attempts(Fault("429", retry_after=0.1))
        client = AsyncOpenAI(base_url=server.openai_url, api_key="test")

As a process, for benchmarks: `python llm_server.py --port 0 --latency-ms 50 --light`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import re
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, NamedTuple, Self

Json = dict[str, Any]


class ErrorShape(NamedTuple):
    """How the services word one HTTP error; `{model}`, `{key}` and `{tokens}` are filled from the
    request.
    """

    status: int
    type: str | None
    code: str | None
    google_status: str
    message: str


INVALID = "invalid_request_error"
ERRORS = {
    "400": ErrorShape(400, INVALID, None, "INVALID_ARGUMENT", "The request is invalid."),
    "unauthorized": ErrorShape(401, INVALID, "invalid_api_key", "UNAUTHENTICATED",
        "Incorrect API key: {key}."),
    "forbidden": ErrorShape(403, INVALID, "insufficient_permissions", "PERMISSION_DENIED",
        "No access to {model}."),
    "model_not_found": ErrorShape(404, INVALID, "model_not_found", "NOT_FOUND",
        "The model `{model}` does not exist."),
    "408": ErrorShape(408, "timeout", "timeout", "CANCELLED", "Request timed out."),
    "409": ErrorShape(409, "conflict", "conflict", "ABORTED",
        "The resource was changed by another request."),
    "413": ErrorShape(413, INVALID, "request_too_large", "INVALID_ARGUMENT",
        "The request body is too large."),
    "429": ErrorShape(429, "requests", "rate_limit_exceeded", "RESOURCE_EXHAUSTED",
        "Rate limit reached for {model}."),
    "500": ErrorShape(500, "server_error", None, "INTERNAL",
        "The server had an error while processing your request."),
    "502": ErrorShape(502, "server_error", None, "UNAVAILABLE", "Bad gateway."),
    "503": ErrorShape(503, "server_error", None, "UNAVAILABLE",
        "The model is overloaded. Please try again later."),
    "504": ErrorShape(504, "server_error", None, "DEADLINE_EXCEEDED",
        "The deadline expired before the answer."),
    "context_length_exceeded": ErrorShape(
        400, INVALID, "context_length_exceeded", "INVALID_ARGUMENT",
        "This model's maximum context length is 8192 tokens. However, your messages resulted "
        "in {tokens} tokens.",
    ),
    "insufficient_quota": ErrorShape(
        429, "insufficient_quota", "insufficient_quota", "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "content_filter": ErrorShape(
        400, None, "content_filter", "INVALID_ARGUMENT",
        "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy.",
    ),
}  # fmt: skip
ERRORS |= {
    "401": ERRORS["unauthorized"],
    "403": ERRORS["forbidden"],
    "404": ERRORS["model_not_found"],
}
ERROR_PARAMS = {
    "context_length_exceeded": "messages",
    "content_filter": "prompt",
    "model_not_found": "model",
}
ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
REPLY_KINDS = {
    "drop", "drop_mid_body", "hang", "slow", "slow_body", "malformed", "truncated", "fenced",
    "off_schema", "empty",
    "refusal", "content_filter_reply", "not_json_body", "bad_utf8", "model_version", "text",
    "rejects_parameter",
    "body", "gzip", "redirect",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one reply: `kind` is one of ERRORS, one of REPLY_KINDS, or any HTTP
    status ("418").

    `content_filter` is an HTTP 400 (Gemini: promptFeedback), `content_filter_reply` an HTTP 200
    without content. `rejects_parameter` needs `param` and answers normally where the request does
    not have it.
    """

    kind: str
    status: int = 0  # replaces the HTTP status of an error kind
    # seconds, also RetryInfo in Google's body; or the header as it is
    retry_after: float | str | None = None
    seconds: float = 0.0  # wait before the reply; with slow_body, how long the body takes
    # the reply's text (also of "gzip" and "truncated"), its whole body, where to, or an error's
    # message
    text: str = ""
    param: str = ""
    code: str = "unsupported_value"  # or "unsupported_parameter": for rejects_parameter
    model: str = ""  # for model_version
    fingerprint: str = "fp_2"  # for model_version

    def __post_init__(self) -> None:
        if not (self.kind in ERRORS or self.kind in REPLY_KINDS or self.kind.isdigit()):
            raise ValueError(f"unknown fault kind: {self.kind}")


@dataclass(slots=True)
class Call:
    """One request, as a `faults` callable sees it. `api` is openai, gemini, predict or
    anthropic.
    """

    api: str
    path: str
    query: str
    headers: dict[str, str]  # lower-case names
    body: Json
    model: str
    prompt: str
    attempt: int  # requests seen with this prompt and model, this one included
    number: int  # requests seen, this one included

    def parameter(self, name: str) -> Any:
        """The value of a sampling parameter, None when the request does not have it."""
        places = [self.body, self.body.get("generationConfig"), self.body.get("parameters")]
        return next((place[name] for place in places if place and name in place), None)

    @property
    def key(self) -> str:
        """The API key or token the client sent."""
        sent = (
            self.headers.get(name)
            for name in ("authorization", "api-key", "x-goog-api-key", "x-api-key")
        )
        in_query = re.search(r"(?:^|&)key=([^&]+)", self.query)
        return next(
            (key.removeprefix("Bearer ") for key in sent if key),
            in_query[1] if in_query else "none",
        )


class CallRecord(NamedTuple):
    """One finished request; `status` is 0 when nothing was sent, `completed` whether the whole
    reply was written.
    """

    digest: str
    model: str
    path: str
    status: int
    completed: bool
    time: float  # time.time() of the request
    fault: str  # "" for none


Faults = Callable[[Call], Fault | None]


def prompt_digest(prompt: str) -> str:
    """The key of `LlmServer.counts`."""
    return f"{_hash(prompt):016x}"


def by_attempt(*faults: Fault | None) -> Faults:
    """The n-th fault for the n-th attempt of each prompt, then none."""
    return lambda call: faults[call.attempt - 1] if call.attempt <= len(faults) else None


def first_attempts(fault: Fault, times: int = 1) -> Faults:
    """The fault for the first `times` attempts of each prompt."""
    return by_attempt(*[fault] * times)


def always(fault: Fault) -> Faults:
    """The fault for every request."""
    return lambda call: fault


def when_prompt_has(text: str, fault: Fault) -> Faults:
    """The fault for every request whose prompt contains `text`."""
    return lambda call: fault if text in call.prompt else None


def rejects_parameters(*names: str, code: str = "unsupported_value") -> Faults:
    """HTTP 400 for the first of these parameters that the request has."""

    def rejects(call: Call) -> Fault | None:
        found = next((name for name in names if call.parameter(name) is not None), None)
        return Fault("rejects_parameter", param=found, code=code) if found else None

    return rejects


def random_faults(
    seed: int, rates: dict[str, float], max_attempt: int = 2, retry_after: float | None = None
) -> Faults:
    """Fault kinds at these rates, drawn from (seed, prompt, attempt); never after `max_attempt`
    attempts.
    """
    kinds = {
        kind: Fault(kind, retry_after=retry_after if kind == "429" else None) for kind in rates
    }

    def draw(call: Call) -> Fault | None:
        left = (
            _hash(f"{seed}|{call.attempt}|{call.prompt}") / 2**64
            if call.attempt <= max_attempt
            else 2.0
        )
        for kind, rate in rates.items():
            if left < rate:
                return kinds[kind]
            left -= rate
        return None

    return draw


def _hash(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


TEXT_KEYS = (
    "system",
    "systemInstruction",
    "messages",
    "contents",
    "instances",
    "content",
    "parts",
    "prompt",
    "text",
)


def text_of(node: Any) -> str:
    """All the prompt text under a part of a request, one line break between pieces."""
    if isinstance(node, str):
        return node
    if isinstance(node, dict):
        node = [node[key] for key in TEXT_KEYS if key in node]
    return (
        "\n".join([text for text in map(text_of, node) if text]) if isinstance(node, list) else ""
    )


def _schema_of(body: Json) -> Json:
    """The JSON schema that the request wants its answer in, {} for none."""
    config = body.get("generationConfig") or {}
    schema = (
        ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        or config.get("responseJsonSchema")
        or config.get("responseSchema")
        or ((body.get("output_config") or {}).get("format") or {}).get("schema")
    )
    return schema or {}


PASSAGE = re.compile(
    r"----- PASSAGE (\w+) BEGINS -----\n(.*?)\n----- PASSAGE \1 ENDS -----", re.DOTALL
)
SENTENCE = re.compile(r"[^.。!?؟।\n]+[.。!?؟।]?")


def _summary(prompt: str, prompt_hash: int) -> str:
    """Some of the passage's sentences, in its own language: the first two, or for a bad summary two
    others.
    """
    passage = PASSAGE.search(prompt)
    sentences = [
        one.strip() for one in SENTENCE.findall(passage[2] if passage else prompt) if one.strip()
    ]
    start = prompt_hash % max(1, len(sentences) - 1) if "adversarial" in prompt else 0
    return " ".join(sentences[start : start + 2])


def _verdict(prompt_hash: int, body: Json, prompt: str = "") -> str:
    """A JSON answer that follows from the prompt alone, within the enums of the request's
    schema.
    """
    return json.dumps(_filled(_schema_of(body), prompt_hash, prompt))


def _filled(schema: Json, prompt_hash: int, prompt: str) -> Json:
    """What a schema asks for; of several criteria each has a verdict of its own."""
    verdict: Json = {}
    for place, (name, told) in enumerate(
        (schema.get("properties") or {"score": {}, "justification": {}}).items()
    ):
        if told.get("type") == "object":
            verdict[name] = _filled(told, prompt_hash + place, prompt)
            continue
        is_number = name == "score" or str(told.get("type")).lower() in ("integer", "number")
        options = told.get("enum") or (
            (0, 1, 2) if is_number else (f"Because of {prompt_hash % 10007}.",)
        )
        verdict[name] = (
            _summary(prompt, prompt_hash)
            if name in ("summary", "answer")
            else options[prompt_hash % len(options)]
        )
    return verdict


def _with_probabilities(api: str, reply: Json, body: Json, text: str, prompt_hash: int) -> Json:
    """The reply with log probabilities where the request asks for them: the answered score has .6
    or more, the others share the rest. A token is a run of digits, a run of letters, or one
    character more.
    """
    wanted = (
        body.get("top_logprobs")
        if api == "openai"
        else (body.get("generationConfig") or {}).get("logprobs")
    )
    if not wanted:
        return reply
    score = (_schema_of(body).get("properties") or {}).get("score", {})
    levels = [str(level) for level in score.get("enum", (0, 1, 2))]
    likely = 0.6 + 0.4 * (prompt_hash % 97) / 97
    place = text.find('"score"') + 7
    named, steps = "logprob" if api == "openai" else "logProbability", []
    for match in re.finditer(r"\d+|[^\W\d]+|\W|_", text):
        rest = [level for level in levels if level != match[0]]
        if match[0] in levels and match.start() > place:
            chances, place = (
                {match[0]: likely} | {level: (1 - likely) / len(rest) for level in rest},
                len(text),
            )
        else:
            chances = {match[0]: 1.0}
        steps.append(
            [
                {"token": token, named: math.log(chance or 1e-9)}
                for token, chance in chances.items()
            ][:wanted]
        )
    if api == "openai":
        content = [
            {**step[0], "bytes": list(step[0]["token"].encode()), "top_logprobs": step}
            for step in steps
        ]
        reply["choices"][0]["logprobs"] = {"content": content, "refusal": None}
    else:
        top = [{"candidates": step} for step in steps]
        result = {"chosenCandidates": [step[0] for step in steps], "topCandidates": top}
        reply["candidates"][0]["logprobsResult"] = result
    return reply


GEMINI_FINISH = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
    "content_filter": "PROHIBITED_CONTENT",
}
ANTHROPIC_FINISH = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
}


def _reply_body(
    api: str, prompt: str, text: str | None, finish: str, model: str, fingerprint: str
) -> Json:
    """A whole HTTP 200 body; without text it is a refusal or a filtered answer, by `finish`."""
    asked, answered = len(prompt) // 4 + 1, len(text or "") // 4 + 1
    if api == "openai":
        refusal = "I'm sorry, I can't help with that." if finish == "refusal" else None
        message = {"role": "assistant", "content": text, "refusal": refusal}
        finish = "stop" if refusal else finish
        return {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": model,
            "system_fingerprint": fingerprint,
            "choices": [{"index": 0, "message": message, "finish_reason": finish,
                "logprobs": None}],
            "usage": {"prompt_tokens": asked, "completion_tokens": answered,
                "total_tokens": asked + answered},
        }  # fmt: skip
    if api == "gemini":
        candidate: Json = {"finishReason": GEMINI_FINISH[finish], "index": 0}
        if text is not None:
            candidate["content"] = {"role": "model", "parts": [{"text": text}]}
        usage = {
            "promptTokenCount": asked,
            "candidatesTokenCount": answered,
            "totalTokenCount": asked + answered,
        }
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": model,
            "responseId": "r1",
        }
    if api == "anthropic":
        content = [] if text is None else [{"type": "text", "text": text}]
        usage = {"input_tokens": asked, "output_tokens": answered}
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": ANTHROPIC_FINISH[finish],
            "stop_sequence": None,
            "usage": usage,
        }
    tokens = {
        "inputTokenCount": {"totalTokens": asked},
        "outputTokenCount": {"totalTokens": answered},
    }
    prediction = {"content": text or "", "safetyAttributes": {"blocked": text is None}}
    return {
        "predictions": [prediction],
        "deployedModelId": "1",
        "model": model,
        "metadata": {"tokenMetadata": tokens},
    }


def _error_body(
    call: Call, shape: ErrorShape, param: str | None, retry_after: float | str | None
) -> Json:
    """An error body in the shape of the service that was called."""
    if call.api == "anthropic":
        kind = ANTHROPIC_TYPES.get(shape.status, "api_error" if shape.status >= 500 else INVALID)
        return {"type": "error", "error": {"type": kind, "message": shape.message}}
    if call.api in ("gemini", "predict"):
        details: list[Json] = []
        if param:
            violation = {"field": f"generation_config.{param}", "description": shape.message}
            details.append(
                {
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [violation],
                }
            )
        if isinstance(retry_after, float):
            details.append(
                {
                    "@type": "type.googleapis.com/google.rpc.RetryInfo",
                    "retryDelay": f"{retry_after}s",
                }
            )
        error = {"code": shape.status, "message": shape.message, "status": shape.google_status}
        return {"error": error | ({"details": details} if details else {})}
    code = (
        "DeploymentNotFound" if shape.status == 404 and "/deployments/" in call.path else shape.code
    )
    error = {
        "message": shape.message,
        "type": shape.type,
        "param": param or ERROR_PARAMS.get(code or ""),
        "code": code,
    }
    if code == "content_filter":
        found = {"violence": {"filtered": True, "severity": "high"}}
        inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": found}
        error |= {"status": shape.status, "innererror": inner}
    return {"error": error}


@dataclass(slots=True)
class HttpReply:
    """The bytes to send for one request, and what its record will say."""

    payload: bytes
    status: int = 200
    digest: str = ""
    model: str = ""
    path: str = ""
    fault: str = ""
    delay: float = 0.0
    spread: float = 0.0  # seconds over which the body trickles
    retry_after: float | str | None = None
    content_type: str = "application/json"
    started: float = 0.0
    sent: int = 0  # the status, once the head is written
    number: int = 0  # of the model request
    headers: dict[str, str] = field(default_factory=dict)  # further ones

    def head(self) -> bytes:
        self.sent = self.status
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Unknown"
        wait = f"{self.retry_after:g}" if isinstance(self.retry_after, float) else self.retry_after
        retry = "" if wait is None else f"retry-after: {wait}\r\n"
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return (
            f"HTTP/1.1 {self.status} {phrase}\r\ncontent-type: {self.content_type}\r\n"
            f"x-request-id: req_1\r\n{retry}{more}content-length: {len(self.payload)}\r\n\r\n"
        ).encode()


class SideRequest(NamedTuple):
    """A request that is not for a model. headers: lower-case names."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class LlmServer:
    """The server, in a thread of its own while the `with` block lasts. `faults` and `answer` may be
    set at any time.
    """

    def __init__(self, port: int = 0, latency_ms: float = 0.0, light: bool = False) -> None:
        self.port = port
        self.latency_ms = latency_ms
        self.held_from = math.inf  # the number of the first request whose reply waits for `release`
        self.held: list[_Connection] = []
        self.light = light  # totals only: no calls, counts, bodies or headers, so memory stays flat
        self.faults: Faults | None = None
        self.answer: Callable[[str, Json], str] | None = None
        self.model_suffix = "-2026-01-01"
        # raised by `faults` or `answer`; the `with` block raises the first
        self.errors: list[Exception] = []
        self.connections: set[asyncio.Transport] = set()
        self._in_flight = 0
        # Held while a reply is written and recorded: who has read a reply finds its record here.
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget all requests seen so far, attempts included."""
        with self.lock:
            self.requests = self._completed = 0
            self.max_in_flight = self._in_flight
            self.seen_headers: dict[str, str] = {}
            self.bodies: deque[Json] = deque(maxlen=50)
            self._calls: list[CallRecord] = []
            self._counts: Counter[str] = Counter()
            self._attempts: Counter[int] = Counter()

    @property
    def calls(self) -> list[CallRecord]:
        """The finished requests so far, in the order they ended."""
        with self.lock:
            return list(self._calls)

    @property
    def counts(self) -> Counter[str]:
        """Completed HTTP 200 replies by `prompt_digest`."""
        with self.lock:
            return self._counts.copy()

    @property
    def completed(self) -> int:
        """HTTP 200 replies wholly written."""
        with self.lock:
            return self._completed

    @property
    def in_flight(self) -> int:
        """Requests read whose reply has not ended."""
        with self.lock:
            return self._in_flight

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return self.url + "/v1"

    def __enter__(self) -> Self:
        self._ready = threading.Event()
        serving = partial(asyncio.run, self.serve(self._ready.set))
        self._thread = threading.Thread(target=serving, name="llm-server", daemon=True)
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self.errors and exc_type is None:
            raise self.errors[0]

    async def serve(self, on_ready: Callable[[], object]) -> None:
        """Listen until the `with` block ends, or forever as a process."""
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        listener = await self.loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, backlog=4096
        )
        self.port = listener.sockets[0].getsockname()[1]
        on_ready()
        await self._stop.wait()
        self.loop.remove_reader(listener.sockets[0].fileno())
        # what is being accepted takes some turns to be a connection; the aborted record their calls
        for _ in range(5):
            for transport in list(self.connections):
                transport.abort()
            await asyncio.sleep(0)
        # not before: asyncio forgets, unclosed, what it accepts for a listener that is closed
        listener.close()

    def release(self) -> None:
        """Send the replies that were held back, and hold back no more."""
        self.held_from = math.inf

        def send() -> None:
            held, self.held = self.held, []
            for connection in held:
                connection.send()

        self.loop.call_soon_threadsafe(send)

    def settle(self) -> None:
        """Wait until all that was sent by now, be it by a process that was killed since, is read
        and has ended.
        """
        # read after what came before
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"GET / HTTP/1.1\r\n\r\n")
            last.recv(1)
        while self.in_flight:
            time.sleep(0.005)

    def begin(self) -> None:
        """Count a model request that has begun."""
        self._in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self._in_flight)

    def end(self, reply: HttpReply, completed: bool) -> None:
        """Record a model request that has ended; the caller holds the lock."""
        self._in_flight -= 1
        success = completed and reply.status == 200
        self._completed += success
        if not self.light:
            record = (
                reply.digest,
                reply.model,
                reply.path,
                reply.sent,
                completed,
                reply.started,
                reply.fault,
            )
            self._calls.append(CallRecord(*record))
            self._counts[reply.digest] += success

    def reply_to(self, head: bytes, raw: bytes) -> HttpReply:
        """The reply to a whole HTTP request; its `started` is 0 unless it is a model request."""
        method, target = head.split(b" ", 2)[:2]
        path, _, query = target.decode("latin-1").partition("?")
        api = _api_of(path) if method == b"POST" else ""
        if not api:
            return self.side_reply(SideRequest(method.decode(), path, query, _headers(head), raw))
        return self._model_reply(api, path, query, head, raw)

    def line_reply(self, path: str, body: Json, fault: Fault | None = None) -> HttpReply:
        """The reply to one request of a batch, as if it had come to `path`, and counted like one
        that did.

        fault: instead of what `faults` says. Where no reply would have come, it is an HTTP 500.
        """
        with self.lock:
            head = f"POST {path} HTTP/1.1\r\n".encode()
            reply = self._model_reply(
                _api_of(path), path, "", head, json.dumps(body).encode(), fault
            )
            if reply.fault in ("drop", "drop_mid_body", "hang"):
                spoilt, shape = reply.fault, ERRORS["500"]
                payload = json.dumps(
                    {"error": {"message": shape.message, "type": shape.type}}
                ).encode()
                reply = replace(reply, payload=payload, status=shape.status, fault=spoilt)
            self.begin()
            reply.sent = reply.status
            self.end(reply, completed=True)
            return reply

    def _model_reply(
        self, api: str, path: str, query: str, head: bytes, raw: bytes, forced: Fault | None = None
    ) -> HttpReply:
        self.requests += 1
        started, number = time.time(), self.requests
        try:
            body = json.loads(raw)
            model = body.get("model") or _name_in(path)
            prompt = text_of(body)
        except (ValueError, AttributeError):
            call = Call(api, path, query, {}, {}, "", "", 1, number)
            error = _error_body(call, ERRORS["400"], None, None)
            return HttpReply(
                json.dumps(error).encode(), 400, path=path, fault="invalid_request", started=started
            )
        prompt_hash = _hash(prompt)
        fault = None
        try:
            if self.faults or forced or not self.light:
                headers = _headers(head)
                attempt_key = prompt_hash ^ hash(model)
                self._attempts[attempt_key] += 1
                call = Call(
                    api,
                    path,
                    query,
                    headers,
                    body,
                    model,
                    prompt,
                    self._attempts[attempt_key],
                    number,
                )
                fault = forced or (self.faults(call) if self.faults else None)
                if not self.light:
                    self.seen_headers = headers
                    self.bodies.append(body)
            text = self.answer(prompt, body) if self.answer else _verdict(prompt_hash, body, prompt)
        except Exception as error:
            self.errors.append(error)
            payload = json.dumps({"error": {"message": repr(error)}}).encode()
            return HttpReply(payload, 500, path=path, fault="server_bug", started=started)
        dated_model = model + self.model_suffix
        if fault:
            reply = _faulty_reply(call, fault, text, dated_model)
        else:
            whole = _reply_body(api, prompt, text, "stop", dated_model, "fp_1")
            reply = HttpReply(
                json.dumps(_with_probabilities(api, whole, body, text, prompt_hash)).encode()
            )
        reply.digest, reply.model, reply.path, reply.started = (
            f"{prompt_hash:016x}",
            model,
            path,
            started,
        )
        reply.delay += self.latency_ms / 1000
        reply.number = number
        return reply

    def side_reply(self, request: SideRequest) -> HttpReply:
        """Requests that are not for a model: the endpoint resource. Subclasses know more."""
        if resource := re.search(r"projects/[^/]+/locations/[^/]+/endpoints/[^/:]+$", request.path):
            body = {"name": resource[0], "displayName": "judge", "deployedModels": [{"id": "1"}]}
            return HttpReply(json.dumps(body).encode())
        return HttpReply(
            json.dumps({"error": {"message": f"no such route: {request.path}"}}).encode(), 404
        )


def _headers(head: bytes) -> dict[str, str]:
    """Lower-case names."""
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }


def _api_of(path: str) -> str:
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith(":generateContent"):
        return "gemini"
    if path.endswith(":predict"):
        return "predict"
    return "anthropic" if path.endswith("/messages") else ""


def _name_in(path: str) -> str:
    found = re.search(r"/(?:deployments|models|endpoints)/([^/:]+)", path)
    return found[1] if found else ""


def _faulty_reply(  # noqa: C901  one case a fault
    call: Call, fault: Fault, text: str, model: str
) -> HttpReply:
    """The reply spoilt by a fault."""
    kind = fault.kind
    if kind == "content_filter" and call.api == "gemini":
        feedback = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": model}
        return HttpReply(json.dumps(feedback).encode(), fault=kind, delay=fault.seconds)
    rejected = call.parameter(fault.param) if kind == "rejects_parameter" else None
    if kind in ERRORS or kind.isdigit() or rejected is not None:
        return _error_reply(call, fault, rejected)
    finish, fingerprint, answer = "stop", "fp_1", text
    if kind in ("malformed", "truncated"):
        answer, finish = (
            fault.text or text[: len(text) // 2],
            "stop" if kind == "malformed" else "length",
        )
    elif kind == "fenced":
        answer = f"Here is my verdict:\n\n```json\n{text}\n```\n\nI hope this helps."
    elif kind == "off_schema":
        answer = re.sub(r'("score":\s*)("[^"]*"|[^,}\s]+)', r"\g<1>99", text)
    elif kind == "empty":
        answer = ""
    elif kind in ("text", "gzip"):
        answer = fault.text
    elif kind == "bad_utf8":
        answer = text[:-2] + "\0" + text[-2:]
    elif kind == "model_version":
        model, fingerprint = fault.model or f"{call.model}-2026-02-02", fault.fingerprint
    elif kind in ("refusal", "content_filter_reply"):
        finish = kind.removesuffix("_reply")
    content = None if finish in ("refusal", "content_filter") else answer
    payload = json.dumps(
        _reply_body(call.api, call.prompt, content, finish, model, fingerprint)
    ).encode()
    reply = HttpReply(payload, fault=kind, delay=fault.seconds)
    if kind == "body":
        reply.payload = fault.text.encode()
    elif kind == "gzip":
        reply.payload, reply.headers = gzip.compress(payload), {"content-encoding": "gzip"}
    elif kind == "redirect":
        reply.payload, reply.status, reply.headers = (
            b"",
            fault.status or 307,
            {"location": fault.text},
        )
    elif kind == "slow_body":
        reply.delay, reply.spread = 0.0, fault.seconds or 0.5
    elif kind == "slow":
        reply.delay = fault.seconds or 1.0
    elif kind == "not_json_body":
        reply.payload, reply.content_type = (
            b"<html><body><h1>Welcome to the proxy</h1></body></html>",
            "text/html",
        )
    elif kind == "bad_utf8":
        reply.payload = payload.replace(b"\\u0000", b"\xff\xfe")
    return reply


def _error_reply(call: Call, fault: Fault, rejected: Any) -> HttpReply:
    """An HTTP error; `rejected` is the value of a parameter that the model does not take."""
    if rejected is not None:
        message = f"Unsupported parameter: '{fault.param}' is not supported with this model."
        if fault.code == "unsupported_value":
            message = (
                f"Unsupported value: '{fault.param}' does not support {json.dumps(rejected)} with"
                " this model."
            )
        shape = ErrorShape(400, INVALID, fault.code, "INVALID_ARGUMENT", message)
    elif fault.kind in ERRORS:
        shape = ERRORS[fault.kind]
        message = shape.message.format(
            model=call.model, key=call.key, tokens=8192 + len(call.prompt) // 4
        )
    else:
        status, message = int(fault.kind), f"HTTP {fault.kind}."
        shape = ErrorShape(
            status, "server_error" if status >= 500 else INVALID, None, "UNKNOWN", message
        )
    shape = shape._replace(message=fault.text or message, status=fault.status or shape.status)
    body = _error_body(
        call, shape, fault.param if rejected is not None else None, fault.retry_after
    )
    payload = json.dumps(body).encode()
    return HttpReply(
        payload, shape.status, fault=fault.kind, delay=fault.seconds, retry_after=fault.retry_after
    )


class _Connection(asyncio.Protocol):
    """One keep-alive connection; it answers one request at a time."""

    def __init__(self, server: LlmServer) -> None:
        self.server = server
        self.data = bytearray()
        self.needed = 0  # bytes of the current request, once its head has been read
        self.close_after = False
        self.reply: HttpReply | None = None  # the reply under way
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=0)  # resume_writing then means that all is written
        self.server.connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.discard(self.transport)
        if self.timer:
            self.timer.cancel()
        self.finish(completed=False)

    def data_received(self, data: bytes) -> None:
        self.data += data
        if not self.reply and len(self.data) >= self.needed:
            self.read_request()

    def resume_writing(self) -> None:
        if self.reply and not self.reply.spread:
            self.finish(completed=True)

    def read_request(self) -> None:
        """Answer the next request, once it is all there."""
        head_end = self.data.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = bytes(self.data[: head_end + 2]).lower()
        at = head.find(b"\r\ncontent-length:") + 17
        self.needed = end = (
            head_end + 4 + (int(head[at : head.find(b"\r\n", at)]) if at > 16 else 0)
        )
        if len(self.data) < end:
            return
        self.close_after = b"\r\nconnection: close\r\n" in head
        self.reply = self.server.reply_to(
            bytes(self.data[:head_end]), bytes(self.data[head_end + 4 : end])
        )
        self.needed = 0
        del self.data[:end]
        if self.reply.started:
            self.server.begin()
        if self.reply.fault == "hang":
            return
        if self.reply.delay:
            due = self.server.loop.time() + self.reply.delay
            # in batches: cheaper
            self.timer = self.server.loop.call_at(math.ceil(due * 500) / 500, self.send)
        else:
            self.send()

    def send(self) -> None:
        """Write the reply, or as much of it as its fault lets through."""
        reply = self.reply
        if reply is None or self.transport.is_closing():
            return
        if reply.number >= self.server.held_from:
            self.server.held.append(self)
        elif reply.fault in ("drop", "drop_mid_body"):
            if reply.fault == "drop_mid_body":
                self.transport.write(reply.head() + reply.payload[: len(reply.payload) // 2])
            self.finish(completed=False)
            self.transport.close()
        elif reply.spread:
            self.transport.write(reply.head())
            self.trickle(0)
        else:
            with self.server.lock:
                self.transport.write(reply.head() + reply.payload)
                if not self.transport.get_write_buffer_size() and not self.transport.is_closing():
                    self.finish(completed=True)

    def trickle(self, start: int) -> None:
        """Write the rest of a slow body in ten pieces."""
        reply = self.reply
        if reply is None or self.transport.is_closing():
            return
        end = start + len(reply.payload) // 10 + 1
        with self.server.lock:
            self.transport.write(reply.payload[start:end])
            if end >= len(reply.payload):
                self.finish(completed=not self.transport.is_closing())
                return
        self.timer = self.server.loop.call_later(reply.spread / 10, self.trickle, end)

    def finish(self, completed: bool) -> None:
        """Record the request that is under way, if any, and turn to the next."""
        reply, self.reply, self.timer = self.reply, None, None
        if reply and reply.started:
            with self.server.lock:
                self.server.end(reply, completed)
        if completed and self.close_after:
            self.transport.close()
        elif completed and self.data:
            self.server.loop.call_soon(self.read_request)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="A local server that answers like the LLM services."
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--light", action="store_true", help="keep totals only")
    options = parser.parse_args()
    server = LlmServer(options.port, options.latency_ms, options.light)
    asyncio.run(server.serve(lambda: print(server.url, flush=True)))


if __name__ == "__main__":
    main()
