"""A call to a model: what is asked, what comes back, what can go wrong. Every provider speaks these terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from metal.data.records import Scale
from metal.errors import MetalError
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message

# How a reply ended. COMPLETE says nothing of whether a verdict is in it.
COMPLETE, TRUNCATED, FILTERED, REFUSED = "complete", "truncated", "filtered", "refused"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a model. schema: the JSON schema of the answer; parameters: temperature, seed, max_tokens, ..."""

    message: Message
    schema: Mapping[str, Any]
    parameters: Mapping[str, Any]
    structured: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. raw: the provider's reply as it arrived, on one line of JSON (or a JSON string of it).

    model and fingerprint: what the provider says answered. Tokens are None where it does not say.
    """

    text: str
    ending: str = COMPLETE
    raw: bytes = b"null"
    model: str = ""
    fingerprint: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    dropped: tuple[str, ...] = ()  # parameters that the provider's library does not send to this model


class CallFailed(Exception):
    """A call that brought no reply. kind: one of the sets below; said: what the provider said, on one line.

    parameter: the parameter the model rejects, where it does. wait: seconds the provider wants us to wait. body: what
    came, where it is no reply at all.
    """

    def __init__(
        self,
        kind: str,
        said: str = "",
        *,
        status: int = 0,
        wait: float = 0.0,
        parameter: str = "",
        body: str = "",
    ) -> None:
        super().__init__(kind)
        self.kind, self.said, self.status, self.wait, self.parameter = kind, said, status, wait, parameter
        self.body = body

    def __str__(self) -> str:  # `said` as it is now: keys are taken out of it after the error was made
        return f"{self.kind}: {self.said}" if self.said else self.kind


# Worth another try: too many requests, a fault of the server's, no answer in time, the connection went, and a request
# that its batch never came to before time was up or it was cancelled.
BUSY, SERVER, TIMEOUT, DROPPED = "too many requests", "server error", "timeout", "connection lost"
EXPIRED = "expired"
TRANSIENT = frozenset({BUSY, SERVER, TIMEOUT, DROPPED, EXPIRED})
# No call of this judge can succeed until somebody changes something.
DENIED, UNKNOWN_MODEL, QUOTA = "access denied", "model unknown", "quota used up"
FATAL = frozenset({DENIED, UNKNOWN_MODEL, QUOTA})
# This call will never succeed: the request itself is refused.
PARAMETER, BLOCKED, TOO_LONG, REJECTED = "parameter rejected", "filtered", "too long", "request rejected"


VERDICT = "verdict"  # the kind of a reply that holds what was asked for; other kinds are the reason why it does not


class Question(Protocol):
    """What the runner has to know of one thing to ask: a judge's call, or a generator's.

    key: hex digest of all that the answer may depend on. parameters: those of the model's that this question sets
    itself. about: what the journal says it is about. rough_tokens: about how many tokens are sent.
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
    def about(self) -> Mapping[str, str | int]: ...
    @property
    def rough_tokens(self) -> float: ...

    def kind(self, text: str, ending: str) -> str:
        """VERDICT for a reply with that text and ending that holds what was asked for, else why it does not."""
        ...


class Questions(Protocol):
    """All that a run has to ask; the same questions in the same order each time."""

    @property
    def models(self) -> Sequence[Model]: ...
    @property
    def answer_tokens(self) -> int:
        """About how many tokens an answer has, until answers say otherwise."""
        ...

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """(model, prompt), as the journal has them -> who that is: the judge, the generator."""
        ...

    @property
    def calls_a_model(self) -> int: ...

    def calls(self, model: Model, start: int = 0) -> Iterator[Question]:
        """What a model is asked, but for the first `start` questions."""
        ...


class JudgeStopped(MetalError):
    """A judge that cannot go on: its key, its model, its deployment, or its provider is down."""


class Client(Protocol):
    """A connection to a model, for one event loop."""

    async def ask(self, ask: Ask) -> Reply:
        """One call, never retried here. Raises CallFailed."""

    async def close(self) -> None:
        """Give back connections."""


def answer_schema(scale: Scale, letters: Mapping[str, float] | None = None) -> dict[str, Any]:
    """The JSON schema of a verdict on this scale, or of a letter; strict: no further keys."""
    values = [int(value) if value.is_integer() else value for value in map(float, scale.values)]
    if letters:
        score: dict[str, Any] = {"type": "string", "enum": list(letters)}
    elif values:
        whole = all(isinstance(value, int) for value in values)
        score = {"type": "integer" if whole else "number", "enum": values}
    else:
        score = {"type": "number"}
    return {
        "type": "object",
        "properties": {"score": score, "justification": {"type": "string"}},
        "required": ["score", "justification"],
        "additionalProperties": False,
    }


@dataclass
class Downgrades:
    """What a model would not take, found out on the way: parameter -> what it said. Shared by all its calls."""

    rejected: dict[str, str] = field(default_factory=dict)

    def apply(self, parameters: Mapping[str, Any], structured: str) -> tuple[dict[str, Any], str]:
        """Parameters and way of asking for structure, as they are still sent."""
        kept = {key: value for key, value in parameters.items() if key not in self.rejected}
        newer = "max_completion_tokens"  # what newer OpenAI models call it
        if "max_tokens" in self.rejected and "max_tokens" in parameters and newer not in self.rejected:
            kept[newer] = parameters["max_tokens"]
        if "json_object" in self.rejected:
            structured = "none"
        elif "json_schema" in self.rejected and structured == "json_schema":
            structured = "json_object"
        return kept, structured
