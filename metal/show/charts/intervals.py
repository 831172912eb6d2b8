"""Figures with their intervals, a row each: what stands far right is high."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metal.data.text import UNDEFINED, figure, known, name, within
from metal.show import svg
from metal.show.charts.axes import Axis, arrows

LABEL = 21  # characters of a name that fit left of the drawing
MOST_ROWS = 60  # more cannot be read in one drawing
LEFT, STEP = 132.0, 16


@dataclass(frozen=True)
class Dot:
    """A figure. look: its entry of the legend; group: rows of one group are put on one band."""

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
    rows: Sequence[Dot],
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
    marks = [mark for mark in marks if known(mark.value)]
    values = [value for row in rows if known(row.value) for value in (row.value, row.low, row.high) if known(value)]
    if not values:
        return ""
    right = svg.WIDTH - (52.0 if group else 16.0)
    axis = Axis.around([*values, *(mark.value for mark in marks), *([0.0] if sides else [])], LEFT, right)

    used = [look for look in looks if any(row.look == look for row in rows)]
    entries = [(svg.marker(12, 0, looks[look][0]), looks[look][1]) for look in used if looks[look][1]]
    entries += [(svg.line(12, -6, 12, 6, mark.class_), mark.words) for mark in marks if mark.words]
    head, top = svg.legend(entries)
    top += 28 if sides else 14
    bottom = top + STEP * len(rows)
    parts = [head, *_bands(rows, top, group)]
    if sides:
        parts.append(arrows(*sides, LEFT, svg.WIDTH, top - 17))
    parts += [axis.grid(top, bottom), axis.numbers(top, above=True), axis.numbers(bottom)]
    if sides:
        parts.append(axis.line(0, top, bottom, "floor"))
    for mark in marks:
        parts.append(axis.line(mark.value, top, bottom, mark.class_, f"{mark.words}: {form(mark.value)}"))
    for place, row in enumerate(rows):
        y = top + STEP * (place + 0.5)
        parts.append(svg.text(2, y + 4, svg.short(name(row.label), LABEL), hover=name(row.label)))
        if known(row.value):
            series = looks.get(row.look, (0, ""))[0]
            parts.append(axis.estimate(y, within(row.label), (row.value, row.low, row.high), series, form=form))
        else:
            parts.append(svg.text(LEFT + 4, y + 4, UNDEFINED, class_="soft"))
    return svg.drawing(bottom + 18, *parts)


def _bands(rows: Sequence[Dot], top: float, words: str) -> list[str]:
    """Every second group on a band, with its number where it begins."""
    parts = [svg.text(svg.WIDTH, top - 4, words, class_="soft", anchor="end")] if words else []
    before: int | None = None
    for place, row in enumerate(rows):
        y = top + STEP * place
        if row.group is not None and row.group % 2 == 0:
            parts.append(svg.band(y, STEP))
        if row.group is not None and row.group != before:
            parts.append(svg.text(svg.WIDTH, y + 12, str(row.group), class_="soft", anchor="end"))
        before = row.group
    return parts
