"""Scores by population of raters, a panel a design: how repeatable each is (GENIE, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metal.data.text import figure, interval, known, name
from metal.show import svg
from metal.show.charts.intervals import tick_text, ticks_for

MOST_POPULATIONS = 10  # of a panel
HEIGHT, GAP, AXIS = 110.0, 16.0, 26.0


@dataclass(frozen=True)
class Dot:
    """A population's score under a way of labelling (a series), with the central 95% of the rounds."""

    population: str
    series: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """A design: its name and its dots."""

    title: str
    dots: Sequence[Dot]


def population_panels(panels: Sequence[Panel], looks: Sequence[str]) -> str:
    """Two panels a row on one scale; looks: what each series is. "" where nothing has a score."""
    drawn = [dot for panel in panels for dot in panel.dots if known(dot.value)]
    if not drawn:
        return ""
    ticks = ticks_for([value for dot in drawn for value in (dot.value, dot.low, dot.high) if known(value)])
    used = sorted({dot.series for dot in drawn})
    head, top = svg.legend([(svg.marker(12, 0, series), looks[series]) for series in used], 0)
    parts = [head]
    width = (svg.WIDTH - 2 * AXIS - GAP) / 2
    for place, panel in enumerate(panels):
        left = AXIS + (place % 2) * (width + GAP + AXIS)
        parts += _panel(panel, ticks, left, top + 22 + (place // 2) * (HEIGHT + 56), width)
    rows = (len(panels) + 1) // 2
    return svg.drawing(top + rows * (HEIGHT + 56) - 8, *parts)


def _panel(panel: Panel, ticks: Sequence[float], left: float, top: float, width: float) -> list[str]:
    def y(value: float) -> float:
        return top + HEIGHT * (1 - (value - ticks[0]) / (ticks[-1] - ticks[0]))

    parts = [svg.text(left, top - 8, panel.title)]
    for tick in ticks:
        parts.append(svg.line(left, y(tick), left + width, y(tick), "grid"))
        parts.append(svg.text(left - 4, y(tick) + 4, tick_text(tick, ticks), class_="soft", anchor="end"))
    populations = list(dict.fromkeys(dot.population for dot in panel.dots))[:MOST_POPULATIONS]
    step = width / max(len(populations), 1)
    for place, population in enumerate(populations):
        middle = left + step * (place + 0.5)
        words = svg.short(name(population), max(2, int(step / 6.2)))
        at = top + HEIGHT + 14
        parts.append(svg.text(middle, at, words, class_="soft", anchor="middle", hover=name(population)))
        dots = [dot for dot in panel.dots if dot.population == population and known(dot.value)]
        for number, dot in enumerate(dots):
            x = middle + (number - (len(dots) - 1) / 2) * min(12.0, step / 3)
            parts.append(_dot(dot, x, y))
    return parts


def _dot(dot: Dot, x: float, y: Callable[[float], float]) -> str:
    words = f"{name(dot.population)}: {figure(dot.value)} {interval(dot.low, dot.high)}".strip()
    bar = svg.line(x, y(dot.low), x, y(dot.high), f"ci s{dot.series}") if known(dot.low) and known(dot.high) else ""
    return svg.element("g", svg.title(words), bar, svg.marker(x, y(dot.value), dot.series))
