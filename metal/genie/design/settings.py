"""What a design study can be told, in one place; every setting is part of its signature."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from metal.errors import UsageError
from metal.genie.design.cost import Prices
from metal.stats.aggregate import RULES

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
