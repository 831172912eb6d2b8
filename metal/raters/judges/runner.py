"""The runner: asks each question once, however often it is stopped, and writes each reply down before it counts.

One event loop. Each model has its own connection, pace, and as many workers as it may have calls in flight; a worker
takes the next call that is not answered yet, asks, retries what is worth retrying, reads the reply, writes it to the
journal. Nothing here keeps replies: a run of a hundred thousand calls needs hardly more memory than one of a thousand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from metal.raters.judges.attempts import Attempts
from metal.raters.judges.call import Client, Question, Questions
from metal.raters.judges.cost import Budget
from metal.raters.judges.engine import Progress, Rules, together
from metal.raters.judges.journal import Journal
from metal.raters.judges.lines import Answered, rejected_line
from metal.raters.judges.models import Model
from metal.raters.judges.secrets import Secrets
from metal.raters.judges.settling import Settling


class Run:
    """A run in progress: `await run.go()` until all is asked, a judge is stopped, or `run.stop()` was called."""

    def __init__(
        self,
        plan: Questions,
        journal: Journal,
        answered: Answered,
        rules: Rules,
        open_client: Callable[[Model], Client],
        secrets: Secrets,
    ) -> None:
        self.plan, self.journal, self.answered, self.rules = plan, journal, answered, rules
        self.budget = Budget(rules.max_cost, answered.spent)
        self.begun = 0
        self.over_budget = False
        self.stopping = asyncio.Event()
        self.secrets = secrets
        self.claimed: set[bytes] = set()  # by any judge: two names of one model share their answers
        self.judges = [
            _Judge(self, model, open_client(model), dict(answered.rejected.get(model.name, {})))
            for model in plan.models
        ]

    @property
    def progress(self) -> list[Progress]:
        """A model each, in the plan's order."""
        return [judge.progress for judge in self.judges]

    def stop(self) -> str:
        """Begin no more calls; those in flight are finished and saved."""
        self.stopping.set()
        for judge in self.judges:
            judge.asking.halt()
        flying = sum(judge.asking.pace.in_flight for judge in self.judges)
        return f"finishing {flying} calls in flight; Ctrl-C again to drop them"

    async def go(self) -> None:
        """Ask until there is nothing left to ask. Raises OSError when the journal cannot be written."""
        works = (judge.work() for judge in self.judges for _ in range(judge.model.concurrency))
        await together(works, lambda: (judge.asking.client.close() for judge in self.judges))

    def may_begin(self) -> bool:
        """Whether another call may be begun, as far as --limit and Ctrl-C go; counts it."""
        if self.stopping.is_set() or (self.rules.limit is not None and self.begun >= self.rules.limit):
            return False
        self.begun += 1
        if self.begun == self.rules.limit:  # nobody need wait for a turn any more
            for judge in self.judges:
                judge.asking.closed.set()
        return True


class _Judge:
    """One model's side of a run: its workers."""

    def __init__(self, run: Run, model: Model, client: Client, rejected: dict[str, str]) -> None:
        self.run, self.model = run, model
        self.progress = Progress(model, run.plan.calls_a_model)
        self.asking = Attempts(
            model,
            client,
            rejected,
            self.progress,
            run.secrets,
            self._note,
            answer_tokens=run.plan.answer_tokens,
            attempts=run.rules.attempts,
            backoff=run.rules.backoff,
        )
        self.settling = Settling(self, model, self.asking, run.rules, run.secrets, run.answered.unreadable)
        self.calls = self._missing()
        self.probe = asyncio.Lock()

    def _missing(self) -> Iterator[tuple[Question, bytes]]:
        """The calls that are neither answered nor taken; equal questions are asked once."""
        settled = self.run.answered.settled
        begins = self.run.answered.begins.get(self.model.name, 0)
        self.progress.done += begins
        self.asking.ever_answered = begins > 0
        for call in self.run.plan.calls(self.model, begins):
            key = bytes.fromhex(call.key)
            if key in settled:
                self.asking.ever_answered = True
            elif key not in self.run.claimed:
                yield call, key
                continue
            self.progress.done += 1

    async def work(self) -> None:
        """One worker: call after call, as long as there are any."""
        while not self.asking.closed.is_set():
            if self._unsized():  # until a reply tells what calls cost, one at a time
                async with self.probe:
                    if self._unsized():
                        if not await self._next():
                            return
                        continue
            if not await self._next():
                return

    def _unsized(self) -> bool:
        return self.run.budget.limit is not None and self.model.price is not None and not self.asking.guess.answers

    async def _next(self) -> bool:
        """Make the next call; whether there may be more."""
        following = next(self.calls, None)
        if following is None or self.asking.closed.is_set():
            return False
        call, key = following
        self.run.claimed.add(key)
        if self.run.budget.spent_up(self.settling.most(call)):  # no use in waiting for a turn
            self._over()
            return False
        await self.asking.pace.enter(self.asking.tokens(call), self.asking.closed)
        try:
            estimate = await self.afford(call)
            if estimate is None:
                return False
            await self.settling.settle(call, key, estimate)
        finally:
            self.asking.pace.leave()
        return not self.asking.closed.is_set()

    def _over(self) -> None:
        self.run.over_budget = True
        self.asking.closed.set()

    @property
    def stopping(self) -> bool:
        """Ctrl-C."""
        return self.run.stopping.is_set()

    async def afford(self, call: Question) -> float | None:
        """Of the run's budget and --limit."""
        estimate = self.settling.most(call)
        if self.asking.closed.is_set():
            return None
        if not self.run.budget.take(estimate):
            self._over()
            return None
        if not self.run.may_begin():
            self.run.budget.release(estimate)
            return None
        return estimate

    def release(self, estimate: float) -> None:
        """To the run's budget."""
        self.run.budget.release(estimate)

    def spend(self, cost: float) -> None:
        """From the run's budget."""
        self.run.budget.spent += cost

    def write(self, line: bytes, kind: str, *, settled: bool) -> None:
        """To the journal."""
        self.run.journal.append(line, partial(self._counts, kind, settled))

    def _note(self, parameter: str, said: str) -> None:
        self.run.journal.append(rejected_line(self.model.name, parameter, said), lambda: None)

    def _counts(self, kind: str, settled: bool) -> None:
        if settled:
            self.progress.kinds[kind] += 1
            self.progress.done += 1
        elif kind:
            self.progress.retries[kind] += 1
