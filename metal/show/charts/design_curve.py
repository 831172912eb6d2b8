"""What more items would bring: a line a number of people an item, and what is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from metal.data.text import count, figure, known, plural
from metal.show import svg
from metal.show.charts.axes import Axis

HEIGHT, LEFT, RIGHT = 190.0, 34.0, svg.WIDTH - 10.0


@dataclass(frozen=True)
class ItemsCurve:
    """points: (items, value), items rising; people: an item; now: items there are; needed: items, NaN if unknown."""

    people: int
    points: Sequence[tuple[float, float]]
    now: float
    needed: float


def design_curve(curves: Sequence[ItemsCurve], target: float, value: str) -> str:
    """Items run on a logarithmic axis; full until where the data go, dashed beyond. value: what the lines show.

    "" where no curve has a point.
    """
    curves = [curve for curve in curves if curve.points][: svg.SERIES]
    if not curves:
        return ""
    entries = []
    for series, curve in enumerate(curves):
        needs = f": {count(curve.needed)} items" if known(curve.needed) else ""
        words = f"{plural(curve.people, 'person', 'people')} an item{needs}"
        entries.append((svg.line_symbol(f"way s{series}", series), words))
    entries.append((svg.line_symbol("ceiling"), f"asked for: {figure(target)}"))
    entries.append((svg.hollow_circle(), "beyond the data: as if there were more items like these"))
    head, top = svg.legend(entries)
    top += 20
    bottom = top + HEIGHT

    points = [point for curve in curves for point in curve.points]
    least, most = min(items for items, _ in points), max(items for items, _ in points)
    low, high = math.log10(least), math.log10(max(most, least * 1.01))
    x = Axis(low, high, LEFT, RIGHT, _round_logarithms(low, high), _short)
    y = Axis.around([*(height for _, height in points), target, 0.0], bottom, top, upright=True)
    parts = [
        head,
        svg.text(2, top - 8, value, class_="soft"),
        *(y.grid(LEFT, RIGHT), y.numbers(LEFT), x.grid(top, bottom), x.numbers(bottom)),
        svg.text(RIGHT, bottom + 28, "items", class_="soft", anchor="end"),
        y.line(target, LEFT, RIGHT, "ceiling"),
    ]
    for series, curve in enumerate(curves):
        places = [(x(math.log10(items)), y(height)) for items, height in curve.points]
        beyond = [items > curve.now * 1.001 for items, _ in curve.points]
        for (start, end), dashed in zip(pairwise(places), beyond[1:], strict=True):
            parts.append(svg.line(*start, *end, f"way s{series}{' d2' if dashed else ''}"))
        for (items, height), place, hollow in zip(curve.points, places, beyond, strict=True):
            words = f"{plural(curve.people, 'person', 'people')}, {count(items)} items: {figure(height)}"
            parts.append(svg.marker(*place, series, words, hollow=hollow))
    return svg.drawing(bottom + 34, *parts)


def _round_logarithms(low: float, high: float) -> list[float]:
    """Logarithms of round numbers: powers of ten, and 2 and 5 times these where there is room."""
    factors = (1, 2, 5) if high - low < 2.2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    ticks = [power + math.log10(factor) for power in powers for factor in factors]
    return [tick for tick in ticks if low - 1e-9 <= tick <= high + 1e-9]


def _short(logarithm: float) -> str:
    """`500`, `2k`, `1M`."""
    number = 10.0**logarithm
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"
