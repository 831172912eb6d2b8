"""Scores by population of raters, a panel a design: how repeatable each is (GENIE, Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from metal.data.text import known, name
from metal.show import svg
from metal.show.charts.axes import Axis

MOST_POPULATIONS = 10  # of a panel
HEIGHT, ROOM, GAP, LEFT = 110.0, 166.0, 16.0, 26.0
WIDTH = (svg.WIDTH - 2 * LEFT - GAP) / 2  # of a panel


@dataclass(frozen=True)
class PopulationScore:
    """A population's score under a way of labelling (a series), with the central 95% of the rounds."""

    population: str
    series: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DesignPanel:
    """A design: its name and its scores."""

    title: str
    scores: Sequence[PopulationScore]


def population_panels(panels: Sequence[DesignPanel], looks: Sequence[str]) -> str:
    """Two panels a row on one scale; looks: what each series is. "" where nothing has a score."""
    drawn = [score for panel in panels for score in panel.scores if known(score.value)]
    if not drawn:
        return ""
    used = sorted({score.series for score in drawn})
    head, top = svg.legend([(svg.marker(12, 0, series), looks[series]) for series in used])
    values = [value for score in drawn for value in (score.value, score.low, score.high) if known(value)]
    axis = Axis.around(values, HEIGHT, 0, upright=True)
    parts = [head]
    for place, panel in enumerate(panels):
        left = LEFT + (place % 2) * (WIDTH + GAP + LEFT)
        upper = top + 22 + (place // 2) * ROOM
        parts += _panel(panel, replace(axis, start=upper + HEIGHT, end=upper), left)
    return svg.drawing(top + (len(panels) + 1) // 2 * ROOM - 8, *parts)


def _panel(panel: DesignPanel, axis: Axis, left: float) -> list[str]:
    parts = [svg.text(left, axis.end - 8, panel.title), axis.grid(left, left + WIDTH), axis.numbers(left)]
    populations = list(dict.fromkeys(score.population for score in panel.scores))[:MOST_POPULATIONS]
    step = WIDTH / max(len(populations), 1)
    for place, population in enumerate(populations):
        middle = left + step * (place + 0.5)
        label = svg.short(name(population), max(2, int(step / 6.2)))
        parts.append(svg.text(middle, axis.start + 14, label, class_="soft", anchor="middle", hover=name(population)))
        scores = [score for score in panel.scores if score.population == population and known(score.value)]
        for number, score in enumerate(scores):
            across = middle + (number - (len(scores) - 1) / 2) * min(12.0, step / 3)
            parts.append(axis.estimate(across, name(population), (score.value, score.low, score.high), score.series))
    return parts
