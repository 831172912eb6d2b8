"""One judge's questions in batches: find open questions, write request files, take in answers."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.files import naming
from metal.raters.judges import call as calls
from metal.raters.judges.attempts import Attempts, request_for
from metal.raters.judges.batch.ledger import Batch
from metal.raters.judges.call import (
    BatchClient,
    BatchLimits,
    CallFailed,
    ModelRequest,
    Question,
    Reply,
)
from metal.raters.judges.journal import LASTING, Attempt, Record, scan
from metal.raters.judges.prices import Price

if TYPE_CHECKING:
    from metal.raters.judges.batch.run import BatchRun

TURN = 256  # lines written or read without giving other judges a turn
# of the tokens that may wait: with less room than that, the next batch waits for another to end
ROOM = 0.25
SAMPLE = 100  # answers that show what questions cost at most; one answer alone does not


@dataclass(frozen=True)
class PackedRequest:
    """A question to ask in a batch. line: its line in the request file. place: its position in the
    plan. tokens, dollars: estimates.
    """

    question: Question
    key: bytes
    line: bytes
    place: int
    tokens: float
    dollars: float


class BatchQuestions:
    """The questions of one model in a batch run. again: whether any has to be asked again."""

    def __init__(self, run: BatchRun, attempts: Attempts, service: BatchClient) -> None:
        self.run, self.attempts, self.service = run, attempts, service
        self.model, self.progress = attempts.model, attempts.progress
        self.plan, self.answered = run.session.plan, run.session.answered
        self.failures: Counter[bytes] = Counter()
        self.given_up: set[bytes] = set()
        self.again = False
        self.price = self.model.batch_price or self.model.price
        self.begins = self.answered.begins.get(self.model.name, 0)
        self._queue = self._from_start()
        own, provider = self.model.batch, service.limits
        self.limits = BatchLimits(  # the provider's, lowered by the user's settings
            min(provider.requests, own.requests or provider.requests),
            min(provider.bytes, own.bytes or provider.bytes),
            own.tokens or provider.tokens,
        )
        keys = (bytes.fromhex(question.key) for question in self.plan.questions(self.model))
        self.progress.done = sum(key in self.answered.settled for key in keys)
        attempts.ever_answered = self.progress.done > 0

    # ------------------------------------------------------------ asking

    def _from_start(self) -> Iterator[tuple[int, Question]]:
        return enumerate(self.plan.questions(self.model, self.begins), self.begins)

    def take(self) -> PackedRequest | None:
        """The next question that is not answered, given up or under way; None if there is none."""
        return next(
            (
                item
                for position, question in self._queue
                if (item := self._item(position, question))
            ),
            None,
        )

    def put_back(self, item: PackedRequest) -> None:
        """Put back a question that was not asked. It comes first next time, with a new request."""
        self._queue = chain([(item.place, item.question)], self._queue)

    def room(self, waiting: Sequence[float]) -> BatchLimits | None:
        """What the next batch may contain if open batches have `waiting` tokens; None if an open
        batch has to end first.

        If there is a budget, but too few answers to show what questions cost, the first batch is
        small.
        """
        limits = self.limits
        if self.run.budget.limit is not None and self.attempts.estimator.answers < SAMPLE:
            if waiting:
                return None
            limits = replace(limits, requests=min(limits.requests, SAMPLE))
        if limits.tokens is None:
            return limits
        left = limits.tokens - sum(waiting)
        return replace(limits, tokens=left) if not waiting or left >= ROOM * limits.tokens else None

    async def pack(self, batch: Batch, limits: BatchLimits, path: Path) -> list[bytes]:
        """Write and sync a batch's request file. Returns the keys of its questions; without
        questions, no file is written.

        The batch takes as many questions as the limits, the budget and the rules allow, in the
        plan's order. A question that is too large for a batch is packed alone, so that the provider
        says what is wrong with it.
        """
        keys = await self._pack(batch, limits, path)
        if not keys and self.again:  # go through the plan once more, for what came back
            self.again, self._queue = False, self._from_start()
            keys = await self._pack(batch, limits, path)
        if not keys:
            path.unlink()
        return keys

    async def _pack(self, batch: Batch, limits: BatchLimits, path: Path) -> list[bytes]:
        keys: list[bytes] = []
        with naming(path), path.open("wb") as file:
            while len(keys) < limits.requests and (item := self.take()):
                full = file.tell() + len(item.line) + 1 > limits.bytes
                full |= limits.tokens is not None and batch.tokens + item.tokens > limits.tokens
                if (keys and full) or not self.run.may_begin(item.key, item.dollars):
                    self.put_back(item)
                    break
                if not keys:
                    batch.begins = item.place
                elif len(keys) % TURN == 0:
                    await asyncio.sleep(0)
                keys.append(item.key)
                batch.tokens += item.tokens
                batch.dollars += item.dollars
                file.write(item.line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        batch.requests, batch.without = len(keys), dict(self.attempts.rejected)
        return keys

    def _item(self, position: int, question: Question) -> PackedRequest | None:
        key = bytes.fromhex(question.key)
        if self._done(key) or key in self.run.claimed:
            return None
        dollars = self.attempts.highest_cost(question, self.price)
        request = self.attempts.request(question)
        try:
            line = self.service.line(question.key, request)
        except CallFailed as failure:  # the provider's format cannot express it
            self.fail(question, key, failure)
            return None
        tokens_in, _ = self.attempts.estimator.expected(
            question.rough_tokens, question.answer_tokens
        )
        return PackedRequest(question, key, line, position, tokens_in, dollars)

    def _done(self, key: bytes) -> bool:
        return key in self.answered.settled or key in self.given_up

    def free(self, keys: Iterable[bytes]) -> None:
        """Mark questions as no longer under way. Questions without an answer have to be asked
        (again).
        """
        for key in keys:
            self.run.claimed.discard(key)
            self.again |= not self._done(key)

    def of(self, batch: Batch, keys: Iterable[bytes]) -> dict[bytes, Question]:
        """The questions of a batch, by key. They are looked for first from the position where the
        batch began, then in the whole plan.

        The plan may have changed since then: more criteria, another order, or an output that is
        gone.
        """
        wanted, questions = set(keys), dict[bytes, Question]()
        from_start = self.plan.questions(self.model)
        for question in chain(
            self.plan.questions(self.model, batch.begins), islice(from_start, batch.begins)
        ):
            if not wanted:
                break
            key = bytes.fromhex(question.key)
            if key in wanted:
                wanted.discard(key)
                questions[key] = question
        return questions

    def request(self, question: Question, batch: Batch | None) -> ModelRequest:
        """The request that a batch contains for a question; without a batch, the request as it is
        sent now.
        """
        return request_for(self.model, question, batch.without if batch else self.attempts.rejected)

    # ------------------------------------------------------------ results

    async def take_in(
        self, batch: Batch, results: Path, keys: Iterable[bytes], written: set[bytes]
    ) -> tuple[int, CallFailed | None]:
        """Merge the results of a batch. Returns the number of its answers, and one of its failures
        if there are any.

        written: the keys of its answers that are already in the journal. Questions without a result
        have to be asked again.
        """
        missing, answered, failure = self.of(batch, keys), len(written), None
        gone = set(keys) - missing.keys()  # a text or a prompt has changed since
        with results.open("rb") as file:
            for number, line in enumerate(file):
                if number % TURN == 0:
                    await asyncio.sleep(0)  # other judges have work to do as well
                try:
                    name, result = self.service.read(line)
                    key = bytes.fromhex(name)
                except (CallFailed, ValueError):
                    continue  # its question counts as unanswered
                self.progress.unused += key in gone and isinstance(result, Reply)
                question = missing.pop(key, None)
                if question is None or key in written:
                    continue
                try:
                    calls.check_size(0 if isinstance(result, CallFailed) else len(result.raw))
                except CallFailed as error:
                    result = error
                if isinstance(result, CallFailed):
                    failure = result
                    self.fail(question, key, result, batch)
                else:
                    answered += 1
                    self.settle(
                        question, key, result, self.attempt(question, key, batch), self.price
                    )
        for key, question in missing.items():
            if key not in written:
                failure = failure or CallFailed(
                    calls.SERVER, "the batch ended without an answer to it"
                )
                self.fail(question, key, failure, batch)
        return answered, failure

    def attempt(self, question: Question, key: bytes, batch: Batch | None = None) -> Attempt:
        """The current attempt at a question, or the one that was made in a batch."""
        number = self.answered.unreadable[key] + 1
        if not batch:
            return Attempt(number)
        request = self.request(question, batch)
        sent = {**request.parameters, "structured": request.structured}
        return Attempt(number, self.failures[key], took=None, batch=batch.token, sent=sent)

    def settle(
        self, question: Question, key: bytes, reply: Reply, attempt: Attempt, price: Price | None
    ) -> None:
        """Record a reply. If it cannot be read, its question is asked again, as often as the rules
        allow.
        """
        record, cost = self.attempts.record_reply(question, reply, attempt, price)
        self.run.budget.spent += cost
        self._write(record)
        self.attempts.ever_answered = True
        if record.settled:
            self.answered.settled.add(key)
        else:
            self.answered.unreadable[key] += 1
            self.free([key])

    def fail(
        self, question: Question, key: bytes, failure: CallFailed, batch: Batch | None = None
    ) -> None:
        """Ask a question again that got no reply, or record its failure. A fatal failure stops the
        judge.
        """
        self.attempts.hide_secrets(failure)
        if failure.kind in calls.FATAL:
            self.progress.stopped = self.progress.stopped or str(failure)
        elif (
            failure.kind in calls.TRANSIENT
            and self.failures[key] + 1 < self.attempts.rules.attempts
        ):
            self.failures[key] += 1
            self.progress.retries[failure.kind] += 1
        elif not self.drops(failure, question, batch):
            attempt = replace(self.attempt(question, key, batch), failures=self.failures[key] + 1)
            self._write(self.attempts.record_failure(question, failure, attempt))
            (self.answered.settled if failure.kind in LASTING else self.given_up).add(key)
            return
        self.free([key])

    def drops(self, failure: CallFailed, question: Question, batch: Batch | None) -> bool:
        """Whether a request that failed can be sent again without the parameter that the model
        rejects.
        """
        request = self.request(question, batch)
        return failure.kind == calls.PARAMETER and self.attempts.drop_rejected(
            failure, question, request
        )

    def _write(self, record: Record) -> None:
        self.run.session.journal.append(
            record.line, partial(self.progress.count, record.kind, record.settled)
        )


def written_of(journal: Path, token: str) -> set[bytes]:
    """The keys of the questions whose answers from this batch are in the journal."""
    mark = f'"batch":"{token}"'.encode()
    return {bytes.fromhex(key) for key, _, _, line in scan(journal) if mark in line}


def tokens_that_may_wait(refused: Batch, others: float, message: str) -> float:
    """The limit of waiting tokens, from the message that refused a batch. others: the tokens of the
    batches that were waiting then.

    If the message has no number, the limit is half-way between the tokens without the batch and
    with it.
    >>> refused = Batch("token", "judge", requests=9, tokens=1000)
    >>> tokens_that_may_wait(refused, 20, "Enqueued token limit reached.")
    520.0
    """
    match = re.search(r"limit:?\D{0,20}([\d,]{4,})", message, re.I)
    most = 0.9 * float(match[1].replace(",", "")) if match else others + refused.tokens / 2
    return min(most, others + 0.9 * refused.tokens) if refused.requests > 1 else most
