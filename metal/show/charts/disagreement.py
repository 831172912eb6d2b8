"""What a rater said against what the reference people said: a small scatter plot a rater, as Figure 2 of Billboard.

Scores are few and discrete, so that a dot is as large as its outputs are many. The two corners in which they disagree
most are marked: upper left the people put it high and the rater low, lower right the reverse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from metal.data.text import count, figure, interval, known, name, percent, within
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

if TYPE_CHECKING:
    import pandas as pd

ACROSS = 2  # panels in a row
SIDE = 150.0  # of a panel's square
LARGEST, SMALLEST = 8.0, 1.3  # radius of a dot
TITLE_LENGTH = 24
_NOTES = ("Where scores are many, dots stand on a grid; the counts below are of the scores themselves.",)


@dataclass(frozen=True)
class Ends:
    """The ends of an axis."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Dot:
    """Outputs with the same two scores."""

    score: float
    people: float
    outputs: int


@dataclass(frozen=True)
class Panel:
    """One rater. underrated, overrated: outputs in the corners, NaN where its scores are on a scale of its own."""

    rater: str
    dots: Sequence[Dot]
    pearson: float
    low: float
    high: float
    underrated: float
    overrated: float

    @property
    def outputs(self) -> int:
        """All that are drawn."""
        return sum(dot.outputs for dot in self.dots)


def panels(raters: pd.DataFrame, dots: pd.DataFrame) -> list[Panel]:
    """Panels from the rows that metal.boards.crowd has of one criterion and language."""
    by_rater = {
        rater: [Dot(*row) for row in mine[["score", "people", "outputs"]].itertuples(index=False)]
        for rater, mine in dots.groupby("rater", sort=False)
    }
    figures = ["rater", "pearson", "pearson_low", "pearson_high", "underrated", "overrated"]
    return [
        Panel(rater, by_rater.get(rater, []), *rest)
        for rater, *rest in raters[figures].itertuples(index=False, name=None)
    ]


