"""Charts of lines: the effect of more items or references, and how rankings differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from metal.data.text import UNDEFINED, count, figure, known, name, plural, within
from metal.runs.columns import Row
from metal.show import svg
from metal.show.svg import Axis, cell_key_and_label
from metal.show.view import Chart, TableView

if TYPE_CHECKING:
    import pandas as pd

    from metal.boards.references import ReferenceCurve

ITEMS_HEIGHT, ITEMS_LEFT, ITEMS_RIGHT = 190.0, 46.0, svg.WIDTH - 14.0
REFERENCES_HEIGHT, REFERENCES_LEFT, REFERENCES_RIGHT = 220.0, 46.0, svg.WIDTH - 12.0
RANKS_RIGHT, RANKS_STEP = svg.WIDTH - 40.0, 17
MOST_ROWS = 60
MOVED = 3  # a generator's line is coloured from this many ranks away from the first ranking
UP, DOWN, SAME = 0, 1, 7  # series
_NOTES = (
    (
        "Marks are means over draws of references; the strokes through them reach one standard"
        " deviation above and below."
    ),
)


@dataclass(frozen=True)
class ItemsCurve:
    """A curve over the number of items.

    points: (items, value), with rising numbers of items. people: the number of people per item.
    now: the existing number of items. needed: the number of items needed, None if unknown.
    """

    people: int
    points: Sequence[tuple[float, float]]
    now: float
    needed: float | None


def design_curve(
    curves: Sequence[ItemsCurve], target: float, value: str, form: Callable[[Any], str] = figure
) -> str:
    """A drawing of curves over items on a logarithmic axis; lines are full up to the existing
    items, dashed beyond.

    value: what the lines show, formatted by `form`. The drawing is empty ("") if no curve has a
    point.
    """
    curves = [curve for curve in curves if curve.points][: svg.SERIES]
    if not curves:
        return ""
    entries = []
    for series, curve in enumerate(curves):
        needs = f": {count(curve.needed)} items" if known(curve.needed) else ""
        label = f"{plural(curve.people, 'person', 'people')} per item{needs}"
        entries.append((svg.line_symbol(f"way s{series}", series), label))
    entries.append((svg.line_symbol("ceiling"), f"asked for: {form(target)}"))
    entries.append(
        (svg.hollow_circle(), "beyond the data: assumes more items like the existing ones")
    )
    head, top = svg.legend(entries)
    top += 20
    bottom = top + ITEMS_HEIGHT

    points = [point for curve in curves for point in curve.points]
    least, most = min(items for items, _ in points), max(items for items, _ in points)
    low, high = math.log10(least), math.log10(max(most, least * 1.01))
    x = Axis(low, high, ITEMS_LEFT, ITEMS_RIGHT, _round_logarithms(low, high), words=_short)
    y = Axis.around(
        [*(height for _, height in points), target, 0.0], bottom, top, upright=True, form=form
    )
    parts = [
        head,
        svg.text(2, top - 8, value, class_="soft"),
        *(
            y.grid(ITEMS_LEFT, ITEMS_RIGHT),
            y.numbers(ITEMS_LEFT),
            x.grid(top, bottom),
            x.numbers(bottom),
        ),
        svg.text(ITEMS_RIGHT, bottom + 28, "items", class_="soft", anchor="end"),
        y.line(target, ITEMS_LEFT, ITEMS_RIGHT, "ceiling"),
    ]
    for series, curve in enumerate(curves):
        if curve.needed and least <= curve.needed <= most:
            at = x(math.log10(curve.needed))
            parts.append(svg.line(at, y(target), at, bottom, f"way s{series} d2"))
        parts += _curve(series, curve, x, y, form)
    return svg.drawing(bottom + 34, *parts)


def _curve(
    series: int, curve: ItemsCurve, x: Axis, y: Axis, form: Callable[[Any], str]
) -> Iterator[str]:
    """The lines of a curve, followed by its points."""
    points = [(x(math.log10(items)), y(height)) for items, height in curve.points]
    beyond = [items > curve.now * 1.001 for items, _ in curve.points]
    for (start, end), dashed in zip(pairwise(points), beyond[1:], strict=True):
        yield svg.line(*start, *end, f"way s{series}{' d2' if dashed else ''}")
    people = plural(curve.people, "person", "people")
    for (items, height), point, hollow in zip(curve.points, points, beyond, strict=True):
        hover = f"{people}, {count(items)} items: {form(height)}"
        yield svg.marker(*point, series, hover, hollow=hollow)


def _round_logarithms(low: float, high: float) -> list[float]:
    """Logarithms of round numbers: powers of ten and, if there is room, 2 and 5 times these."""
    factors = (1, 2, 5) if high - low < 2.2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    ticks = [power + math.log10(factor) for power in powers for factor in factors]
    return [tick for tick in ticks if low - 1e-9 <= tick <= high + 1e-9]


def _short(logarithm: float) -> str:
    """A number from its logarithm in short form: `500`, `2k`, `1M`."""
    number = 10.0**logarithm
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def reference_charts(curve: ReferenceCurve) -> Iterator[Chart]:
    """A chart for each cell, with a curve for each metric."""
    for (language, criterion), rows in curve.table.groupby(["language", "criterion"], sort=False):
        key, label = cell_key_and_label(
            "references", str(criterion), str(language), curve.titles[str(criterion)]
        )
        chart = references_chart(key, label, list(metrics_of_cell(rows)), curve.reference)
        if chart:
            yield chart


# A metric of a cell: its name, the level of one that is a line (the same scores with any
# references), its steps.
MetricOfCell = tuple[str, float, list[dict[Any, Any]]]


def metrics_of_cell(rows: pd.DataFrame) -> Iterator[MetricOfCell]:
    """(name, level, steps) of each metric of a cell; a metric that is drawn as a level line has no
    steps.
    """
    line = rows["references"].isna()
    for metric, steps in rows[~line].groupby("metric", sort=False):
        yield str(metric), float("nan"), steps.to_dict("records")
    for row in rows[line].to_dict("records"):
        yield row["metric"], row["pearson"], []


def references_chart(
    key: str, label: str, metrics: Sequence[MetricOfCell], people: str
) -> Chart | None:
    """A chart of the curves with the spread of their draws; None if nothing has a value.

    people: the people with whom the metrics are compared.

    Each step has `references`, `pearson` and `spread`: the standard deviation over draws, NaN for a
    single draw.
    """
    shown = list(_with_values(metrics))
    if not shown:
        return None
    drawn = [step for _, _, steps in shown for step in steps]
    values = [step["pearson"] + sign * _spread(step) for step in drawn for sign in (-1, 1)]
    values += [level for _, level, _ in shown if known(level)]
    most = max([2, *(step["references"] for step in drawn)])
    head, top = svg.legend([_entry(series, *each) for series, each in enumerate(shown)])
    top += 16
    bottom = top + REFERENCES_HEIGHT
    left, right = REFERENCES_LEFT, REFERENCES_RIGHT
    x = Axis(1, most, left + 8, right - 8, range(1, most + 1, -(-most // 12)))
    y = Axis.around(values, bottom, top, upright=True)
    parts = [
        head,
        svg.text(left, top - 5, f"Pearson with {people}", class_="soft"),
        *(y.grid(left, right), y.numbers(left), x.numbers(bottom)),
        svg.text(right, bottom + 29, "references →", class_="soft", anchor="end"),
    ]
    for series, (metric, level, steps) in enumerate(shown):
        if known(level):
            parts.append(y.line(level, left, right, svg.way(series)))
        parts += _steps(series, metric, steps, x, y)
    picture = svg.drawing(bottom + 36, *parts)
    in_words, numbers = _references_in_words(label, shown, people), _numbers(key, label, metrics)
    return Chart(key, label, in_words, picture, numbers, _NOTES, _references_finding(shown))


def _with_values(metrics: Sequence[MetricOfCell]) -> Iterator[MetricOfCell]:
    """The metrics that have a value, each with the steps that have one."""
    for metric, level, steps in metrics:
        steps = [step for step in steps if known(step["pearson"])]
        if steps or known(level):
            yield metric, level, steps


def _entry(series: int, metric: str, level: float, steps: Sequence[Row]) -> tuple[str, str]:
    """A metric's entry in the legend; only a line if it needs no references."""
    symbol = svg.line_symbol(svg.way(series))
    if not known(level):
        symbol = svg.line_symbol(f"way s{series % svg.SERIES}", series)
    return symbol, name(metric, svg.LEGEND_LENGTH)


