"""What the judges of a batch run share: the session, the ledger, the budget, and which questions may be begun."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

from metal.raters.judges.batch.ledger import Ledger
from metal.raters.judges.cost import Budget
from metal.raters.judges.engine import Session


class BatchState:
    """The state of a batch run. claimed: keys of questions under way, of any judge, so that each is asked once.

    begun: how often each question was begun, as far as the rules' limit needs to know.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.ledger = session, Ledger(session.folder)
        self.budget = Budget(session.rules.max_cost, session.answered.spent)
        self.begun: Counter[bytes] = Counter()
        self.claimed: set[bytes] = set()
        self.over_budget = False
        self.stopping = asyncio.Event()

    def may_begin(self, key: bytes, dollars: float) -> bool:
        """Whether a question may be asked, by limit and budget and unless the run stops; counts and claims it."""
        limit = self.session.rules.limit
        if self.stopping.is_set() or (limit is not None and key not in self.begun and len(self.begun) >= limit):
            return False
        if not self.budget.take(dollars):
            self.over_budget = True
            return False
        if limit is not None:
            self.begun[key] += 1
        self.claimed.add(key)
        return True

    def not_begun(self, keys: Iterable[bytes], dollars: float) -> None:
        """These questions were not asked after all."""
        self.begun -= Counter(keys)
        self.budget.release(dollars)
