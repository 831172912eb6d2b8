"""Lines of the journal: what stands in them, and what they mean when a run is resumed."""

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

# Kinds of lines beside VERDICT and the reasons for a reply without one.
FAILED, REJECTED = "failed", "rejected"
ASK_AGAIN = frozenset({UNPARSABLE, OFF_SCALE, EMPTY})
LASTING = frozenset({calls.BLOCKED, calls.TOO_LONG})  # refusals of a request that no resuming changes


@dataclass
class Answered:
    """What the journal already holds, by key: settled, or how many unreadable replies there are.

    rejected: judge -> parameter -> what the model said when it would not take it. begins: judge -> how many calls at
    the beginning of its plan are known to be settled. spent: US dollars that count towards a limit.
    """

    settled: set[bytes] = field(default_factory=set)
    unreadable: Counter[bytes] = field(default_factory=Counter)
    rejected: dict[str, dict[str, str]] = field(default_factory=dict)
    begins: dict[str, int] = field(default_factory=dict)
    spent: float = 0.0

    def note_rejected(self, record: Mapping[str, Any]) -> None:
        """A line of a parameter that a model would not take."""
        self.rejected.setdefault(record["judge"], {})[record["parameter"]] = record["said"]

    def note(self, key: str, kind: str, reasks: int) -> None:
        """A line of a reply or failure."""
        if kind in (FAILED, REJECTED):
            return
        known = bytes.fromhex(key)
        if kind in ASK_AGAIN:
            self.unreadable[known] += 1
            if self.unreadable[known] <= reasks:
                return
            del self.unreadable[known]
        self.settled.add(known)


def look_through(reasks: int, *journals: Path) -> Answered:
    """What a run's journals answer already."""
    found = Answered()
    for path in journals:
        for key, kind, place, line in scan(path):
            if kind == REJECTED:
                found.note_rejected(read_line(path, line, place))
            else:
                found.note(key, kind, reasks)
    return found


@dataclass
class Tries:
    """The attempts at one call. asked: which time of asking it is; began, took: seconds, of the last attempt.

    batch: the token of the batch it was asked in; then how long it took is not known.
    """

    asked: int = 1
    failures: int = 0
    began: float = 0.0
    took: float | None = 0.0
    batch: str = ""
    sent: dict[str, Any] = field(default_factory=dict)


def _about(judge: str, call: Question, tries: Tries) -> dict[str, Any]:
    return {
        "judge": judge,
        **call.about,
        "ask": tries.asked,
        **({"batch": tries.batch} if tries.batch else {}),
        "at": _now(),
    }


def reply_line(judge: str, call: Question, kind: str, reply: Reply, tries: Tries) -> bytes:
    """A reply: what it is about, what was sent, what came, the raw reply."""
    record = _about(judge, call, tries) | {
        "seconds": None if tries.took is None else round(tries.took, 4),
        "retries": tries.failures,
        "sent": tries.sent,
        "model": reply.model,
        "fingerprint": reply.fingerprint,
        "tokens": [reply.tokens_in, reply.tokens_out],
        "ending": reply.ending,
        "text": reply.text,
    }
    return head(call.key, kind) + b"," + _dump(record)[1:-1] + b',"reply":' + reply.raw + b"}"


def failure_line(judge: str, call: Question, failure: CallFailed, tries: Tries) -> bytes:
    """A call that brought no reply; asked again when resumed, unless it is LASTING."""
    record = (
        _about(judge, call, tries)
        | {
            "retries": max(0, tries.failures - 1),
            "why": failure.kind,
            "status": failure.status,
            "said": failure.said,
        }
        | ({"body": failure.body} if failure.body else {})
    )
    return head(call.key, failure.kind if failure.kind in LASTING else FAILED) + b"," + _dump(record)[1:]


def rejected_line(judge: str, parameter: str, said: str) -> bytes:
    """A parameter that calls are made without from now on."""
    record = {"judge": judge, "parameter": parameter, "said": said, "at": _now()}
    return head("", REJECTED) + b"," + _dump(record)[1:]


def _dump(record: Mapping[str, Any]) -> bytes:
    """One line of JSON; lone surrogates, which UTF-8 cannot hold, stay escaped."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
