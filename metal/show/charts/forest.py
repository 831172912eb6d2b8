"""Paired differences with their intervals: right of the line the first is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metal.data.text import interval, known, name, p_value, signed
from metal.show import svg
from metal.show.view import Cell, Chart, TableView


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


def forest(key: str, label: str, found: Sequence[Difference], left_words: str, right_words: str) -> Chart:
    """A row a language under each pair; full where significant, hollow where not."""
    drawn = [one for one in found if known(one.value)]
    reach = max([0.1, *(abs(value) for one in drawn for value in (one.value, one.low, one.high) if known(value))])
    left, right = 64.0, svg.WIDTH - 10.0

    def x(value: float) -> float:
        return (left + right) / 2 + (right - left) / 2 * value / reach

    entries = [
        (svg.marker(12, 0, 0), "significant after correction over languages (Holm)"),
        (svg.marker(12, 0, 0, hollow=True), "not significant"),
    ]
    head, y = svg.legend(entries, 0)
    y += 14
    top, rows, pair = y, [], ""
    for one in drawn:
        if one.pair != pair:
            pair = one.pair
            y += 16
            rows.append(svg.text(2, y, name(pair), class_="soft"))
            y += 4
        y += 14
        rows.append(svg.text(8, y + 4, one.language))
        if known(one.low):
            rows.append(svg.line(x(one.low), y, x(one.high), y, "ci s0"))
        words = f"{one.pair}, {one.language}: {signed(one.value)} {interval(one.low, one.high, signed)}"
        rows.append(svg.marker(x(one.value), y, 0, svg.title(words), hollow=not one.significant))
    y += 14
    parts = [
        head,
        svg.text(left, top - 2, f"← {left_words}", class_="soft"),
        svg.text(right, top - 2, f"{right_words} →", class_="soft", anchor="end"),
        *(svg.line(x(tick), top + 4, x(tick), y, "grid") for tick in (-reach, -reach / 2, 0, reach / 2, reach)),
        svg.line(x(0), top + 4, x(0), y, "floor"),
        *(
            svg.text(x(tick), y + 12, signed(tick), class_="soft", anchor="middle")
            for tick in (-reach / 2, 0, reach / 2)
        ),
        *rows,
    ]
    ahead = sum(one.significant and one.value > 0 for one in drawn)
    behind = sum(one.significant and one.value < 0 for one in drawn)
    alt = (
        f"Differences in weighted F1 on {label}, {len(drawn)} in all: {ahead} significantly above 0 ({right_words}), "
        f"{behind} significantly below ({left_words})."
    )
    numbers = TableView(
        key,
        label,
        ("pair", "language", "difference", "p, corrected"),
        tuple(
            (
                Cell(name(one.pair)),
                Cell(one.language),
                Cell(signed(one.value), interval(one.low, one.high, signed)),
                Cell(p_value(one.p)),
            )
            for one in found
        ),
        "differences",
        heads=2,
    )
    return Chart(key, label, alt, svg.drawing(y + 18, *parts), numbers)
