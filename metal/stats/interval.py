"""Two records: an interval, and a figure with its interval."""

from __future__ import annotations

import math
from typing import NamedTuple, Self


class Interval(NamedTuple):
    """The ends of an interval; NaN if there is none, infinite if an end is open."""

    low: float
    high: float

    @classmethod
    def around(cls, value: float, half: float) -> Self:
        """The interval from value - half to value + half."""
        return cls(value - half, value + half)

    def holding(self, value: float) -> Bounds:
        """The figure with these ends; an end is moved if the figure would lie outside."""
        return Bounds(value, min(self.low, value), max(self.high, value))

    def inside(self, margin: float) -> bool:
        """Whether both ends are nearer to 0 than a margin."""
        return self.low > -margin and self.high < margin


class Bounds(NamedTuple):
    """A figure with the ends of its interval, or with its one-sided limits."""

    value: float
    low: float
    high: float

    def columns(self, name: str) -> dict[str, float]:
        """The figure and its ends by column of a table: NAME, NAME_low, NAME_high."""
        return dict(zip((name, f"{name}_low", f"{name}_high"), self, strict=True))


NO_INTERVAL = Interval(math.nan, math.nan)
NO_BOUNDS = Bounds(math.nan, math.nan, math.nan)
