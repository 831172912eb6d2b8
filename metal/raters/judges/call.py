"""Requests to models, replies and failures: the terms that every provider and engine uses.

A *plan* holds the *questions* of a run. A question is sent as a `ModelRequest`, without the
parameters that the model has rejected so far. A *reply* or a *failure* comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from metal.data.records import Scale
from metal.errors import MetalError
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message

# How a reply ended. COMPLETE does not say whether it contains a verdict.
COMPLETE, TRUNCATED, FILTERED, REFUSED = "complete", "truncated", "filtered", "refused"
NO_CHOICES, TOOL_CALL, WITH_ERROR = "no choices", "tool call", "error in the reply"
MOST_BYTES = 8_000_000  # of a reply, decompressed


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model, as its client sends it.

    schema: the JSON schema of the answer. parameters: temperature, seed, max_tokens, ..., without
    parameters that the model has rejected. structured: how JSON is requested (models.STRUCTURED).
    timeout: seconds.
    """

    message: Message
    schema: Mapping[str, Any]
    parameters: Mapping[str, Any]
    structured: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a model. raw: the provider's reply as it arrived, on one line of JSON (or inside a
    JSON string).

    model, fingerprint: the model that answered, according to the provider. Token counts are None if
    the provider does not give them. dropped: parameters that the provider's library does not send
    to this model.
    """

    text: str
    ending: str = COMPLETE
    raw: bytes = b"null"
    model: str = ""
    fingerprint: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    dropped: tuple[str, ...] = ()


class CallFailed(Exception):
    """A request that got no reply. kind: one of the kinds below. message: the provider's message,
    on one line.

    status: the HTTP status. wait: the seconds for which the provider asks us to wait. parameter:
    the parameter that the provider rejects, if it names one. body: the bytes that arrived, if they
    are not a reply at all.
    """

    def __init__(
        self,
        kind: str,
        message: str = "",
        *,
        status: int = 0,
        wait: float = 0.0,
        parameter: str = "",
        body: str = "",
    ) -> None:
        super().__init__(kind)
        self.kind, self.message, self.status, self.wait, self.parameter = (
            kind,
            message,
            status,
            wait,
            parameter,
        )
        self.body = body

    def __str__(self) -> str:  # keys are removed from the message after the error is made
        if self.kind == UNREACHED:
            return f"cannot reach {self.message}"
        return f"{self.kind}: {self.message}" if self.message else self.kind


# Worth another attempt: too many requests, a server error, no answer in time, a lost connection,
# and a request that its
# batch did not reach before it expired or was cancelled.
BUSY, SERVER, TIMEOUT, DROPPED = "too many requests", "server error", "timeout", "connection lost"
EXPIRED = "expired"
# No connection was made: unknown host, refused, untrusted certificate. It stops a judge that has
# reached nobody yet.
UNREACHED = "not reached"
TRANSIENT = frozenset({BUSY, SERVER, TIMEOUT, DROPPED, EXPIRED, UNREACHED})
# Asked and perhaps paid for; asking again at once would bring the same.
NOT_A_REPLY, TOO_LARGE = "not a reply", "reply too large"
USELESS = frozenset({NOT_A_REPLY, TOO_LARGE})
# No request to this model can succeed until somebody changes something.
DENIED, UNKNOWN_MODEL, QUOTA, REDIRECTED = (
    "access denied",
    "model unknown",
    "quota used up",
    "redirected",
)
UNFIT = "no score on this criterion"
FATAL = frozenset({DENIED, UNKNOWN_MODEL, QUOTA, REDIRECTED, UNFIT})
# This request can never succeed.
PARAMETER, BLOCKED, TOO_LONG, REJECTED = (
    "parameter rejected",
    "filtered",
    "too long",
    "request rejected",
)
NO_SOURCE = "its source has no text"  # and the model reads it
NO_NUMBER = "no number"  # from a score head: NaN, null
# kinds of calls that are made again on resuming
FAILING = TRANSIENT | USELESS | FATAL | {PARAMETER, REJECTED}

# the kind of a reply that contains what was asked for; other kinds are the reason it does not
VERDICT = "verdict"


def check_size(size: int, most: int = MOST_BYTES) -> None:
    """Raise CallFailed for a reply with more bytes than allowed."""
    if size > most:
        raise CallFailed(TOO_LARGE, f"more than {most / 1e6:g} MB")


class Question(Protocol):
    """A question to a model: it asks a judge for a verdict, or a generator for a text.

    key: hex digest of everything on which the answer may depend. parameters: the model's parameters
    that this question overrides. about: how the journal describes the question. rough_tokens: about
    how many tokens are sent. answer_tokens: about how many tokens the reply takes.
    """

    @property
    def key(self) -> str: ...
    @property
    def message(self) -> Message: ...
    @property
    def schema(self) -> Mapping[str, Any]: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def about(self) -> Mapping[str, Any]: ...
    @property
    def rough_tokens(self) -> float: ...
    @property
    def answer_tokens(self) -> float: ...

    def kind(self, text: str, ending: str) -> str:
        """VERDICT if the reply contains what was asked for; otherwise the reason why not."""


class RunPlan(Protocol):
    """All questions of a run, in the same order every time.

    names: (model, prompt), as recorded in the journal -> the name of the judge or generator.
    """

    @property
    def models(self) -> Sequence[Model]: ...
    @property
    def names(self) -> Mapping[tuple[str, str], str]: ...
    @property
    def questions_per_model(self) -> int: ...

    def questions(self, model: Model, start: int = 0) -> Iterator[Question]:
        """The questions for a model, leaving out the first `start`."""


class JudgeStopped(MetalError):
    """Raised if a judge cannot continue, for instance because of a wrong key, an unknown model or a
    provider that is down.
    """


class Client(Protocol):
    """A connection to a model, for one event loop."""

    async def ask(self, ask: ModelRequest) -> Reply:
        """Send one request, without retries, and return the reply. Raises CallFailed."""

    async def close(self) -> None:
        """Close connections."""


def answer_schema(
    scale: Scale,
    letters: Mapping[str, float] | None = None,
    order: Sequence[str] = ("score", "justification"),
) -> dict[str, Any]:
    """The JSON schema of an answer, which requires all parts in this order.

    The score is on this scale, or one of `letters`.
    """
    values = [int(value) if value.is_integer() else value for value in map(float, scale.values)]
    if letters:
        score: dict[str, Any] = {"type": "string", "enum": list(letters)}
    elif values:
        integers = all(isinstance(value, int) for value in values)
        score = {"type": "integer" if integers else "number", "enum": values}
    else:
        score = {"type": "number"}
    return object_schema({part: score if part == "score" else {"type": "string"} for part in order})


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has all of these properties, and no other."""
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": dict(properties), **closed}


