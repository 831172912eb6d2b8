"""One judge in a batch run: what is made and submitted, how it is looked at, how it is merged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from metal.raters.judges import call as calls
from metal.raters.judges.attempts import ABANDONED, BUSY_ATTEMPTS, LONGEST_WAIT, Attempts
from metal.raters.judges.batch import ledger as states
from metal.raters.judges.batch.calls import Calls, written_of
from metal.raters.judges.batch.contract import BatchClient, Limits, Status
from metal.raters.judges.batch.ledger import Batch, new_token
from metal.raters.judges.batch.packing import SAMPLE, Item, pack, room, smaller, tokens_that_may_wait
from metal.raters.judges.call import CallFailed, Client
from metal.raters.judges.engine import Progress
from metal.raters.judges.lines import rejected_line
from metal.raters.judges.models import Model
from metal.raters.judges.pace import sleep_until
from metal.raters.judges.providers import asks_directly

if TYPE_CHECKING:
    from metal.raters.judges.batch.run import BatchRun

T = TypeVar("T")
MOST_OPEN = 50  # batches of a judge at the provider at once
FIRST_LOOK, LAST_LOOK = 5.0, 60.0  # seconds between two looks: at first, in the end
SETTLE = 30.0  # seconds after which a provider's list surely shows a batch that was submitted
SUBMITTING_TAKES = 120.0  # seconds within which a submission has reached the provider, or never will
OUTAGE = 3600.0  # seconds for which a service that has batches of ours may be out of reach
GIVE_UP = "give it up with `metal judge cancel`"


class BatchJudge:
    """One model's side of a batch run."""

    def __init__(self, run: BatchRun, model: Model, client: Client, service: BatchClient) -> None:
        self.run, self.model, self.service = run, model, service
        self.progress = Progress(model, run.plan.calls_a_model)
        self.asking = Attempts(
            model,
            client,
            dict(run.answered.rejected.get(model.name, {})),
            self.progress,
            run.secrets,
            self._note,
            answer_tokens=run.plan.answer_tokens,
            attempts=run.rules.attempts,
            backoff=run.rules.backoff,
        )
        shared = (run.journal, run.answered, run.claimed, run.budget, run.rules, run.secrets)
        self.calls = Calls(run.plan, model, service, self.asking, self.progress, *shared)
        self.limits = smaller(service.limits, model)
        self.open = run.ledger.open_batches(model.name)
        for batch in self.open:
            run.claimed.update(run.ledger.keys(batch))
            run.budget.committed += batch.dollars
        self.waiting = self.calls.waiting()
        self.fruitless = 0  # batches in a row that brought no answer
        self.hold_until = 0.0  # time.monotonic() before which nothing is submitted
        self.looks = 0  # since something changed
        self.lost_at = 0.0  # time.monotonic() since which the service has not been reached; 0: it has
        self._tell()

    async def close(self) -> None:
        """Give back connections."""
        await asyncio.gather(self.asking.client.close(), self.service.close(), return_exceptions=True)

    async def work(self) -> None:
        """Until nothing is left to ask or to wait for."""
        try:
            if self.run.cancelling:
                await self._cancel()
            while not self.run.stopping.is_set():
                changed = False
                try:
                    if await self._make_all() and not self.open:
                        return
                    changed = await self._look()
                    self.lost_at = 0.0
                except CallFailed as failure:
                    if not self._outlasts(failure):
                        raise
                if not changed:
                    if not self.run.wait:
                        return
                    await sleep_until(self.run.stopping, self._pause())
        except CallFailed as failure:
            if not self.run.stopping.is_set():
                self._stop(failure)
        finally:
            self._tell()

    def _closed(self) -> bool:
        """Whether nothing more may be asked."""
        return bool(self.progress.stopped) or self.run.cancelling or self.asking.closed.is_set()

    def _outlasts(self, failure: CallFailed) -> bool:
        """Whether to go on waiting though the service cannot be reached: it has batches of ours, for a day maybe."""
        if failure.kind not in calls.TRANSIENT or not self.run.wait or not any(batch.id for batch in self.open):
            return False
        self.lost_at = self.lost_at or time.monotonic()
        self._tell()
        self.progress.awaited += f", {failure.kind}"
        return time.monotonic() - self.lost_at < OUTAGE

    def _stop(self, failure: CallFailed) -> None:
        said = self.run.secrets.hidden(str(failure).encode("utf-8", "replace")).decode()
        self.progress.stopped = self.progress.stopped or said

    def _pause(self) -> float:
        """Seconds until the next look."""
        if self.model.batch.poll:
            pause = float(self.model.batch.poll)
        else:
            first = LAST_LOOK if self.model.provider == "azure" else FIRST_LOOK  # Azure asks for no more
            pause = min(LAST_LOOK, first * 1.1**self.looks)
        held = self.hold_until - time.monotonic()
        return min(pause, held) if held > 0 else pause

    def _tell(self) -> None:
        self.progress.under_way = sum(batch.requests for batch in self.open)
        self.progress.arriving = sum(min(batch.done, batch.requests) for batch in self.open)
        stages = ", ".join(sorted({batch.stage or batch.state for batch in self.open}))
        batches = "1 batch" if len(self.open) == 1 else f"{len(self.open)} batches"
        self.progress.awaited = f"{batches} {stages}" if self.open else ""

    def _note(self, parameter: str, said: str) -> None:
        self.run.journal.append(rejected_line(self.model.name, parameter, said), lambda: None)

    # ------------------------------------------------------------ making

    async def _make_all(self) -> bool:
        """Make and submit batches as long as there are calls, and room for them; whether none is left to make."""
        if self.run.cancelling:
            return True
        for unsent in [one for one in self.open if not one.id]:
            await self._submit(unsent)
        await self._ask_directly()
        while not self._closed():
            limits = self._room() if self.hold_until <= time.monotonic() and len(self.open) < MOST_OPEN else None
            if limits is None:
                return False
            batch = await self._make(limits)
            if batch is None:
                return True
            await self._submit(batch)
        return True

    def _room(self) -> Limits | None:
        """What the next batch may hold; None while it has to wait for one to end."""
        unsized = self.run.budget.limit is not None and self.asking.guess.answers < SAMPLE
        return room(self.limits, [batch.tokens for batch in self.open], unsized=unsized)

    async def _make(self, limits: Limits) -> Batch | None:
        """The next batch, whole on the disk; None when there is nothing to ask."""
        token = new_token()
        packed = await pack(self.waiting, limits, self.run.ledger.requests(token), self._may_take)
        if not packed.items and self.calls.again:  # once more through the plan, for what came back
            self.calls.again = False
            self.waiting = self.calls.waiting()
            packed = await pack(self.waiting, limits, self.run.ledger.requests(token), self._may_take)
        if not packed.items:
            return None
        without = dict(self.asking.downgrades.rejected)
        batch = Batch(token, self.model.name, len(packed.items), packed.tokens, packed.dollars, packed.begins, without)
        self.run.ledger.write_keys(token, packed.keys)
        self.run.ledger.note(batch, states.MADE)
        self.open.append(batch)
        return batch

    def _may_take(self, item: Item) -> bool:
        if not self.run.may_begin(item.key, item.dollars):
            return False
        self.run.claimed.add(item.key)
        return True

    async def _ask_directly(self) -> None:
        """Ask one question without a batch, until one of them is answered."""
        price = self.model.price
        while (
            asks_directly(self.model.provider)
            and not (self.asking.ever_answered or self.open or self._closed())
            and (item := self.waiting.take())
        ):
            if not self._may_take(item):
                self.waiting.put_back(item)
                return
            tries = self.calls.tries(item.key)
            try:
                reply = await self.asking.reply(item.call, tries)
                self.calls.settle(item.call, item.key, reply, tries, price)
            except CallFailed as failure:
                if failure.kind in (*calls.TRANSIENT, ABANDONED):
                    self.calls.free([item.key])
                    raise
                self.calls.fail(item.call, item.key, failure, tries, self.asking.ask(item.call))
            finally:
                self.run.budget.release(item.dollars)
        self.progress.sent = max(self.progress.sent, 1)

    # ------------------------------------------------------------ submitting

    async def _submit(self, batch: Batch) -> None:
        """Bring a batch to the provider, from wherever it is."""
        note, file = self.run.ledger.note, self.run.ledger.requests(batch.token)
        if batch.state == states.MADE:
            try:
                uploaded = await self._patiently(self.service.upload, file, batch.token)
            except CallFailed as failure:
                if failure.kind != calls.TOO_LONG or batch.requests == 1:
                    raise
                self.limits = replace(self.limits, bytes=file.stat().st_size // 2)
                await self._refused(batch, CallFailed(calls.BUSY, failure.said))
                return
            note(batch, states.UPLOADED, uploaded=uploaded)
        found = await self._find(batch) if batch.state == states.SUBMITTING else None
        failures = 0
        while not found:
            note(batch, states.SUBMITTING)
            try:
                found = await self.service.submit(batch.uploaded, batch.token)
            except CallFailed as failure:
                failures += 1
                if failure.kind not in calls.TRANSIENT or failure.kind == calls.BUSY:
                    await self._refused(batch, failure)
                    return
                found = await self._find(batch)  # it may have been begun all the same
                if not found and failures >= self.run.rules.attempts:
                    raise
                if not found and failures > 1:  # providers keep uploaded files for some time only
                    note(batch, states.UPLOADED, uploaded=await self._patiently(self.service.upload, file, batch.token))
        note(batch, states.SUBMITTED, id=found)
        self.progress.sent += batch.requests
        self.looks = 0
        file.unlink(missing_ok=True)
        self._tell()

    async def _find(self, batch: Batch) -> str | None:
        """The id of a batch whose submission brought no answer; None when the provider surely does not have it."""
        late = batch.at + max(SUBMITTING_TAKES, self.model.timeout) - time.time()  # it may be on its way until then
        left = (self.model.batch.settle or SETTLE) + min(0.0, late)
        found = await self._patiently(self.service.find, batch.token)
        if not found and left > 0:
            if await sleep_until(self.run.stopping, left):
                raise CallFailed(ABANDONED)
            found = await self._patiently(self.service.find, batch.token)
        return found

    async def _patiently(self, request: Callable[..., Awaitable[T]], *given: str | Path) -> T:
        """A request to the service, again and again while that is worth it. Raises CallFailed."""
        found: T = await self.asking.retrying(request, *given)
        return found

    async def _refused(self, batch: Batch, failure: CallFailed) -> None:
        """A batch of which nothing was asked: its calls are free again. Holds back, or stops the judge."""
        first = self.calls.of(batch, self.run.ledger.keys(batch)[:1])
        self._drop(batch)
        await self._forget(batch)
        self.progress.retries[failure.kind] += 1
        if failure.kind == calls.PARAMETER and first:
            one = next(iter(first.values()))
            if self.asking.without(failure, one, self.calls.sent(batch, one)):
                return
        self.fruitless += 1
        busy = failure.kind == calls.BUSY
        if busy:
            self._fewer_tokens(batch, failure)
        attempts = BUSY_ATTEMPTS if busy else self.run.rules.attempts
        waits = busy and self.open  # for one of ours to end
        if failure.kind not in calls.TRANSIENT or (self.fruitless >= attempts and not waits):
            self._stop(failure)
        self._hold(failure.wait)

    def _drop(self, batch: Batch) -> None:
        keys = self.run.ledger.keys(batch)
        self.calls.free(keys)
        self.run.not_begun(keys, batch.dollars)
        self.run.ledger.note(batch, states.DROPPED)
        self.open.remove(batch)

    def _fewer_tokens(self, batch: Batch, failure: CallFailed) -> None:
        """Too many tokens are waiting: as the provider says, else no more than were waiting without this batch."""
        if "token" not in failure.said.lower() and (self.open or self.fruitless < 2):
            return  # too many requests at this moment
        most = tokens_that_may_wait(batch, sum(one.tokens for one in self.open), failure.said)
        self.limits = replace(self.limits, tokens=min(most, self.limits.tokens or most))

    def _hold(self, wait: float) -> None:
        """Submit nothing for a while: the longer, the more batches in a row came to nothing."""
        backoff = min(LONGEST_WAIT, self.run.rules.backoff * 2.0 ** min(self.fruitless, 16))
        self.hold_until = time.monotonic() + max(wait, backoff)

    # ------------------------------------------------------------ looking and merging

    async def _look(self) -> bool:
        """Look at each batch; whether one has come to its end."""
        changed = False
        self.looks += 1
        for batch in list(self.open):
            if self.run.stopping.is_set():
                break
            status = await self._status(batch)
            if status.failure:
                await self._refused(batch, status.failure)
            elif status.ended:
                await self._merge(batch)
            changed |= status.ended or status.failure is not None
            self._tell()
        return changed

    async def _status(self, batch: Batch) -> Status:
        if batch.state == states.FETCHED:
            return Status(states.FETCHED, ended=True)
        try:
            status = await self._patiently(self.service.status, batch.id)
        except CallFailed as failure:
            if failure.kind == calls.UNKNOWN_MODEL:
                failure.said += f"; batch {batch.id} is not known there: resume with the key it was submitted with, or "
                failure.said += GIVE_UP
            raise
        if (status.stage, status.done or 0) != (batch.stage, batch.done):
            self.looks = 0
        batch.stage, batch.done = status.stage, status.done or 0
        return status

    async def _merge(self, batch: Batch) -> None:
        """Take over what a batch has answered; what it has not is to be asked again."""
        ledger, results = self.run.ledger, self.run.ledger.results(batch.token)
        written: set[bytes] = set()
        if batch.state == states.FETCHED:  # perhaps merged in part before
            written = written_of(self.run.journal.path, batch.token)
        if batch.state != states.FETCHED or not results.is_file():
            await self._fetch(batch, results)
            ledger.note(batch, states.FETCHED)
        keys = ledger.keys(batch)
        batch.done = 0  # they are counted one by one now
        self._tell()
        answered, failure = await self.calls.take_in(batch, results, keys, written)
        self.calls.free(keys)
        await self.run.journal.synced()
        ledger.note(batch, states.MERGED)
        self.open.remove(batch)
        self.run.budget.release(batch.dollars)
        self._judge_by(answered, failure)
        await self._forget(batch)

    async def _fetch(self, batch: Batch, results: Path) -> None:
        """The results of a batch. Those that the provider no longer has can be given up by cancelling."""
        try:
            await self._patiently(self.service.fetch, batch.id, results)
            self.run.secrets.hide_in(results)
        except CallFailed as failure:
            if failure.kind != calls.UNKNOWN_MODEL:
                raise
            if not self.run.cancelling:
                failure.said += f"; the results of batch {batch.id} are not there any more: {GIVE_UP}"
                raise
            results.write_bytes(b"")

    def _judge_by(self, answered: int, failure: CallFailed | None) -> None:
        """Go on, hold back or stop, by what a batch brought."""
        self.fruitless = 0 if answered or self.run.cancelling else self.fruitless + 1
        if not self.fruitless or not failure:
            return
        hopeless = failure.kind in (calls.REJECTED, calls.PARAMETER) and not self.asking.ever_answered
        hopeless &= not self.calls.again
        if hopeless or self.fruitless >= self.run.rules.attempts:
            self._stop(failure)
        elif failure.kind in calls.TRANSIENT:
            self._hold(failure.wait)

    async def _forget(self, batch: Batch) -> None:
        """Take the request file away from the provider; not worth any trouble."""
        if batch.uploaded:
            try:
                await self.service.forget(batch.uploaded)
            except CallFailed:
                return

    async def _cancel(self) -> None:
        """Have the provider stop; what was never submitted is dropped."""
        for batch in [one for one in self.open if one.state != states.FETCHED]:
            if not batch.id and batch.state == states.SUBMITTING and (found := await self._find(batch)):
                self.run.ledger.note(batch, states.SUBMITTED, id=found)
            if not batch.id:
                self._drop(batch)
                continue
            try:
                await self._patiently(self.service.cancel, batch.id)
            except CallFailed as failure:
                if failure.kind != calls.UNKNOWN_MODEL:
                    raise
                self._drop(batch)
        self._tell()
