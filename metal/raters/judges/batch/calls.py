"""One judge's calls in batches: which are still to be asked, and what becomes of each answer and failure."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path

from metal.raters.judges import call as calls
from metal.raters.judges.attempts import Attempts, parameters_of
from metal.raters.judges.batch.contract import BatchClient
from metal.raters.judges.batch.ledger import Batch
from metal.raters.judges.batch.packing import TURN, Item, Waiting
from metal.raters.judges.call import Ask, CallFailed, Downgrades, Question, Questions, Reply
from metal.raters.judges.cost import Budget, book
from metal.raters.judges.engine import Progress, Rules
from metal.raters.judges.journal import Journal, scan
from metal.raters.judges.lines import ASK_AGAIN, LASTING, Answered, Tries, failure_line, reply_line
from metal.raters.judges.models import Model, Price
from metal.raters.judges.secrets import Secrets


class Calls:
    """The calls of one model. claimed: keys that are under way, of any judge: they are asked once.

    again: whether calls came back that have to be asked again.
    """

    def __init__(
        self,
        plan: Questions,
        model: Model,
        service: BatchClient,
        asking: Attempts,
        progress: Progress,
        journal: Journal,
        answered: Answered,
        claimed: set[bytes],
        budget: Budget,
        rules: Rules,
        secrets: Secrets,
    ) -> None:
        self.plan, self.model, self.service, self.asking, self.progress = plan, model, service, asking, progress
        self.journal, self.answered, self.claimed, self.budget = journal, answered, claimed, budget
        self.rules, self.secrets = rules, secrets
        self.failures: Counter[bytes] = Counter()
        self.given_up: set[bytes] = set()
        self.again = False
        self.price = model.batch_price or model.price
        self.begins = answered.begins.get(model.name, 0)
        progress.done = sum(bytes.fromhex(one.key) in answered.settled for one in plan.calls(model))
        asking.ever_answered = progress.done > 0

    def waiting(self) -> Waiting:
        """The calls that are neither answered, given up, nor under way."""
        return Waiting(enumerate(self.plan.calls(self.model, self.begins), self.begins), self._item)

    def _item(self, place: int, one: Question) -> Item | None:
        key = bytes.fromhex(one.key)
        if key in self.answered.settled or key in self.claimed or key in self.given_up:
            return None
        guess, longest = self.asking.guess, self.model.parameters.get("max_tokens") or 0
        dollars = self.price.cost(*guess.most(one.rough_tokens, longest)) if self.price else 0.0
        ask = self.asking.ask(one)
        try:
            line = self.service.line(one.key, ask)
        except CallFailed as failure:  # it cannot be said in the provider's terms
            self.fail(one, key, failure, self.tries(key), ask)
            return None
        return Item(one, key, line, place, guess.of(one.rough_tokens)[0], dollars)

    def free(self, keys: Iterable[bytes]) -> None:
        """These calls are no longer under way; those without an answer have to be asked (again)."""
        for key in keys:
            self.claimed.discard(key)
            self.again |= key not in self.answered.settled and key not in self.given_up

    def of(self, batch: Batch, keys: Iterable[bytes]) -> dict[bytes, Question]:
        """The calls of a batch, by key: from where they began when it was made, else from anywhere in the plan.

        The plan may have changed since: more criteria in another order, an output that is gone.
        """
        wanted, found = set(keys), dict[bytes, Question]()
        for one in chain(self.plan.calls(self.model, batch.begins), islice(self.plan.calls(self.model), batch.begins)):
            if not wanted:
                break
            key = bytes.fromhex(one.key)
            if key in wanted:
                wanted.discard(key)
                found[key] = one
        return found

    def sent(self, batch: Batch, one: Question) -> Ask:
        """How a call was asked in a batch, but for its texts."""
        downgrades = Downgrades(dict(batch.without))
        parameters, structured = downgrades.apply(parameters_of(self.model, one), self.model.structured)
        return Ask(one.message, one.schema, parameters, structured, self.model.timeout)

    # ------------------------------------------------------------ what came

    async def take_in(
        self, batch: Batch, results: Path, keys: Iterable[bytes], written: set[bytes]
    ) -> tuple[int, CallFailed | None]:
        """Take over the results of a batch; how many answers, and one of the failures if there are any.

        written: the keys of its answers that are in the journal already. What is not in the results has to be asked
        again.
        """
        missing, answered, failure = self.of(batch, keys), len(written), None
        gone = set(keys) - missing.keys()  # a text or a prompt has changed since
        with results.open("rb") as file:
            for number, line in enumerate(file):
                if number % TURN == 0:
                    await asyncio.sleep(0)  # other judges have work to do as well
                try:
                    name, came = self.service.read(line)
                    key = bytes.fromhex(name)
                except (CallFailed, ValueError):
                    continue  # its call counts as not answered
                self.progress.unused += key in gone and isinstance(came, Reply)
                one = missing.pop(key, None)
                if one is None or key in written:
                    continue
                if isinstance(came, CallFailed):
                    failure = came
                    self.fail(one, key, came, self.tries(key, batch, one), self.sent(batch, one))
                else:
                    answered += 1
                    self.settle(one, key, came, self.tries(key, batch, one), self.price)
        for key, one in missing.items():
            if key not in written:
                failure = failure or CallFailed(calls.SERVER, "the batch ended without an answer to it")
                self.fail(one, key, failure, self.tries(key, batch, one), self.sent(batch, one))
        return answered, failure

    def tries(self, key: bytes, batch: Batch | None = None, one: Question | None = None) -> Tries:
        """The attempts at a call, this one included."""
        tries = Tries(asked=self.answered.unreadable[key] + 1)
        if batch and one:
            ask = self.sent(batch, one)
            tries.failures, tries.took, tries.batch = self.failures[key], None, batch.token
            tries.sent = {**ask.parameters, "structured": ask.structured}
        return tries

    def settle(self, one: Question, key: bytes, reply: Reply, tries: Tries, price: Price | None) -> None:
        """A reply: into the journal; asked again when it cannot be read, as often as the rules say."""
        kind = one.kind(reply.text, reply.ending)
        self.budget.spent += book(self.progress, self.asking.guess, price, one, reply)
        again = kind in ASK_AGAIN and tries.asked <= self.rules.reasks
        line = self.secrets.hidden(reply_line(self.model.name, one, kind, reply, tries))
        self.journal.append(line, partial(self._again if again else self._done, kind))
        self.asking.ever_answered = True
        if again:
            self.answered.unreadable[key] += 1
            self.free([key])
        else:
            self.answered.settled.add(key)

    def fail(self, one: Question, key: bytes, failure: CallFailed, tries: Tries, ask: Ask) -> None:
        """No reply: asked again where that is worth it, else written down. A fatal failure stops the judge."""
        failure.said = self.secrets.hidden(failure.said.encode("utf-8", "replace")).decode()
        if failure.kind in calls.FATAL:
            self.progress.stopped = self.progress.stopped or str(failure)
        elif failure.kind in calls.TRANSIENT and self.failures[key] + 1 < self.rules.attempts:
            self.failures[key] += 1
            self.progress.retries[failure.kind] += 1
        elif not (failure.kind == calls.PARAMETER and self.asking.without(failure, one, ask)):
            tries.failures = self.failures[key] + 1
            line = self.secrets.hidden(failure_line(self.model.name, one, failure, tries))
            self.journal.append(line, partial(self._done, failure.kind))
            (self.answered.settled if failure.kind in LASTING else self.given_up).add(key)
            return
        self.free([key])

    def _done(self, kind: str) -> None:
        self.progress.kinds[kind] += 1
        self.progress.done += 1

    def _again(self, kind: str) -> None:
        self.progress.retries[kind] += 1


def written_of(journal: Path, token: str) -> set[bytes]:
    """The keys of the calls whose answers from this batch are in the journal."""
    mark = f'"batch":"{token}"'.encode()
    return {bytes.fromhex(key) for key, _, _, line in scan(journal) if mark in line}
