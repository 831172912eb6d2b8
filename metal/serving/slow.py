"""Connections on which a request does not arrive: they are closed, so that they cannot pile up."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SLOWEST = 30.0  # seconds that a request may take to arrive; some get up to twice as many
STEADY = 10_000  # bytes a second: a body that arrives at this rate may take as long as it needs


class PunctualConnection(H11Protocol):
    """A connection that is looked at every SLOWEST seconds, and closed if no request has come since
    and no body arrives at a steady rate.
    """

    _seen: tuple[Any, bool] = None, False  # at the last look: the request, whether it was answered
    _arrived = 0  # bytes since the last look
    _next: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._next = self.loop.call_later(SLOWEST, self.look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End to watch."""
        super().connection_lost(exc)
        if self._next:
            self._next.cancel()

    def data_received(self, data: bytes) -> None:
        """Count what arrives."""
        self._arrived += len(data)
        super().data_received(data)

    def look(self) -> None:
        """Close the connection if it waits for the client for too long; else look again later."""
        request: Any = self.cycle
        answered = request is not None and request.response_complete
        arriving = request is not None and request.more_body and not answered
        waits = request is None or arriving or answered
        if waits and (request, answered) == self._seen and not (arriving and self._in_time()):
            self.transport.abort()
            return
        self._seen, self._arrived = (request, answered), 0
        self._next = self.loop.call_later(SLOWEST, self.look)

    def _in_time(self) -> bool:
        """Whether the body arrives at a steady rate, or the server has not read what is here."""
        unread: bool = self.flow.read_paused
        return unread or self._arrived >= STEADY * SLOWEST
