"""Figures with their intervals as dots: a row each, pairs of judges, populations of raters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from metal.data.text import UNDEFINED, figure, interval, known, name, p_value, signed, within
from metal.show import svg
from metal.show.charts.axes import Axis, arrows
from metal.show.view import Cell, Chart, TableView

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


FOREST_LEFT, FOREST_RIGHT = 64.0, svg.WIDTH - 16.0


@dataclass(frozen=True)
class Difference:
    """First minus second in one language, with the p-value corrected over languages."""

    pair: str
    language: str
    value: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        """At the 5% level, after correction."""
        return known(self.p) and self.p < 0.05


def forest(key: str, label: str, differences: Sequence[Difference], behind: str, ahead: str) -> Chart:
    """A row a language under each pair; full where significant, hollow where not.

    behind, ahead: what a difference below and above 0 means.
    """
    drawn = [row for row in differences if known(row.value)]
    reach = max([0.1, *(abs(value) for row in drawn for value in (row.value, row.low, row.high) if known(value))])
    axis = Axis(-reach, reach, FOREST_LEFT, FOREST_RIGHT, [reach * share for share in (-1, -0.5, 0, 0.5, 1)], signed)
    entries = [
        (svg.marker(12, 0, 0), "significant after correction over languages (Holm)"),
        (svg.marker(12, 0, 0, hollow=True), "not significant"),
    ]
    head, top = svg.legend(entries)
    top += 14
    y, pair, rows = top, "", []
    for row in drawn:
        if row.pair != pair:
            pair = row.pair
            rows.append(svg.text(2, y + 16, name(pair), class_="soft"))
            y += 20
        y += 14
        rows.append(svg.text(8, y + 4, row.language))
        who, figures = f"{row.pair}, {row.language}", (row.value, row.low, row.high)
        rows.append(axis.estimate(y, who, figures, 0, form=signed, hollow=not row.significant))
    bottom = y + 14
    parts = [
        head,
        arrows(behind, ahead, FOREST_LEFT, FOREST_RIGHT, top - 2),
        *(axis.grid(top + 4, bottom), axis.line(0, top + 4, bottom, "floor"), axis.numbers(bottom)),
        *rows,
    ]
    above = sum(row.significant and row.value > 0 for row in drawn)
    below = sum(row.significant and row.value < 0 for row in drawn)
    alt = (
        f"Differences in weighted F1 on {label}, {len(drawn)} in all: {above} significantly above 0 ({ahead}), "
        f"{below} significantly below ({behind})."
    )
    cells = [
        (
            Cell(name(row.pair)),
            Cell(row.language),
            Cell(signed(row.value), interval(row.low, row.high, signed)),
            Cell(p_value(row.p)),
        )
        for row in differences
    ]
    columns = ("pair", "language", "difference", "p, corrected")
    numbers = TableView(key, label, columns, tuple(cells), "differences", heads=2)
    return Chart(key, label, alt, svg.drawing(bottom + 18, *parts), numbers)


MOST_POPULATIONS = 10  # of a panel
HEIGHT, ROOM, GAP, PANEL_LEFT = 110.0, 166.0, 16.0, 26.0
WIDTH = (svg.WIDTH - 2 * PANEL_LEFT - GAP) / 2  # of a panel


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
        left = PANEL_LEFT + (place % 2) * (WIDTH + GAP + PANEL_LEFT)
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
