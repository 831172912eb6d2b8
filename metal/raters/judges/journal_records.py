"""Records of the journal: what a line contains, and what it means when a run is resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Question, Reply
from metal.raters.judges.journal import head, read_line, scan
from metal.raters.judges.reader import EMPTY, OFF_SCALE, UNPARSABLE

# Kinds of records besides VERDICT and the reasons for a reply without one.
FAILED, REJECTED = "failed", "rejected"
ASK_AGAIN = frozenset({UNPARSABLE, OFF_SCALE, EMPTY})
LASTING = frozenset({calls.BLOCKED, calls.TOO_LONG})  # refusals of a request that resuming does not change


@dataclass
class Answered:
    """What the journals of a run contain. settled: keys that need not be asked; unreadable: replies so far, by key.

    rejected: judge -> parameter -> what the model said when it rejected it. begins: judge -> how many questions at the
    beginning of its plan are known to be settled. spent: US dollars that count towards `max_cost`.
    """

    settled: set[bytes] = field(default_factory=set)
    unreadable: Counter[bytes] = field(default_factory=Counter)
    rejected: dict[str, dict[str, str]] = field(default_factory=dict)
    begins: dict[str, int] = field(default_factory=dict)
    spent: float = 0.0


def read_answered(reasks: int, *journals: Path) -> Answered:
    """What these journals answer. reasks: how often a question is asked again after an unreadable reply."""
    answered = Answered()
    for path in journals:
        for name, kind, place, line in scan(path):
            if kind == REJECTED:
                record = read_line(path, line, place)
                answered.rejected.setdefault(record["judge"], {})[record["parameter"]] = record["said"]
            elif kind in ASK_AGAIN:
                answered.unreadable[bytes.fromhex(name)] += 1
            elif kind != FAILED:
                answered.settled.add(bytes.fromhex(name))
    answered.settled.update(key for key, count in answered.unreadable.items() if count > reasks)
    return answered


@dataclass(frozen=True, slots=True)
class Record:
    """A line for the journal. kind: of the reply or failure. settled: its question need not be asked again."""

    line: bytes
    kind: str
    settled: bool


@dataclass
class Attempt:
    """The requests made for one reply. number: which time the question is asked. failures: requests without a reply.

    began, took: seconds, of the last request; took is None in a batch, which does not tell. batch: the token of the
    batch. sent: the parameters of the last request.
    """

    number: int = 1
    failures: int = 0
    began: float = 0.0
    took: float | None = 0.0
    batch: str = ""
    sent: dict[str, Any] = field(default_factory=dict)


def reply_line(judge: str, question: Question, kind: str, reply: Reply, attempt: Attempt) -> bytes:
    """The line of a reply: what it is about, what was sent, what came back, the raw reply."""
    record = _about(judge, question, attempt) | {
        "seconds": None if attempt.took is None else round(attempt.took, 4),
        "retries": attempt.failures,
        "sent": attempt.sent,
        "model": reply.model,
        "fingerprint": reply.fingerprint,
        "tokens": [reply.tokens_in, reply.tokens_out],
        "ending": reply.ending,
        "text": reply.text,
    }
    return head(question.key, kind) + b"," + _dump(record)[1:-1] + b',"reply":' + reply.raw + b"}"


def failure_line(judge: str, question: Question, failure: CallFailed, attempt: Attempt) -> bytes:
    """The line of a question without a reply; it is asked again when the run is resumed, unless that is LASTING."""
    record = _about(judge, question, attempt) | {
        "retries": max(0, attempt.failures - 1),
        "why": failure.kind,
        "status": failure.status,
        "said": failure.message,
    }
    if failure.body:
        record["body"] = failure.body
    return head(question.key, failure.kind if failure.kind in LASTING else FAILED) + b"," + _dump(record)[1:]


def rejected_line(judge: str, parameter: str, why: str) -> bytes:
    """The line of a parameter that requests leave out from now on."""
    record = {"judge": judge, "parameter": parameter, "said": why, "at": _now()}
    return head("", REJECTED) + b"," + _dump(record)[1:]


def _about(judge: str, question: Question, attempt: Attempt) -> dict[str, Any]:
    batch = {"batch": attempt.batch} if attempt.batch else {}
    return {"judge": judge, **question.about, "ask": attempt.number, **batch, "at": _now()}


def _dump(record: Mapping[str, Any]) -> bytes:
    """One line of JSON; lone surrogates, which UTF-8 cannot hold, stay escaped."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
