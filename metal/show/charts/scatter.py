"""A small scatter plot for each rater of its scores against those of the reference people, as in
Figure 2 of Billboard.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from metal.data.text import count, figure, interval, known, name, percent, within
from metal.show import svg
from metal.show.svg import Axis, cell_key_and_label
from metal.show.view import Cell, Chart, TableView

if TYPE_CHECKING:
    import pandas as pd

    from metal.boards.crowd import Crowd


# of a panel's square, and from one row of panels to the next with titles of one line
SIDE, ROOM = 150.0, 228.0
LARGEST, SMALLEST = 8.0, 1.3  # radius of a dot
TITLE_LENGTH = 25  # characters of a line
_NOTES = (
    (
        "If there are many scores, dots are placed on a grid; the counts below are of the scores "
        "themselves."
    ),
)


Ends = tuple[float, float]  # of an axis
# the rater's score, the people's, and how many outputs have both
ScorePair = tuple[float, float, int]


@dataclass(frozen=True)
class RaterPanel:
    """The plot of one rater.

    underrated, overrated: the numbers of outputs in the corners; NaN if the rater's scores are on a
    scale of their own.
    """

    rater: str
    pairs: Sequence[ScorePair]
    pearson: float
    low: float
    high: float
    underrated: float
    overrated: float

    @property
    def outputs(self) -> int:
        """The number of all drawn outputs."""
        return sum(outputs for _, _, outputs in self.pairs)


def panels(raters: pd.DataFrame, dots: pd.DataFrame) -> list[RaterPanel]:
    """Panels from the rows that metal.boards.crowd has for one criterion and language."""
    by_rater = {
        rater: list(rows[["score", "people", "outputs"]].itertuples(index=False, name=None))
        for rater, rows in dots.groupby("rater", sort=False)
    }
    figures = ["rater", "pearson", "pearson_low", "pearson_high", "underrated", "overrated"]
    return [
        RaterPanel(rater, by_rater.get(rater, []), *rest)
        for rater, *rest in raters[figures].itertuples(index=False, name=None)
    ]


def disagreement(
    key: str,
    label: str,
    panels: Sequence[RaterPanel],
    *,
    people: str,
    ends: Ends | None,
    area: float,
) -> Chart | None:
    """A chart of the panels, two in a row; None if no rater has a dot.

    people: what to call the reference people. ends: the ends of their scale, None if it has none.
    area: the width of a corner as a share of the scale.
    """
    drawn = [panel for panel in panels if panel.pairs]
    if not drawn:
        return None
    entries = [(_circle(12, 0, 4, "m0"), "a larger dot: more outputs with these two scores")]
    if any(known(panel.underrated) for panel in drawn):
        entries.append(
            (_circle(12, 0, 4, "m1"), "in a corner: ↖ people high, rater low; ↘ the reverse")
        )
    head, top = svg.legend(entries)
    top += 4
    parts = [head]
    more = svg.LINE * (max(len(svg.folded(_title(panel), TITLE_LENGTH)) for panel in drawn) - 1)
    for index, panel in enumerate(drawn):
        left, upper = 34 + (index % 2) * 200.0, top + (index // 2) * (ROOM + more) + 22 + more
        parts += _panel(panel, left, upper, people, ends, SIDE * area)
    picture = svg.drawing(top + math.ceil(len(drawn) / 2) * (ROOM + more), *parts)
    order = sorted(
        (panel for panel in drawn if known(panel.pearson)), key=lambda panel: panel.pearson
    )
    finding = ""
    if order:
        most, least = order[-1], order[0]
        finding = f"{within(most.rater)} agrees with {people} most (r {figure(most.pearson)})"
        if order[1:]:
            finding += f", {within(least.rater)} least ({figure(least.pearson)})"
        finding += "."
    numbers = _numbers(key, label, panels)
    return Chart(key, label, _alt(label, drawn, people), picture, numbers, _NOTES, finding)


def _circle(x: float, y: float, radius: float, class_: str, *inside: str) -> str:
    return svg.element("circle", *inside, class_=class_, fill_opacity="0.55", cx=x, cy=y, r=radius)


def _title(panel: RaterPanel) -> str:
    return f"{name(panel.rater)}: r\N{NO-BREAK SPACE}{figure(panel.pearson)}"


def _panel(
    panel: RaterPanel, left: float, top: float, people: str, scale: Ends | None, corner: float
) -> list[str]:
    scores, theirs, numbers = zip(*panel.pairs, strict=True)
    up = scale or _around(theirs)
    same_scale = known(panel.underrated)
    across = up if same_scale and up[0] <= min(scores) and max(scores) <= up[1] else _around(scores)
    right, bottom = left + SIDE, top + SIDE
    x = Axis(*across, left, right)
    y = Axis(*up, bottom, top, upright=True)
    middle = top - 8 - svg.LINE * (len(svg.folded(_title(panel), TITLE_LENGTH)) - 1) / 2
    parts = [svg.lines(left - 26, middle, _title(panel), TITLE_LENGTH)]
    frame = svg.rect(left, top, SIDE, SIDE, class_="grid")
    parts += _bands(left, top, corner, frame) if same_scale else [frame]
    parts += _labels(x, y, people)
    widest = _radius(set(map(x, scores)), set(map(y, theirs)))
    edge = corner + 1e-6
    for score, their, outputs in sorted(panel.pairs, key=lambda pair: -pair[2]):
        px, py = x(score), y(their)
        to_ends = max(px - left, py - top), max(right - px, bottom - py)
        marked = same_scale and min(to_ends) <= edge
        hover = f"{within(panel.rater)} {score:.4g}, {people} {their:.4g}: {count(outputs)}"
        radius = max(SMALLEST, widest * math.sqrt(outputs / max(numbers)))
        parts.append(_circle(px, py, radius, "m1" if marked else "m0", svg.title(hover)))
    if same_scale:
        parts.append(svg.text(left, bottom + 28, f"↖ {_share(panel.underrated, panel.outputs)}"))
        parts.append(
            svg.text(
                right, bottom + 43, f"{_share(panel.overrated, panel.outputs)} ↘", anchor="end"
            )
        )
    return parts


def _bands(left: float, top: float, corner: float, frame: str) -> list[str]:
    """Draw the corners in which rater and people are far apart, the frame, and the line of equal
    scores.
    """
    right, bottom = left + SIDE, top + SIDE
    return [
        svg.rect(left, top, corner, corner, class_="band"),
        svg.rect(right - corner, bottom - corner, corner, corner, class_="band"),
        frame,
        svg.line(left, bottom, right, top, "floor"),
    ]


def _labels(x: Axis, y: Axis, people: str) -> list[str]:
    """Draw the numbers at the ends of both axes, and the names of the axes."""
    turned = f"translate({x.start - 8:.0f} {(y.start + y.end) / 2:.0f}) rotate(-90)"
    return [
        svg.text(
            x.start,
            y.start + 13,
            svg.tick_text(x.low, (x.low, x.high)),
            class_="soft",
            anchor="start",
        ),
        svg.text(
            x.end, y.start + 13, svg.tick_text(x.high, (x.low, x.high)), class_="soft", anchor="end"
        ),
        svg.text((x.start + x.end) / 2, y.start + 13, "rater →", class_="soft", anchor="middle"),
        svg.text(
            x.start - 4, y.start, svg.tick_text(y.low, (y.low, y.high)), class_="soft", anchor="end"
        ),
        svg.text(
            x.start - 4,
            y.end + 9,
            svg.tick_text(y.high, (y.low, y.high)),
            class_="soft",
            anchor="end",
        ),
        svg.element(
            "g",
            svg.text(0, 0, f"{svg.short(people, 22)} →", class_="soft", anchor="middle"),
            transform=turned,
        ),
    ]


def _radius(*places: set[float]) -> float:
    """The radius of the largest dot, from the distance of dots along each axis; neighbours may
    overlap by a third.
    """
    gaps = [
        SIDE,
        *(after - before for along in places for before, after in pairwise(sorted(along))),
    ]
    return min(LARGEST, max(0.7 * min(gaps), 2.4))


def _around(values: Sequence[float]) -> Ends:
    low, high = min(values), max(values)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _share(part: float, total: int) -> str:
    return f"{count(part)} ({percent(part / total)})"


def _alt(label: str, drawn: Sequence[RaterPanel], people: str) -> str:
    described = []
    for panel in drawn:
        under, over = count(panel.underrated), count(panel.overrated)
        corners = f"{under} outputs that {people} put high and it puts low, {over} the reverse"
        scale = corners if known(panel.underrated) else "on a scale of its own"
        described.append(f"{within(panel.rater)}: Pearson {figure(panel.pearson)}, {scale}")
    return (
        f"Scatter plots of raters against {people} on {label}, over outputs."
        f" {'; '.join(described)}."
    )


def _numbers(key: str, label: str, panels: Sequence[RaterPanel]) -> TableView:
    rows = []
    for panel in panels:
        pearson = Cell(figure(panel.pearson), interval(panel.low, panel.high))
        rows.append(
            (
                name(panel.rater),
                count(panel.outputs),
                pearson,
                count(panel.underrated),
                count(panel.overrated),
            )
        )
    columns = ("rater", "outputs", "Pearson", "rater low, people high", "rater high, people low")
    return TableView.of(None, "crowd_raters", label, columns, rows, name=key)


def crowd_charts(crowd: Crowd, area: float) -> Iterator[Chart]:
    """A chart for each cell, with a panel for each rater."""
    dots = crowd.tables["crowd_dots"]
    for (language, criterion), rows in crowd.tables["crowd_raters"].groupby(
        ["language", "criterion"], sort=False
    ):
        in_cell = dots[(dots["language"] == language) & (dots["criterion"] == criterion)]
        drawn = panels(rows[rows["kind"] != "ceiling"], in_cell)
        scale = crowd.scales[str(criterion)]
        ends = None if scale.low is None or scale.high is None else (scale.low, scale.high)
        key, label = cell_key_and_label(
            "crowd", str(criterion), str(language), crowd.titles[str(criterion)]
        )
        chart = disagreement(key, label, drawn, people=crowd.reference, ends=ends, area=area)
        if chart:
            yield chart
