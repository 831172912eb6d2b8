"""Agreement with people by the number of references, as Figure 3 of Billboard; a line for what needs none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from metal.data.text import count, figure, known, name, within
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

HEIGHT = 220.0


@dataclass(frozen=True)
class Step:
    """A metric with some references. spread: NaN with one draw."""

    references: int
    pearson: float
    spread: float


@dataclass(frozen=True)
class Curve:
    """A metric, or with `level` alone a line: what has the same scores whatever the references."""

    metric: str
    steps: Sequence[Step] = ()
    level: float = float("nan")

    @property
    def drawn(self) -> list[Step]:
        """Steps that have a value."""
        return [step for step in self.steps if known(step.pearson)]


def references_chart(key: str, label: str, curves: Sequence[Curve], people: str) -> Chart | None:
    """The curves with the spread of their draws; None where nothing has a value. people: whom they agree with."""
    shown = [curve for curve in curves if curve.drawn or known(curve.level)]
    values = [
        value
        for curve in shown
        for step in curve.drawn
        for value in (step.pearson, step.pearson + _spread(step), step.pearson - _spread(step))
    ]
    values += [curve.level for curve in shown if known(curve.level)]
    if not values:
        return None
    most = max([2, *(step.references for curve in shown for step in curve.drawn)])
    ticks = _ticks(min(values), max(values))
    left, right = 40.0, svg.WIDTH - 12.0

    def x(references: float) -> float:
        return left + 8 + (right - left - 16) * (references - 1) / (most - 1)

    head, top = svg.legend(
        [(_symbol(place, curve), name(curve.metric, svg.LEGEND_LENGTH)) for place, curve in enumerate(shown)], 0
    )
    top += 16

    def y(value: float) -> float:
        return top + HEIGHT * (ticks[-1] - value) / (ticks[-1] - ticks[0])

    bottom = top + HEIGHT
    step = max(1, -(-most // 12))
    parts = [
        head,
        svg.text(left, top - 5, f"Pearson with {people}", class_="soft"),
        *(svg.line(left, y(tick), right, y(tick), "grid") for tick in ticks),
        *(svg.text(left - 4, y(tick) + 4, figure(tick), class_="soft", anchor="end") for tick in ticks),
        *(
            svg.text(x(number), bottom + 14, str(number), class_="soft", anchor="middle")
            for number in range(1, most + 1, step)
        ),
        svg.text(right, bottom + 29, "references →", class_="soft", anchor="end"),
    ]
    for place, curve in enumerate(shown):
        if known(curve.level):
            parts.append(svg.line(left, y(curve.level), right, y(curve.level), svg.way(place)))
        for before, after in pairwise(curve.drawn):
            ends = (x(before.references), y(before.pearson), x(after.references), y(after.pearson))
            parts.append(svg.line(*ends, f"way s{place % svg.SERIES}"))
        for one in curve.drawn:
            at, spread = x(one.references), _spread(one)
            if spread:
                parts.append(
                    svg.line(at, y(one.pearson - spread), at, y(one.pearson + spread), f"ci s{place % svg.SERIES}")
                )
            words = f"{within(curve.metric)}, {count(one.references)}: {figure(one.pearson)}"
            parts.append(svg.marker(at, y(one.pearson), place, svg.title(words)))
    return Chart(
        key, label, _alt(label, shown, people), svg.drawing(bottom + 36, *parts), _numbers(key, label, curves), _NOTES
    )


_NOTES = (
    "Marks are means over draws of references; the strokes through them reach one standard deviation up and down.",
)


def _spread(step: Step) -> float:
    return step.spread if known(step.spread) else 0.0


def _symbol(place: int, curve: Curve) -> str:
    if known(curve.level):
        return svg.line(1, 0, 23, 0, svg.way(place))
    return svg.line(1, 0, 23, 0, f"way s{place % svg.SERIES}") + svg.marker(12, 0, place)


def _ticks(low: float, high: float) -> list[float]:
    """From three to eight round numbers around the values."""
    for size in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        first, last = int(low // size), int(-(-high // size))
        if last - first <= 7:
            break
    last = max(last, first + 2)
    return [place * size for place in range(first, last + 1)]


def _alt(label: str, shown: Sequence[Curve], people: str) -> str:
    said = []
    for curve in shown:
        if known(curve.level):
            said.append(f"{within(curve.metric)} is a line at {figure(curve.level)}")
            continue
        first, last = curve.drawn[0], curve.drawn[-1]
        said.append(
            f"{within(curve.metric)} from {figure(first.pearson)} ({first.references}) "
            f"to {figure(last.pearson)} ({last.references})"
        )
    return f"Pearson with {people} on {label} by the number of references. {'; '.join(said)}."


def _numbers(key: str, label: str, curves: Sequence[Curve]) -> TableView:
    rows = []
    for curve in curves:
        if not curve.steps:
            rows.append((Cell(name(curve.metric)), Cell("–"), Cell(figure(curve.level)), Cell("–")))
        rows += [
            (Cell(name(curve.metric)), Cell(count(one.references)), Cell(figure(one.pearson)), Cell(figure(one.spread)))
            for one in curve.steps
        ]
    columns = ("metric", "references", "Pearson", "spread over draws")
    return TableView(key, label, columns, tuple(rows), "references", heads=2)
