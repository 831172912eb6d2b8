"""How many outputs and people a score needs: the design curve."""

from __future__ import annotations

import math
from typing import Any

from metal.data.languages import language_name
from metal.data.text import UNDEFINED, count, figure, known, plural, slug
from metal.runs.monitor_run import MonitorRun
from metal.show.charts.design_curve import ItemsCurve, design_curve
from metal.show.sections import Section
from metal.show.view import Cell, Chart, TableView

TARGET = 0.05
MOST_CHARTS = 6
SIZES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the outputs there are
WIDTH = 2 * 1.96  # of a 95% interval, in standard deviations


def design_section(run: MonitorRun) -> Section | None:
    """Width of the interval of people's mean score, by outputs and people an output."""
    rows = [row for row in run.records("panels") if known(row["sd"]) and row["sd"] > 0]
    if not rows:
        return None
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["language"], row["criterion"]), []).append(row)
    words = [
        f"Width of the 95% interval of a mean score, in shares of the scale; the line is {TARGET:g}. Twice the outputs "
        "help more than twice the people on each.",
        "metal design asks the same of a judge's F1 and of the alternative annotator test, with cost and hours.",
    ]
    if len(cells) > MOST_CHARTS:
        words.append(f"Drawn are the first {MOST_CHARTS} of {len(cells)} languages and criteria; the table has all.")
    charts = tuple(_chart(run, *cell, of_cell) for cell, of_cell in list(cells.items())[:MOST_CHARTS])
    return Section("design", "How many are needed", tuple(words), charts, (_table(run, cells),))


def _needed(row: dict[str, Any]) -> int:
    """Outputs that make the interval as narrow as TARGET: its width falls with the root of their number."""
    return math.ceil(float(row["items"]) * (WIDTH * float(row["sd"]) / TARGET) ** 2)


def _chart(run: MonitorRun, language: str, criterion: str, rows: list[dict[str, Any]]) -> Chart:
    curves = [
        ItemsCurve(
            int(row["raters"]),
            [(row["items"] * size, WIDTH * row["sd"] / math.sqrt(size)) for size in SIZES if row["items"] * size >= 2],
            float(row["items"]),
            float(_needed(row)),
        )
        for row in rows
    ]
    title = f"{run.short(criterion)}, {language_name(language)}"
    numbers = TableView(
        f"design_{slug(criterion)}_{slug(language)}_numbers",
        title,
        ("people an output", "width now", f"outputs for {TARGET:g}"),
        tuple((Cell(count(row["raters"])), Cell(figure(WIDTH * row["sd"])), Cell(count(_needed(row)))) for row in rows),
        "panels",
    )
    least = min(rows, key=_needed)
    alt = (
        f"Falling lines, one a number of people an output: with {plural(int(least['raters']), 'person', 'people')} "
        f"{count(_needed(least))} outputs make the interval {TARGET:g} wide."
    )
    picture = design_curve(curves, TARGET, "width")
    return Chart(f"design_{slug(criterion)}_{slug(language)}", title, alt, picture, numbers)


def _table(run: MonitorRun, cells: dict[tuple[str, str], list[dict[str, Any]]]) -> TableView:
    sizes = sorted({int(row["raters"]) for rows in cells.values() for row in rows})
    body = []
    for (language, criterion), rows in cells.items():
        by_size = {int(row["raters"]): row for row in rows}
        head = (Cell(language), Cell(run.short(criterion)), Cell(count(rows[0]["items"])))
        body.append((*head, *(_width(by_size.get(size)) for size in sizes)))
    columns = ("language", "", "outputs", *(plural(size, "person", "people") for size in sizes))
    title = "Width of a mean score's interval, by people an output"
    return TableView.of(run, "panels", title, columns, body, heads=2)


def _width(row: dict[str, Any] | None) -> Cell:
    return Cell(figure(WIDTH * row["sd"]), f"{count(_needed(row))} for {TARGET:g}") if row else Cell(UNDEFINED)
