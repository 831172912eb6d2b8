"""One call to its end, the same for whoever has it made: asked, read, asked again where that helps, written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from metal.raters.judges import call as calls
from metal.raters.judges.attempts import ABANDONED, Attempts
from metal.raters.judges.call import CallFailed, Question
from metal.raters.judges.cost import book
from metal.raters.judges.engine import Rules
from metal.raters.judges.lines import ASK_AGAIN, LASTING, Tries, failure_line, reply_line
from metal.raters.judges.models import Model
from metal.raters.judges.secrets import Secrets


class Host(Protocol):
    """Who has the calls made: whose money it is, and where lines go."""

    @property
    def stopping(self) -> bool:
        """Whether somebody has asked the run to stop."""
        ...

    async def afford(self, call: Question) -> float | None:
        """Set aside what a call may cost at most, as far as replies have shown; None: it may not be begun."""
        ...

    def release(self, estimate: float) -> None:
        """What was set aside for a call that has ended."""
        ...

    def spend(self, cost: float) -> None:
        """A reply's US dollars."""
        ...

    def write(self, line: bytes, kind: str, *, settled: bool) -> None:
        """A line for the journal; it counts once it is on the disk. settled: its call is done. kind "": no call."""
        ...


@dataclass(frozen=True)
class Settling:
    """One model's calls, settled one by one. unreadable: replies without a verdict that a key has already."""

    host: Host
    model: Model
    asking: Attempts
    rules: Rules
    secrets: Secrets
    unreadable: Mapping[bytes, int]

    async def settle(self, call: Question, key: bytes, estimate: float | None) -> None:
        """Ask until there is a reply that is read, or that is not worth asking again. estimate: set aside for it."""
        tries = Tries(asked=self.unreadable.get(key, 0))
        while estimate is not None:
            tries = Tries(asked=tries.asked + 1)
            try:
                reply = await self.asking.reply(call, tries)
                self.host.spend(book(self.asking.progress, self.asking.guess, self.model.price, call, reply))
            except CallFailed as failure:
                self._give_up(call, failure, tries)
                return
            finally:
                self.host.release(estimate)
            kind = call.kind(reply.text, reply.ending)
            again = kind in ASK_AGAIN and tries.asked <= self.rules.reasks
            estimate = await self.host.afford(call) if again else None
            line = self.secrets.hidden(reply_line(self.model.name, call, kind, reply, tries))
            self.host.write(line, kind, settled=estimate is None)
            if estimate is not None:
                await self.asking.pace.hold(self.asking.tokens(call), self.asking.halted)

    def most(self, call: Question) -> float:
        """US dollars that a call may cost, as far as replies have shown; 0 where no price is known."""
        if not self.model.price:
            return 0.0
        longest = self.model.parameters.get("max_tokens") or 0
        return self.model.price.cost(*self.asking.guess.most(call.rough_tokens, longest))

    def _give_up(self, call: Question, failure: CallFailed, tries: Tries) -> None:
        """A call that brought no reply: written down unless it was only abandoned."""
        lasting = failure.kind in LASTING
        if failure.kind == ABANDONED or failure.kind in calls.FATAL or (self.host.stopping and not lasting):
            return
        if self.asking.progress.stopped and failure.kind in calls.TRANSIENT:
            return
        line = self.secrets.hidden(failure_line(self.model.name, call, failure, tries))
        self.host.write(line, failure.kind, settled=True)
