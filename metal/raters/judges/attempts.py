"""Attempts at a call: one connection, its pace, retries of what is worth retrying, and when to stop asking.

Retries are tenacity's: exponential backoff with full jitter on top of whatever wait the provider asks for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from metal.raters.judges import call as calls
from metal.raters.judges.call import Ask, CallFailed, Client, Downgrades, Question, Reply
from metal.raters.judges.cost import TokenGuess
from metal.raters.judges.engine import ATTEMPTS, Progress
from metal.raters.judges.lines import Tries
from metal.raters.judges.models import Model
from metal.raters.judges.pace import Allowance, Pace, sleep_until
from metal.raters.judges.secrets import Secrets

BUSY_ATTEMPTS = 40
LONGEST_WAIT = 60.0  # seconds between two attempts, unless the provider asks for more
PATIENCE = 900.0  # a provider that wants a longer wait than this stops the judge
REJECTIONS = 3  # of requests, before anything was answered: then the request is wrong, not the text in it
ABANDONED = "abandoned"  # the kind of a call that was never sent again because the judge was stopped


class Attempts:
    """One model, asked until there is a reply or no point in asking on.

    halted: nothing more is sent, no wait is sat out. closed: no call is begun any more; those under way are carried
    to their end. progress: what has happened so far. note(parameter, said) is called once for each parameter that turns
    out to be unwelcome.
    """

    def __init__(
        self,
        model: Model,
        client: Client,
        rejected: dict[str, str],
        progress: Progress,
        secrets: Secrets,
        note: Callable[[str, str], None],
        *,
        answer_tokens: int,
        attempts: int = ATTEMPTS,
        backoff: float = 1.0,
    ) -> None:
        self.model, self.client, self.secrets, self.note = model, client, secrets, note
        self.attempts = attempts
        self.downgrades = Downgrades(rejected)
        self.guess = TokenGuess(answer_tokens)
        self.halted, self.closed = asyncio.Event(), asyncio.Event()
        self.progress = progress
        self.ever_answered = False
        self.rejections = 0
        limits = (model.requests_per_minute, model.tokens_per_minute)
        requests, tokens = (Allowance(float(limit)) if limit else None for limit in limits)
        self.pace = Pace(model.concurrency, requests, tokens)
        self.backoff = wait_random_exponential(multiplier=backoff, max=LONGEST_WAIT)
        self.retrying = AsyncRetrying(
            retry=retry_if_exception(self._worth_retrying),
            wait=self._wait,
            stop=self._enough,
            sleep=self._nap,
            reraise=True,
        )

    def halt(self) -> None:
        """Send nothing more, and sit out no wait."""
        self.halted.set()
        self.closed.set()

    def _stop(self, why: str) -> None:
        self.progress.stopped = self.progress.stopped or why
        self.halt()

    def tokens(self, call: Question) -> float:
        """About how many tokens a call takes, in and out."""
        return sum(self.guess.of(call.rough_tokens))

    async def reply(self, call: Question, tries: Tries) -> Reply:
        """The reply of the first attempt that brings one. Raises CallFailed when no further one is worth it."""
        try:
            return await self._attempt(call, tries)  # nearly always enough, and then tenacity has no part in it
        except CallFailed as failure:
            failures = [failure]

        async def attempt() -> Reply:
            if failures:
                raise failures.pop()
            return await self._attempt(call, tries)

        reply: Reply = await self.retrying(attempt)
        return reply

    async def _attempt(self, call: Question, tries: Tries) -> Reply:
        """One request, and again at once without a parameter that turns out to be unwelcome."""
        if tries.failures:
            await self.pace.hold(self.tokens(call), self.halted)
        while True:
            if self.halted.is_set():
                raise CallFailed(ABANDONED)
            ask = self.ask(call)
            tries.began = time.monotonic()
            self.progress.sent += 1
            try:
                reply = await self.client.ask(ask)
            except CallFailed as failure:
                failure.said = self.secrets.hidden(failure.said.encode("utf-8", "replace")).decode()
                if failure.kind == calls.PARAMETER and self.without(failure, call, ask):
                    continue
                self._failed(failure, tries)
                raise
            tries.took = time.monotonic() - tries.began
            for name in reply.dropped:
                self._drop(name, "its library does not send it to this model")
            kept = {name: value for name, value in ask.parameters.items() if name not in reply.dropped}
            tries.sent = {**kept, "structured": ask.structured}
            self.pace.answered()
            self.ever_answered = True
            return reply

    def ask(self, call: Question) -> Ask:
        """A question as it is asked now, without what the model would not take."""
        parameters, structured = self.downgrades.apply(parameters_of(self.model, call), self.model.structured)
        return Ask(call.message, call.schema, parameters, structured, self.model.timeout)

    def without(self, failure: CallFailed, call: Question, ask: Ask) -> bool:
        """Whether a call that failed for a parameter may be made again without it; noted once for the whole run."""
        name = ask.structured if failure.parameter == "response_format" else failure.parameter
        if name == "none" or (name not in ask.parameters and name != ask.structured):
            return False
        self._drop(name, failure.said)
        now = self.ask(call)
        return (now.parameters, now.structured) != (ask.parameters, ask.structured)  # else it is refused for ever

    def _drop(self, parameter: str, said: str) -> None:
        """Make calls without the parameter from now on."""
        if parameter not in self.downgrades.rejected:
            self.downgrades.rejected[parameter] = said
            self.progress.retries[f"rejects {parameter}"] += 1
            self.note(parameter, said)

    def _failed(self, failure: CallFailed, tries: Tries) -> None:
        tries.failures += 1
        if failure.kind in calls.TRANSIENT:
            self.progress.retries[failure.kind] += 1
        if failure.kind == calls.BUSY:
            self.pace.busy(failure.wait, tries.began)
        elif failure.kind in calls.TRANSIENT:
            self.pace.failed()
            if self.pace.down:
                self._stop(f"{self.pace.streak} calls in a row failed ({failure}); the provider seems to be down")
        elif failure.kind in calls.FATAL:
            self._stop(str(failure))
        elif failure.kind in (calls.REJECTED, calls.PARAMETER) and not self.ever_answered:
            self.rejections += 1
            if self.rejections >= REJECTIONS:
                self._stop(str(failure))
        if failure.kind in calls.TRANSIENT and failure.wait > PATIENCE:
            self._stop(f"the provider asks to wait {failure.wait / 60:.0f} minutes; resume then")

    # ------------------------------------------------------------ retries (tenacity)

    def _worth_retrying(self, error: BaseException) -> bool:
        return isinstance(error, CallFailed) and error.kind in calls.TRANSIENT and not self.progress.stopped

    def _enough(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        busy = isinstance(error, CallFailed) and error.kind == calls.BUSY
        return self.halted.is_set() or state.attempt_number >= (
            max(BUSY_ATTEMPTS, self.attempts) if busy else self.attempts
        )

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_for = error.wait if isinstance(error, CallFailed) else 0.0
        return asked_for + self.backoff(state)

    async def _nap(self, seconds: float) -> None:
        """Sleep, but wake when the run or this judge is stopped."""
        await sleep_until(self.halted, seconds)


def parameters_of(model: Model, question: Question) -> dict[str, Any]:
    """What is asked of the model for this question; a parameter that its settings unset is not brought back."""
    return {key: question.parameters.get(key, value) for key, value in model.parameters.items()}