def _steps(series: int, metric: str, steps: Sequence[Row], x: Axis, y: Axis) -> Iterator[str]:
    """A metric's curve, followed by its points with the spread of their draws."""
    colour = f"s{series % svg.SERIES}"
    points = [(x(step["references"]), y(step["pearson"])) for step in steps]
    for start, end in pairwise(points):
        yield svg.line(*start, *end, f"way {colour}")
    for step, (across, height) in zip(steps, points, strict=True):
        if spread := _spread(step):
            ends = (y(step["pearson"] - spread), y(step["pearson"] + spread))
            yield svg.line(across, ends[0], across, ends[1], f"ci {colour}")
        hover = f"{within(metric)}, {count(step['references'])}: {figure(step['pearson'])}"
        yield svg.marker(across, height, series, hover)


def _spread(step: Row) -> float:
    return float(step["spread"]) if known(step["spread"]) else 0.0


def _references_finding(shown: Sequence[MetricOfCell]) -> str:
    """Say which metric gains most from further references."""
    gains = [
        (steps[-1]["pearson"] - steps[0]["pearson"], metric, steps)
        for metric, _, steps in shown
        if steps[1:]
    ]
    if not gains:
        return ""
    gain, metric, steps = max(gains, key=lambda each: each[0])
    ends = f"from {figure(steps[0]['pearson'])} to {figure(steps[-1]['pearson'])}"
    most = plural(int(steps[-1]["references"]), "reference")
    return (
        f"{within(metric)} gains most: {ends} with {most}."
        if gain > 0
        else "No metric gains from more references."
    )