# ---------------------------------------------------------------- batches


@dataclass(frozen=True)
class BatchLimits:
    """The most that a batch may contain: requests, bytes of its file, tokens (None if unknown)."""

    requests: int
    bytes: int
    tokens: float | None = None


@dataclass(frozen=True)
class Status:
    """The status of a batch. stage: the provider's word for it. done: requests with an answer or a
    failure; None if unknown.

    ended: there will be no more results, and the existing results can be fetched. failure: why the
    whole batch was refused before anything was asked. It is BUSY if too many tokens are already
    waiting, else a kind of failure as for any request.
    """

    stage: str
    ended: bool = False
    done: int | None = None
    failure: CallFailed | None = None


class BatchClient(Protocol):
    """A connection to a provider's batch service for one model. Every coroutine may raise
    CallFailed, and none retries.

    A batch is a file of requests, one per line. It is uploaded, submitted under a token that METAL
    chose, and watched until it ends. Its results may lack requests (the batch expired or was
    cancelled) and contain failures as well as replies.
    """

    @property
    def limits(self) -> BatchLimits:
        """The provider's own limits, which the user's settings can only tighten."""

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """The line of a request file for a question, without its line break. key: 32 hex digits,
        unique in a batch.
        """

    async def upload(self, file: Path, token: str) -> str:
        """Upload a request file. Returns the provider's address of the file. Uploading a file twice
        costs nothing.
        """

    async def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch. Returns its id. token: 20 lower-case letters and digits, by which `find`
        finds the batch.
        """

    async def find(self, token: str) -> str | None:
        """The id of the batch that was submitted under this token; None when there is none."""

    async def status(self, batch: str) -> Status:
        """The status of a batch. Raises CallFailed(UNKNOWN_MODEL) if the provider does not know the
        batch.
        """

    async def fetch(self, batch: str, into: Path) -> None:
        """Write all results of an ended batch as they came, one per line. Without results, the file
        is empty.
        """

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """Read (key, reply or failure) from a line of results. A reply is read like a reply to a
        direct request.

        A request that was never asked (expired, cancelled) is a CallFailed of a transient kind.
        Raises CallFailed (SERVER) if the line cannot be read at all.
        """

    async def cancel(self, batch: str) -> None:
        """Cancel the requests without an answer. Raises CallFailed for a batch that has ended or is
        being cancelled.
        """

    async def forget(self, uploaded: str) -> None:
        """Delete the request file; results stay. Raises CallFailed if the file is already gone,
        which callers can ignore.
        """

    async def close(self) -> None:
        """Close connections."""
