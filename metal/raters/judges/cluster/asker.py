"""The asker: Ray Data's async actor, one or more per judge. It asks the questions of several shards
at a time.

Questions are settled by the local engine's attempt loop. The judge's places, rate and budget are
leased from the coordinator (leases.py), which also keeps the records.
"""

from __future__ import annotations

import asyncio
import os
import traceback
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metal.errors import MetalError
from metal.raters.judges.attempts import Attempts
from metal.raters.judges.call import Question
from metal.raters.judges.cluster.leases import (
    JudgeStatus,
    Leases,
    SharedPace,
    WorkerReport,
    WorkerSetup,
)
from metal.raters.judges.cluster.shards import read_shards
from metal.raters.judges.engine import JudgeSetup
from metal.raters.judges.journal import Answered, Record, rejected_line
from metal.raters.judges.providers import open_client
from metal.raters.judges.secrets import Secrets

EVERY = 0.01  # seconds between two reports at least


class Asker:
    """The class of Ray Data's actors. coordinator: the handle of the coordinator's actor."""

    def __init__(self, coordinator: Any, judge: str) -> None:
        self.coordinator, self.judge = coordinator, judge
        self.worker: asyncio.Task[Worker] | None = None

    async def __call__(self, table: Any) -> Any:
        """Ask a shard's questions. Returns one of its rows, because Ray Data requires at least one.

        A failure stops the judge, because Ray would otherwise start the shard again forever.
        """
        if not self.worker:  # the actor's event loop does not run before
            self.worker = asyncio.create_task(Worker.open(self.coordinator, self.judge))
        try:
            await (await self.worker).ask(table)
        except Exception as error:
            await self.coordinator.give_up.remote(self.judge, _described(error))
        return table.select(["shard"]).slice(0, 1)


