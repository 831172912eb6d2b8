"""What a provider's batch service has to be able to do; providers/*_batch.py speak these terms.

A batch is a file of requests, a line each, that is uploaded, submitted under a token of ours, and looked at until it
has ended. Its results may lack requests (the batch expired, was cancelled) and hold failures beside replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from metal.raters.judges.call import Ask, CallFailed, Reply


@dataclass(frozen=True)
class Limits:
    """What may be in one batch at most: requests, bytes of its file, tokens (None: not known)."""

    requests: int
    bytes: int
    tokens: float | None = None


@dataclass(frozen=True)
class Status:
    """How far a batch is. stage: as the provider calls it. done: requests with an answer or a failure, where told.

    ended: nothing more comes of it, and what there is can be fetched. failure: why it was refused as a whole, nothing
    of it having been asked: BUSY when too many tokens are waiting already, else as of any call.
    """

    stage: str
    ended: bool = False
    done: int | None = None
    failure: CallFailed | None = None


class BatchClient(Protocol):
    """A connection to the batch service for one model. Every coroutine raises CallFailed, and retries nothing."""

    @property
    def limits(self) -> Limits:
        """The provider's own limits, which the user's settings can only make smaller or add to."""
        ...

    def line(self, key: str, ask: Ask) -> bytes:
        """The line of a request file for a question, without its line break. key: 32 hex digits, unique in a batch."""
        ...

    async def upload(self, file: Path, token: str) -> str:
        """Give the provider a request file; where it has it. A file that is uploaded twice costs nothing."""
        ...

    async def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch; its id. `find` finds it by the token, 20 lower-case letters and digits."""
        ...

    async def find(self, token: str) -> str | None:
        """The id of the batch that was submitted under this token; None when there is none."""
        ...

    async def status(self, batch: str) -> Status:
        """How far it is. Raises CallFailed(UNKNOWN_MODEL) when the provider knows no such batch."""
        ...

    async def fetch(self, batch: str, into: Path) -> None:
        """Write all results of an ended batch, a line each, as they came; an empty file when there are none."""
        ...

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """(key, what came of the request) of a line of results; the reply is read as one that came directly.

        Requests that were never asked (expired, cancelled) are CallFailed of a transient kind. Raises CallFailed
        (SERVER) for a line that cannot be read at all.
        """
        ...

    async def cancel(self, batch: str) -> None:
        """Ask for nothing more to be answered. Nothing happens to a batch that has ended."""
        ...

    async def forget(self, uploaded: str) -> None:
        """Take the request file away again. Results stay with the provider."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
