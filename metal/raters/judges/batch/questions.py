"""One judge's questions in batches: which are still to be asked, and what becomes of each answer and failure."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path

from metal.raters.judges import call as calls
from metal.raters.judges.attempts import Attempts, request_for
from metal.raters.judges.batch.ledger import Batch
from metal.raters.judges.batch.packing import TURN, PackedRequest, Waiting
from metal.raters.judges.batch.state import BatchState
from metal.raters.judges.call import BatchClient, CallFailed, ModelRequest, Question, Reply
from metal.raters.judges.journal import LASTING, Attempt, Record, scan
from metal.raters.judges.models import Price


class BatchQuestions:
    """The questions of one model in a batch run. again: whether some came back that have to be asked again."""

    def __init__(self, state: BatchState, attempts: Attempts, service: BatchClient) -> None:
        self.state, self.attempts, self.service = state, attempts, service
        self.model, self.progress = attempts.model, attempts.progress
        self.plan, self.answered = state.session.plan, state.session.answered
        self.failures: Counter[bytes] = Counter()
        self.given_up: set[bytes] = set()
        self.again = False
        self.price = self.model.batch_price or self.model.price
        self.begins = self.answered.begins.get(self.model.name, 0)
        keys = (bytes.fromhex(question.key) for question in self.plan.questions(self.model))
        self.progress.done = sum(key in self.answered.settled for key in keys)
        attempts.ever_answered = self.progress.done > 0

    def waiting(self) -> Waiting:
        """The questions that are neither answered, given up, nor under way."""
        return Waiting(enumerate(self.plan.questions(self.model, self.begins), self.begins), self._item)

    def _item(self, place: int, question: Question) -> PackedRequest | None:
        key = bytes.fromhex(question.key)
        if self._done(key) or key in self.state.claimed:
            return None
        dollars = self.attempts.highest_cost(question, self.price)
        request = self.attempts.request(question)
        try:
            line = self.service.line(question.key, request)
        except CallFailed as failure:  # the provider's format cannot express it
            self.fail(question, key, failure, self.attempt(key), request)
            return None
        tokens_in, _ = self.attempts.estimator.expected(question.rough_tokens)
        return PackedRequest(question, key, line, place, tokens_in, dollars)

    def _done(self, key: bytes) -> bool:
        return key in self.answered.settled or key in self.given_up

    def free(self, keys: Iterable[bytes]) -> None:
        """These questions are no longer under way; those without an answer have to be asked (again)."""
        for key in keys:
            self.state.claimed.discard(key)
            self.again |= not self._done(key)

    def of(self, batch: Batch, keys: Iterable[bytes]) -> dict[bytes, Question]:
        """The questions of a batch, by key: from where it began when it was made, then from anywhere in the plan.

        The plan may have changed since: more criteria in another order, an output that is gone.
        """
        wanted, questions = set(keys), dict[bytes, Question]()
        from_start = self.plan.questions(self.model)
        for question in chain(self.plan.questions(self.model, batch.begins), islice(from_start, batch.begins)):
            if not wanted:
                break
            key = bytes.fromhex(question.key)
            if key in wanted:
                wanted.discard(key)
                questions[key] = question
        return questions

    def request(self, batch: Batch, question: Question) -> ModelRequest:
        """The request that a batch contains for a question."""
        return request_for(self.model, question, batch.without)

    # ------------------------------------------------------------ results

    async def take_in(
        self, batch: Batch, results: Path, keys: Iterable[bytes], written: set[bytes]
    ) -> tuple[int, CallFailed | None]:
        """Merge the results of a batch. Returns how many answers it has, and one of its failures, if there are any.

        written: the keys of its answers that are in the journal already. What the results lack has to be asked again.
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
                if isinstance(result, CallFailed):
                    failure = result
                    self._fail_in(batch, question, key, result)
                else:
                    answered += 1
                    self.settle(question, key, result, self.attempt(key, batch, question), self.price)
        for key, question in missing.items():
            if key not in written:
                failure = failure or CallFailed(calls.SERVER, "the batch ended without an answer to it")
                self._fail_in(batch, question, key, failure)
        return answered, failure

    def _fail_in(self, batch: Batch, question: Question, key: bytes, failure: CallFailed) -> None:
        self.fail(question, key, failure, self.attempt(key, batch, question), self.request(batch, question))

    def attempt(self, key: bytes, batch: Batch | None = None, question: Question | None = None) -> Attempt:
        """The attempt at a question that is being made, or was made in a batch."""
        attempt = Attempt(number=self.answered.unreadable[key] + 1)
        if batch and question:
            request = self.request(batch, question)
            attempt.failures, attempt.took, attempt.batch = self.failures[key], None, batch.token
            attempt.sent = {**request.parameters, "structured": request.structured}
        return attempt

    def settle(self, question: Question, key: bytes, reply: Reply, attempt: Attempt, price: Price | None) -> None:
        """Record a reply; its question is asked again when the reply cannot be read, as often as the rules allow."""
        record, cost = self.attempts.record_reply(question, reply, attempt, price)
        self.state.budget.spent += cost
        self._write(record)
        self.attempts.ever_answered = True
        if record.settled:
            self.answered.settled.add(key)
        else:
            self.answered.unreadable[key] += 1
            self.free([key])

    def fail(
        self, question: Question, key: bytes, failure: CallFailed, attempt: Attempt, request: ModelRequest
    ) -> None:
        """Ask a question without a reply again, or record its failure. A fatal failure stops the judge."""
        self.attempts.hide_secrets(failure)
        if failure.kind in calls.FATAL:
            self.progress.stopped = self.progress.stopped or str(failure)
        elif failure.kind in calls.TRANSIENT and self.failures[key] + 1 < self.attempts.rules.attempts:
            self.failures[key] += 1
            self.progress.retries[failure.kind] += 1
        elif not (failure.kind == calls.PARAMETER and self.attempts.drop_rejected(failure, question, request)):
            attempt.failures = self.failures[key] + 1
            self._write(self.attempts.record_failure(question, failure, attempt))
            (self.answered.settled if failure.kind in LASTING else self.given_up).add(key)
            return
        self.free([key])

    def _write(self, record: Record) -> None:
        self.state.session.journal.append(record.line, partial(self.progress.count, record.kind, record.settled))


def written_of(journal: Path, token: str) -> set[bytes]:
    """The keys of the questions whose answers from this batch are in the journal."""
    mark = f'"batch":"{token}"'.encode()
    return {bytes.fromhex(key) for key, _, _, line in scan(journal) if mark in line}
