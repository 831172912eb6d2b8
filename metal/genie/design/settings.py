"""What a design study can be told, in one place, with what work costs; every setting is part of its signature."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from metal.errors import UsageError
from metal.stats.aggregate import RULES


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

    def cost(self, items: int, raters: int) -> dict[str, float]:
        """Of rating so many items by so many people each: tasks (one person rates one output), how many of them are
        test questions, USD and hours, NaN where pay or time is not known.

        Test questions are added to what is rated, so many that they are `test_share` of all tasks: items x raters /
        (1 - test_share) tasks, rounded up.
        >>> Prices(pay=0.5, seconds=60).cost(90, 1)
        {'tasks': 100, 'test_questions': 10, 'usd': 60.0, 'hours': 1.6666666666666667}
        """
        ratings = items * raters
        tasks = math.ceil(ratings / (1 - self.test_share) - 1e-9)
        return {
            "tasks": tasks,
            "test_questions": tasks - ratings,
            "usd": math.nan if self.pay is None else tasks * self.pay * (1 + self.fee),
            "hours": math.nan if self.seconds is None else tasks * self.seconds / 3600,
        }


BY = ("auto", "group", "rater", "day", "round")
MOST_RATERS = 5  # an item, where nothing else is asked for


@dataclass(frozen=True)
class DesignSettings:
    """Choices of a design study. Empty tuples mean all.

    width: of a 95% interval that is asked for. power: of the alternative annotator test. raters: numbers of people an
    item; empty for 1 up to as many as usual, at most MOST_RATERS. judges: empty for the LLM judges. reference: the
    people (people_named). by: what makes a population of raters: group, rater, or a column `day` or `round` of
    raters.jsonl; auto takes the first of day, round, group that tells people apart, else rater. epsilon: of the test;
    None takes the people's group's. rounds: of every simulation.
    """

    judges: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    reference: str = ""
    by: str = "auto"
    raters: tuple[int, ...] = ()
    width: float = 0.05
    power: float = 0.8
    aggregate: str = "majority-or-mean"
    epsilon: float | None = None
    rounds: int = 500
    seed: int = 0
    prices: Prices = field(default_factory=Prices)
    exclude_noisy: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.width < 1:
            raise UsageError(f"width {self.width:g}: an interval of a score or F1 is wider than 0 and narrower than 1")
        if not 0 < self.power < 1:
            raise UsageError(f"power {self.power:g}: use a share above 0 and below 1")
        if self.rounds < 100:
            raise UsageError(f"{self.rounds} rounds: the ends of an interval need at least 100")
        if self.by not in BY:
            raise UsageError(f"by {self.by!r}: one of {', '.join(BY)}")
        if self.aggregate not in RULES:
            raise UsageError(f"aggregate {self.aggregate!r}: one of {', '.join(RULES)}")
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise UsageError(f"epsilon {self.epsilon:g}: use a share from 0 to below 1")
        if any(number < 1 for number in self.raters):
            raise UsageError(f"{min(self.raters)} people an item: use 1 or more")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed}: use 0 or a positive whole number")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml; what is not set is left out."""
        plain = asdict(self)
        plain |= {key: list(value) for key, value in plain.items() if isinstance(value, tuple)}
        plain["prices"] = {key: value for key, value in plain["prices"].items() if value is not None}
        return {key: value for key, value in plain.items() if value is not None and value != []}