class Worker:
    """One judge in one worker process: its connection and attempts, and the exchange with the
    coordinator.
    """

    def __init__(self, coordinator: Any, setup: WorkerSetup) -> None:
        self.id = uuid.uuid4().hex
        self.coordinator = coordinator
        self.model, self.rules = setup.judge.model, setup.judge.rules
        _set_environment(setup.environment)
        secrets = setup.judge.secrets | Secrets.of([self.model])
        judge = JudgeSetup(self.model, self.rules, secrets, rejected=setup.judge.rejected)
        self.report, self.reportable = WorkerReport(), asyncio.Event()
        self.delivered = asyncio.Event()  # of the report that is being made
        # one report at a time: Ray may execute an actor's calls in another order
        self.reporting = asyncio.Lock()
        self.leases = Leases(judge, coordinator, self.id)
        self.attempts = Attempts(judge, open_client(self.model), self._note_rejected)
        self.attempts.ever_answered = self.attempts.reached = setup.ever_answered
        self.attempts.estimator = self.leases.estimator
        self.attempts.pace = self.pace = SharedPace(self.leases, self._note_busy)
        self.progress = self.attempts.progress
        self.tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, coordinator: Any, judge: str) -> Worker:
        """Join the run."""
        worker = cls(coordinator, await coordinator.join.remote(judge))
        works = (worker._listen, worker._keep_reporting, worker.leases.fetch)
        worker.tasks = [asyncio.create_task(work()) for work in works]
        return worker

    async def ask(self, table: Any) -> None:
        """Ask the open questions of a table's shards. Raises OSError for errors of the driver's
        disk.
        """
        for number, rows in read_shards(table):
            answered: Answered | None = await self.coordinator.begin.remote(
                self.id, self.model.name, number
            )
            if answered is None:
                continue
            for question, asked in rows:
                answered.unreadable[bytes.fromhex(question.key)] += asked
            shard = ShardRun(self, number, [question for question, _ in rows], answered)
            places = range(min(len(rows), self.model.concurrency))
            work = [asyncio.create_task(shard.work(first=index == 0)) for index in places]
            try:
                await self._unless_failed(asyncio.gather(*work))
                await self.flush()
            finally:
                for task in work:
                    task.cancel()
            await self.coordinator.end.remote(self.id, number)

    async def _unless_failed(self, work: asyncio.Future[Any]) -> None:
        """Wait for `work` to finish, as long as the coordinator can be reached."""
        await asyncio.wait({work, *self.tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in self.tasks:
            if task.done():
                task.result()
        await work

    # ------------------------------------------------------------ to the coordinator

    def _note_rejected(self, parameter: str, why: str) -> None:
        line = self.attempts.secrets.hidden(rejected_line(self.model.name, parameter, why))
        self.report.rejected[parameter] = why, line
        self.reportable.set()

    def _note_busy(self, wait: float) -> None:
        self.report.busy = max(self.report.busy, wait)
        self.reportable.set()

    async def _keep_reporting(self) -> None:
        while True:
            await self.reportable.wait()
            await self.flush()
            await asyncio.sleep(EVERY)

    async def flush(self) -> None:
        """Report what has happened since the last report. When this returns, the coordinator has
        all reports.
        """
        async with self.reporting:
            self.reportable.clear()
            report, self.report = self.report, WorkerReport()
            delivered, self.delivered = self.delivered, asyncio.Event()
            report.learned, self.leases.estimator.unreported = self.leases.estimator.unreported, []
            report.stopped, report.in_flight = self.progress.stopped, self.pace.in_flight
            report.sent, self.progress.sent = self.progress.sent, 0
            report.retries = self.progress.retries.copy()
            self.progress.retries.clear()
            await self.coordinator.report.remote(self.id, self.model.name, report)
            delivered.set()

    async def kept(self) -> None:
        """Wait until the coordinator has the records written so far."""
        self.reportable.set()
        await self.delivered.wait()

    # ------------------------------------------------------------ from the coordinator

    async def _listen(self) -> None:
        status: JudgeStatus | None = None
        while True:
            status = await self.coordinator.news.remote(self.id, self.model.name, status)
            self._follow(status)
            self.reportable.set()  # what is in flight, even while no reply arrives

    def _follow(self, status: JudgeStatus) -> None:
        for parameter, why in status.rejected.items():
            self.attempts.rejected.setdefault(parameter, why)
        self.attempts.ever_answered = self.attempts.ever_answered or status.ever_answered
        self.attempts.reached = self.attempts.reached or status.ever_answered  # by another worker
        if status.ever_answered:
            self.attempts.tried.set()
        self.pace.wait_for(status.hold)
        if status.stopped and not self.progress.stopped:
            self.progress.stopped = status.stopped
        if status.halted or status.stopped:
            self.attempts.halt(interrupted=status.halted)
        if status.closed:
            self.attempts.closed.set()
            self.leases.close()
        self.pace.allow(
            self.model.concurrency if status.closed else status.places, self._note_places
        )

    def _note_places(self, places: int) -> None:
        self.report.places = places
        self.reportable.set()


class ShardRun:
    """The open questions of one shard. It is an attempts.Account whose money is leased from the
    coordinator.
    """

    def __init__(
        self, worker: Worker, number: int, questions: Sequence[Question], answered: Answered
    ) -> None:
        self.worker, self.number, self.attempts = worker, number, worker.attempts
        self.questions = self._open_questions(questions, answered)

    def _open_questions(
        self, questions: Sequence[Question], answered: Answered
    ) -> Iterator[tuple[Question, int]]:
        for question in questions:
            key = bytes.fromhex(question.key)
            if key not in answered.settled and answered.unreadable[key] <= self.worker.rules.reasks:
                yield question, answered.unreadable[key]

    async def work(self, *, first: bool) -> None:
        """Ask question after question until none is left. first: whether to start without waiting
        for a first answer.
        """
        if not first:
            await self.attempts.tried.wait()
        try:
            await self._ask_all()
        finally:
            self.attempts.tried.set()

    async def _ask_all(self) -> None:
        while not self.attempts.closed.is_set():
            following = next(self.questions, None)
            if following is None:
                return
            question, asked = following
            await self.attempts.pace.enter(self.attempts.tokens(question), self.attempts.closed)
            try:
                reserved = await self.reserve(question)
                if reserved is not None:
                    await self.attempts.settle(self, question, asked, reserved)
                    # only then is its place free: a lost worker loses what was in flight
                    await self.worker.kept()
            finally:
                self.attempts.pace.leave()

    async def reserve(self, question: Question) -> float | None:
        """Reserve a question's highest cost from the run's budget and return it; None if it must
        not be asked.
        """
        cost = self.attempts.highest_cost(question, self.worker.model.price)
        if self.attempts.closed.is_set() or not await self.worker.leases.call(cost):
            return None
        return cost

    def release(self, reserved: float) -> None:
        """Give back what was reserved."""
        self.worker.report.released += reserved
        self.worker.report.ended += 1
        self.worker.reportable.set()

    def charge(self, dollars: float) -> None:
        """Count what a reply cost."""
        self.worker.report.spent += dollars

    def write(self, record: Record) -> None:
        """Write a record to the shard's journal."""
        self.worker.report.records.append((self.number, record))
        self.worker.reportable.set()


def _described(error: Exception) -> str:
    """The message of an error that METAL raised; for any other error, also its name and where it
    occurred.
    """
    if isinstance(error, MetalError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__} at a worker: {error} ({Path(frame.filename).name} line"
        f" {frame.lineno})"
    )


def _set_environment(environment: Mapping[str, str | None]) -> None:
    """Use the driver's keys and addresses. A node's own keys could go to somebody else's address or
    bill another account.
    """
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
