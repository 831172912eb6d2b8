"""The asker: Ray Data's async actor, one or more a judge. It asks the questions of whole shards, several at a time.

Its calls are settled as the local runner's are (settling.py), with the judge's places, rate and budget on
lease from the coordinator (leasing.py) and its lines in the coordinator's keeping.
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
from metal.raters.judges.cluster.leasing import Leases, SharedPace, ToldGuess
from metal.raters.judges.cluster.messages import Known, Line, News, Report, Settings
from metal.raters.judges.cluster.requests import read_requests
from metal.raters.judges.engine import Progress
from metal.raters.judges.lines import rejected_line
from metal.raters.judges.providers import open_client
from metal.raters.judges.secrets import Secrets
from metal.raters.judges.settling import Settling

EVERY = 0.01  # seconds between two reports at least


class Asker:
    """What Ray Data makes an actor of. coordinator: its actor's handle; readers: of requests.py."""

    def __init__(self, coordinator: Any, judge: str, readers: Any) -> None:
        self.coordinator, self.judge, self.readers = coordinator, judge, readers
        self.side: asyncio.Task[Side] | None = None

    async def __call__(self, table: Any) -> Any:
        """Ask a shard's questions; a row of it, as Ray Data wants some.

        What goes wrong here stops the judge: Ray would begin the shard again for ever.
        """
        if not self.side:  # the actor's event loop is running only now
            self.side = asyncio.create_task(Side.open(self.coordinator, self.judge, self.readers))
        try:
            await (await self.side).ask(table)
        except Exception as error:
            await self.coordinator.give_up.remote(self.judge, _said(error))
        return table.select(["shard"]).slice(0, 1)


