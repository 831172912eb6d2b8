"""The worker's end of leases: what its calls wait for is requested from the coordinator together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from metal.raters.judges.cluster.messages import LeaseRequest
from metal.raters.judges.engine import JudgeSetup
from metal.raters.judges.limits import Pace, TokenEstimator, sleep_until

GATHER = 0.01  # seconds in which requests are gathered
AGAIN = 0.05  # seconds until what could not be granted is requested again


@dataclass
class SharedEstimator(TokenEstimator):
    """An estimator that remembers what the coordinator does not know yet, and adopts the coordinator's."""

    unreported: list[tuple[float, int | None, int | None]] = field(default_factory=list)

    def learn(self, rough: float, tokens_in: int | None, tokens_out: int | None) -> None:
        """Take a reply into account; None: not counted by the provider."""
        super().learn(rough, tokens_in, tokens_out)
        self.unreported.append((rough, tokens_in, tokens_out))

    def adopt(self, overall: TokenEstimator) -> None:
        """Take over what all workers' replies show, and add what only this worker knows."""
        if overall.answers < self.answers:
            return  # the coordinator has not heard of everything that is known here
        for item in fields(TokenEstimator):
            setattr(self, item.name, getattr(overall, item.name))
        for learned in self.unreported:
            super().learn(*learned)


class Leases:
    """What the calls of one judge in this worker wait for: turns of its rate, and permission to begin."""

    def __init__(self, setup: JudgeSetup, coordinator: Any, worker: str) -> None:
        self.model, self.coordinator, self.worker = setup.model, coordinator, worker
        self.estimator = SharedEstimator(setup.answer_tokens)
        self.paced = bool(self.model.requests_per_minute or self.model.tokens_per_minute)
        self.counted = setup.rules.limit is not None or setup.rules.max_cost is not None
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
        """No call is begun any more: answer everybody who waits."""
        self.closed = True
        for _, turn in self.turns:
            _answer(turn, 0.0)
        for _, call in self.calls:
            _answer(call, False)
        self.turns, self.calls = [], []

    async def fetch(self) -> None:
        """Request what is waited for, as long as the worker lives."""
        while True:
            await self.wanted.wait()
            await asyncio.sleep(GATHER)
            self.wanted.clear()
            turns, calls = self.turns, self.calls
            self.turns, self.calls = [], []
            if not turns and not calls:
                continue
            request = LeaseRequest(tuple(tokens for tokens, _ in turns), tuple(dollars for dollars, _ in calls))
            lease = await self.coordinator.lease.remote(self.worker, self.model.name, request)
            now = time.monotonic()
            self.estimator.adopt(lease.estimator)
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
    """This worker's part of a judge's pace. report_wait(seconds): a wait that the provider asked for."""

    def __init__(self, leases: Leases, report_wait: Callable[[float], None]) -> None:
        super().__init__(0)
        self.leases, self.report_wait = leases, report_wait
        self.keeps: Callable[[int], None] | None = None

    async def hold(self, tokens: float, over: asyncio.Event) -> None:
        """Wait until a request of that many tokens may be sent from any worker, or until `over`."""
        delay = await self.leases.turn(tokens) - time.monotonic()
        if delay > 0 and await sleep_until(over, delay):
            return
        await super().hold(tokens, over)

    def busy(self, wait: float, sent_at: float) -> None:
        """Too many requests: fewer calls in flight here, and all workers wait as long as the provider asks."""
        super().busy(wait, sent_at)
        if wait > 0:
            self.report_wait(wait)

    def wait_for(self, seconds: float) -> None:
        """Another worker was told to wait."""
        self._open_at = max(self._open_at, time.monotonic() + seconds)

    def allow(self, places: int, keeps: Callable[[int], None]) -> None:
        """Allow so many calls in flight here. keeps(places): called once there are no more, if there were."""
        uncut = self.limit >= self.most
        fewer, self.most = places < self.most, places
        self.limit = float(places) if uncut else min(self.limit, float(places))
        if fewer:
            self.keeps = keeps
        self._wake()
        self._report_kept()

    def leave(self) -> None:
        """Give back the place."""
        super().leave()
        self._report_kept()

    def _report_kept(self) -> None:
        if self.keeps and self.in_flight <= self.most:
            keeps, self.keeps = self.keeps, None
            keeps(self.most)
