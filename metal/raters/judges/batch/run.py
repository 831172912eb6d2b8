"""The batch engine: it makes and submits batches, watches them until they end, and merges them into
the journal.

The first question of a judge is asked directly. So a wrong key, an unknown model, or a rejected
parameter shows within seconds instead of a day, and the reply shows how many tokens to expect.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

from metal.raters.judges.batch.judge import BatchJudge
from metal.raters.judges.batch.ledger import Ledger
from metal.raters.judges.engine import EngineOptions, Progress, Session, check_clients, run_together
from metal.raters.judges.limits import Budget
from metal.raters.judges.models import Model
from metal.raters.judges.providers import open_batch_client


class BatchRun:
    """A run through providers' batch services (metal.raters.judges.engine.Engine), and the state
    that its judges share.

    options.wait: wait until everything is answered; otherwise do only what can be done now.
    options.cancelling: cancel the open batches, merge their answers, and ask nothing. claimed: keys
    of questions under way, of all judges, so that each is asked once. begun: how often each
    question was begun, which counts towards the rules' limit.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.ledger = session, Ledger(session.folder)
        self.budget = Budget(session.rules.max_cost, session.answered.spent)
        self.begun: Counter[bytes] = Counter()
        self.claimed: set[bytes] = set()
        self.over_budget = False
        self.stopping = asyncio.Event()
        self.judges = [BatchJudge(self, model) for model in session.plan.models]

    @staticmethod
    async def check(models: Iterable[Model], options: EngineOptions) -> None:
        """Raise UsageError or MissingExtra if a model cannot be asked, or has no batch service."""
        models = list(models)
        for model in models:
            await open_batch_client(model).close()
        await check_clients(models)

    @property
    def progress(self) -> list[Progress]:
        """The progress of each model, in the plan's order."""
        return [judge.progress for judge in self.judges]

    def stop(self) -> str:
        """Make and watch no more batches. The provider continues with submitted batches."""
        self.stopping.set()
        for judge in self.judges:
            judge.attempts.halt()
        waiting = sum(progress.under_way for progress in self.progress)
        return f"stopping; {waiting:,} calls stay with the provider" if waiting else "stopping"

    async def go(self) -> None:
        """Run until everything is answered, nothing more can be done, or the run is stopped. Raises
        OSError for errors of the disk.
        """
        await run_together(
            (judge.work() for judge in self.judges),
            lambda: (judge.close() for judge in self.judges),
        )

    def may_begin(self, key: bytes, dollars: float) -> bool:
        """Whether a question may be asked: limit and budget allow it, and the run goes on. If so,
        count and claim it.
        """
        limit = self.session.rules.limit
        if self.stopping.is_set() or (
            limit is not None and key not in self.begun and len(self.begun) >= limit
        ):
            return False
        if not self.budget.take(dollars):
            self.over_budget = True
            return False
        if limit is not None:
            self.begun[key] += 1
        self.claimed.add(key)
        return True
