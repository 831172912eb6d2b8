"""Request files: as many calls as the provider's limits, the budget and --limit allow, in the plan's order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from metal.judges.batch.contract import Limits
from metal.judges.call import Question


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
    """What was packed."""

    items: list[tuple[Question, bytes]] = field(default_factory=list)
    begins: int = 0
    bytes: int = 0
    tokens: float = 0.0
    dollars: float = 0.0

    @property
    def keys(self) -> bytes:
        """Sixteen bytes a call."""
        return b"".join(key for _, key in self.items)


class Waiting:
    """Calls waiting to be packed, one of which can be put back."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items, self._back = items, list[Item]()

    def take(self) -> Item | None:
        """The next one; None when there is none."""
        return self._back.pop() if self._back else next(self._items, None)

    def put_back(self, item: Item) -> None:
        """It did not fit; it comes first the next time."""
        self._back.append(item)


def pack(waiting: Waiting, limits: Limits, path: Path, may_take: Callable[[Item], bool]) -> Packed:
    """Write a request file, synced; without calls there is none. may_take: sets aside what a call costs.

    A call that is larger than a whole batch may be is packed alone: the provider says what is wrong with it.
    """
    packed = Packed()
    with path.open("wb") as file:
        while len(packed.items) < limits.requests and (item := waiting.take()):
            size = len(item.line) + 1
            full = packed.bytes + size > limits.bytes
            full |= limits.tokens is not None and packed.tokens + item.tokens > limits.tokens
            if (packed.items and full) or not may_take(item):
                waiting.put_back(item)
                break
            if not packed.items:
                packed.begins = item.place
            packed.items.append((item.call, item.key))
            packed.bytes += size
            packed.tokens += item.tokens
            packed.dollars += item.dollars
            file.write(item.line + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if not packed.items:
        path.unlink()
    return packed
