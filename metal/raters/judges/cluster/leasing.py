"""The worker's end of leases: what its calls wait for is asked of the coordinator in one go, a few times a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from metal.raters.judges.cluster.messages import Wish
from metal.raters.judges.cost import TokenGuess
from metal.raters.judges.engine import Rules
from metal.raters.judges.models import Model
from metal.raters.judges.pace import Pace, sleep_until

GATHER = 0.01  # seconds in which wishes are gathered
AGAIN = 0.05  # seconds until a wish that could not be granted is made again


@dataclass
class ToldGuess(TokenGuess):
    """A guess that remembers what the coordinator has not been told, and takes over what it says."""

    untold: list[tuple[float, int | None, int | None]] = field(default_factory=list)

    def learn(self, rough: float, tokens_in: int | None, tokens_out: int | None) -> None:
        """What a call had."""
        super().learn(rough, tokens_in, tokens_out)
        self.untold.append((rough, tokens_in, tokens_out))

    def take_over(self, whole: TokenGuess) -> None:
        """What all workers' calls had, and on top what only this one knows."""
        if whole.answers < self.answers:
            return  # it has not heard of all that is known here
        for one in fields(TokenGuess):
            setattr(self, one.name, getattr(whole, one.name))
        for learned in self.untold:
            super().learn(*learned)


class Leases:
    """What the calls of one judge in this worker wait for: turns of its rate, and leave to begin calls."""

    guess: ToldGuess

    def __init__(self, model: Model, rules: Rules, coordinator: Any, worker: str) -> None:
        self.model, self.coordinator, self.worker = model, coordinator, worker
        self.paced = bool(model.requests_per_minute or model.tokens_per_minute)
        self.counted = rules.limit is not None or rules.max_cost is not None
        self.turns: list[tuple[float, asyncio.Future[float]]] = []
        self.calls: list[tuple[float, asyncio.Future[bool]]] = []
        self.wanted = asyncio.Event()
        self.closed = False

    async def turn(self, tokens: float) -> float:
        """The time (monotonic) from which a request of that many tokens may be sent."""
        if not self.paced or self.closed:
            return 0.0
        waiting: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.turns.append((tokens, waiting))
        self.wanted.set()
        return await waiting

    async def call(self, dollars: float) -> bool:
        """Whether a call that costs so much at most may be begun."""
        if not self.counted or self.closed:
            return not self.closed
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.calls.append((dollars, waiting))
        self.wanted.set()
        return await waiting

    def close(self) -> None:
        """No call is begun any more: nobody waits."""
        self.closed = True
        for _, turn in self.turns:
            _answer(turn, 0.0)
        for _, call in self.calls:
            _answer(call, False)
        self.turns, self.calls = [], []

    async def fetch(self) -> None:
        """Ask for what is waited for, as long as the worker lives."""
        while True:
            await self.wanted.wait()
            await asyncio.sleep(GATHER)
            self.wanted.clear()
            turns, calls = self.turns, self.calls
            self.turns, self.calls = [], []
            if not turns and not calls:
                continue
            wish = Wish(tuple(tokens for tokens, _ in turns), tuple(dollars for dollars, _ in calls))
            lease = await self.coordinator.lease.remote(self.worker, self.model.name, wish)
            now = time.monotonic()
            self.guess.take_over(lease.guess)
            for place, (_, turn) in enumerate(turns):
                _answer(turn, now + lease.delay + place * lease.spacing)
            for _, call in calls[: lease.calls]:
                _answer(call, True)
            left = calls[lease.calls :]
            if lease.over or self.closed:
                for _, call in left:
                    _answer(call, False)
            elif left:
                self.calls = left + self.calls
                asyncio.get_running_loop().call_later(AGAIN, self.wanted.set)


def _answer(waiting: asyncio.Future[Any], answer: Any) -> None:
    if not waiting.done():
        waiting.set_result(answer)


class SharedPace(Pace):
    """The part of a judge's pace that this worker has on lease. told(wait): of waits the provider asks for."""

    def __init__(self, leases: Leases, told: Callable[[float], None]) -> None:
        super().__init__(0)
        self.leases, self.told = leases, told
        self.keeps: Callable[[int], None] | None = None

    async def hold(self, tokens: float, over: asyncio.Event) -> None:
        """Wait until a request of that many tokens may be sent anywhere on the cluster, or until `over`."""
        delay = await self.leases.turn(tokens) - time.monotonic()
        if delay > 0 and await sleep_until(over, delay):
            return
        await super().hold(tokens, over)

    def busy(self, wait: float, sent_at: float) -> None:
        """Too many requests: fewer calls in flight here, and everybody waits as long as the provider asks for."""
        super().busy(wait, sent_at)
        if wait > 0:
            self.told(wait)

    def wait_for(self, seconds: float) -> None:
        """Another worker was told to wait."""
        self._open_at = max(self._open_at, time.monotonic() + seconds)

    def allow(self, places: int, keeps: Callable[[int], None]) -> None:
        """So many calls may be in flight here. keeps(places): called once no more are than that, where there were."""
        uncut = self.limit >= self.most
        fewer, self.most = places < self.most, places
        self.limit = float(places) if uncut else min(self.limit, float(places))
        if fewer:
            self.keeps = keeps
        self._wake()
        self._kept()

    def leave(self) -> None:
        """Give the place back."""
        super().leave()
        self._kept()

    def _kept(self) -> None:
        if self.keeps and self.in_flight <= self.most:
            keeps, self.keeps = self.keeps, None
            keeps(self.most)
