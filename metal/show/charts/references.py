"""Agreement with people by the number of references, as Figure 3 of Billboard; a line for what needs none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from metal.data.text import UNDEFINED, count, figure, known, name, within
from metal.show import svg
from metal.show.charts.axes import Axis
from metal.show.view import Cell, Chart, TableView

HEIGHT, LEFT, RIGHT = 220.0, 40.0, svg.WIDTH - 12.0
_NOTES = (
    "Marks are means over draws of references; the strokes through them reach one standard deviation up and down.",
)


@dataclass(frozen=True)
class ReferencesStep:
    """A metric with some references. spread: the standard deviation over draws, NaN with one draw."""

    references: int
    pearson: float
    spread: float


@dataclass(frozen=True)
class ReferencesCurve:
    """A metric, or with `level` alone a line: what has the same scores with any references."""

    metric: str
    steps: Sequence[ReferencesStep] = ()
    level: float = float("nan")

    @property
    def drawn(self) -> list[ReferencesStep]:
        """Steps that have a value."""
        return [step for step in self.steps if known(step.pearson)]


def references_chart(key: str, label: str, curves: Sequence[ReferencesCurve], people: str) -> Chart | None:
    """The curves with the spread of their draws; None where nothing has a value. people: whom they agree with."""
    shown = [curve for curve in curves if curve.drawn or known(curve.level)]
    if not shown:
        return None
    steps = [step for curve in shown for step in curve.drawn]
    values = [end for step in steps for end in (step.pearson - _spread(step), step.pearson + _spread(step))]
    values += [curve.level for curve in shown if known(curve.level)]
    most = max([2, *(step.references for step in steps)])
    entries = []
    for series, curve in enumerate(shown):
        look = svg.line_symbol(f"way s{series % svg.SERIES}", series)
        if known(curve.level):
            look = svg.line_symbol(svg.way(series))
        entries.append((look, name(curve.metric, svg.LEGEND_LENGTH)))
    head, top = svg.legend(entries)
    top += 16
    bottom = top + HEIGHT
    x = Axis(1, most, LEFT + 8, RIGHT - 8, range(1, most + 1, -(-most // 12)))
    y = Axis.around(values, bottom, top, upright=True)
    parts = [
        head,
        svg.text(LEFT, top - 5, f"Pearson with {people}", class_="soft"),
        *(y.grid(LEFT, RIGHT), y.numbers(LEFT), x.numbers(bottom)),
        svg.text(RIGHT, bottom + 29, "references →", class_="soft", anchor="end"),
    ]
    for series, curve in enumerate(shown):
        colour = f"s{series % svg.SERIES}"
        if known(curve.level):
            parts.append(y.line(curve.level, LEFT, RIGHT, svg.way(series)))
        for before, after in pairwise(curve.drawn):
            start, end = ((x(step.references), y(step.pearson)) for step in (before, after))
            parts.append(svg.line(*start, *end, f"way {colour}"))
        for step in curve.drawn:
            across, spread = x(step.references), _spread(step)
            if spread:
                parts.append(
                    svg.line(across, y(step.pearson - spread), across, y(step.pearson + spread), f"ci {colour}")
                )
            words = f"{within(curve.metric)}, {count(step.references)}: {figure(step.pearson)}"
            parts.append(svg.marker(across, y(step.pearson), series, words))
    picture = svg.drawing(bottom + 36, *parts)
    return Chart(key, label, _alt(label, shown, people), picture, _numbers(key, label, curves), _NOTES)


def _spread(step: ReferencesStep) -> float:
    return step.spread if known(step.spread) else 0.0


def _alt(label: str, shown: Sequence[ReferencesCurve], people: str) -> str:
    sentences = []
    for curve in shown:
        if known(curve.level):
            sentences.append(f"{within(curve.metric)} is a line at {figure(curve.level)}")
            continue
        first, last = curve.drawn[0], curve.drawn[-1]
        sentences.append(
            f"{within(curve.metric)} from {figure(first.pearson)} ({first.references}) "
            f"to {figure(last.pearson)} ({last.references})"
        )
    return f"Pearson with {people} on {label} by the number of references. {'; '.join(sentences)}."


def _numbers(key: str, label: str, curves: Sequence[ReferencesCurve]) -> TableView:
    rows = []
    for curve in curves:
        steps = [(count(step.references), step.pearson, figure(step.spread)) for step in curve.steps]
        for references, pearson, spread in steps or [(UNDEFINED, curve.level, UNDEFINED)]:
            rows.append((Cell(name(curve.metric)), Cell(references), Cell(figure(pearson)), Cell(spread)))
    columns = ("metric", "references", "Pearson", "spread over draws")
    return TableView(key, label, columns, tuple(rows), "references", heads=2)
