"""Figures with their intervals, a row each: what stands far right is high."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metal.data.text import figure, interval, known, name, within
from metal.show import svg

LABEL = 21  # characters of a name that fit left of the drawing
MOST_ROWS = 60  # more cannot be read in one drawing
LEFT, STEP = 132.0, 16


@dataclass(frozen=True)
class Row:
    """A figure. look: which entry of the legend it is of; group: rows of one are put on one band."""

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan
    look: str = ""
    group: int | None = None


@dataclass(frozen=True)
class Mark:
    """A line through all rows at a value."""

    value: float
    words: str
    class_: str = "ceiling"


def interval_dots(
    rows: Sequence[Row],
    looks: Mapping[str, tuple[int, str]],
    *,
    marks: Sequence[Mark] = (),
    sides: tuple[str, str] | None = None,
    form: Callable[[float], str] = figure,
    group: str = "",
) -> str:
    """The drawing; looks: series and words for each entry of the legend that occurs.

    sides: what lies left and right of 0, where 0 divides. group: what the bands are, written above their numbers.
    Rows without a figure have a dash. Nothing is drawn ("") where no row has a figure.
    """
    rows = rows[:MOST_ROWS]
    drawn = [row for row in rows if known(row.value)]
    marks = [mark for mark in marks if known(mark.value)]
    if not drawn:
        return ""
    values = [value for row in drawn for value in (row.value, row.low, row.high) if known(value)]
    ticks = ticks_for([*values, *(mark.value for mark in marks), *([0.0] if sides else [])])

    right = svg.WIDTH - (52.0 if group else 16.0)

    def x(value: float) -> float:
        return LEFT + (right - LEFT) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    used = [look for look in looks if any(row.look == look for row in rows)]
    entries = [(svg.marker(12, 0, looks[look][0]), looks[look][1]) for look in used if looks[look][1]]
    entries += [(svg.line(12, -6, 12, 6, mark.class_), mark.words) for mark in marks if mark.words]
    head, top = svg.legend(entries, 0)
    top += 28 if sides else 14
    bottom = top + STEP * len(rows)
    parts = [head, *_bands(rows, top, group)]
    if sides:
        parts += [
            svg.text(LEFT, top - 17, f"← {sides[0]}", class_="soft"),
            svg.text(svg.WIDTH, top - 17, f"{sides[1]} →", class_="soft", anchor="end"),
        ]
    parts += [svg.line(x(tick), top, x(tick), bottom, "grid") for tick in ticks]
    parts += [
        svg.text(x(tick), at, tick_text(tick, ticks), class_="soft", anchor="middle")
        for tick in ticks
        for at in (top - 4, bottom + 12)
    ]
    if sides:
        parts.append(svg.line(x(0), top, x(0), bottom, "floor"))
    for mark in marks:
        line = {"x1": x(mark.value), "x2": x(mark.value), "y1": float(top), "y2": float(bottom)}
        parts.append(svg.element("line", svg.title(f"{mark.words}: {form(mark.value)}"), class_=mark.class_, **line))
    for place, row in enumerate(rows):
        parts.append(_row(row, top + STEP * (place + 0.5), x, looks, form))
    return svg.drawing(bottom + 18, *parts)


def _row(
    row: Row,
    y: float,
    x: Callable[[float], float],
    looks: Mapping[str, tuple[int, str]],
    form: Callable[[float], str],
) -> str:
    label = svg.text(2, y + 4, svg.short(name(row.label), LABEL), hover=name(row.label))
    if not known(row.value):
        return label + svg.text(LEFT + 4, y + 4, "–", class_="soft")
    series = looks.get(row.look, (0, ""))[0]
    words = f"{within(row.label)}: {form(row.value)} {interval(row.low, row.high, form)}".strip()
    bar = svg.line(x(row.low), y, x(row.high), y, f"ci s{series}") if known(row.low) and known(row.high) else ""
    return label + svg.element("g", svg.title(words), bar, svg.marker(x(row.value), y, series))


def _bands(rows: Sequence[Row], top: float, words: str) -> list[str]:
    """Every second group on a band, with its number where it begins."""
    parts = [svg.text(svg.WIDTH, top - 4, words, class_="soft", anchor="end")] if words else []
    before: int | None = None
    for place, row in enumerate(rows):
        y = top + STEP * place
        if row.group is not None and row.group % 2 == 0:
            parts.append(svg.element("rect", x=0, y=float(y), width=svg.WIDTH, height=STEP, class_="band"))
        if row.group is not None and row.group != before:
            parts.append(svg.text(svg.WIDTH, y + 12, str(row.group), class_="soft", anchor="end"))
        before = row.group
    return parts


def ticks_for(values: Sequence[float]) -> list[float]:
    """Four to seven round numbers that hold all values."""
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
    """With as many digits as tell ticks apart."""
    digits = max(0, -math.floor(math.log10((ticks[1] - ticks[0]) * 1.0001)))
    finer = any(round(one, digits) != round(one, digits + 1) for one in ticks)
    text = f"{tick:.{digits + finer}f}"
    return ("0" if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")
