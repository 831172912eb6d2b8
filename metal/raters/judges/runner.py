"""The local engine: it asks each question once, even if it is stopped many times, and records each
reply before it counts.

There is one event loop. Each model has a connection, a pace, and one worker for each call that it
may have in flight. A worker takes the next question without an answer, asks it, retries if that can
help, and writes the reply to the journal. The first worker begins alone, until the model has
answered. So a server that cannot be reached, refuses the key or always fails costs one question,
not as many as may be in flight. No reply is kept in memory, so a run of 100,000 calls needs hardly
more memory than a run of 1,000.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial

from metal.raters.judges.attempts import Attempts
from metal.raters.judges.call import Question
from metal.raters.judges.engine import EngineOptions, Progress, Session, check_clients, run_together
from metal.raters.judges.journal import Record, rejected_line
from metal.raters.judges.limits import Budget
from metal.raters.judges.models import Model


class LocalRun:
    """A run in this process (metal.raters.judges.engine.Engine)."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.budget = Budget(session.rules.max_cost, session.answered.spent)
        self.begun = 0
        self.over_budget = False
        self.stopping = asyncio.Event()
        self.claimed: set[bytes] = set()  # by any judge: two names of one model share their answers
        self.judges = [LocalJudge(self, model) for model in session.plan.models]

    @staticmethod
    async def check(models: Iterable[Model], options: EngineOptions) -> None:
        """Raise UsageError or MissingExtra if a model cannot be asked."""
        await check_clients(models)

    @property
    def progress(self) -> list[Progress]:
        """One for each model, in the plan's order."""
        return [judge.attempts.progress for judge in self.judges]

    def stop(self) -> str:
        """Begin no more calls; those in flight are finished and saved."""
        self.stopping.set()
        for judge in self.judges:
            judge.attempts.halt(interrupted=True)
        in_flight = sum(judge.attempts.pace.in_flight for judge in self.judges)
        return f"finishing {in_flight} calls in flight; Ctrl-C again to drop them"

    async def go(self) -> None:
        """Ask until nothing is left to ask. Raises OSError if the journal cannot be written."""
        works = (
            judge.work(first=worker == 0)
            for judge in self.judges
            for worker in range(judge.model.concurrency)
        )
        await run_together(works, lambda: (judge.attempts.client.close() for judge in self.judges))

    def may_begin(self) -> bool:
        """Whether another call may be begun: the rules' limit allows it, and the run goes on. If
        so, count it.
        """
        limit = self.session.rules.limit
        if self.stopping.is_set() or (limit is not None and self.begun >= limit):
            return False
        self.begun += 1
        if self.begun == limit:  # nobody has to wait for a turn any more
            for judge in self.judges:
                judge.attempts.closed.set()
        return True


class LocalJudge:
    """One model's part of a local run, with its workers. It is an attempts.Account."""

    def __init__(self, run: LocalRun, model: Model) -> None:
        self.run, self.model, self.session = run, model, run.session
        self.attempts = Attempts(
            self.session.setup(model), self.session.open_client(model), self._note
        )
        self.questions = self._open_questions()
        self.probe = asyncio.Lock()

    def _open_questions(self) -> Iterator[tuple[Question, bytes]]:
        """The questions that are not answered or claimed yet. Equal questions are asked once."""
        answered, progress = self.session.answered, self.attempts.progress
        begins = answered.begins.get(self.model.name, 0)
        progress.done += begins
        self.attempts.ever_answered = begins > 0
        for question in self.session.plan.questions(self.model, begins):
            key = bytes.fromhex(question.key)
            if key in answered.settled:
                self.attempts.ever_answered = True
            elif key not in self.run.claimed:
                yield question, key
                continue
            progress.done += 1

    async def work(self, *, first: bool) -> None:
        """Run one worker, which asks question after question until none is left. first: whether it
        begins at once, without waiting for a first answer.
        """
        if not first:
            await self.attempts.tried.wait()
        try:
            while not self.attempts.closed.is_set():
                if self._cost_unknown():  # one call at a time, until a reply shows what calls cost
                    async with self.probe:
                        if self._cost_unknown():
                            if not await self._next():
                                return
                            continue
                if not await self._next():
                    return
        finally:
            self.attempts.tried.set()

    def _cost_unknown(self) -> bool:
        limited = self.run.budget.limit is not None and self.model.price is not None
        return limited and not self.attempts.estimator.answers

    async def _next(self) -> bool:
        """Ask the next question; return whether there may be more."""
        following = next(self.questions, None)
        if following is None or self.attempts.closed.is_set():
            return False
        question, key = following
        self.run.claimed.add(key)
        # no use in waiting
        if self.run.budget.spent_up(self.attempts.highest_cost(question, self.model.price)):
            self._over_budget()
            return False
        await self.attempts.pace.enter(self.attempts.tokens(question), self.attempts.closed)
        try:
            reserved = await self.reserve(question)
            if reserved is None:
                return False
            asked = self.session.answered.unreadable.get(key, 0)
            await self.attempts.settle(self, question, asked, reserved)
        finally:
            self.attempts.pace.leave()
        return not self.attempts.closed.is_set()

    def _over_budget(self) -> None:
        self.run.over_budget = True
        self.attempts.closed.set()

    def _note(self, parameter: str, why: str) -> None:
        self.session.journal.append(rejected_line(self.model.name, parameter, why))

    # ------------------------------------------------------------ the account

    async def reserve(self, question: Question) -> float | None:
        """Reserve a question's cost from the run's budget; None means that the question may not be
        asked.
        """
        cost = self.attempts.highest_cost(question, self.model.price)
        if self.attempts.closed.is_set():
            return None
        if not self.run.budget.take(cost):
            self._over_budget()
            return None
        if not self.run.may_begin():
            self.run.budget.release(cost)
            return None
        return cost

    def release(self, reserved: float) -> None:
        """Give back what was reserved."""
        self.run.budget.release(reserved)

    def charge(self, dollars: float) -> None:
        """Count what a reply cost."""
        self.run.budget.spent += dollars

    def write(self, record: Record) -> None:
        """Write a record to the journal."""
        count = partial(self.attempts.progress.count, record.kind, record.settled)
        self.session.journal.append(record.line, count)
