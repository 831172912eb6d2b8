"""The runner: asks each question once, however often it is stopped, and writes each reply down before it counts.

One event loop. Each model has its own connection, pace, and as many workers as it may have calls in flight; a worker
takes the next call that is not answered yet, asks, retries what is worth retrying, reads the reply, writes it to the
journal. Nothing here keeps replies: a run of a hundred thousand calls needs hardly more memory than one of a thousand.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from metal.judges import call as calls
from metal.judges.call import Ask, CallFailed, Client, Downgrades, Reply
from metal.judges.cost import Budget, TokenGuess
from metal.judges.journal import Journal, head
from metal.judges.models import Model
from metal.judges.pace import Allowance, Pace, sleep_until
from metal.judges.plan import Call, Plan
from metal.judges.reader import EMPTY, OFF_SCALE, UNPARSABLE, Verdict, read_reply
from metal.judges.secrets import Secrets
from metal.records import Scale

VERDICT, FAILED, REJECTED = "verdict", "failed", "rejected"
ASK_AGAIN = frozenset({UNPARSABLE, OFF_SCALE, EMPTY})
ATTEMPTS, BUSY_ATTEMPTS = 6, 40
LONGEST_WAIT = 60.0  # seconds between two attempts, unless the provider asks for more
PATIENCE = 900.0  # a provider that wants a longer wait than this stops the judge


@dataclass
class Answered:
    """What the journal already holds, by key: settled, or how many unreadable replies there are."""

    settled: set[bytes] = field(default_factory=set)
    unreadable: Counter[bytes] = field(default_factory=Counter)

    def note(self, key: str, kind: str, reasks: int) -> None:
        """A line of the journal."""
        if kind in (FAILED, REJECTED):
            return
        known = bytes.fromhex(key)
        if kind in ASK_AGAIN:
            self.unreadable[known] += 1
            if self.unreadable[known] <= reasks:
                return
            del self.unreadable[known]
        self.settled.add(known)


@dataclass
class Progress:
    """What has happened to one model's calls in this session."""

    model: Model
    total: int = 0
    done: int = 0
    sent: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    retries: Counter[str] = field(default_factory=Counter)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    stopped: str = ""


@dataclass(frozen=True)
class Rules:
    """How a run is carried out. reasks: for replies without a verdict. limit: at most so many calls are begun.

    attempts: at a call that fails for a while. max_cost: US dollars. backoff: seconds, about, before the second
    attempt; twice as long before each further one.
    """

    reasks: int = 1
    limit: int | None = None
    attempts: int = ATTEMPTS
    max_cost: float | None = None
    backoff: float = 1.0


class Run:
    """A run in progress: `await run.go()` until all is asked, a judge is stopped, or `run.stop()` was called."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        answered: Answered,
        rules: Rules,
        open_client: Callable[[Model], Client],
        rejected: Mapping[str, Mapping[str, str]],
        secrets: Secrets,
    ) -> None:
        self.plan, self.journal, self.answered, self.rules = plan, journal, answered, rules
        self.budget = Budget(rules.max_cost)
        self.begun = 0
        self.over_budget = False
        self.stopping = asyncio.Event()
        self.secrets = secrets
        self.claimed: set[bytes] = set()  # by any judge: two names of one model share their answers
        self.judges = [
            _Judge(self, model, open_client(model), dict(rejected.get(model.name, {}))) for model in plan.models
        ]

    @property
    def progress(self) -> list[Progress]:
        """A model each, in the plan's order."""
        return [judge.progress for judge in self.judges]

    def stop(self) -> None:
        """Begin no more calls; those in flight are finished and saved."""
        self.stopping.set()
        for judge in self.judges:
            judge.halt()

    async def go(self) -> None:
        """Ask until there is nothing left to ask. Raises OSError when the journal cannot be written."""
        try:
            async with asyncio.TaskGroup() as group:
                for judge in self.judges:
                    for _ in range(judge.model.concurrency):
                        group.create_task(judge.work())
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            await asyncio.gather(*(judge.client.close() for judge in self.judges), return_exceptions=True)

    def may_begin(self) -> bool:
        """Whether another call may be begun, as far as --limit and Ctrl-C go; counts it."""
        if self.stopping.is_set() or (self.rules.limit is not None and self.begun >= self.rules.limit):
            return False
        self.begun += 1
        if self.begun == self.rules.limit:  # nobody need wait for a turn any more
            for judge in self.judges:
                judge.closed.set()
        return True


