"""Attempts at questions over one connection: its pace, retries that can help, and when to stop
asking.

tenacity retries: exponential backoff with full jitter, on top of any wait that the provider asks
for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from metal.raters.judges import call as calls
from metal.raters.judges.call import CallFailed, Client, ModelRequest, Question, Reply
from metal.raters.judges.engine import JudgeSetup, Progress
from metal.raters.judges.journal import (
    ASK_AGAIN,
    LASTING,
    Attempt,
    Record,
    failure_line,
    reply_line,
)
from metal.raters.judges.limits import Pace, TokenEstimator, allowances, book, sleep_until
from metal.raters.judges.models import LOGPROBS, Model
from metal.raters.judges.prices import Price
from metal.raters.judges.probabilities import slim
from metal.raters.judges.reply_words import compile_all

BUSY_ATTEMPTS = 40
LONGEST_WAIT = 60.0  # seconds between two attempts, unless the provider asks for more
PATIENCE = 900.0  # a provider that wants a longer wait than this stops the judge
# of requests, before anything was answered: then the request or the model is wrong, not the text
REJECTIONS = 3
# Before anything was answered: attempts at the first question, which a server that starts just then
# may need, and questions without a reply after which the judge is stopped. The second is asked
# once, since what fails may be the first one's text.
FIRST_ATTEMPTS = 3
PROBES = 2
# What providers call the limit of a reply, thoughts included.
MOST_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# Kinds of failures that say of a first request that others will fail as well.
TELLING = calls.USELESS | {calls.REJECTED, calls.PARAMETER, calls.NO_NUMBER}
ABANDONED = "abandoned"  # the kind of a request that was not sent because the judge was stopped
PLAIN_REPLY = '{"score": 1, "justification": "Because."}'


def parameters_of(model: Model, question: Question) -> dict[str, Any]:
    """The model's parameters, overridden by the question's. A parameter that the model's settings
    unset stays unset.
    """
    return {key: question.parameters.get(key, value) for key, value in model.parameters.items()}


def request_for(model: Model, question: Question, rejected: Collection[str]) -> ModelRequest:
    """The request for a question, without parameters and structure that the model rejects."""
    parameters = parameters_of(model, question)
    kept = {key: value for key, value in parameters.items() if key not in rejected}
    if any(LOGPROBS in key for key in rejected):  # they go together
        kept = {key: value for key, value in kept.items() if LOGPROBS not in key}
    newer = "max_completion_tokens"  # what newer OpenAI models call it
    if "max_tokens" in rejected and "max_tokens" in parameters and newer not in rejected:
        kept[newer] = parameters["max_tokens"]
    structured = model.structured if question.schema else "none"
    if "json_object" in rejected:
        structured = "none"
    elif "json_schema" in rejected and structured == "json_schema":
        structured = "json_object"
    return ModelRequest(question.message, question.schema, kept, structured, model.timeout)


class Account(Protocol):
    """An object that pays for questions and keeps their records."""

    async def reserve(self, question: Question) -> float | None:
        """Reserve the highest cost of a question in US dollars; None if the question must not be
        begun.
        """

    def release(self, reserved: float) -> None:
        """Give back what was reserved for a question that has ended."""

    def charge(self, dollars: float) -> None:
        """Count what a reply cost."""

    def write(self, record: Record) -> None:
        """Write a journal record; it counts once it is on the disk."""


class Attempts:
    """Asks one model until there is a reply, or no reason to continue.

    halted: nothing more is sent, and waits end at once. closed: no more questions are begun;
    questions in flight are finished. tried: questions after the first may be begun, because the
    first was answered, or because waiting for it would show nothing more. reached: the model has
    answered in this session. in_vain: the number of questions whose attempts all failed before
    anything was answered; the first question gets FIRST_ATTEMPTS attempts, each later one gets one.
    note(parameter, said): called once for each parameter that the model rejects.
    """

    def __init__(self, setup: JudgeSetup, client: Client, note: Callable[[str, str], None]) -> None:
        self.model, self.rules, self.secrets = setup.model, setup.rules, setup.secrets
        self.client, self.note = client, note
        self.progress = Progress(setup.model, setup.questions)
        self.rejected = dict(setup.rejected)  # parameter -> what the model said
        self.estimator = TokenEstimator()
        self.halted, self.closed, self.tried = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.ever_answered = self.reached = self.interrupted = self.reader_ready = False
        self.rejections = self.in_vain = 0
        self.pace = Pace(self.model.concurrency, *allowances(self.model))
        self.backoff = wait_random_exponential(multiplier=self.rules.backoff, max=LONGEST_WAIT)
        self.retrying = AsyncRetrying(
            retry=retry_if_exception(self._worth_retrying),
            wait=self._wait,
            stop=self._enough,
            sleep=self._sleep,
            reraise=True,
        )

    def halt(self, *, interrupted: bool = False) -> None:
        """Send nothing more, and end all waits. interrupted: the run was asked to stop."""
        self.interrupted = self.interrupted or interrupted
        self.halted.set()
        self.closed.set()
        self.tried.set()

    def _stop(self, why: str) -> None:
        self.progress.stopped = self.progress.stopped or why
        self.halt()

    def tokens(self, question: Question) -> float:
        """About how many tokens a question takes, including its answer."""
        return sum(self.estimator.expected(question.rough_tokens, question.answer_tokens))

    def highest_cost(self, question: Question, price: Price | None) -> float:
        """The highest cost of a question in US dollars, judging by the replies so far; 0 without a
        price.
        """
        longest = max(self.model.parameters.get(name) or 0 for name in MOST_TOKENS)
        most = self.estimator.most(question.rough_tokens, question.answer_tokens, longest)
        return price.cost(*most) if price else 0.0

    # ------------------------------------------------------------ one question to its end

    async def settle(
        self, account: Account, question: Question, asked: int, reserved: float
    ) -> None:
        """Ask until a reply can be read, or until asking again cannot help. All engines that ask
        directly use this.

        asked: the number of unreadable replies so far. reserved: US dollars reserved for the first
        attempt.
        """
        held: float | None = reserved
        while held is not None:
            asked += 1
            attempt = Attempt(asked)
            try:
                reply = await self.reply(question, attempt)
                record, cost = self.record_reply(question, reply, attempt, self.model.price)
                account.charge(cost)
            except CallFailed as failure:
                self._give_up(failure)
                if not self._abandons(failure):
                    account.write(self.record_failure(question, failure, attempt))
                return
            finally:
                account.release(held)
            held = None if record.settled else await account.reserve(question)
            account.write(replace(record, settled=held is None))
            if held is not None:
                await self.pace.hold(self.tokens(question), self.halted)

    def _give_up(self, failure: CallFailed) -> None:
        """After a question without a reply, let other questions begin, unless the failure shows
        that none would get a reply.
        """
        if self.ever_answered or failure.kind not in calls.TRANSIENT | TELLING:
            self.tried.set()
        elif failure.kind in calls.TRANSIENT:
            self.in_vain += 1
            if self.in_vain >= PROBES:
                self._stop(str(failure))

    def _abandons(self, failure: CallFailed) -> bool:
        """Whether a question without a reply stays open, because it was only abandoned or its judge
        was stopped.
        """
        if failure.kind == ABANDONED or failure.kind in calls.FATAL:
            return True
        if self.interrupted and failure.kind not in LASTING:
            return True
        return bool(self.progress.stopped) and failure.kind in calls.TRANSIENT

    # ------------------------------------------------------------ requests

    async def reply(self, question: Question, attempt: Attempt) -> Reply:
        """Return the first reply; raise CallFailed once retrying is pointless."""
        self._make_reader_ready(question)
        try:
            # nearly always enough, without the cost of tenacity
            return await self._send(question, attempt)
        except CallFailed as failure:
            failures = [failure]

        async def send() -> Reply:
            if failures:
                raise failures.pop()
            return await self._send(question, attempt)

        reply: Reply = await self.retrying(send)
        return reply

    def _make_reader_ready(self, question: Question) -> None:
        """Read a reply before anything is sent, so that what reading needs is compiled.

        Compiling takes a while. If the process were killed while the first replies waited to be
        read, paid replies would be lost.
        """
        if not self.reader_ready:
            self.reader_ready = True
            compile_all()
            question.kind(PLAIN_REPLY, calls.COMPLETE)

    async def _send(self, question: Question, attempt: Attempt) -> Reply:
        """Send one request. If the model rejects a parameter, send the request again at once
        without it.
        """
        if attempt.failures:
            await self.pace.hold(self.tokens(question), self.halted)
        while True:
            if self.halted.is_set():
                raise CallFailed(ABANDONED)
            request = self.request(question)
            attempt.began = time.monotonic()
            self.progress.sent += 1
            try:
                reply = await self.client.ask(request)
                calls.check_size(len(reply.raw))
            except CallFailed as failure:
                self.hide_secrets(failure)
                if failure.kind == calls.PARAMETER and self.drop_rejected(
                    failure, question, request
                ):
                    continue
                self._count_failure(failure, attempt)
                raise
            attempt.took = time.monotonic() - attempt.began
            for name in reply.dropped:
                self._drop(name, "its library does not send it to this model")
            sent = {
                name: value
                for name, value in request.parameters.items()
                if name not in reply.dropped
            }
            attempt.sent = {**sent, "structured": request.structured}
            self.pace.answered()
            self.ever_answered = self.reached = True
            self.tried.set()
            return reply

    def request(self, question: Question) -> ModelRequest:
        """The request for a question as it is sent now, without what the model rejects."""
        return request_for(self.model, question, self.rejected)

    def hide_secrets(self, failure: CallFailed) -> None:
        """Remove keys from a failure's message."""
        failure.message = self.secrets.hidden_text(failure.message)
        failure.body = self.secrets.hidden_text(failure.body)

    def drop_rejected(self, failure: CallFailed, question: Question, request: ModelRequest) -> bool:
        """Whether a request that failed because of a parameter can be sent again without it. The
        rejection is noted once for the whole run.
        """
        name = request.structured if failure.parameter == "response_format" else failure.parameter
        if name == "none" or (name not in request.parameters and name != request.structured):
            return False
        self._drop(name, failure.message)
        now = self.request(question)
        # Where nothing changed, the request would be rejected for ever.
        return (now.parameters, now.structured) != (request.parameters, request.structured)

    def _drop(self, parameter: str, why: str) -> None:
        """Leave a parameter out of requests from now on."""
        if parameter not in self.rejected:
            self.rejected[parameter] = why
            self.progress.retries[f"rejects {parameter}"] += 1
            self.note(parameter, why)

    def _count_failure(self, failure: CallFailed, attempt: Attempt) -> None:
        """Slow down, or stop the judge, as the failure requires."""
        attempt.failures += 1
        self.reached = self.reached or failure.kind != calls.UNREACHED
        if failure.kind in calls.TRANSIENT:
            self.progress.retries[failure.kind] += 1
        if not self.reached:
            self._stop(str(failure))
        elif failure.kind == calls.BUSY:
            self.pace.busy(failure.wait, attempt.began)
        elif failure.kind in calls.TRANSIENT | calls.USELESS:
            self.pace.failed()
            if self.pace.down:
                self._stop(
                    f"{self.pace.streak} calls in a row failed ({failure}); the provider seems to"
                    " be down"
                )
        elif failure.kind in calls.FATAL:
            self._stop(str(failure))
        if failure.kind in TELLING and not self.ever_answered:
            self.rejections += 1
            if self.rejections >= REJECTIONS:
                self._stop(str(failure))
        if failure.kind in calls.TRANSIENT and failure.wait > PATIENCE:
            self._stop(f"the provider asks to wait {failure.wait / 60:.0f} minutes; resume then")

    # ------------------------------------------------------------ records

    def record_reply(
        self, question: Question, reply: Reply, attempt: Attempt, price: Price | None
    ) -> tuple[Record, float]:
        """The journal record of a reply, and its cost in US dollars. The cost is added to the
        total.

        The record is not final if the reply cannot be read and the rules allow asking again.
        """
        cost = book(self.progress, self.estimator, price, question, reply)
        if self.model.gives_probabilities:
            reply = replace(reply, raw=slim(reply.raw))
        reply = self.secrets.without(reply)
        kind = question.kind(reply.text, reply.ending)
        line = reply_line(self.model.name, question, kind, reply, attempt)
        return Record(line, kind, kind not in ASK_AGAIN or attempt.number > self.rules.reasks), cost

    def record_failure(self, question: Question, failure: CallFailed, attempt: Attempt) -> Record:
        """The journal record of a question that got no reply."""
        self.hide_secrets(failure)
        line = failure_line(self.model.name, question, failure, attempt)
        return Record(line, failure.kind, settled=True)

    # ------------------------------------------------------------ retries (tenacity)

    def _worth_retrying(self, error: BaseException) -> bool:
        if not isinstance(error, CallFailed) or self.progress.stopped:
            return False
        return error.kind in calls.TRANSIENT and (self.reached or error.kind != calls.UNREACHED)

    def _enough(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        busy = isinstance(error, CallFailed) and error.kind == calls.BUSY
        most = max(BUSY_ATTEMPTS, self.rules.attempts) if busy else self.rules.attempts
        if self.in_vain and not self.ever_answered:
            most = 1
        elif not (busy or self.ever_answered):
            most = min(most, FIRST_ATTEMPTS)
        return self.halted.is_set() or state.attempt_number >= most

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_for = error.wait if isinstance(error, CallFailed) else 0.0
        return asked_for + self.backoff(state)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but wake when the run or this judge is stopped."""
        await sleep_until(self.halted, seconds)
