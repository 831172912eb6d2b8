"""Request files: as many questions as the provider's limits, the budget and the rules allow, in the plan's order."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from metal.data.files import naming
from metal.raters.judges.batch.ledger import Batch
from metal.raters.judges.call import BatchLimits, Question
from metal.raters.judges.models import Model

TURN = 256  # lines written or read without giving other judges a turn
ROOM = 0.25  # of the tokens that may wait: with less room than that, the next batch waits for another to end
SAMPLE = 100  # answers that show what questions cost at most; one answer alone does not


@dataclass(frozen=True)
class PackedRequest:
    """A question to pack. line: of the request file. place: in the plan. tokens, dollars: as estimated."""

    question: Question
    key: bytes
    line: bytes
    place: int
    tokens: float
    dollars: float


@dataclass
class Packed:
    """What was packed. items: keys; begins: place of the first question; size: bytes of the file."""

    items: list[bytes] = field(default_factory=list)
    begins: int = 0
    size: int = 0
    tokens: float = 0.0
    dollars: float = 0.0


class Waiting:
    """Questions waiting to be packed, with their places. make: an Item of a question, None if it is under way."""

    def __init__(
        self, questions: Iterable[tuple[int, Question]], make: Callable[[int, Question], PackedRequest | None]
    ) -> None:
        self._questions, self._make = iter(questions), make

    def take(self) -> PackedRequest | None:
        """The next one; None when there is none."""
        return next((item for place, question in self._questions if (item := self._make(place, question))), None)

    def put_back(self, item: PackedRequest) -> None:
        """It did not fit; next time it comes first, and its item is made again."""
        self._questions = chain([(item.place, item.question)], self._questions)


async def pack(waiting: Waiting, limits: BatchLimits, path: Path, may_take: Callable[[PackedRequest], bool]) -> Packed:
    """Write a request file, synced; without questions there is none. may_take: reserves what a question costs.

    A question that is larger than a batch may be is packed alone: the provider says what is wrong with it.
    """
    packed = Packed()
    with naming(path), path.open("wb") as file:
        while len(packed.items) < limits.requests and (item := waiting.take()):
            size = len(item.line) + 1
            full = packed.size + size > limits.bytes
            full |= limits.tokens is not None and packed.tokens + item.tokens > limits.tokens
            if (packed.items and full) or not may_take(item):
                waiting.put_back(item)
                break
            if not packed.items:
                packed.begins = item.place
            elif len(packed.items) % TURN == 0:
                await asyncio.sleep(0)
            packed.items.append(item.key)
            packed.size += size
            packed.tokens += item.tokens
            packed.dollars += item.dollars
            file.write(item.line + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if not packed.items:
        path.unlink()
    return packed


def smaller(limits: BatchLimits, model: Model) -> BatchLimits:
    """The provider's limits, lowered by the user's settings."""
    own = model.batch
    return BatchLimits(
        min(limits.requests, own.requests or limits.requests),
        min(limits.bytes, own.bytes or limits.bytes),
        own.tokens or limits.tokens,
    )


def room(limits: BatchLimits, waiting: Sequence[float], *, cost_unknown: bool) -> BatchLimits | None:
    """What the next batch may hold beside open batches of so many tokens; None while it has to wait for one to end.

    cost_unknown: there is a budget, and too few answers to show what questions cost: a small batch comes first.
    """
    if cost_unknown:
        if waiting:
            return None
        limits = replace(limits, requests=min(limits.requests, SAMPLE))
    if limits.tokens is None:
        return limits
    left = limits.tokens - sum(waiting)
    return replace(limits, tokens=left) if not waiting or left >= ROOM * limits.tokens else None


def tokens_that_may_wait(refused: Batch, others: float, message: str) -> float:
    """How many tokens may wait at most, by the message that refused a batch beside others of so many tokens.

    If the message has no number, no more than were waiting without the batch.
    """
    match = re.search(r"limit:?\D{0,20}([\d,]{4,})", message, re.I)
    most = 0.9 * float(match[1].replace(",", "")) if match else others or refused.tokens / 2
    return min(most, others + 0.9 * refused.tokens) if refused.requests > 1 else most