def _references_in_words(label: str, shown: Sequence[MetricOfCell], people: str) -> str:
    sentences = []
    for metric, level, steps in shown:
        if known(level):
            sentences.append(f"{within(metric)} is a line at {figure(level)}")
            continue
        first, last = (
            f"{figure(step['pearson'])} ({step['references']})" for step in (steps[0], steps[-1])
        )
        sentences.append(f"{within(metric)} from {first} to {last}")
    return f"Pearson with {people} on {label} by the number of references. {'; '.join(sentences)}."


def _numbers(key: str, label: str, metrics: Sequence[MetricOfCell]) -> TableView:
    rows = []
    for metric, level, steps in metrics:
        if not steps:
            rows.append((name(metric), UNDEFINED, figure(level), UNDEFINED))
        for step in steps:
            rows.append(
                (
                    name(metric),
                    count(step["references"]),
                    figure(step["pearson"]),
                    figure(step["spread"]),
                )
            )
    columns = ("metric", "references", "Pearson", "spread over draws")
    return TableView.of(None, "references", label, columns, rows, name=key, heads=2)


@dataclass(frozen=True)
class Ranks:
    """Several rankings of the same generators.

    by: who ranks -> generator -> rank. people: the generators that are human.
    """

    by: Mapping[str, Mapping[str, int]]
    people: frozenset[str] = frozenset()

    @property
    def generators(self) -> list[str]:
        """The generators in the order of the first ranking."""
        first = next(iter(self.by.values()))
        return sorted(first, key=first.__getitem__)

    def moved(self, generator: str) -> int:
        """The largest move of a generator away from its rank in the first ranking; below 0 if it
        moves up.
        """
        first, *rest = [ranks[generator] for ranks in self.by.values()]
        return max((rank - first for rank in rest), key=abs, default=0)

    @property
    def furthest(self) -> list[str]:
        """The four generators that move most, the largest move first."""
        return sorted(self.generators, key=lambda generator: -abs(self.moved(generator)))[:4]

    def finding(self) -> str:
        """Say which generator moves most, and how far."""
        (first, ranks), *_ = self.by.items()
        generator = self.furthest[0]
        if not (moved := self.moved(generator)):
            return "All rankings are the same."
        ways = f"{plural(abs(moved), 'rank')} {'down' if moved > 0 else 'up'}"
        return (
            f"{within(generator)} moves most: {ways} from rank {ranks[generator]} by"
            f" {within(first)}."
        )

    def words(self) -> str:
        """The chart in words, for readers who cannot see the lines."""
        (first, ranks), *rest = self.by.items()
        apart = []
        for generator in self.furthest:
            elsewhere = " and ".join(f"{theirs[generator]} ({within(by)})" for by, theirs in rest)
            if self.moved(generator):
                apart.append(f"{within(generator)} from {ranks[generator]} to {elsewhere}")
        return (
            f"Lines from the rank that {within(first)} give to each of {len(ranks)} generators to"
            f" the rank by {', '.join(within(by) for by, _ in rest)}. "
            + (f"Furthest apart: {'; '.join(apart)}." if apart else "All rankings are the same.")
        )


