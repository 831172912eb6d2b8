"""Connections on which a request does not arrive: they are closed, so that they cannot pile up."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SLOWEST = 30.0  # seconds that a request may take to arrive; some get up to twice as many


class PunctualConnection(H11Protocol):
    """A connection that is looked at now and then, and closed if no request has come since."""

    _seen: Any = None
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._look = self.loop.call_later(SLOWEST, self._close_if_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """End to watch."""
        super().connection_lost(exc)
        if self._look:
            self._look.cancel()

    def _close_if_late(self) -> None:
        request: Any = self.cycle
        waits = request is None or request.more_body or request.response_complete
        if waits and request is self._seen:
            self.transport.abort()
            return
        self._seen = request
        self._look = self.loop.call_later(SLOWEST, self._close_if_late)
