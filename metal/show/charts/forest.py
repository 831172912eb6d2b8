"""Paired differences with their intervals: right of the line the first is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metal.data.text import interval, known, name, p_value, signed
from metal.show import svg
from metal.show.charts.axes import Axis, arrows
from metal.show.view import Cell, Chart, TableView

LEFT, RIGHT = 64.0, svg.WIDTH - 16.0


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
    axis = Axis(-reach, reach, LEFT, RIGHT, [reach * share for share in (-1, -0.5, 0, 0.5, 1)], signed)
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
        arrows(behind, ahead, LEFT, RIGHT, top - 2),
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
