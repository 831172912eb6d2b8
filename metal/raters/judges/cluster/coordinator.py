"""The coordinator: one actor per run, on the driver's node. It grants leases and keeps the shards'
journals.

A worker's record is written to its shard's journal when it arrives, and counts once it is on the
disk. If a shard is begun again because its worker was lost, the new worker learns what the shard's
journal contains.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from metal.raters.judges.cluster import leases
from metal.raters.judges.cluster.shards import REJECTED_PARAMETERS, lock_shards, shard_journal
from metal.raters.judges.engine import Progress, Rules
from metal.raters.judges.journal import Answered, Journal, read_answered

PATIENCE = 1.0  # seconds after which a worker is told the status again, and is heard from
SILENCE = 20.0  # seconds without a word after which a worker counts as lost
LOSSES = 4  # of the workers that asked one shard, after which its judge is stopped


@dataclass(frozen=True)
class RunStatus:
    """The state of the run. failure: an error of the disk, as the arguments of OSError. at_work:
    the number of shards in progress.
    """

    progress: list[Progress]
    over_budget: bool
    all_closed: bool
    at_work: int
    in_flight: int
    failure: tuple[int, str, str] | None


@dataclass
class Shard:
    """A shard that was begun. worker: the worker that asks its questions. losses: how often its
    worker was lost.
    """

    judge: str
    worker: str = ""
    losses: int = 0
    journal: Journal | None = field(default=None, repr=False)


class Coordinator:
    """The coordinator as a plain class. metal.raters.judges.cluster.nodes makes it an actor;
    nothing here depends on Ray.
    """

    async def start(
        self,
        folder: Path,
        rules: Rules,
        spent: float,
        judges: Sequence[tuple[leases.WorkerSetup, Progress]],
    ) -> None:
        """Start the coordinator; called before any worker joins. folder: the folder of the shards'
        journals. spent: US dollars spent before this session.
        """
        self.folder, self.rules = folder, rules
        shared = leases.SharedBudget(rules.max_cost, spent, most_calls=rules.limit)
        self.judges = {
            setup.judge.model.name: leases.ClusterJudge(setup, done, shared)
            for setup, done in judges
        }
        self.shards: dict[int, Shard] = {}
        self.heard: dict[str, float] = {}
        self.changed = asyncio.Event()
        self.halted = False
        self.failure: OSError | None = None
        self.folder.mkdir(exist_ok=True)
        self.lock = lock_shards(self.folder)

    async def join(self, name: str) -> leases.WorkerSetup:
        """Register a worker. Returns what it has to know about its judge."""
        return self.judges[name].setup

    async def halt(self) -> None:
        """Stop all sending. Calls in flight may still be answered."""
        self.halted = True
        self._close_all()

    async def status(self) -> RunStatus:
        """The state of the run. The driver calls this every now and then."""
        now = time.monotonic()
        for worker in [worker for worker, when in self.heard.items() if now - when > SILENCE]:
            self._silent(worker)
        judges = self.judges.values()
        failure = self.failure
        return RunStatus(
            [judge.progress for judge in judges],
            any(judge.over_budget for judge in judges),
            all(judge.closed for judge in judges),
            sum(shard.worker in self.heard for shard in self.shards.values()),
            sum(sum(judge.in_flight.values()) for judge in judges),
            (
                (failure.errno or 0, failure.strerror or "", str(failure.filename))
                if failure
                else None
            ),
        )

    async def close(self) -> None:
        """Sync and close all journals. Raises OSError."""
        for shard in self.shards.values():
            await _close_journal(shard)
        self.lock.release()

    # ------------------------------------------------------------ shards

    async def begin(self, worker: str, name: str, number: int) -> Answered | None:
        """Register that a worker got a shard. Returns what the shard's journal contains; None if
        the shard need not be asked any more.
        """
        judge = self.judges[name]
        self.heard[worker] = time.monotonic()
        shard = self.shards.setdefault(number, Shard(name))
        if shard.worker and shard.worker != worker:
            self._lost(shard.worker)
        if judge.closed or self.failure:
            return None
        answered = read_answered(self.rules.reasks, shard_journal(self.folder, number))
        shard.worker = worker
        judge.places.join(worker)
        self._wake_workers()
        return answered

    async def end(self, worker: str, number: int) -> None:
        """Register that a worker is done with a shard. When this returns, its records are on the
        disk. Raises OSError.
        """
        shard = self.shards[number]
        if shard.worker != worker:
            return
        shard.worker = ""
        if not any(other.worker == worker for other in self.shards.values()):
            self.judges[shard.judge].places.leave(worker)
            self._wake_workers()
        try:
            await _close_journal(shard)
        except OSError as error:
            self._fail(error)
            raise

    async def give_up(self, name: str, why: str) -> None:
        """Stop a judge, because a worker cannot continue and no other worker could."""
        self.judges[name].stop(" ".join(why.split())[:500])
        for shard in self.shards.values():  # what is in progress there is dropped
            if shard.judge == name:
                shard.worker = ""
        self._wake_workers()

    def _silent(self, worker: str) -> None:
        """Give the places of a silent worker to others until it reports again."""
        self.heard.pop(worker, None)
        for judge in self.judges.values():
            judge.lost(worker)
        self._wake_workers()

    def _lost(self, worker: str) -> None:
        """Register that a worker was lost and that Ray has given its shards to others."""
        for shard in self.shards.values():
            if shard.worker == worker:
                shard.worker = ""
                shard.losses += 1
                if shard.losses >= LOSSES:
                    self.judges[shard.judge].stop(
                        f"{shard.losses} workers were lost while asking the same calls; Ray's logs"
                        " say why (out of memory?); resume then"
                    )
        self._silent(worker)

    # ------------------------------------------------------------ workers

    async def lease(
        self, worker: str, name: str, turns: Sequence[float], calls: Sequence[float]
    ) -> leases.Lease:
        """Grant a worker's requests; see leases.ClusterJudge.lease."""
        judge = self.judges[name]
        closed = judge.closed
        lease = judge.lease(worker, turns, calls, time.monotonic())
        if judge.budget.all_begun:  # nobody has to wait for a turn any more
            for other in self.judges.values():
                other.closed = True
        if judge.closed != closed:
            self._wake_workers()
        return lease

    async def report(self, worker: str, name: str, report: leases.WorkerReport) -> None:
        """Record a worker's report. Raises OSError if a record cannot be written."""
        judge = self.judges[name]
        self.heard[worker] = time.monotonic()
        before = _signature(judge)
        new = [
            line
            for parameter, (_, line) in report.rejected.items()
            if parameter not in judge.rejected
        ]
        judge.hear(worker, report, time.monotonic())
        try:
            for line in new:
                self._journal(REJECTED_PARAMETERS, name).append(line)
            for number, record in report.records:
                count = partial(judge.progress.count, record.kind, record.settled)
                self._journal(number, name).append(record.line, count)
        except OSError as error:
            self._fail(error)
            raise
        if _signature(judge) != before:
            self._wake_workers()

    async def news(
        self, worker: str, name: str, seen: leases.JudgeStatus | None
    ) -> leases.JudgeStatus:
        """The status of a judge. Returns as soon as the status differs from `seen`, or after a
        while.
        """
        judge = self.judges[name]
        if worker not in judge.places.held and any(
            shard.worker == worker for shard in self.shards.values()
        ):
            judge.places.join(worker)  # it was silent for long
            self._wake_workers()
        until = time.monotonic() + PATIENCE
        while True:
            now = self.heard[worker] = time.monotonic()
            status = judge.status(worker, now, halted=self.halted)
            if status != seen or now >= until:
                return status
            changed = self.changed
            try:
                async with asyncio.timeout(until - now):
                    await changed.wait()
            except TimeoutError:
                pass

    def _wake_workers(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def _journal(self, number: int, name: str) -> Journal:
        shard = self.shards.setdefault(number, Shard(name))
        if not shard.journal:
            shard.journal = Journal(shard_journal(self.folder, number))
        return shard.journal

    def _fail(self, error: OSError) -> None:
        self.failure = self.failure or error
        self._close_all()

    def _close_all(self) -> None:
        for judge in self.judges.values():
            judge.closed = True
        self._wake_workers()


async def _close_journal(shard: Shard) -> None:
    journal, shard.journal = shard.journal, None
    if journal:
        await journal.close()


def _signature(judge: leases.ClusterJudge) -> tuple[object, ...]:
    """A value that changes whenever workers have to be woken."""
    places = tuple(judge.places.held.values())
    return judge.closed, judge.holds, judge.ever_answered, len(judge.rejected), places