def rank_lines(shown: Ranks) -> str:
    """A chart of rankings side by side with rank 1 at the top: one column per ranking, one line per
    generator, coloured if it moves.
    """
    first = next(iter(shown.by))
    entries = [
        (
            svg.line_symbol(f"way s{UP}", UP),
            f"{MOVED} or more ranks higher than {name(first)} put it",
        ),
        (svg.line_symbol(f"way s{DOWN}", DOWN), f"{MOVED} or more ranks lower"),
        (svg.line_symbol("grid") + _small(12, 0), "about the same"),
    ]
    if shown.people:
        entries.append((_small(12, 0, hollow=True), "hollow: human writing"))
    head, top = svg.legend(entries)
    top += 20 + 14 * len(shown.by)
    last = len(shown.by) - 1
    x = Axis(0, max(last, 1), svg.beside(map(name, shown.generators)), RANKS_RIGHT)
    step = RANKS_STEP + svg.LINE * (
        max(len(svg.folded(name(each))) for each in shown.generators) - 1
    )
    parts = [head]
    for column, by in enumerate(shown.by):
        anchor, shift = ("end", 40) if column == last else ("middle", 0)
        if column == 0:
            anchor, shift = "start", -8
        y = top - 8 - 14 * (last - column)  # a line each, so that long names do not meet
        across = x(column) + shift
        if column == 0:  # a long name begins further left
            across = max(2, min(across, svg.WIDTH - svg.LETTER * (len(name(by)) + 2)))
        room = {
            "start": svg.WIDTH - across,
            "end": across,
            "middle": 2 * min(across, svg.WIDTH - across),
        }[anchor]
        label = svg.short(name(by), int(room / svg.LETTER) - 2)
        parts.append(svg.text(across, y, label, class_="soft", anchor=anchor, hover=name(by)))
    # Coloured lines are drawn above grey ones.
    for generator in sorted(
        shown.generators[:MOST_ROWS], key=lambda generator: abs(shown.moved(generator)) >= MOVED
    ):
        parts.append(_line(shown, generator, x, top, step))
    return svg.drawing(top + step * len(shown.generators) + 8, *parts)


def _line(shown: Ranks, generator: str, x: Axis, top: float, step: float) -> str:
    ranks = {by: order[generator] for by, order in shown.by.items()}
    places = [(x(column), top + step * (rank - 0.5)) for column, rank in enumerate(ranks.values())]
    moved, hollow = shown.moved(generator), generator in shown.people
    if abs(moved) < MOVED:
        look, dots = "grid", [_small(*point, hollow=hollow) for point in places]
    else:
        series = UP if moved < 0 else DOWN
        look, dots = (
            f"way s{series}",
            [svg.marker(*point, series, hollow=hollow) for point in places],
        )
    path = svg.element("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places), class_=look)
    hover = f"{within(generator)}: " + ", ".join(
        f"{rank} by {within(by)}" for by, rank in ranks.items()
    )
    label = svg.lines(2, places[0][1] + 4, name(generator))
    last = svg.text(
        svg.WIDTH, places[-1][1] + 4, str([*ranks.values()][-1]), class_="soft", anchor="end"
    )
    return svg.element("g", path, *dots, hover=hover) + label + last


def _small(x: float, y: float, *, hollow: bool = False) -> str:
    """A small dot for a rank that needs no attention."""
    return svg.element("circle", cx=x, cy=y, r=2.6, class_=f"dot {'h' if hollow else 'm'}{SAME}")
