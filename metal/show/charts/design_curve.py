"""What more items would bring: a line a number of people an item, and what is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metal.data.text import count, figure, known, plural
from metal.show import svg
from metal.show.charts.intervals import tick_text, ticks_for

HEIGHT, LEFT, RIGHT = 190.0, 34.0, 10.0

Scale = Callable[[float], float]


@dataclass(frozen=True)
class Curve:
    """points: (items, value), items rising; people: an item; now: items there are; needed: items, NaN where unknown."""

    people: int
    points: Sequence[tuple[float, float]]
    now: float
    needed: float


def design_curve(curves: Sequence[Curve], target: float, value: str) -> str:
    """Items run on a logarithmic axis; full until where the data go, dashed beyond. value: what the lines show.

    "" where no curve has a point.
    """
    curves = [curve for curve in curves if curve.points][: svg.SERIES]
    if not curves:
        return ""
    items = [number for curve in curves for number, _ in curve.points]
    low, high = math.log10(min(items)), math.log10(max(max(items), min(items) * 1.01))
    ticks = ticks_for([*(one for curve in curves for _, one in curve.points), target, 0.0])

    entries = [
        (
            svg.line(1, 0, 23, 0, f"way s{series}") + svg.marker(12, 0, series),
            plural(curve.people, "person", "people") + " an item" + _needs(curve),
        )
        for series, curve in enumerate(curves)
    ]
    entries.append((svg.line(1, 0, 23, 0, "ceiling"), f"asked for: {figure(target)}"))
    entries.append((svg.hollow_circle(), "beyond the data: as if there were more items like these"))
    head, top = svg.legend(entries, 0)
    top += 20
    bottom = top + HEIGHT

    def x(number: float) -> float:
        return LEFT + (svg.WIDTH - LEFT - RIGHT) * (math.log10(number) - low) / (high - low)

    def y(one: float) -> float:
        return bottom - HEIGHT * (one - ticks[0]) / (ticks[-1] - ticks[0])

    parts = [head, svg.text(2, top - 8, value, class_="soft")]
    for tick in ticks:
        parts.append(svg.line(LEFT, y(tick), svg.WIDTH - RIGHT, y(tick), "grid"))
        parts.append(svg.text(LEFT - 4, y(tick) + 4, tick_text(tick, ticks), class_="soft", anchor="end"))
    for number in _items(low, high):
        parts.append(svg.line(x(number), top, x(number), bottom, "grid"))
        parts.append(svg.text(x(number), bottom + 13, _short(number), class_="soft", anchor="middle"))
    parts.append(svg.text(svg.WIDTH - RIGHT, bottom + 28, "items", class_="soft", anchor="end"))
    parts.append(svg.line(LEFT, y(target), svg.WIDTH - RIGHT, y(target), "ceiling"))
    for series, curve in enumerate(curves):
        parts += _curve(curve, series, x, y)
    return svg.drawing(bottom + 34, *parts)


def _needs(curve: Curve) -> str:
    return f": {count(curve.needed)} items" if known(curve.needed) else ""


def _curve(curve: Curve, series: int, x: Scale, y: Scale) -> list[str]:
    parts = []
    for (before, first), (after, second) in zip(curve.points, curve.points[1:], strict=False):
        dashes = " d2" if after > curve.now * 1.001 else ""
        parts.append(svg.line(x(before), y(first), x(after), y(second), f"way s{series}{dashes}"))
    for number, one in curve.points:
        words = svg.title(f"{plural(curve.people, 'person', 'people')}, {count(number)} items: {figure(one)}")
        parts.append(svg.marker(x(number), y(one), series, words, hollow=number > curve.now * 1.001))
    return parts


def _items(low: float, high: float) -> list[float]:
    """Round numbers along the axis: powers of ten, and 2 and 5 times these where there is room."""
    factors = (1.0, 2.0, 5.0) if high - low < 2.2 else (1.0,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    found = [factor * 10.0**power for power in powers for factor in factors]
    return [number for number in found if low - 1e-9 <= math.log10(number) <= high + 1e-9]


def _short(number: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"
