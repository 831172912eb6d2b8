"""Request files: as many calls as the provider's limits, the budget and --limit allow, in the plan's order."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from metal.data.folders import naming
from metal.raters.judges.batch.contract import Limits
from metal.raters.judges.batch.ledger import Batch
from metal.raters.judges.call import Question
from metal.raters.judges.models import Model

TURN = 256  # lines written or read in one go
ROOM = 0.25  # of the tokens that may wait: with less room than that, the next batch waits for one to end
SAMPLE = 100  # answers that tell what calls cost at most; one answer alone does not


@dataclass(frozen=True)
class Item:
    """A call to pack. line: of the request file. place: in the judge's calls. tokens, dollars: as estimated."""

    call: Question
    key: bytes
    line: bytes
    place: int
    tokens: float
    dollars: float


@dataclass
class Packed:
    """What was packed. items: keys; begins: place of the first call; size: bytes of the file."""

    items: list[bytes] = field(default_factory=list)
    begins: int = 0
    size: int = 0
    tokens: float = 0.0
    dollars: float = 0.0

    @property
    def keys(self) -> bytes:
        """Sixteen bytes a call."""
        return b"".join(self.items)


class Waiting:
    """Calls waiting to be packed, by their place; one can be put back. make: an Item of a call, None if it is taken."""

    def __init__(self, calls: Iterable[tuple[int, Question]], make: Callable[[int, Question], Item | None]) -> None:
        self._calls, self._make = iter(calls), make

    def take(self) -> Item | None:
        """The next one; None when there is none."""
        return next((item for place, call in self._calls if (item := self._make(place, call))), None)

    def put_back(self, item: Item) -> None:
        """It did not fit; it comes first the next time, made anew."""
        self._calls = chain([(item.place, item.call)], self._calls)


async def pack(waiting: Waiting, limits: Limits, path: Path, may_take: Callable[[Item], bool]) -> Packed:
    """Write a request file, synced; without calls there is none. may_take: sets aside what a call costs.

    A call that is larger than a whole batch may be is packed alone: the provider says what is wrong with it.
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
                await asyncio.sleep(0)  # other judges have work to do as well
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


def smaller(limits: Limits, model: Model) -> Limits:
    """The provider's limits as the user's settings cut them."""
    own = model.batch
    return Limits(
        min(limits.requests, own.requests or limits.requests),
        min(limits.bytes, own.bytes or limits.bytes),
        own.tokens or limits.tokens,
    )


def room(limits: Limits, waiting: Sequence[float], *, unsized: bool) -> Limits | None:
    """What the next batch may hold beside open ones of so many tokens; None while it has to wait for one to end.

    unsized: there is a limit of money, and too few answers to tell what calls cost: a batch of a few comes first.
    """
    if unsized:
        if waiting:
            return None
        limits = replace(limits, requests=min(limits.requests, SAMPLE))
    if limits.tokens is None:
        return limits
    left = limits.tokens - sum(waiting)
    return replace(limits, tokens=left) if not waiting or left >= ROOM * limits.tokens else None


def tokens_that_may_wait(refused: Batch, others: float, said: str) -> float:
    """How many tokens may wait at most, by the refusal of a batch beside others with so many tokens, and what it said.

    Without a number in it, no more than were waiting without the batch.
    """
    told = re.search(r"limit:?\D{0,20}([\d,]{4,})", said, re.I)
    most = 0.9 * float(told[1].replace(",", "")) if told else others or refused.tokens / 2
    return min(most, others + 0.9 * refused.tokens) if refused.requests > 1 else most