class _Judge:
    """One model's side of a run."""

    def __init__(self, run: Run, model: Model, client: Client, rejected: dict[str, str]) -> None:
        self.run, self.model, self.client = run, model, client
        self.progress = Progress(model, run.plan.calls_a_model)
        self.downgrades = Downgrades(rejected)
        requests, tokens = (
            Allowance(float(limit)) if limit else None for limit in (model.requests_per_minute, model.tokens_per_minute)
        )
        self.pace = Pace(model.concurrency, requests, tokens)
        self.guess = TokenGuess()
        self.calls = self._missing()
        self.halted = asyncio.Event()  # nothing more is sent, no wait is sat out
        self.closed = asyncio.Event()  # no call is begun any more; those under way are carried to their end
        self.probe = asyncio.Lock()
        self.ever_answered = False
        self.rejections = 0
        self.retrying = AsyncRetrying(
            retry=retry_if_exception(self._worth_retrying),
            wait=self._wait,
            stop=self._enough,
            sleep=self._nap,
            reraise=True,
        )
        self.backoff = wait_random_exponential(multiplier=run.rules.backoff, max=LONGEST_WAIT)

    def _missing(self) -> Iterator[tuple[Call, bytes]]:
        """The calls that are neither answered nor taken; equal questions are asked once."""
        for call in self.run.plan.calls(self.model):
            key = bytes.fromhex(call.key)
            if key in self.run.answered.settled or key in self.run.claimed:
                self.ever_answered = self.ever_answered or key in self.run.answered.settled
                self.progress.done += 1
                continue
            yield call, key

    async def work(self) -> None:
        """One worker: call after call, as long as there are any."""
        while not self.closed.is_set():
            if self._unsized():  # until a reply tells what calls cost, one at a time
                async with self.probe:
                    if self._unsized():
                        if not await self._next():
                            return
                        continue
            if not await self._next():
                return

    def _unsized(self) -> bool:
        return self.run.budget.limit is not None and self.model.price is not None and not self.guess.answers

    async def _next(self) -> bool:
        """Make the next call; whether there may be more."""
        following = next(self.calls, None)
        if following is None or self.closed.is_set():
            return False
        call, key = following
        self.run.claimed.add(key)
        if self.run.budget.spent_up(self._most(call)):  # no use in waiting for a turn
            self._over()
            return False
        await self.pace.enter(sum(self.guess.of(call.rough_tokens)), self.closed)
        try:
            estimate = self._afford(call)
            if estimate is None:
                return False
            await self._settle(call, key, estimate)
        finally:
            self.pace.leave()
        return not self.closed.is_set()

    def _most(self, call: Call) -> float:
        if not self.model.price:
            return 0.0
        longest = self.model.parameters.get("max_tokens") or 0
        return self.model.price.cost(*self.guess.most(call.rough_tokens, longest))

    def _over(self) -> None:
        self.run.over_budget = True
        self.closed.set()

    def _afford(self, call: Call) -> float | None:
        """Set aside what a call may cost at most, as far as replies have shown; None: it may not be begun."""
        estimate = self._most(call)
        if self.closed.is_set():
            return None
        if not self.run.budget.take(estimate):
            self._over()
            return None
        if not self.run.may_begin():
            self.run.budget.release(estimate)
            return None
        return estimate

    async def _settle(self, call: Call, key: bytes, estimate: float | None) -> None:
        """Ask until there is a reply that is read, or that is not worth asking again. estimate: set aside for it."""
        asked = self.run.answered.unreadable[key]
        while estimate is not None:
            asked += 1
            tries = _Tries()
            try:
                reply = await self._reply(call, tries)
                self._count(call, reply)
            except CallFailed as failure:
                self._give_up(call, failure, tries, asked)
                return
            finally:
                self.run.budget.release(estimate)
            verdict = self._read(call, reply)
            kind = VERDICT if verdict.score is not None else verdict.reason
            again = kind in ASK_AGAIN and asked <= self.run.rules.reasks
            estimate = self._afford(call) if again else None
            line = self.run.secrets.hidden(self._line(call, kind, reply, tries, asked))
            self.run.journal.append(line, partial(self._done if estimate is None else self._again, kind))
            if estimate is not None:
                await self.pace.hold(sum(self.guess.of(call.rough_tokens)), self.halted)

    def _done(self, kind: str) -> None:
        self.progress.kinds[kind] += 1
        self.progress.done += 1

    def _again(self, kind: str) -> None:
        self.progress.retries[kind] += 1

    # ------------------------------------------------------------ one attempt

    async def _attempt(self, call: Call, tries: _Tries) -> Reply:
        """One request, and again at once without a parameter that turns out to be unwelcome."""
        if tries.failures:
            await self.pace.hold(sum(self.guess.of(call.rough_tokens)), self.halted)
        while True:
            if self.halted.is_set():
                raise CallFailed(_ABANDONED)
            parameters, structured = self.downgrades.apply(self.model.parameters, self.model.structured)
            ask = Ask(
                call.message,
                self.run.plan.schema(call.criterion, call.prompt),
                parameters,
                structured,
                self.model.timeout,
            )
            tries.began = time.monotonic()
            self.progress.sent += 1
            try:
                reply = await self.client.ask(ask)
            except CallFailed as failure:
                failure.said = self.run.secrets.hidden(failure.said.encode("utf-8", "replace")).decode()
                if failure.kind == calls.PARAMETER and self._without(failure, ask):
                    continue
                self._failed(failure, tries)
                raise
            tries.took = time.monotonic() - tries.began
            for name in reply.dropped:
                self._note(name, "its library does not send it to this model")
                parameters.pop(name, None)
            tries.sent = {**parameters, "structured": structured}
            self.pace.answered()
            self.ever_answered = True
            return reply

    def _without(self, failure: CallFailed, ask: Ask) -> bool:
        """Whether the call may be made again without the parameter; noted once for the whole run."""
        name = ask.structured if failure.parameter == "response_format" else failure.parameter
        if name == "none" or (name not in ask.parameters and name != ask.structured):
            return False
        self._note(name, failure.said)
        now = self.downgrades.apply(self.model.parameters, self.model.structured)
        return now != (ask.parameters, ask.structured)  # else it would be refused for ever

    def _note(self, parameter: str, said: str) -> None:
        """Write down, once for the whole run, that calls are made without the parameter."""
        if parameter not in self.downgrades.rejected:
            self.downgrades.rejected[parameter] = said
            record = {"judge": self.model.name, "parameter": parameter, "said": said, "at": _now()}
            self.run.journal.append(
                head("", REJECTED) + b"," + _dump(record)[1:], partial(self._again, f"rejects {parameter}")
            )

    def _failed(self, failure: CallFailed, tries: _Tries) -> None:
        tries.failures += 1
        if failure.kind in calls.TRANSIENT:
            self.progress.retries[failure.kind] += 1
        if failure.kind == calls.BUSY:
            self.pace.busy(failure.wait, tries.began)
        elif failure.kind in calls.TRANSIENT:
            self.pace.failed(failure.kind)
            if self.pace.down:
                self._stop(f"{self.pace.streak} calls in a row failed ({failure}); the provider seems to be down")
        elif failure.kind in calls.FATAL:
            self._stop(str(failure))
        elif failure.kind in (calls.REJECTED, calls.PARAMETER) and not self.ever_answered:
            self.rejections += 1
            if self.rejections >= 3:  # nothing was ever answered: the request is wrong, not the text in it
                self._stop(str(failure))
        if failure.kind in calls.TRANSIENT and failure.wait > PATIENCE:
            self._stop(f"the provider asks to wait {failure.wait / 60:.0f} minutes; resume then")

    def _stop(self, why: str) -> None:
        self.progress.stopped = self.progress.stopped or why
        self.halt()

    def halt(self) -> None:
        """Send nothing more, and sit out no wait."""
        self.halted.set()
        self.closed.set()

    # ------------------------------------------------------------ retries (tenacity)

    async def _reply(self, call: Call, tries: _Tries) -> Reply:
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

    def _worth_retrying(self, error: BaseException) -> bool:
        return isinstance(error, CallFailed) and error.kind in calls.TRANSIENT and not self.progress.stopped

    def _enough(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        busy = isinstance(error, CallFailed) and error.kind == calls.BUSY
        return self.halted.is_set() or state.attempt_number >= (
            max(BUSY_ATTEMPTS, self.run.rules.attempts) if busy else self.run.rules.attempts
        )

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_for = error.wait if isinstance(error, CallFailed) else 0.0
        return asked_for + self.backoff(state)

    async def _nap(self, seconds: float) -> None:
        """Sleep, but wake when the run or this judge is stopped."""
        await sleep_until(self.halted, seconds)

    # ------------------------------------------------------------ what comes back

    def _read(self, call: Call, reply: Reply) -> Verdict:
        scale = self.run.plan.criteria[call.criterion].scale
        return read_ending(reply.text, reply.ending, scale, call.prompt.letters(call.criterion))

    def _count(self, call: Call, reply: Reply) -> None:
        """Tokens and money of a reply; what the provider does not count is guessed."""
        self.guess.learn(call.rough_tokens, reply.tokens_in, reply.tokens_out)
        guessed = self.guess.of(call.rough_tokens)
        tokens_in = guessed[0] if reply.tokens_in is None else reply.tokens_in
        tokens_out = guessed[1] if reply.tokens_out is None else reply.tokens_out
        self.progress.tokens_in += round(tokens_in)
        self.progress.tokens_out += round(tokens_out)
        if self.model.price:
            cost = self.model.price.cost(tokens_in, tokens_out)
            self.progress.cost += cost
            self.run.budget.spent += cost

    def _line(self, call: Call, kind: str, reply: Reply, tries: _Tries, asked: int) -> bytes:
        """A reply's line of the journal: what it is about, what was sent, what came, the raw reply."""
        record = {
            "judge": self.model.name,
            "prompt": call.prompt.name,
            "criterion": call.criterion,
            "output": call.output.output,
            "sample": call.sample,
            "ask": asked,
            "at": _now(),
            "seconds": round(tries.took, 4),
            "retries": tries.failures,
            "sent": tries.sent,
            "model": reply.model,
            "fingerprint": reply.fingerprint,
            "tokens": [reply.tokens_in, reply.tokens_out],
            "ending": reply.ending,
            "text": reply.text,
        }
        return head(call.key, kind) + b"," + _dump(record)[1:-1] + b',"reply":' + reply.raw + b"}"

    def _give_up(self, call: Call, failure: CallFailed, tries: _Tries, asked: int) -> None:
        """A call that brought no reply: written down unless it was only abandoned; asked again when resumed."""
        lasting = failure.kind in (calls.BLOCKED, calls.TOO_LONG)
        if failure.kind == _ABANDONED or failure.kind in calls.FATAL or (self.run.stopping.is_set() and not lasting):
            return
        if self.progress.stopped and failure.kind in calls.TRANSIENT:
            return
        record = {
            "judge": self.model.name,
            "prompt": call.prompt.name,
            "criterion": call.criterion,
            "output": call.output.output,
            "sample": call.sample,
            "ask": asked,
            "at": _now(),
            "retries": tries.failures - 1,
            "why": failure.kind,
            "status": failure.status,
            "said": failure.said,
        }
        line = head(call.key, failure.kind if lasting else FAILED) + b"," + _dump(record)[1:]
        self.run.journal.append(line, partial(self._done, failure.kind))


_ABANDONED = "abandoned"


def _first(error: BaseException) -> BaseException:
    """The first failure in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@dataclass
class _Tries:
    """The attempts at one call."""

    failures: int = 0
    began: float = 0.0
    took: float = 0.0
    sent: dict[str, Any] = field(default_factory=dict)


def read_ending(text: str, ending: str, scale: Scale, letters: Mapping[str, float] | None) -> Verdict:
    """The verdict in a reply that ended so; a refused, filtered or cut reply has none, and says so."""
    verdict = read_reply(text, scale, letters)
    if ending == calls.COMPLETE:
        return verdict
    if ending == calls.TRUNCATED and verdict.score is not None and text.rstrip().endswith(("}", "```")):
        return verdict  # the verdict was complete before the limit
    return Verdict(None, ending, verdict.justification)


def _dump(record: Mapping[str, Any]) -> bytes:
    """One line of JSON; lone surrogates, which UTF-8 cannot hold, stay escaped."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
