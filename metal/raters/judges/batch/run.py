"""A run through providers' batch services: batches are made, submitted, looked at until they have ended, and merged.

The first question of a judge is asked directly: a wrong key, an unknown model, a parameter that it does not take show
within seconds and not after a day, and its reply tells how many tokens to expect.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

from metal.raters.judges.batch.contract import BatchClient
from metal.raters.judges.batch.judge import BatchJudge
from metal.raters.judges.batch.ledger import Ledger
from metal.raters.judges.call import Client, Questions
from metal.raters.judges.cost import Budget
from metal.raters.judges.engine import Progress, Rules, together
from metal.raters.judges.journal import Journal
from metal.raters.judges.lines import Answered
from metal.raters.judges.models import Model
from metal.raters.judges.secrets import Secrets


class BatchRun:
    """A run in progress (an `Engine`). wait: until all is answered; else what can be done now is done.

    cancelling: the open batches are cancelled, what they have answered is merged, and nothing is asked.
    """

    def __init__(
        self,
        plan: Questions,
        journal: Journal,
        answered: Answered,
        rules: Rules,
        secrets: Secrets,
        ledger: Ledger,
        open_client: Callable[[Model], Client],
        open_batch_client: Callable[[Model], BatchClient],
        *,
        wait: bool = True,
        cancelling: bool = False,
    ) -> None:
        self.plan, self.journal, self.answered, self.rules, self.secrets = plan, journal, answered, rules, secrets
        self.ledger, self.wait, self.cancelling = ledger, wait, cancelling
        self.budget = Budget(rules.max_cost, answered.spent)
        self.begun: Counter[bytes] = Counter()  # how often each call was, as far as --limit needs to know
        self.over_budget = False
        self.stopping = asyncio.Event()
        self.claimed: set[bytes] = set()
        self.judges = [BatchJudge(self, model, open_client(model), open_batch_client(model)) for model in plan.models]

    @property
    def progress(self) -> list[Progress]:
        """A model each, in the plan's order."""
        return [judge.progress for judge in self.judges]

    def stop(self) -> str:
        """Make and look at no more batches; those that are submitted go on with the provider."""
        self.stopping.set()
        for judge in self.judges:
            judge.asking.halt()
        waiting = sum(one.under_way for one in self.progress)
        return f"stopping; {waiting:,} calls stay with the provider" if waiting else "stopping"

    async def go(self) -> None:
        """Until all is answered, nothing more can be done, or it was stopped. Raises OSError of the disk."""
        await together((judge.work() for judge in self.judges), lambda: (judge.close() for judge in self.judges))

    def may_begin(self, key: bytes, dollars: float) -> bool:
        """Whether a call may be begun, as far as --limit, --max-cost and Ctrl-C go; counts it, but not once more."""
        limit = self.rules.limit
        if self.stopping.is_set() or (limit is not None and key not in self.begun and len(self.begun) >= limit):
            return False
        if not self.budget.take(dollars):
            self.over_budget = True
            return False
        if limit is not None:
            self.begun[key] += 1
        return True

    def not_begun(self, keys: Iterable[bytes], dollars: float) -> None:
        """These calls were not asked after all."""
        self.begun -= Counter(keys)
        self.budget.release(dollars)
