"""What a provider's batch service has to offer; providers/*_batch.py implement it.

A batch is a file of requests, one per line, that is uploaded, submitted under a token of ours, and watched until it
ends. Its results may lack requests (the batch expired or was cancelled) and contain failures beside replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from metal.raters.judges.call import CallFailed, ModelRequest, Reply


@dataclass(frozen=True)
class BatchLimits:
    """What one batch may contain at most: requests, bytes of its file, tokens (None: not known)."""

    requests: int
    bytes: int
    tokens: float | None = None


@dataclass(frozen=True)
class Status:
    """How far a batch is. stage: the provider's word for it. done: requests with an answer or a failure; None: unknown.

    ended: there will be no more results, and those there are can be fetched. failure: why it was refused as a whole,
    without asking anything: BUSY when too many tokens are waiting already, else a kind of any request.
    """

    stage: str
    ended: bool = False
    done: int | None = None
    failure: CallFailed | None = None


class BatchClient(Protocol):
    """A connection to the batch service for one model. Every coroutine may raise CallFailed; none retries."""

    @property
    def limits(self) -> BatchLimits:
        """The provider's own limits, which the user's settings can only lower or add to."""
        ...

    def line(self, key: str, ask: ModelRequest) -> bytes:
        """The line of a request file for a question, without its line break. key: 32 hex digits, unique in a batch."""
        ...

    async def upload(self, file: Path, token: str) -> str:
        """Upload a request file. Returns where the provider has it. Uploading a file twice costs nothing."""
        ...

    async def submit(self, uploaded: str, token: str) -> str:
        """Begin a batch. Returns its id. token: 20 lower-case letters and digits, by which `find` finds the batch."""
        ...

    async def find(self, token: str) -> str | None:
        """The id of the batch that was submitted under this token; None when there is none."""
        ...

    async def status(self, batch: str) -> Status:
        """How far a batch is. Raises CallFailed(UNKNOWN_MODEL) when the provider knows no such batch."""
        ...

    async def fetch(self, batch: str, into: Path) -> None:
        """Write all results of an ended batch as they came, one per line; an empty file when there are none."""
        ...

    def read(self, line: bytes) -> tuple[str, Reply | CallFailed]:
        """(key, the reply or failure) of a line of results; a reply is read as one to a direct request.

        Requests that were never asked (expired, cancelled) are CallFailed of a transient kind. Raises CallFailed
        (SERVER) for a line that cannot be read at all.
        """
        ...

    async def cancel(self, batch: str) -> None:
        """Cancel what is not answered yet. A batch that has ended is not changed."""
        ...

    async def forget(self, uploaded: str) -> None:
        """Delete the request file. Results stay with the provider."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...
