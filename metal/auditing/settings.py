"""What an audit can be told, in one place; every setting is part of the signature."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from metal.errors import UsageError
from metal.stats.consensus import ALL_RULES

MIN_RATED = 10  # the human ceilings leave out people with fewer ratings, whose F1 would be noise with full weight


@dataclass(frozen=True)
class AuditSettings:
    """Choices of an audit. Empty tuples mean all.

    aggregate: how people are put together (metal.stats.consensus). min_raters: ratings an item needs to
    count; 0 takes the most common number of ratings an item has, at most 3 (METAL's panel). reference: the
    group of people to compare with, "" for all people. epsilon: None takes the group's (EPSILON).
    small: what the alternative annotator test does with people of fewer than 30 items. exclude_noisy: the model
    (metal.genie.noisy) by which people were left out before, "" for none.
    """

    judges: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    reference: str = ""
    aggregate: str = "majority-or-mean"
    min_raters: int = 0
    epsilon: float | None = None
    small: Literal["leave out", "wilcoxon"] = "leave out"
    resamples: int = 2000
    seed: int = 0
    paper_compat: bool = False
    exclude_noisy: str = ""

    def __post_init__(self) -> None:
        if self.aggregate not in ALL_RULES:
            raise UsageError(f"aggregate {self.aggregate!r}: one of {', '.join(ALL_RULES)}")
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples: an interval needs at least 100")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed}: use 0 or a positive whole number")
        if self.min_raters < 0 or self.min_raters == 1:
            raise UsageError(f"min_raters {self.min_raters}: use 2 or more, or 0 for the size of the panel")
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise UsageError(f"epsilon {self.epsilon}: use a share from 0 to below 1")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml; what is not set is left out."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return {key: value for key, value in plain.items() if value not in (None, [])}
