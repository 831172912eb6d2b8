"""Everything that a judge has only once on a whole cluster (places, rate, share of the budget), and
messages about it.

A worker asks at once for everything that its waiting calls need. It gets turns (times at which a
request may be sent) and calls (dollars reserved). The dollars that a lost worker had reserved count
as spent, because its requests may have been answered. The coordinator's part never waits, does not
depend on Ray, and gets the time as an argument. Messages contain spans of time, because the clocks
of two machines differ.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from metal.raters.judges.engine import JudgeSetup, Progress
from metal.raters.judges.journal import Record
from metal.raters.judges.limits import Budget, Pace, TokenEstimator, allowances, sleep_until

T = TypeVar("T")
GATHER = 0.01  # seconds in which requests are gathered
AGAIN = 0.05  # seconds until what could not be granted is requested again


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker has to know about its judge. environment: the driver's variables, which are
    never shown; None means not set.
    """

    judge: JudgeSetup
    ever_answered: bool
    environment: Mapping[str, str | None] = field(repr=False)


@dataclass(frozen=True)
class Lease:
    """What the coordinator grants a worker: all turns that it asked for, the first after `delay`
    seconds, then one every `spacing` seconds; and the first `calls` calls.

    over: whether no further call will be granted. estimator: the estimator of tokens, from all
    replies of the judge so far.
    """

    delay: float
    spacing: float
    calls: int
    over: bool
    estimator: TokenEstimator


@dataclass(frozen=True)
class JudgeStatus:
    """The state of a judge. places: how many calls the worker may have in flight. halted: whether
    the run was asked to stop.

    hold: seconds for which nothing may be sent, because the provider asked for a wait. holds: how
    often the provider has asked.
    """

    places: int
    holds: int
    hold: float = field(compare=False)
    stopped: str
    closed: bool
    halted: bool
    ever_answered: bool
    rejected: Mapping[str, str]


@dataclass
class WorkerReport:
    """Everything that has happened at a worker since its last report.

    records: (shard, record) for the shards' journals. ended: how many calls with a lease have
    ended; released: US dollars of these leases. spent: US dollars of replies. learned: for each
    reply, (rough tokens in, rough tokens out, tokens in, tokens out). busy: the longest wait for
    which the provider asked. rejected: parameter -> (the message, the line for the journal).
    places: the most calls that the worker will have in flight from now on.
    """

    records: list[tuple[int, Record]] = field(default_factory=list)
    ended: int = 0
    released: float = 0.0
    spent: float = 0.0
    sent: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    learned: list[tuple[float, float, int | None, int | None]] = field(default_factory=list)
    busy: float = 0.0
    stopped: str = ""
    rejected: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    places: int | None = None
    in_flight: int = 0


# ---------------------------------------------------------------- the coordinator's end


@dataclass
class Places:
    """The calls in flight that a judge may have, shared evenly by the workers that have questions.
    held: worker -> its places.
    """

    most: int
    held: dict[str, int] = field(default_factory=dict)

    def share(self, worker: str) -> int:
        """How many places a worker is due; 0 if it has left."""
        if worker not in self.held:
            return 0
        each, more = divmod(self.most, len(self.held))
        return each + (list(self.held).index(worker) < more)

    def join(self, worker: str) -> None:
        """Add a worker that has questions."""
        self.held.setdefault(worker, 0)
        self.spread()

    def leave(self, worker: str) -> None:
        """Remove a worker that has no questions left."""
        self.held.pop(worker, None)
        self.spread()

    def keep(self, worker: str, places: int) -> None:
        """Limit a worker to this many calls in flight from now on."""
        if worker in self.held:
            self.held[worker] = min(self.held[worker], places)
            self.spread()

    def spread(self) -> None:
        """Give free places to the workers that have less than their share."""
        free = self.most - sum(self.held.values())
        for worker in self.held:
            added = min(free, max(0, self.share(worker) - self.held[worker]))
            self.held[worker] += added
            free -= added


@dataclass
class SharedBudget(Budget):
    """The budget of the run, for all judges, in dollars and in calls. most_calls: the most calls;
    begun: the calls so far.
    """

    most_calls: int | None = None
    begun: int = 0

    @property
    def all_begun(self) -> bool:
        """Whether no further call may be begun."""
        return self.most_calls is not None and self.begun >= self.most_calls


