"""What a judge has once on a whole cluster: its places, its rate, its share of the run's budget.

Nothing here waits or knows of Ray; times are passed in. A worker asks for what its waiting calls need, all at once,
and gets turns (when a request may be sent) and calls (dollars reserved). What a lost worker had reserved counts as
spent, because its requests may have been answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from metal.raters.judges.cluster.messages import JudgeStatus, Lease, LeaseRequest, WorkerReport, WorkerSetup
from metal.raters.judges.engine import Progress
from metal.raters.judges.limits import Budget, TokenEstimator, allowances


@dataclass
class Places:
    """Calls in flight, shared evenly by the workers that have something to ask. held: worker -> its places."""

    most: int
    held: dict[str, int] = field(default_factory=dict)

    def share(self, worker: str) -> int:
        """The places that a worker is due; 0 for one that has left."""
        if worker not in self.held:
            return 0
        each, more = divmod(self.most, len(self.held))
        return each + (list(self.held).index(worker) < more)

    def join(self, worker: str) -> None:
        """A worker has something to ask."""
        self.held.setdefault(worker, 0)
        self.spread()

    def leave(self, worker: str) -> None:
        """A worker has nothing left to ask."""
        self.held.pop(worker, None)
        self.spread()

    def keep(self, worker: str, places: int) -> None:
        """From now on a worker will have at most so many calls in flight."""
        if worker in self.held:
            self.held[worker] = min(self.held[worker], places)
            self.spread()

    def spread(self) -> None:
        """Give free places to the workers that have less than their share."""
        free = self.most - sum(self.held.values())
        for worker in self.held:
            given = min(free, max(0, self.share(worker) - self.held[worker]))
            self.held[worker] += given
            free -= given


@dataclass
class SharedBudget:
    """The budget and limit of the run, for all judges. begun: calls, of `limit` at most."""

    budget: Budget
    limit: int | None = None
    begun: int = 0

    @property
    def all_begun(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and self.begun >= self.limit


class ClusterJudge:
    """One judge, over all its workers. closed: no call is begun any more."""

    def __init__(self, setup: WorkerSetup, progress: Progress, shared: SharedBudget) -> None:
        self.setup, self.model = setup, setup.judge.model
        self.progress, self.shared = progress, shared
        self.estimator = TokenEstimator(setup.judge.answer_tokens)
        self.requests, self.tokens = allowances(self.model)
        self.places = Places(self.model.concurrency)
        self.reserved: dict[str, int] = {}  # worker -> how many calls it has leases for
        self.dollars: dict[str, float] = {}  # worker -> US dollars of these leases
        self.in_flight: dict[str, int] = {}
        self.rejected = dict(setup.judge.rejected)
        self.hold_until, self.holds = 0.0, 0
        self.ever_answered = setup.ever_answered
        self.closed = self.over_budget = False

    # ------------------------------------------------------------ leases

    def lease(self, worker: str, request: LeaseRequest, now: float) -> Lease:
        """Turns for all requests, and as many calls as budget and limit allow."""
        delay = spacing = 0.0
        count = len(request.turns)
        if self.requests and count:
            delay, spacing = self.requests.delay(count, now), 60.0 / self.requests.a_minute
        if self.tokens and count:
            tokens = sum(request.turns)
            delay = max(delay, self.tokens.delay(tokens, now))
            spacing = max(spacing, tokens / count * 60.0 / self.tokens.a_minute)
        calls = 0
        for dollars in request.calls:
            if not self._reserve(worker, dollars):
                break
            calls += 1
        return Lease(delay, spacing, calls, self.closed, self.estimator)

    def _reserve(self, worker: str, dollars: float) -> bool:
        shared, budget = self.shared, self.shared.budget
        if self.closed or shared.all_begun:
            self.closed = True
            return False
        cost_unknown = budget.limit is not None and self.model.price is not None and not self.estimator.answers
        if cost_unknown and any(self.reserved.values()):  # one call at a time, until a reply shows what calls cost
            return False
        if not budget.take(dollars):
            if budget.spent_up(dollars) or budget.committed <= 1e-9:
                self.closed = self.over_budget = True
            return False  # otherwise what others have reserved may be given back
        self.reserved[worker] = self.reserved.get(worker, 0) + 1
        self.dollars[worker] = self.dollars.get(worker, 0.0) + dollars
        shared.begun += 1
        return True

    # ------------------------------------------------------------ workers

    def hear(self, worker: str, report: WorkerReport, now: float) -> None:
        """Take in all of a report except its records."""
        self.shared.budget.release(report.released)
        self.shared.budget.spent += report.spent
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
        """Begin no call any more."""
        self.progress.stopped = self.progress.stopped or why
        self.closed = True

    def lost(self, worker: str) -> None:
        """A worker will not be heard of again."""
        self.places.leave(worker)
        dollars = max(0.0, self.dollars.pop(worker, 0.0))
        self.shared.budget.release(dollars)
        self.shared.budget.spent += dollars
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
