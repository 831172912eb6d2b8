"""One judge in a batch run: make, submit, watch and merge its batches."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from metal.raters.judges import call as calls
from metal.raters.judges.attempts import ABANDONED, BUSY_ATTEMPTS, LONGEST_WAIT, Attempts
from metal.raters.judges.batch import ledger as states
from metal.raters.judges.batch.ledger import Batch, new_token
from metal.raters.judges.batch.questions import BatchQuestions, tokens_that_may_wait, written_of
from metal.raters.judges.call import BatchClient, CallFailed, Status
from metal.raters.judges.journal import rejected_line
from metal.raters.judges.limits import sleep_until
from metal.raters.judges.models import Model
from metal.raters.judges.providers import find_provider

if TYPE_CHECKING:
    from metal.raters.judges.batch.run import BatchRun

T = TypeVar("T")
MOST_OPEN = 50  # batches of a judge at the provider at once
FIRST_LOOK, LAST_LOOK = 5.0, 60.0  # seconds between two status requests: at first, and in the end
SETTLE = 30.0  # seconds after which a provider's list surely shows a batch that was submitted
OUTAGE = 3600.0  # seconds for which a service that has batches of ours may be out of reach
GIVE_UP = "give it up with `metal.judge_cancel(...)`"


class BatchJudge:
    """One model's part of a batch run."""

    def __init__(self, run: BatchRun, model: Model) -> None:
        session = run.session
        self.run, self.model, self.ledger, self.rules = run, model, run.ledger, session.rules
        self.options, self.journal = session.options, session.journal
        client, self.service = session.open_client(model), session.open_batch_client(model)
        self.attempts = Attempts(session.setup(model), client, self._note)
        self.progress = self.attempts.progress
        self.questions = BatchQuestions(run, self.attempts, self.service)
        self.open = self.ledger.open_batches(model.name)
        for batch in self.open:
            run.claimed.update(self.ledger.keys(batch))
            run.budget.committed += batch.dollars
        self.fruitless = 0  # batches in a row without an answer
        self.hold_until = 0.0  # time.monotonic() before which nothing is submitted
        self.looks = 0  # status requests since something changed
        # time.monotonic() since which the service is out of reach; 0 while it is not
        self.lost_at = 0.0
        self._show_progress()

    async def close(self) -> None:
        """Close connections."""
        await asyncio.gather(
            self.attempts.client.close(), self.service.close(), return_exceptions=True
        )

    async def work(self) -> None:
        """Work until nothing is left to ask or to wait for."""
        try:
            if self.options.cancelling:
                await self._cancel()
            while not self.run.stopping.is_set():
                changed = False
                try:
                    if await self._make_all() and not self.open:
                        return
                    changed = await self._look()
                    self.lost_at = 0.0
                except CallFailed as failure:
                    if not self._waits_out(failure):
                        raise
                if not changed:
                    if not self.options.wait:
                        return
                    await sleep_until(self.run.stopping, self._pause())
        except CallFailed as failure:
            if not self.run.stopping.is_set():
                self._stop(failure)
        finally:
            self._show_progress()

    def _closed(self) -> bool:
        """Whether nothing more may be asked."""
        return (
            bool(self.progress.stopped) or self.options.cancelling or self.attempts.closed.is_set()
        )

    def _waits_out(self, failure: CallFailed) -> bool:
        """Whether to wait although the service cannot be reached. True if it has batches of ours,
        because these may take a day.
        """
        submitted = any(batch.id for batch in self.open)
        if failure.kind not in calls.TRANSIENT or not self.options.wait or not submitted:
            return False
        self.lost_at = self.lost_at or time.monotonic()
        self._show_progress()
        self.progress.awaited += f", {failure.kind}"
        return time.monotonic() - self.lost_at < OUTAGE

    def _stop(self, failure: CallFailed) -> None:
        self.attempts.hide_secrets(failure)
        self.progress.stopped = self.progress.stopped or str(failure)

    def _pause(self) -> float:
        """Seconds until the next status requests."""
        if self.model.batch.poll:
            pause = float(self.model.batch.poll)
        else:
            # Azure asks for no more
            first = LAST_LOOK if self.model.provider == "azure" else FIRST_LOOK
            pause = min(LAST_LOOK, first * 1.1**self.looks)
        held = self.hold_until - time.monotonic()
        return min(pause, held) if held > 0 else pause

    def _show_progress(self) -> None:
        self.progress.under_way = sum(batch.requests for batch in self.open)
        self.progress.arriving = sum(min(batch.done, batch.requests) for batch in self.open)
        stages = ", ".join(sorted({batch.stage or batch.state for batch in self.open}))
        batches = "1 batch" if len(self.open) == 1 else f"{len(self.open)} batches"
        self.progress.awaited = f"{batches} {stages}" if self.open else ""

    def _note(self, parameter: str, why: str) -> None:
        self.journal.append(rejected_line(self.model.name, parameter, why))

    # ------------------------------------------------------------ making

    async def _make_all(self) -> bool:
        """Make and submit batches while there are questions and room; return whether no batch is
        left to make.
        """
        if self.options.cancelling:
            return True
        for unsent in [batch for batch in self.open if not batch.id]:
            await self._submit(unsent)
        await self._ask_directly()
        while not self._closed():
            limits = self.questions.room([batch.tokens for batch in self.open])
            if limits is None or self.hold_until > time.monotonic() or len(self.open) >= MOST_OPEN:
                return False
            batch = Batch(new_token(), self.model.name)
            keys = await self.questions.pack(batch, limits, self.ledger.requests(batch.token))
            if not keys:
                return True
            self.ledger.write_keys(batch.token, keys)  # from here on it is complete on the disk
            self.ledger.note(batch, states.MADE)
            self.open.append(batch)
            await self._submit(batch)
        return True

    async def _ask_directly(self) -> None:
        """Ask questions without a batch, one at a time, until one is answered."""
        price = self.model.price
        while (
            find_provider(self.model.provider).asks_directly
            and not (self.attempts.ever_answered or self.open or self._closed())
            and (item := self.questions.take())
        ):
            if not self.run.may_begin(item.key, item.dollars):
                self.questions.put_back(item)
                return
            attempt = self.questions.attempt(item.question, item.key)
            try:
                reply = await self.attempts.reply(item.question, attempt)
                self.questions.settle(item.question, item.key, reply, attempt, price)
            except CallFailed as failure:
                if failure.kind in (*calls.TRANSIENT, ABANDONED):
                    self.questions.free([item.key])
                    raise
                self.questions.fail(item.question, item.key, failure)
            finally:
                self.run.budget.release(item.dollars)
        self.progress.sent = max(self.progress.sent, 1)

    # ------------------------------------------------------------ submitting

    async def _submit(self, batch: Batch) -> None:
        """Bring a batch to the provider, whatever state it is in."""
        file = self.ledger.requests(batch.token)
        if batch.state == states.MADE:
            try:
                await self._upload(batch)
            except CallFailed as failure:
                if failure.kind != calls.TOO_LONG or batch.requests == 1:
                    raise
                self.questions.limits = replace(
                    self.questions.limits, bytes=file.stat().st_size // 2
                )
                await self._refused(batch, CallFailed(calls.BUSY, failure.message))
                return
        batch_id = await self._find(batch) if batch.state == states.SUBMITTING else None
        failures = 0
        while not batch_id:
            self.ledger.note(batch, states.SUBMITTING)
            try:
                batch_id = await self.service.submit(batch.uploaded, batch.token)
            except CallFailed as failure:
                failures += 1
                if failure.kind not in calls.TRANSIENT or failure.kind == calls.BUSY:
                    await self._refused(batch, failure)
                    return
                batch_id = await self._find(batch)  # the provider may have begun it all the same
                if not batch_id and failures >= self.rules.attempts:
                    raise
                # providers keep uploaded files for a limited time
                if not batch_id and failures > 1:
                    await self._upload(batch)
        self.ledger.note(batch, states.SUBMITTED, id=batch_id)
        self.progress.sent += batch.requests
        self.looks = 0
        file.unlink(missing_ok=True)
        self._show_progress()

    async def _upload(self, batch: Batch) -> None:
        uploaded = await self._retry(
            self.service.upload, self.ledger.requests(batch.token), batch.token
        )
        self.ledger.note(batch, states.UPLOADED, uploaded=uploaded)

    async def _find(self, batch: Batch) -> str | None:
        """The id of a batch whose submission got no response; None if the provider certainly does
        not have the batch.
        """
        batch_id = await self._retry(self.service.find, batch.token)
        if not batch_id:  # however long ago it was by the clock, which may have been set since
            if await sleep_until(self.run.stopping, self.model.batch.settle or SETTLE):
                raise CallFailed(ABANDONED)
            batch_id = await self._retry(self.service.find, batch.token)
        return batch_id

    async def _retry(self, request: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """Make a request to the service, and repeat it while this can help. Raises CallFailed."""
        answer: T = await self.attempts.retrying(request, *arguments)
        return answer

    async def _refused(self, batch: Batch, failure: CallFailed) -> None:
        """Free the questions of a batch that the provider refused; pause, or stop the judge."""
        self.attempts.hide_secrets(failure)
        first = self.questions.of(batch, self.ledger.keys(batch)[:1])
        self._drop(batch)
        await self._forget(batch)
        self.progress.retries[failure.kind] += 1
        if any(self.questions.drops(failure, question, batch) for question in first.values()):
            return
        self.fruitless += 1
        busy = failure.kind == calls.BUSY
        if busy:
            self._lower_token_limit(batch, failure)
        attempts = BUSY_ATTEMPTS if busy else self.rules.attempts
        waits = busy and self.open  # for one of ours to end
        if failure.kind not in calls.TRANSIENT or (self.fruitless >= attempts and not waits):
            self._stop(failure)
        self._hold(failure.wait)

    def _drop(self, batch: Batch) -> None:
        keys = self.ledger.keys(batch)
        self.questions.free(keys)
        self.run.begun -= Counter(keys)  # none of them was asked
        self.run.budget.release(batch.dollars)
        self.ledger.note(batch, states.DROPPED)
        self.open.remove(batch)

    def _lower_token_limit(self, batch: Batch, failure: CallFailed) -> None:
        """Lower the limit of waiting tokens, until `resume`, to the one that the provider names, or
        else to a guess.
        """
        if "token" not in failure.message.lower() and (self.open or self.fruitless < 2):
            return  # too many requests at this moment
        limits = self.questions.limits
        most = tokens_that_may_wait(
            batch, sum(other.tokens for other in self.open), failure.message
        )
        self.questions.limits = replace(limits, tokens=min(most, limits.tokens or most))

    def _hold(self, wait: float) -> None:
        """Submit nothing for a while. The wait is longer if more batches in a row have failed."""
        backoff = min(LONGEST_WAIT, self.rules.backoff * 2.0 ** min(self.fruitless, 16))
        self.hold_until = time.monotonic() + max(wait, backoff)

    # ------------------------------------------------------------ watching and merging

    async def _look(self) -> bool:
        """Ask for the status of each batch; return whether one has ended."""
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
            self._show_progress()
        return changed

    async def _status(self, batch: Batch) -> Status:
        if batch.state == states.FETCHED:
            return Status(states.FETCHED, ended=True)
        try:
            status = await self._retry(self.service.status, batch.id)
        except CallFailed as failure:
            if failure.kind == calls.UNKNOWN_MODEL:
                remedy = f"resume with the key it was submitted with, or {GIVE_UP}"
                failure.message += f"; batch {batch.id} is not known there: {remedy}"
            raise
        if (status.stage, status.done or 0) != (batch.stage, batch.done):
            self.looks = 0
        batch.stage, batch.done = status.stage, status.done or 0
        return status

    async def _merge(self, batch: Batch) -> None:
        """Merge the answers of a batch. Questions without an answer are asked again."""
        results = self.ledger.results(batch.token)
        written: set[bytes] = set()
        if batch.state == states.FETCHED:  # a part may have been merged before
            written = written_of(self.journal.path, batch.token)
        if batch.state != states.FETCHED or not results.is_file():
            await self._fetch(batch, results)
            self.ledger.note(batch, states.FETCHED)
        keys = self.ledger.keys(batch)
        batch.done = 0  # from here on they are counted one by one
        self._show_progress()
        answered, failure = await self.questions.take_in(batch, results, keys, written)
        self.questions.free(keys)
        await self.journal.synced()
        self.ledger.note(batch, states.MERGED)
        self.open.remove(batch)
        self.run.budget.release(batch.dollars)
        self._react(answered, failure)
        await self._forget(batch)

    async def _fetch(self, batch: Batch, results: Path) -> None:
        """Write a batch's results to a file. While cancelling, results that the provider no longer
        has are given up.
        """
        try:
            await self._retry(self.service.fetch, batch.id, results)
            self.run.session.secrets.hide_in(results)
        except CallFailed as failure:
            if failure.kind != calls.UNKNOWN_MODEL:
                raise
            if not self.options.cancelling:
                failure.message += (
                    f"; the results of batch {batch.id} are no longer there: {GIVE_UP}"
                )
                raise
            results.write_bytes(b"")

    def _react(self, answered: int, failure: CallFailed | None) -> None:
        """Continue, pause or stop, depending on the results of a batch."""
        self.fruitless = 0 if answered or self.options.cancelling else self.fruitless + 1
        if not self.fruitless or not failure:
            return
        hopeless = (
            failure.kind in (calls.REJECTED, calls.PARAMETER) and not self.attempts.ever_answered
        )
        hopeless &= not self.questions.again
        if hopeless or self.fruitless >= self.rules.attempts:
            self._stop(failure)
        elif failure.kind in calls.TRANSIENT:
            self._hold(failure.wait)

    async def _forget(self, batch: Batch) -> None:
        """Delete the request file at the provider, and ignore a failure."""
        if batch.uploaded:
            with suppress(CallFailed):
                await self.service.forget(batch.uploaded)

    async def _cancel(self) -> None:
        """Cancel the batches that the provider has, and drop those that were never submitted."""
        for batch in [batch for batch in self.open if batch.state != states.FETCHED]:
            if (
                not batch.id
                and batch.state == states.SUBMITTING
                and (batch_id := await self._find(batch))
            ):
                self.ledger.note(batch, states.SUBMITTED, id=batch_id)
            if not batch.id:
                self._drop(batch)
                continue
            try:
                await self._retry(cancel_batch, self.service, batch.id)
            except CallFailed as failure:
                if failure.kind != calls.UNKNOWN_MODEL:
                    raise
                self._drop(batch)
        self._show_progress()


async def cancel_batch(service: BatchClient, batch: str) -> None:
    """Cancel a batch. A refusal is ignored if the batch has ended or is already being cancelled.
    Raises CallFailed.
    """
    try:
        await service.cancel(batch)
    except CallFailed:
        now = await service.status(batch)
        if not now.ended and now.stage != "cancelling":
            raise