class ClusterJudge:
    """One judge, over all its workers. closed: no more calls are begun."""

    def __init__(self, setup: WorkerSetup, progress: Progress, budget: SharedBudget) -> None:
        self.setup, self.model = setup, setup.judge.model
        self.progress, self.budget = progress, budget
        self.estimator = TokenEstimator()
        self.requests, self.tokens = allowances(self.model)
        self.places = Places(self.model.concurrency)
        self.reserved: dict[str, int] = {}  # worker -> how many calls it has leases for
        self.dollars: dict[str, float] = {}  # worker -> US dollars of these leases
        self.in_flight: dict[str, int] = {}
        self.rejected = dict(setup.judge.rejected)
        self.hold_until, self.holds = 0.0, 0
        self.ever_answered = setup.ever_answered
        self.closed = self.over_budget = False

    def lease(
        self, worker: str, turns: Sequence[float], calls: Sequence[float], now: float
    ) -> Lease:
        """Grant turns for requests with these numbers of tokens, and as many calls at these costs
        as the budget allows. calls: US dollars each.
        """
        delay = spacing = 0.0
        count = len(turns)
        if self.requests and count:
            delay, spacing = self.requests.delay(count, now), 60.0 / self.requests.a_minute
        if self.tokens and count:
            tokens = sum(turns)
            delay = max(delay, self.tokens.delay(tokens, now))
            spacing = max(spacing, tokens / count * 60.0 / self.tokens.a_minute)
        granted = 0
        while granted < len(calls) and self._reserve(worker, calls[granted]):
            granted += 1
        return Lease(delay, spacing, granted, self.closed, self.estimator)

    def _reserve(self, worker: str, dollars: float) -> bool:
        budget = self.budget
        if self.closed or budget.all_begun:
            self.closed = True
            return False
        cost_unknown = (
            budget.limit is not None and self.model.price is not None and not self.estimator.answers
        )
        # one call at a time, until a reply shows what calls cost
        if cost_unknown and any(self.reserved.values()):
            return False
        if not budget.take(dollars):
            if budget.spent_up(dollars) or budget.committed <= 1e-9:
                self.closed = self.over_budget = True
            return False  # otherwise what others have reserved may be given back
        self.reserved[worker] = self.reserved.get(worker, 0) + 1
        self.dollars[worker] = self.dollars.get(worker, 0.0) + dollars
        budget.begun += 1
        return True

    # ------------------------------------------------------------ workers

    def hear(self, worker: str, report: WorkerReport, now: float) -> None:
        """Update the leases from a worker's report."""
        self.budget.release(report.released)
        self.budget.spent += report.spent
        self.dollars[worker] = self.dollars.get(worker, 0.0) - report.released
        self.reserved[worker] = max(0, self.reserved.get(worker, 0) - report.ended)
        for learned in report.learned:
            self.estimator.learn(*learned)
        self.progress.cost += report.spent
        self.progress.sent += report.sent
        self.progress.retries.update(report.retries)
        self.progress.stopped = self.progress.stopped or report.stopped
        self.ever_answered = self.ever_answered or bool(report.learned)
        self.in_flight[worker] = report.in_flight
        for parameter, (why, _) in report.rejected.items():
            self.rejected.setdefault(parameter, why)
        if report.busy:
            self.holds += 1
            self.hold_until = max(self.hold_until, now + report.busy)
        if report.places is not None:
            self.places.keep(worker, report.places)
        self.closed = self.closed or bool(self.progress.stopped)

    def stop(self, why: str) -> None:
        """Begin no more calls."""
        self.progress.stopped = self.progress.stopped or why
        self.closed = True

    def lost(self, worker: str) -> None:
        """Take back what a lost worker had."""
        self.places.leave(worker)
        dollars = max(0.0, self.dollars.pop(worker, 0.0))
        self.budget.release(dollars)
        self.budget.spent += dollars
        self.reserved.pop(worker, None)
        self.in_flight.pop(worker, None)

    def status(self, worker: str, now: float, *, halted: bool) -> JudgeStatus:
        """The state of the judge, for a worker."""
        return JudgeStatus(
            places=min(self.places.held.get(worker, 0), self.places.share(worker)),
            holds=self.holds,
            hold=max(0.0, self.hold_until - now),
            stopped=self.progress.stopped,
            closed=self.closed,
            halted=halted,
            ever_answered=self.ever_answered,
            rejected=dict(self.rejected),
        )


# ---------------------------------------------------------------- the worker's end


