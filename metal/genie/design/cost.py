"""What a design costs: money, hours of work, and what an hour of work is paid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from metal.errors import UsageError


@dataclass(frozen=True)
class Prices:
    """What work costs. pay: USD for a task (one person rates one output); None where it is not known. seconds: a task
    takes; None likewise. fee: the platform's share of the pay, on top (Mechanical Turk: 0.2). test_share: of all
    tasks that are test questions. min_hourly: USD below which an hour is paid too little (GENIE section 6).
    """

    pay: float | None = None
    seconds: float | None = None
    fee: float = 0.2
    test_share: float = 0.1
    min_hourly: float = 15.0

    def __post_init__(self) -> None:
        for what, value in (("pay", self.pay), ("seconds", self.seconds)):
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"{what} {value:g}: use a number above 0")
        if not 0 <= self.fee < math.inf:
            raise UsageError(f"fee {self.fee:g}: use a share of the pay, 0.2 for 20%")
        if not 0 <= self.test_share < 1:
            raise UsageError(f"a share of test questions of {self.test_share:g}: use 0 to below 1")
        if not 0 <= self.min_hourly < math.inf:
            raise UsageError(f"least pay of an hour {self.min_hourly:g}: use 0 or more")

    @property
    def hourly(self) -> float | None:
        """USD an hour of work is paid, without the fee; None where pay or time is not known."""
        return None if self.pay is None or self.seconds is None else self.pay * 3600 / self.seconds

    @property
    def underpaid(self) -> bool:
        """Whether an hour is known to be paid below min_hourly."""
        return self.hourly is not None and self.hourly < self.min_hourly


@dataclass(frozen=True)
class DesignCost:
    """Of a design. tasks: one person rates one output; test_questions: those of them whose answer is known.

    usd, hours: None where pay or time is not known.
    """

    tasks: int
    test_questions: int
    usd: float | None
    hours: float | None


def cost(items: int, raters: int, prices: Prices) -> DesignCost:
    """Of rating so many items by so many people each.

    Test questions are added to what is rated, so many that they are `test_share` of all tasks: items x raters /
    (1 - test_share) tasks, rounded up.
    >>> cost(90, 1, Prices(pay=0.5, seconds=60))
    DesignCost(tasks=100, test_questions=10, usd=60.0, hours=1.6666666666666667)
    """
    if items < 0 or raters < 1:
        raise ValueError(f"{items} items x {raters} raters")
    ratings = items * raters
    tasks = math.ceil(ratings / (1 - prices.test_share) - 1e-9)
    return DesignCost(
        tasks,
        tasks - ratings,
        None if prices.pay is None else tasks * prices.pay * (1 + prices.fee),
        None if prices.seconds is None else tasks * prices.seconds / 3600,
    )