class Side:
    """One judge in one worker: connection, attempts, and what goes to and from the coordinator."""

    def __init__(self, coordinator: Any, settings: Settings, readers: Sequence[Question]) -> None:
        self.id = uuid.uuid4().hex
        self.coordinator, self.settings, self.readers = coordinator, settings, readers
        self.model, self.rules = settings.model, settings.rules
        _set_environment(settings)
        self.secrets = settings.secrets | Secrets.of([self.model])
        self.progress = Progress(self.model)
        self.report, self.told = Report(), asyncio.Event()
        self.delivered = asyncio.Event()  # of the report that is being made
        self.reporting = asyncio.Lock()  # one by one: Ray may carry out an actor's calls in another order
        self.leases = Leases(self.model, self.rules, coordinator, self.id)
        self.asking = Attempts(
            self.model,
            open_client(self.model),
            dict(settings.rejected),
            self.progress,
            self.secrets,
            self._refused,
            answer_tokens=settings.answer_tokens,
            attempts=self.rules.attempts,
            backoff=self.rules.backoff,
        )
        self.asking.ever_answered = settings.ever_answered
        self.asking.guess = self.leases.guess = ToldGuess(settings.answer_tokens)
        self.asking.pace = self.pace = SharedPace(self.leases, self._busy)
        self.halted = False
        self.tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, coordinator: Any, judge: str, readers: Any) -> Side:
        """Join the run."""
        side = cls(coordinator, await coordinator.join.remote(judge), await readers[0])
        side.tasks = [asyncio.create_task(work()) for work in (side._listen, side._tell, side.leases.fetch)]
        return side

    async def ask(self, table: Any) -> None:
        """The questions of a table's shards, but for those that are answered. Raises OSError of the driver's disk."""
        for number in sorted(set(table["shard"].to_pylist())):
            known = await self.coordinator.begin.remote(self.id, self.model.name, number)
            if known is None:
                continue
            rows = read_requests(table.filter(_is(table, number)), self.readers)
            unreadable = {bytes.fromhex(request.key): asked for request, asked in rows}
            for key, more in known.unreadable.items():
                unreadable[key] = unreadable.get(key, 0) + more
            missing = (request for request, _ in rows if self._open(bytes.fromhex(request.key), known, unreadable))
            shard = ShardOfCalls(self, number, missing, unreadable)
            work = [asyncio.create_task(shard.work()) for _ in range(min(len(rows), self.model.concurrency))]
            try:
                await self._unless_failed(asyncio.gather(*work))
                await self.flush()
            finally:
                for task in work:
                    task.cancel()
            await self.coordinator.end.remote(self.id, number)

    def _open(self, key: bytes, known: Known, unreadable: Mapping[bytes, int]) -> bool:
        return key not in known.settled and unreadable[key] <= self.rules.reasks

    async def _unless_failed(self, work: asyncio.Future[Any]) -> None:
        """Wait for work, but no longer than the coordinator can be spoken to."""
        await asyncio.wait({work, *self.tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in self.tasks:
            if task.done():
                task.result()
        await work

    # ------------------------------------------------------------ to the coordinator

    def _refused(self, parameter: str, said: str) -> None:
        self.report.refused[parameter] = said, self.secrets.hidden(rejected_line(self.model.name, parameter, said))
        self.told.set()

    def _busy(self, wait: float) -> None:
        self.report.busy = max(self.report.busy, wait)
        self.told.set()

    async def _tell(self) -> None:
        while True:
            await self.told.wait()
            await self.flush()
            await asyncio.sleep(EVERY)

    async def flush(self) -> None:
        """Report what has happened since the last report; all that was told before is there when this returns."""
        async with self.reporting:
            self.told.clear()
            report, self.report = self.report, Report()
            delivered, self.delivered = self.delivered, asyncio.Event()
            report.learned, self.leases.guess.untold = self.leases.guess.untold, []
            report.stopped, report.in_flight = self.progress.stopped, self.pace.in_flight
            report.sent, self.progress.sent = self.progress.sent, 0
            report.retries = self.progress.retries.copy()
            self.progress.retries.clear()
            await self.coordinator.report.remote(self.id, self.model.name, report)
            delivered.set()

    async def kept(self) -> None:
        """Wait until what was written so far is on the coordinator's disk."""
        self.told.set()
        await self.delivered.wait()

    # ------------------------------------------------------------ from the coordinator

    async def _listen(self) -> None:
        news: News | None = None
        while True:
            news = await self.coordinator.news.remote(self.id, self.model.name, news)
            self._hear(news)
            self.told.set()  # what is in flight, even while no reply comes

    def _hear(self, news: News) -> None:
        for parameter, said in news.rejected.items():
            self.asking.downgrades.rejected.setdefault(parameter, said)
        self.asking.ever_answered = self.asking.ever_answered or news.ever_answered
        self.pace.wait_for(news.hold)
        if news.stopped and not self.progress.stopped:
            self.progress.stopped = news.stopped
        if news.halted or news.stopped:
            self.halted = self.halted or news.halted
            self.asking.halt()
        if news.closed:
            self.asking.closed.set()
            self.leases.close()
        self.pace.allow(self.model.concurrency if news.closed else news.places, self._keeps)

    def _keeps(self, places: int) -> None:
        self.report.places = places
        self.told.set()


class ShardOfCalls:
    """The calls of one shard."""

    def __init__(self, side: Side, number: int, calls: Iterator[Question], unreadable: Mapping[bytes, int]) -> None:
        self.side, self.number, self.calls, self.asking = side, number, calls, side.asking
        self.settling = Settling(self, side.model, side.asking, side.rules, side.secrets, unreadable)

    async def work(self) -> None:
        """One of those that ask: call after call, as long as there are any."""
        while not self.asking.closed.is_set():
            call = next(self.calls, None)
            if call is None:
                return
            await self.asking.pace.enter(self.asking.tokens(call), self.asking.closed)
            try:
                estimate = await self.afford(call)
                if estimate is not None:
                    await self.settling.settle(call, bytes.fromhex(call.key), estimate)
                    await (
                        self.side.kept()
                    )  # its place is free then: a lost worker loses what was in flight, and no more
            finally:
                self.asking.pace.leave()

    @property
    def stopping(self) -> bool:
        """As the coordinator told."""
        return self.side.halted

    async def afford(self, call: Question) -> float | None:
        """Of the run's budget and --limit, by the coordinator's leave."""
        estimate = self.settling.most(call)
        if self.asking.closed.is_set() or not await self.side.leases.call(estimate):
            return None
        return estimate

    def release(self, estimate: float) -> None:
        """To the run's budget."""
        self.side.report.released += estimate
        self.side.report.ended += 1
        self.side.told.set()

    def spend(self, cost: float) -> None:
        """From the run's budget."""
        self.side.report.spent += cost

    def write(self, line: bytes, kind: str, *, settled: bool) -> None:
        """To the shard's journal."""
        self.side.report.lines.append(Line(self.number, line, kind, settled))
        self.side.told.set()


def _said(error: Exception) -> str:
    """A deliberate error as it is, anything else with its name and place."""
    if isinstance(error, MetalError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at a worker: {error} ({Path(place.filename).name} line {place.lineno})"


def _is(table: Any, number: int) -> Any:
    import pyarrow.compute as pc

    return pc.equal(table["shard"], number)


def _set_environment(settings: Settings) -> None:
    """Keys and addresses are the driver's: a node's own would be sent to another's address, or billed elsewhere."""
    os.environ.update(settings.keys)
    for name, address in settings.addresses.items():
        if address is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = address