@dataclass
class SharedEstimator(TokenEstimator):
    """An estimator that adopts the coordinator's estimates, and adds replies that the coordinator
    does not know yet.
    """

    unreported: list[tuple[float, float, int | None, int | None]] = field(default_factory=list)

    def learn(
        self, rough: float, answer: float, tokens_in: int | None, tokens_out: int | None
    ) -> None:
        """Take a reply into account. tokens_in, tokens_out: None if the provider does not count
        them.
        """
        super().learn(rough, answer, tokens_in, tokens_out)
        self.unreported.append((rough, answer, tokens_in, tokens_out))

    def adopt(self, overall: TokenEstimator) -> None:
        """Adopt the estimates from all workers' replies, and add the replies that only this worker
        knows.
        """
        if overall.answers < self.answers:
            return  # the coordinator has not heard everything that is known here
        for item in fields(TokenEstimator):
            setattr(self, item.name, getattr(overall, item.name))
        for learned in self.unreported:
            super().learn(*learned)


class Leases:
    """Turns and permissions to begin, for which the calls of one judge in this worker wait."""

    def __init__(self, setup: JudgeSetup, coordinator: Any, worker: str) -> None:
        self.model, self.coordinator, self.worker = setup.model, coordinator, worker
        self.estimator = SharedEstimator()
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
        return await self._granted(self.turns, tokens)

    async def call(self, dollars: float) -> bool:
        """Whether a call that costs at most this much may be begun."""
        if not self.counted or self.closed:
            return not self.closed
        return await self._granted(self.calls, dollars)

    async def _granted(self, waiting: list[tuple[float, asyncio.Future[T]]], amount: float) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiting.append((amount, answer))
        self.wanted.set()
        return await answer

    def close(self) -> None:
        """Begin no more calls, and answer all waiting calls."""
        self.closed = True
        for _, turn in self.turns:
            _answer(turn, 0.0)
        for _, call in self.calls:
            _answer(call, False)
        self.turns, self.calls = [], []

    async def fetch(self) -> None:
        """Keep requesting leases for waiting calls, as long as the worker lives."""
        while True:
            await self.wanted.wait()
            await asyncio.sleep(GATHER)
            self.wanted.clear()
            turns, calls = self.turns, self.calls
            self.turns, self.calls = [], []
            if not turns and not calls:
                continue
            wanted = [tokens for tokens, _ in turns], [dollars for dollars, _ in calls]
            lease = await self.coordinator.lease.remote(self.worker, self.model.name, *wanted)
            now = time.monotonic()
            self.estimator.adopt(lease.estimator)
            for position, (_, turn) in enumerate(turns):
                _answer(turn, now + lease.delay + position * lease.spacing)
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
    """This worker's part of a judge's pace. report_wait(seconds): reports a wait for which the
    provider asked.
    """

    def __init__(self, leases: Leases, report_wait: Callable[[float], None]) -> None:
        super().__init__(0)
        self.leases, self.report_wait = leases, report_wait
        self.keeps: Callable[[int], None] | None = None

    async def hold(self, tokens: float, over: asyncio.Event) -> None:
        """Wait until a request of that many tokens may be sent from any worker, or until `over` is
        set.
        """
        delay = await self.leases.turn(tokens) - time.monotonic()
        if delay > 0 and await sleep_until(over, delay):
            return
        await super().hold(tokens, over)

    def busy(self, wait: float, sent_at: float) -> None:
        """React to too many requests: allow fewer calls in flight here, and make all workers wait
        as long as the provider asks.
        """
        super().busy(wait, sent_at)
        if wait > 0:
            self.report_wait(wait)

    def wait_for(self, seconds: float) -> None:
        """Wait, because the provider told another worker to wait."""
        self._open_at = max(self._open_at, time.monotonic() + seconds)

    def allow(self, places: int, keeps: Callable[[int], None]) -> None:
        """Allow this many calls in flight here. keeps(places): if more are in flight now, called
        once they have ended.
        """
        uncut = self.limit >= self.most
        fewer, self.most = places < self.most, places
        self.limit = float(places) if uncut else min(self.limit, float(places))
        if fewer:
            self.keeps = keeps
        self._wake()
        self._report_kept()

    def leave(self) -> None:
        """Give back the place of a call in flight."""
        super().leave()
        self._report_kept()

    def _report_kept(self) -> None:
        if self.keeps and self.in_flight <= self.most:
            keeps, self.keeps = self.keeps, None
            keeps(self.most)
