"""The coordinator: one actor a run, on the driver's node. It leases what there is one of, and keeps shards' journals.

A worker's line is written to its shard's journal as soon as it is here; it counts once it is on the disk. A shard that
is begun again, because its worker was lost, is answered with what its journal holds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from metal.raters.judges.cluster.leases import Judge, Purse
from metal.raters.judges.cluster.messages import Known, Lease, Line, News, Report, Settings, Wish
from metal.raters.judges.cluster.shards import REFUSED, lock_shards, shard_journal
from metal.raters.judges.cost import Budget, TokenGuess
from metal.raters.judges.engine import Progress, Rules
from metal.raters.judges.journal import Journal
from metal.raters.judges.lines import look_through

PATIENCE = 1.0  # seconds after which a worker hears again how things stand, and is heard of
SILENCE = 20.0  # seconds without a word after which a worker counts as lost
LOSSES = 4  # of the workers that asked one shard, after which its judge is stopped


@dataclass(frozen=True)
class Start:
    """What the driver tells the coordinator. progress: a judge each, with what was done before."""

    folder: Path
    rules: Rules
    spent: float
    settings: Sequence[Settings]
    progress: Sequence[Progress]


@dataclass(frozen=True)
class Standing:
    """How the run stands. failure: of the disk, as OSError has it. at_work: shards that a worker has begun."""

    progress: list[Progress]
    over_budget: bool
    all_closed: bool
    at_work: int
    in_flight: int
    failure: tuple[int, str, str] | None


@dataclass
class Shard:
    """A shard that was begun: by whom, how often its worker was lost."""

    judge: str
    worker: str = ""
    losses: int = 0
    journal: Journal | None = field(default=None, repr=False)


class Coordinator:
    """Becomes an actor in metal.raters.judges.cluster.engine; nothing here knows of Ray."""

    async def start(self, start: Start) -> None:
        """Before any worker."""
        self.folder, self.rules = start.folder, start.rules
        self.settings = {one.model.name: one for one in start.settings}
        purse = Purse(Budget(start.rules.max_cost, start.spent), start.rules.limit)
        self.judges: dict[str, Judge] = {}
        for one, progress in zip(start.settings, start.progress, strict=True):
            judge = Judge(one.model, progress, purse, TokenGuess(one.answer_tokens))
            judge.rejected, judge.ever_answered = dict(one.rejected), one.ever_answered
            self.judges[one.model.name] = judge
        self.shards: dict[int, Shard] = {}
        self.heard: dict[str, float] = {}
        self.changed = asyncio.Event()
        self.halted = False
        self.failure: OSError | None = None
        self.folder.mkdir(exist_ok=True)
        self.lock = lock_shards(self.folder)

    async def join(self, name: str) -> Settings:
        """A worker begins: what it has to know."""
        return self.settings[name]

    async def halt(self) -> None:
        """Nothing more is sent; what is in flight may come back."""
        self.halted = True
        for judge in self.judges.values():
            judge.closed = True
        self._tell()

    async def standing(self) -> Standing:
        """For the driver, every now and then."""
        now = time.monotonic()
        for worker in [one for one, when in self.heard.items() if now - when > SILENCE]:
            self._silent(worker)
        judges = self.judges.values()
        failure = self.failure
        return Standing(
            [judge.progress for judge in judges],
            any(judge.over_budget for judge in judges),
            all(judge.closed for judge in judges),
            sum(shard.worker in self.heard for shard in self.shards.values()),
            sum(sum(judge.in_flight.values()) for judge in judges),
            (failure.errno or 0, failure.strerror or "", str(failure.filename)) if failure else None,
        )

    async def close(self) -> None:
        """Sync and close all journals. Raises OSError."""
        for shard in self.shards.values():
            journal, shard.journal = shard.journal, None
            if journal:
                await journal.close()
        self.lock.release()

    # ------------------------------------------------------------ shards

    async def begin(self, worker: str, name: str, number: int) -> Known | None:
        """A worker has been given a shard: what its journal holds already; None: it need not be asked any more."""
        judge = self.judges[name]
        self.heard[worker] = time.monotonic()
        shard = self.shards.setdefault(number, Shard(name))
        if shard.worker and shard.worker != worker:
            self._lost(shard.worker)
        if judge.closed or self.failure:
            return None
        path = shard_journal(self.folder, number)
        answered = look_through(self.rules.reasks, path)
        shard.worker = worker
        judge.places.join(worker)
        self._tell()
        return Known(frozenset(answered.settled), dict(answered.unreadable))

    async def end(self, worker: str, number: int) -> None:
        """A worker is done with a shard; its lines are on the disk when this returns. Raises OSError."""
        shard = self.shards[number]
        if shard.worker != worker:
            return
        shard.worker = ""
        if not any(other.worker == worker for other in self.shards.values()):
            self.judges[shard.judge].places.leave(worker)
            self._tell()
        journal, shard.journal = shard.journal, None
        if journal:
            try:
                await journal.close()
            except OSError as error:
                self._fail(error)
                raise

    async def give_up(self, name: str, why: str) -> None:
        """A worker cannot go on, and none could."""
        judge = self.judges[name]
        judge.progress.stopped = judge.progress.stopped or " ".join(why.split())[:500]
        judge.closed = True
        for shard in self.shards.values():  # what is under way there is dropped
            if shard.judge == name:
                shard.worker = ""
        self._tell()

    def _silent(self, worker: str) -> None:
        """Its places are others' until it is heard of again."""
        self.heard.pop(worker, None)
        for judge in self.judges.values():
            judge.lost(worker)
        self._tell()

    def _lost(self, worker: str) -> None:
        """Ray has given its shards to others."""
        for shard in self.shards.values():
            if shard.worker == worker:
                shard.worker = ""
                shard.losses += 1
                judge = self.judges[shard.judge]
                if shard.losses >= LOSSES:
                    judge.progress.stopped = judge.progress.stopped or (
                        f"{shard.losses} workers were lost while asking the same calls; Ray's logs say why "
                        "(out of memory?); resume then"
                    )
                    judge.closed = True
        self._silent(worker)

    # ------------------------------------------------------------ what workers want and tell

    async def lease(self, worker: str, name: str, wish: Wish) -> Lease:
        """See metal.raters.judges.cluster.leases."""
        judge = self.judges[name]
        closed = judge.closed
        found = judge.lease(worker, wish, time.monotonic())
        if judge.purse.all_begun:  # nobody need wait for a turn any more
            for other in self.judges.values():
                other.closed = True
        if judge.closed != closed:
            self._tell()
        return found

    async def report(self, worker: str, name: str, report: Report) -> None:
        """Take in what happened at a worker. Raises OSError when a line cannot be written."""
        judge = self.judges[name]
        self.heard[worker] = time.monotonic()
        before = self._signature(judge)
        new = [line for parameter, (_, line) in report.refused.items() if parameter not in judge.rejected]
        judge.hear(worker, report, time.monotonic())
        try:
            for line in new:
                self._journal(REFUSED, name).append(line, lambda: None)
            for one in report.lines:
                self._journal(one.shard, name).append(one.line, self._counting(judge, one))
        except OSError as error:
            self._fail(error)
            raise
        if self._signature(judge) != before:
            self._tell()

    async def news(self, worker: str, name: str, seen: News | None) -> News:
        """How things stand, as soon as that is not what the worker has seen, or after a while."""
        judge = self.judges[name]
        if worker not in judge.places.held and any(shard.worker == worker for shard in self.shards.values()):
            judge.places.join(worker)  # it was silent for long
            self._tell()
        until = time.monotonic() + PATIENCE
        while True:
            now = self.heard[worker] = time.monotonic()
            found = judge.news(worker, now, halted=self.halted)
            if found != seen or now >= until:
                return found
            changed = self.changed
            try:
                async with asyncio.timeout(until - now):
                    await changed.wait()
            except TimeoutError:
                pass

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    @staticmethod
    def _signature(judge: Judge) -> tuple[object, ...]:
        held = tuple(judge.places.held.values())
        return judge.closed, judge.holds, judge.ever_answered, len(judge.rejected), held

    def _journal(self, number: int, name: str) -> Journal:
        shard = self.shards.setdefault(number, Shard(name))
        if not shard.journal:
            shard.journal = Journal(shard_journal(self.folder, number))
        return shard.journal

    def _counting(self, judge: Judge, line: Line) -> Callable[[], None]:
        return partial(_count, judge.progress, line.kind, line.settled)

    def _fail(self, error: OSError) -> None:
        self.failure = self.failure or error
        for judge in self.judges.values():
            judge.closed = True
        self._tell()


def _count(progress: Progress, kind: str, settled: bool) -> None:
    if settled:
        progress.kinds[kind] += 1
        progress.done += 1
    elif kind:
        progress.retries[kind] += 1