def disagreement(
    key: str, label: str, panels: Sequence[Panel], *, people: str, ends: Ends | None, area: float
) -> Chart | None:
    """The panels, two in a row; None where no rater has a dot.

    people: what the reference people are called. ends: of their scale, None where it has none; area: share of the
    scale that a corner is wide.
    """
    drawn = [panel for panel in panels if panel.dots]
    if not drawn:
        return None
    entries = [(_circle("m0"), "outputs with these two scores; the larger, the more")]
    if any(known(panel.underrated) for panel in drawn):
        entries.append((_circle("m1"), "in a marked corner: ↖ people high, rater low; ↘ the reverse"))
    head, top = svg.legend(entries, 0)
    top += 4
    room = SIDE + 64
    parts = [head]
    for place, panel in enumerate(drawn):
        left = 30 + (place % ACROSS) * 200.0
        parts.append(_panel(panel, left, top + (place // ACROSS) * room + 22, people, ends, area))
    height = top + math.ceil(len(drawn) / ACROSS) * room
    numbers = _numbers(key, label, panels)
    return Chart(key, label, _alt(label, drawn, people), svg.drawing(height, *parts), numbers, _NOTES)


def _circle(class_: str) -> str:
    return svg.element("circle", cx=12, cy=0, r=4, class_=class_, fill_opacity="0.55")


def _panel(panel: Panel, left: float, top: float, people: str, scale: Ends | None, area: float) -> str:
    up = scale or _around([dot.people for dot in panel.dots])
    scores = [dot.score for dot in panel.dots]
    own = not known(panel.underrated)
    across = up if not own and up.low <= min(scores) and max(scores) <= up.high else _around(scores)

    def x(value: float) -> float:
        return left + SIDE * across.share(value)

    def y(value: float) -> float:
        return top + SIDE * (1 - up.share(value))

    most = max(dot.outputs for dot in panel.dots)
    widest = _radius(panel.dots, across, up)
    corner = SIDE * area
    parts = [
        svg.text(left, top - 8, f"{name(panel.rater, TITLE_LENGTH)}: r {figure(panel.pearson)}", hover=panel.rater),
        *(() if own else (_corner(left, top, corner), _corner(left + SIDE - corner, top + SIDE - corner, corner))),
        svg.element("rect", x=left, y=top, width=SIDE, height=SIDE, class_="grid"),
        *(() if own else (svg.line(left, top + SIDE, left + SIDE, top, "floor"),)),
        *_axes(left, top, across, up, people),
    ]
    for dot in sorted(panel.dots, key=lambda dot: -dot.outputs):
        inside = not own and _in_corner(across.share(dot.score), up.share(dot.people), area)
        words = f"{within(panel.rater)} {dot.score:.4g}, {people} {dot.people:.4g}: {count(dot.outputs)}"
        radius = max(SMALLEST, widest * math.sqrt(dot.outputs / most))
        where = {"cx": x(dot.score), "cy": y(dot.people), "r": radius}
        parts.append(
            svg.element("circle", svg.title(words), class_="m1" if inside else "m0", fill_opacity="0.55", **where)
        )
    if not own:
        under = top + SIDE + 26
        parts.append(svg.text(left, under, f"↖ {_share(panel.underrated, panel.outputs)}"))
        parts.append(svg.text(left + SIDE, under, f"{_share(panel.overrated, panel.outputs)} ↘", anchor="end"))
    return "".join(parts)


def _corner(left: float, top: float, side: float) -> str:
    return svg.element("rect", x=left, y=top, width=side, height=side, class_="band")


def _axes(left: float, top: float, across: Ends, up: Ends, people: str) -> list[str]:
    bottom = top + SIDE
    return [
        svg.text(left, bottom + 12, f"{across.low:.3g}", class_="soft", anchor="start"),
        svg.text(left + SIDE, bottom + 12, f"{across.high:.3g}", class_="soft", anchor="end"),
        svg.text(left + SIDE / 2, bottom + 12, "rater →", class_="soft", anchor="middle"),
        svg.text(left - 4, bottom, f"{up.low:.3g}", class_="soft", anchor="end"),
        svg.text(left - 4, top + 9, f"{up.high:.3g}", class_="soft", anchor="end"),
        svg.element(
            "g",
            svg.text(0, 0, f"{svg.short(people, 22)} →", class_="soft", anchor="middle"),
            transform=f"translate({left - 8:.0f} {top + SIDE / 2:.0f}) rotate(-90)",
        ),
    ]


def _in_corner(x: float, y: float, area: float) -> bool:
    edge = area + 1e-9
    return (x <= edge and y >= 1 - edge) or (x >= 1 - edge and y <= edge)


def _radius(dots: Sequence[Dot], across: Ends, up: Ends) -> float:
    """Of the largest dot: neighbours may overlap by a third."""
    gaps = [SIDE]
    for values, ends in (({dot.score for dot in dots}, across), ({dot.people for dot in dots}, up)):
        places = sorted(SIDE * ends.share(value) for value in values)
        gaps += [right - left for left, right in pairwise(places)]
    return min(LARGEST, max(0.7 * min(gaps), 2.4))


def _around(values: Sequence[float]) -> Ends:
    low, high = min(values), max(values)
    return Ends(low, high) if low < high else Ends(low - 0.5, high + 0.5)


def _share(part: float, whole: int) -> str:
    return f"{count(part)} ({percent(part / whole)})"


def _alt(label: str, drawn: Sequence[Panel], people: str) -> str:
    said = [
        f"{within(panel.rater)}: Pearson {figure(panel.pearson)}"
        + (
            f", {count(panel.underrated)} outputs high by {people} and low by it, {count(panel.overrated)} the reverse"
            if known(panel.underrated)
            else ", on a scale of its own"
        )
        for panel in drawn
    ]
    return f"Scatter plots of raters against {people} on {label}, over outputs. {'; '.join(said)}."


def _numbers(key: str, label: str, panels: Sequence[Panel]) -> TableView:
    return TableView(
        key,
        label,
        ("rater", "outputs", "Pearson", "rater low, people high", "rater high, people low"),
        tuple(
            (
                Cell(name(panel.rater)),
                Cell(count(panel.outputs)),
                Cell(figure(panel.pearson), interval(panel.low, panel.high)),
                Cell(count(panel.underrated)),
                Cell(count(panel.overrated)),
            )
            for panel in panels
        ),
        "crowd_raters",
    )
