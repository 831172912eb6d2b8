"""One question to its end, the same for every engine that asks directly: asked, read, asked again, recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from metal.raters.judges import call as calls
from metal.raters.judges.attempts import ABANDONED, Attempts
from metal.raters.judges.call import CallFailed, Question
from metal.raters.judges.journal_records import LASTING, Attempt, Record


class Account(Protocol):
    """Pays for questions, and keeps their records."""

    async def reserve(self, question: Question) -> float | None:
        """Reserve the US dollars that a question may cost at most; None: it may not be begun."""
        ...

    def release(self, reserved: float) -> None:
        """Give back what was reserved for a question that has ended."""
        ...

    def charge(self, dollars: float) -> None:
        """Count what a reply cost."""
        ...

    def write(self, record: Record) -> None:
        """Write a journal record; it counts once it is on the disk."""
        ...


@dataclass(frozen=True)
class AttemptLoop:
    """Settles the questions of one model, one by one. unreadable: key -> its unreadable replies so far."""

    account: Account
    attempts: Attempts
    unreadable: Mapping[bytes, int]

    async def settle(self, question: Question, key: bytes, reserved: float | None) -> None:
        """Ask until a reply can be read or asking again does not help. reserved: US dollars, for the first time."""
        attempt = Attempt(number=self.unreadable.get(key, 0))
        price = self.attempts.model.price
        while reserved is not None:
            attempt = Attempt(number=attempt.number + 1)
            try:
                reply = await self.attempts.reply(question, attempt)
                record, cost = self.attempts.record_reply(question, reply, attempt, price)
                self.account.charge(cost)
            except CallFailed as failure:
                self._give_up(question, failure, attempt)
                return
            finally:
                self.account.release(reserved)
            reserved = None if record.settled else await self.account.reserve(question)
            self.account.write(replace(record, settled=reserved is None))
            if reserved is not None:
                await self.attempts.pace.hold(self.attempts.tokens(question), self.attempts.halted)

    def _give_up(self, question: Question, failure: CallFailed, attempt: Attempt) -> None:
        """Record a question that brought no reply, unless it was only abandoned or its judge was stopped."""
        lasting = failure.kind in LASTING
        if failure.kind == ABANDONED or failure.kind in calls.FATAL or (self.attempts.interrupted and not lasting):
            return
        if self.attempts.progress.stopped and failure.kind in calls.TRANSIENT:
            return
        self.account.write(self.attempts.record_failure(question, failure, attempt))
