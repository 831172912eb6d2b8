"""Judges against people on one criterion: METAL's Figures 9 and 10 as radar, and as dots with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from metal.data.languages import language_name
from metal.data.text import figure, interval, known, name, within
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

Scale = Callable[[float], float]  # a value's place on an axis
Place = Callable[[int, float], tuple[float, float]]  # a value's place on one of the radar's axes
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Point:
    """A figure with its interval; NaN where undefined."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Agreement:
    """Weighted F1 on one criterion. judges: name -> language -> Point, at most svg.SERIES of them.

    ceiling, floor: language -> what people reach, what the most frequent class reaches.
    ceiling_name: which of the human ceilings it is. part: `1 of 2` where the judges do not fit one drawing.
    """

    key: str
    label: str
    languages: Sequence[str]
    judges: Mapping[str, Mapping[str, Point]]
    ceiling: Mapping[str, float]
    floor: Mapping[str, float]
    ceiling_name: str
    part: str = ""

    @property
    def title(self) -> str:
        """`Task quality (1 of 2)`."""
        return f"{self.label} ({self.part})" if self.part else self.label

    def file(self, kind: str) -> str:
        """A name for the chart's file."""
        return f"{kind}_{self.key}" + (f"_{self.part.split()[0]}" if self.part else "")


def dots(shown: Agreement) -> Chart:
    """A row a language, in it a dot a judge with its interval, between floor and ceiling."""
    left, right = 96, svg.WIDTH - 12
    entries = [
        *svg.judge_legend(list(shown.judges)),
        (svg.line(12, -6, 12, 6, "ceiling"), f"people, {shown.ceiling_name}"),
        (svg.line(12, -6, 12, 6, "floor"), "always the most frequent class"),
    ]
    head, top = svg.legend(entries, 0)
    top += 14

    def x(value: float) -> float:
        return left + (right - left) * min(max(value, 0.0), 1.0)

    parts = [head]
    y = top
    step, pad = 14, 7
    for row, language in enumerate(shown.languages):
        height = max(len(shown.judges), 1) * step + 2 * pad
        if row % 2 == 0:
            parts.append(svg.element("rect", x=0, y=float(y), width=svg.WIDTH, height=float(height), class_="band"))
        parts.append(_row_label(language, y + height / 2))
        parts.append(_upright(x, shown.floor.get(language), y, height, "floor", "most frequent class"))
        parts.append(_upright(x, shown.ceiling.get(language), y, height, "ceiling", f"people, {shown.ceiling_name}"))
        for series, (judge, points) in enumerate(shown.judges.items()):
            point = points.get(language)
            if point is not None and known(point.value):
                parts.append(_dot(x, y + pad + step * (series + 0.5), series, judge, language, point))
        y += height
    grid = [svg.line(x(tick), top, x(tick), y, "grid") for tick in TICKS]
    labels = [
        svg.text(x(tick), at, f"{tick:g}", class_="soft", anchor="end" if tick == 1 else "middle")
        for tick in TICKS
        for at in (top - 4, y + 12)
    ]
    # Bands first, then the grid, then what is shown.
    bands = [part for part in parts if 'class="band"' in part]
    rest = [part for part in parts if 'class="band"' not in part]
    picture = svg.drawing(y + 18, *bands, *grid, *labels, *rest)
    alt = (
        f"Dot plot of weighted F1 with 95% intervals on {shown.label}, by language and judge. "
        + _in_words(shown)
        + " All figures are in the table below."
    )
    return Chart(shown.file("dots"), shown.title, alt, picture, _numbers(shown))


def _row_label(language: str, middle: float) -> str:
    named = language_name(language)
    if named == language:
        return svg.text(6, middle + 4, language)
    return svg.text(6, middle - 2, language) + svg.text(6, middle + 11, svg.short(named, 15), class_="soft")


def _upright(x: Scale, value: float | None, top: float, height: float, class_: str, words: str) -> str:
    """A mark across a row; nothing where the value is undefined."""
    if value is None or not known(value):
        return ""
    ends = {"x1": x(value), "x2": x(value), "y1": float(top), "y2": float(top + height)}
    return svg.element("line", svg.title(f"{words}: {figure(value)}"), class_=class_, **ends)


