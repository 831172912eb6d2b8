"""How fast a judge is asked: calls in flight, requests and tokens a minute, and when to stop asking.

Each judge has one Pace. Calls in flight begin at the given bound, are cut when the provider reports too many requests,
and grow again by one for every round of answers (additive increase, multiplicative decrease). A wait that the provider
asks for holds back all calls, because limits apply to the account and not to a call.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field

from metal.raters.judges.models import Model

CUT = 0.7
STREAK = 20  # failed attempts in a row, without an answer between them, after which a provider counts as down


async def sleep_until(event: asyncio.Event, seconds: float) -> bool:
    """Sleep, at most until the event; whether it has come."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


@dataclass
class Allowance:
    """Units a minute, spent evenly: what is spent moves the time from which more may be used."""

    a_minute: float
    burst: float = 1.0  # seconds of allowance that may be used at once
    _next: float = 0.0

    def delay(self, amount: float, now: float) -> float:
        """Spend the amount. Returns the seconds until it may be used."""
        begin = max(self._next, now - self.burst)
        self._next = begin + amount * 60.0 / self.a_minute
        return max(0.0, begin - now)


def allowances(model: Model) -> tuple[Allowance | None, Allowance | None]:
    """The model's requests and tokens a minute; None: no limit."""
    requests, tokens = (
        Allowance(float(limit)) if limit else None for limit in (model.requests_per_minute, model.tokens_per_minute)
    )
    return requests, tokens


@dataclass
class Pace:
    """The pace of one judge. most: calls in flight at most; limit: how many are allowed now."""

    most: int
    requests: Allowance | None = None
    tokens: Allowance | None = None
    limit: float = field(init=False)
    in_flight: int = 0
    streak: int = 0
    _open_at: float = 0.0
    _cut_at: float = 0.0
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = float(self.most)

    async def enter(self, tokens: float, over: asyncio.Event) -> None:
        """Wait for a free place, and then until a request of that many tokens may be sent, at most until `over`."""
        while self.in_flight >= int(self.limit):
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._wake()  # it was given a place, which somebody else can use
                raise
        self.in_flight += 1
        try:
            await self.hold(tokens, over)
        except BaseException:
            self.leave()
            raise

    async def hold(self, tokens: float, over: asyncio.Event) -> None:
        """Wait until limits and the provider's waits allow a request of that many tokens, or until `over`."""
        now = time.monotonic()
        delay = self.requests.delay(1, now) if self.requests else 0.0
        if self.tokens:
            delay = max(delay, self.tokens.delay(tokens, now))
        while (delay := max(delay, self._open_at - time.monotonic())) > 0:  # another call may be told to wait
            if await sleep_until(over, delay):
                return
            delay = 0.0

    def leave(self) -> None:
        """Give back the place."""
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        room = int(self.limit) - self.in_flight
        while self._waiting and room > 0:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                room -= 1

    def answered(self) -> None:
        """A reply arrived: grow by one call in flight for each round of replies."""
        self.streak = 0
        if self.limit < self.most:
            self.limit = min(float(self.most), self.limit + 1.0 / self.limit)

    def failed(self) -> None:
        """An attempt failed at the provider or on the way."""
        self.streak += 1

    def busy(self, wait: float, sent_at: float) -> None:
        """Too many requests: cut once for all calls that were in flight together, and wait as long as asked."""
        now = time.monotonic()
        self._open_at = max(self._open_at, now + wait)
        if sent_at >= self._cut_at:
            self.limit = max(1.0, self.limit * CUT)
            self._cut_at = now

    @property
    def down(self) -> bool:
        """Whether so many attempts failed in a row that the provider seems to be down."""
        return self.streak >= max(STREAK, 2 * int(self.limit))
