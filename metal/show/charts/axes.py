"""What charts share: axes with numbers, and figures drawn along them with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from metal.data.text import MINUS, figure, interval, known, slug
from metal.show import svg

Figures = tuple[Any, Any, Any]  # value, low, high; NaN or None where there is none
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # ticks of a figure between 0 and 1


@dataclass(frozen=True)
class Axis:
    """A linear scale: `low` is drawn at `start`, `high` at `end`.

    ticks: values that have a line and a number; form: how a number is written. An upright axis runs from the bottom
    (start) to the top (end), any other from left to right. What is `across` an axis is a place on the other one.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[float] = ()
    form: Callable[[float], str] = "{:g}".format
    upright: bool = False

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, *, upright: bool = False) -> Self:
        """An axis with round numbers that holds all values."""
        ticks = ticks_for(values)
        return cls(ticks[0], ticks[-1], start, end, ticks, partial(tick_text, ticks=ticks), upright)

    def __call__(self, value: float) -> float:
        """Where a value is drawn."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def at(self, value: float, across: float) -> tuple[float, float]:
        """(x, y) of a value."""
        return (across, self(value)) if self.upright else (self(value), across)

    def line(self, value: float, first: float, last: float, class_: str, hover: str = "") -> str:
        """A line at a value, across the axis from `first` to `last`."""
        return svg.line(*self.at(value, first), *self.at(value, last), class_, hover)

    def grid(self, first: float, last: float) -> str:
        """A line at each tick."""
        return "".join(self.line(tick, first, last, "grid") for tick in self.ticks)

    def numbers(self, edge: float, *, above: bool = False) -> str:
        """The number of each tick outside an edge of the drawing: left of it, below it, or above it."""
        if self.upright:
            places = [(edge - 4, self(tick) + 4, "end") for tick in self.ticks]
        else:
            places = [(self(tick), edge - 4 if above else edge + 13, "middle") for tick in self.ticks]
        return "".join(
            svg.text(x, y, self.form(tick), class_="soft", anchor=anchor)
            for tick, (x, y, anchor) in zip(self.ticks, places, strict=True)
        )

    def estimate(
        self,
        across: float,
        who: str,
        figures: Figures,
        series: int,
        *,
        form: Callable[[float], str] = figure,
        hollow: bool = False,
    ) -> str:
        """A marker at a value with its interval, where it has one."""
        value, low, high = figures
        bar = ""
        if known(low) and known(high):
            bar = svg.line(*self.at(low, across), *self.at(high, across), f"ci s{series}")
        words = f"{who}: {form(value)} {interval(low, high, form)}".strip()
        return svg.element("g", svg.title(words), bar, svg.marker(*self.at(value, across), series, hollow=hollow))


def arrows(left: str, right: str, first: float, last: float, y: float) -> str:
    """What lies to the left and to the right of 0, with arrows, above a drawing from `first` to `last`."""
    return svg.text(first, y, f"← {left}", class_="soft") + svg.text(last, y, f"{right} →", class_="soft", anchor="end")


def ticks_for(values: Sequence[float]) -> list[float]:
    """Four to seven round numbers that hold all values.

    >>> ticks_for([0.31, 0.78])
    [0.30000000000000004, 0.4, 0.5, 0.6000000000000001, 0.7000000000000001, 0.8]
    """
    low, high = min(values), max(values)
    width = high - low
    if width <= 1e-9 * max(abs(high), abs(low)):  # as good as one value
        width = abs(high) or 1.0
    rough = width / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * place for place in range(first, max(last, first + 1) + 1)]


def tick_text(tick: float, ticks: Sequence[float]) -> str:
    """A tick with as many digits as tell the ticks apart.

    >>> tick_text(0.5, [0.0, 0.25, 0.5])
    '0.50'
    """
    digits = max(0, -math.floor(math.log10((ticks[1] - ticks[0]) * 1.0001)))
    finer = any(round(number, digits) != round(number, digits + 1) for number in ticks)
    text = f"{tick:.{digits + finer}f}"
    return ("0" if float(text) == 0 else text).replace("-", MINUS)


def cell_key_and_label(what: str, criterion: str, language: str) -> tuple[str, str]:
    """Name and title of a picture of one criterion and language; "" is all languages."""
    return (
        f"{what}_{slug(criterion)}_{slug(language) if language else 'all'}",
        f"{criterion} ({language or 'all languages'})",
    )