def _dot(x: Scale, y: float, series: int, judge: str, language: str, point: Point) -> str:
    words = f"{within(judge)}, {language_name(language)}: {figure(point.value)} {interval(point.low, point.high)}"
    bar = svg.line(x(point.low), y, x(point.high), y, f"ci s{series}") if known(point.low) else ""
    return svg.element("g", svg.title(words.strip()), bar, svg.marker(x(point.value), y, series))


def radar(shown: Agreement) -> Chart | None:
    """An axis a language, a line a judge, the human ceiling dashed; None with fewer than three languages."""
    languages = shown.languages
    if len(languages) < 3:
        return None
    entries = [
        *svg.judge_legend(list(shown.judges), lines=True),
        (svg.line(1, 0, 23, 0, "ceiling"), f"people, {shown.ceiling_name}"),
    ]
    head, top = svg.legend(entries, 0)
    radius, middle = 132.0, (svg.WIDTH / 2, top + 156)

    def at(position: int, value: float) -> tuple[float, float]:
        turn = 2 * math.pi * position / len(languages)
        return middle[0] + radius * value * math.sin(turn), middle[1] - radius * value * math.cos(turn)

    parts = [head]
    for ring in TICKS[1:]:
        corners = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(p, ring) for p in range(len(languages))))
        parts.append(svg.element("polygon", points=corners, class_="grid"))
    for position, language in enumerate(languages):
        parts.append(svg.line(*middle, *at(position, 1), "grid"))
        px, py = at(position, 1.1)
        anchor = "middle" if abs(px - middle[0]) < 12 else "start" if px > middle[0] else "end"
        parts.append(svg.text(px, py + 4, language, anchor=anchor, hover=language_name(language)))
    parts += [svg.text(middle[0] + 3, at(0, ring)[1] - 2, f"{ring:g}", class_="soft") for ring in TICKS[1:-1]]
    parts.append(_round(at, languages, shown.ceiling, "ceiling"))
    for series, (judge, points) in enumerate(shown.judges.items()):
        values = {language: point.value for language, point in points.items()}
        parts.append(_round(at, languages, values, svg.way(series)))
        for position, language in enumerate(languages):
            if known(values.get(language, math.nan)):
                words = f"{within(judge)}, {language_name(language)}: {figure(values[language])}"
                parts.append(svg.marker(*at(position, values[language]), series, svg.title(words)))
    alt = (
        f"Radar plot of weighted F1 on {shown.label}: an axis for each of {len(languages)} languages, a line for each "
        f"judge, the human ceiling ({shown.ceiling_name}) dashed. {_in_words(shown)}"
    )
    return Chart(shown.file("radar"), shown.title, alt, svg.drawing(middle[1] + radius + 24, *parts), _numbers(shown))


def _round(at: Place, languages: Sequence[str], values: Mapping[str, float], class_: str) -> str:
    """A line around the radar, open where a value is missing."""
    places = [
        at(position, max(values[code], 0.0)) if known(values.get(code, math.nan)) else None
        for position, code in enumerate(languages)
    ]
    steps = []
    for place, before in zip([*places, places[0]], [None, *places], strict=True):
        if place is None:
            continue
        steps.append(f"{'M' if before is None else 'L'}{place[0]:.1f} {place[1]:.1f}")
    return svg.element("path", d="".join(steps), class_=class_) if steps else ""


def _in_words(shown: Agreement) -> str:
    """The range of each judge, for those who cannot see it."""
    ranges = []
    for judge, points in shown.judges.items():
        values = {code: point.value for code, point in points.items() if known(point.value)}
        if values:
            low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
            ranges.append(
                f"{within(judge)} from {figure(values[low])} ({language_name(low)}) to "
                f"{figure(values[high])} ({language_name(high)})"
            )
    return "; ".join(ranges) + "." if ranges else "No figure is defined."


def _numbers(shown: Agreement) -> TableView:
    judges = [
        (Cell(name(judge)), *(_cell(points.get(language)) for language in shown.languages))
        for judge, points in shown.judges.items()
    ]
    people = (
        Cell(f"people, {shown.ceiling_name}"),
        *(Cell(figure(shown.ceiling.get(code))) for code in shown.languages),
    )
    floor = (Cell("most frequent class"), *(Cell(figure(shown.floor.get(code))) for code in shown.languages))
    return TableView(
        shown.file("agreement"), shown.title, ("weighted F1", *shown.languages), (people, *judges, floor), "judges"
    )


def _cell(point: Point | None) -> Cell:
    return Cell(figure(point.value), interval(point.low, point.high)) if point else Cell(figure(None))
