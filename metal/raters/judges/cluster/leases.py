"""What there is one of for a judge on a whole cluster: its places, its rate, its share of the run's budget.

Nothing here waits or knows of Ray; times are given. A worker asks for what its waiting calls need, all at once, and
gets turns (when a request may be sent) and calls (dollars set aside). What a lost worker had set aside counts as
spent, because its requests may have been answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from metal.raters.judges.cluster.messages import Lease, News, Report, Wish
from metal.raters.judges.cost import Budget, TokenGuess
from metal.raters.judges.engine import Progress
from metal.raters.judges.models import Model
from metal.raters.judges.pace import Allowance


@dataclass
class Places:
    """Calls in flight, shared evenly by the workers that have something to ask. held: worker -> its places."""

    most: int
    held: dict[str, int] = field(default_factory=dict)

    def share(self, worker: str) -> int:
        """What is a worker's due; 0 for one that has left."""
        if worker not in self.held:
            return 0
        each, more = divmod(self.most, len(self.held))
        return each + (list(self.held).index(worker) < more)

    def join(self, worker: str) -> None:
        """A worker has something to ask."""
        self.held.setdefault(worker, 0)
        self.spread()

    def leave(self, worker: str) -> None:
        """It has no longer."""
        self.held.pop(worker, None)
        self.spread()

    def keep(self, worker: str, places: int) -> None:
        """It will have no more than so many in flight from now on."""
        if worker in self.held:
            self.held[worker] = min(self.held[worker], places)
            self.spread()

    def spread(self) -> None:
        """Hand out what is free to those that have less than their share."""
        free = self.most - sum(self.held.values())
        for worker in self.held:
            given = min(free, max(0, self.share(worker) - self.held[worker]))
            self.held[worker] += given
            free -= given


@dataclass
class Purse:
    """The run's budget and its --limit, for all judges. begun: calls, of `limit` at most."""

    budget: Budget
    limit: int | None = None
    begun: int = 0

    @property
    def all_begun(self) -> bool:
        """Whether --limit is reached."""
        return self.limit is not None and self.begun >= self.limit


class Judge:
    """One judge, over all its workers. closed: no call is begun any more."""

    def __init__(self, model: Model, progress: Progress, purse: Purse, guess: TokenGuess) -> None:
        self.model, self.progress, self.purse, self.guess = model, progress, purse, guess
        limits = (model.requests_per_minute, model.tokens_per_minute)
        self.requests, self.tokens = (Allowance(float(limit)) if limit else None for limit in limits)
        self.places = Places(model.concurrency)
        self.set_aside: dict[str, int] = {}  # worker -> how many calls it has leases for
        self.dollars: dict[str, float] = {}  # worker -> US dollars of them
        self.in_flight: dict[str, int] = {}
        self.rejected: dict[str, str] = {}
        self.hold_until, self.holds = 0.0, 0
        self.ever_answered = False
        self.closed = self.over_budget = False

    # ------------------------------------------------------------ leases

    def lease(self, worker: str, wish: Wish, now: float) -> Lease:
        """Turns for all requests, and as many calls as budget and --limit have."""
        delay = spacing = 0.0
        count = len(wish.turns)
        if self.requests and count:
            delay, spacing = self.requests.delay(count, now), 60.0 / self.requests.a_minute
        if self.tokens and count:
            whole = sum(wish.turns)
            delay = max(delay, self.tokens.delay(whole, now))
            spacing = max(spacing, whole / count * 60.0 / self.tokens.a_minute)
        calls = 0
        for dollars in wish.calls:
            if not self._afford(worker, dollars):
                break
            calls += 1
        return Lease(delay, spacing, calls, self.closed, self.guess)

    def _afford(self, worker: str, dollars: float) -> bool:
        purse = self.purse
        if self.closed or purse.all_begun:
            self.closed = True
            return False
        unsized = purse.budget.limit is not None and self.model.price is not None and not self.guess.answers
        if unsized and any(self.set_aside.values()):  # until a reply tells what calls cost, one at a time
            return False
        if not purse.budget.take(dollars):
            if purse.budget.spent_up(dollars) or purse.budget.committed <= 1e-9:
                self.closed = self.over_budget = True
            return False  # else what others have set aside may come back
        self.set_aside[worker] = self.set_aside.get(worker, 0) + 1
        self.dollars[worker] = self.dollars.get(worker, 0.0) + dollars
        purse.begun += 1
        return True

    # ------------------------------------------------------------ what workers tell

    def hear(self, worker: str, report: Report, now: float) -> None:
        """Take in all of a report but its lines."""
        self.purse.budget.release(report.released)
        self.purse.budget.spent += report.spent
        self.dollars[worker] = self.dollars.get(worker, 0.0) - report.released
        self.set_aside[worker] = max(0, self.set_aside.get(worker, 0) - report.ended)
        for learned in report.learned:
            self.guess.learn(*learned)
        self.progress.cost += report.spent
        self.progress.sent += report.sent
        self.progress.retries.update(report.retries)
        self.progress.stopped = self.progress.stopped or report.stopped
        self.ever_answered = self.ever_answered or bool(report.learned)
        self.in_flight[worker] = report.in_flight
        for parameter, (said, _) in report.refused.items():
            self.rejected.setdefault(parameter, said)
        if report.busy:
            self.holds += 1
            self.hold_until = max(self.hold_until, now + report.busy)
        if report.places is not None:
            self.places.keep(worker, report.places)
        self.closed = self.closed or bool(self.progress.stopped)

    def lost(self, worker: str) -> None:
        """A worker will not be heard of again."""
        self.places.leave(worker)
        dollars = max(0.0, self.dollars.pop(worker, 0.0))
        self.purse.budget.release(dollars)
        self.purse.budget.spent += dollars
        self.set_aside.pop(worker, None)
        self.in_flight.pop(worker, None)

    # ------------------------------------------------------------ what they are told

    def news(self, worker: str, now: float, *, halted: bool) -> News:
        """How things stand, for a worker."""
        return News(
            places=min(self.places.held.get(worker, 0), self.places.share(worker)),
            holds=self.holds,
            hold=max(0.0, self.hold_until - now),
            stopped=self.progress.stopped,
            closed=self.closed,
            halted=halted,
            ever_answered=self.ever_answered,
            rejected=dict(self.rejected),
        )
