"""Charts of figures with their intervals as dots: one row each, pairs of judges, or populations of
raters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Any, Self

from metal.data.languages import language_name
from metal.data.text import (
    UNDEFINED,
    figure,
    interval,
    known,
    name,
    p_value,
    plural,
    ranks,
    signed,
    within,
)
from metal.runs.columns import Row
from metal.runs.run import RankingRun
from metal.show import svg
from metal.show.svg import Axis, Figures, arrows
from metal.show.view import Cell, Chart, Rows, TableView

MOST_DOTS = 60  # more cannot be read in one drawing
STEP = 17
FOREST_RIGHT = svg.WIDTH - 22.0
MOST_POPULATIONS = 10  # of a panel
POPULATION_STEP = 24
GENERATORS = {"machine": (0, "machine"), "human": (2, "human writing")}

Looks = Mapping[str, tuple[int, str]]  # series and words for each entry of the legend


@dataclass(frozen=True)
class Dot:
    """A figure that is drawn as a dot.

    look: its entry in the legend. ranks: the ranks that are not ruled out, in words.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    look: str = ""
    ranks: str = ""

    @classmethod
    def of(cls, row: Row, figure: str, label: str, look: str) -> Self:
        """The dot of a row: its figure with the interval, and its ranks if it has any."""
        open_ranks = ranks(row["rank_low"], row["rank_high"]) if "rank_low" in row else ""
        return cls(
            label, row[figure], row[f"{figure}_low"], row[f"{figure}_high"], look, open_ranks
        )

    @property
    def figures(self) -> Figures:
        """The value and the two ends of its interval."""
        return self.value, self.low, self.high


@dataclass(frozen=True)
class Numbers:
    """The table of numbers under a chart of dots.

    value, label: the headings of its last and first column. between: the headings of the other
    columns, with their contents.

    before: rows at the top that are not drawn. caption: the title of the table; the chart's title
    if empty. heads: the number of columns that name a row. source: the run's table from which the
    rows come.
    """

    value: str
    label: str = "rater"
    between: Mapping[str, Callable[[Dot], str]] = field(default_factory=dict)
    before: Sequence[Dot] = ()
    caption: str = ""
    heads: int = 1
    source: str = ""

    def view(
        self, key: str, title: str, rows: Sequence[Dot], form: Callable[[Any], str]
    ) -> TableView:
        """The table of numbers for a chart of this key and title."""
        body: Rows = []
        for row in (*self.before, *rows):
            last = Cell(form(row.value), interval(row.low, row.high, form))
            body.append([name(row.label), *(text(row) for text in self.between.values()), last])
        columns = (self.label, *self.between, self.value)
        caption, called = self.caption or title, f"{key}_numbers"
        return TableView.of(
            None, self.source, caption, columns, body, name=called, heads=self.heads
        )


def dots_chart(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Dot],
    looks: Looks,
    numbers: Numbers,
    *,
    finding: str = "",
    form: Callable[[Any], str] = figure,
    most: int = MOST_DOTS,
    **drawn: Any,
) -> Chart:
    """A chart with one row for each figure; only the first `most` are drawn.

    finding: as in Chart. looks, form, drawn (mark, sides, beside): as in `interval_dots`.
    """
    notes = (f"The first {most} of {len(rows)}; all are in the table.",) if len(rows) > most else ()
    drawing = interval_dots(rows[:most], looks, form=form, **drawn)
    return Chart(key, title, alt, drawing, numbers.view(key, title, rows, form), notes, finding)


def generator_dots(
    run: RankingRun,
    key: str,
    ranked: Sequence[Row],
    score: str,
    value: str,
    source: str,
    form: Callable[[Any], str],
    most: int = MOST_DOTS,
) -> Chart:
    """A chart of the scores that people give on the main criterion, from rows of ranked generators.

    If people wrote some of the outputs, these are drawn differently from those of machines. score:
    what is drawn, in words. most: how many generators to draw.
    """
    rows = [
        Dot.of(row, "score", row["generator"], "human" if row["human"] else "machine")
        for row in ranked
    ]
    best, *others = rows[:most]
    first = f"{within(best.label)} {form(best.value)}"
    ends, finding, looks = f": {first}", "", GENERATORS
    if others:
        last = f"{within(others[-1].label)} {form(others[-1].value)}"
        ends = f", best first: from {first} to {last}"
        finding = f"{within(best.label)} is first with {form(best.value)}."
    if all(row.look == "machine" for row in rows):
        looks = {"machine": (0, "")}
    return dots_chart(
        key,
        f"What people give: {run.where(run.main, run.language)}",
        f"Dots with 95% intervals, {score} that people give to each of"
        f" {plural(len(rows[:most]), 'generator')}{ends}.",
        rows,
        looks,
        Numbers(value, label="generator", between={"ranks": lambda row: row.ranks}, source=source),
        finding=finding,
        form=form,
        most=most,
        beside="ranks",
    )


def interval_dots(
    rows: Sequence[Dot],
    looks: Looks,
    *,
    mark: tuple[float, str] | None = None,
    sides: tuple[str, str] | None = None,
    form: Callable[[Any], str] = figure,
    beside: str = "",
) -> str:
    """The drawing, and the legend with the entries that occur.

    mark: the position and words of a line through all rows. sides: what is left and right of 0, if
    0 divides the rows. beside: the heading above the ranks. Rows without a figure have a dash. The
    drawing is empty ("") if no row has a figure.
    """
    rows = rows[:MOST_DOTS]
    figures = chain.from_iterable(row.figures for row in rows if known(row.value))
    values = list(filter(known, figures))
    if not values:
        return ""
    head, top = svg.legend(_entries(rows, looks, mark))
    values += [mark[0]] if mark else []
    values += [0.0] if sides else []
    left = svg.beside(name(row.label) for row in rows)
    axis = Axis.around(values, left, svg.WIDTH - (62.0 if beside else 22.0), form=form)
    top += 28 if sides else 14
    heights = (STEP + svg.LINE * (len(svg.folded(name(row.label))) - 1) for row in rows)
    *edges, bottom = accumulate(heights, initial=top)
    numbers = [axis.grid(top, bottom), axis.numbers(top, above=True), axis.numbers(bottom)]
    parts = [head]
    if beside:
        parts.append(svg.text(svg.WIDTH, edges[0] - 4, beside, class_="soft", anchor="end"))
    if sides:
        parts.append(arrows(*sides, left, svg.WIDTH, top - 17))
        numbers.append(axis.line(0, top, bottom, "floor"))
    if mark:
        numbers.append(axis.line(mark[0], top, bottom, "ceiling", f"{mark[1]}: {form(mark[0])}"))
    parts += numbers
    for row, (upper, lower) in zip(rows, pairwise([*edges, bottom]), strict=True):
        y = (upper + lower) / 2
        parts.append(svg.lines(2, y + 4, name(row.label)))
        if beside:
            parts.append(svg.text(svg.WIDTH, y + 4, row.ranks, class_="soft", anchor="end"))
        parts.append(_estimate(axis, row, looks, left, y))
    return svg.drawing(bottom + 18, *parts)


def _used(looks: Looks, occurring: Iterable[str]) -> Looks:
    """The looks that occur among the rows."""
    names = set(occurring)
    return {look: entry for look, entry in looks.items() if look in names}


def _entries(
    rows: Sequence[Dot], looks: Looks, mark: tuple[float, str] | None
) -> list[tuple[str, str]]:
    """The entries of the legend: the looks that occur, and the meaning of the line through all
    rows.
    """
    used = _used(looks, (row.look for row in rows)).values()
    entries = [(svg.marker(12, 0, series), label) for series, label in used if label]
    return [*entries, (svg.line(12, -6, 12, 6, "ceiling"), mark[1])] if mark else entries


def _estimate(axis: Axis, row: Dot, looks: Looks, left: float, y: float) -> str:
    """A row's figure drawn with its interval, or a dash if it has none."""
    if not known(row.value):
        return svg.text(left + 4, y + 4, UNDEFINED, class_="soft")
    return axis.estimate(y, within(row.label), row.figures, looks.get(row.look, (0, ""))[0])


def forest(
    key: str, label: str, pairs: Sequence[tuple[str, Row]], behind: str, ahead: str
) -> Chart:
    """A chart of the table `differences`, with each row under its pair.

    A dot is right of the line if the first judge is ahead. It is full if the difference is
    significant at 5% after correction over languages, else hollow. behind, ahead: the meaning of a
    figure below and above 0.
    """
    drawn = [(pair, row) for pair, row in pairs if known(row["difference"])]
    ends = filter(known, chain.from_iterable(_ends(row) for _, row in drawn))
    reach = max([0.1, *map(abs, ends)])
    left = 8 + svg.beside(language_name(row["language"]) for _, row in drawn)
    axis = Axis.around([-reach, reach], left, FOREST_RIGHT, form=signed)
    entries = [
        (svg.marker(12, 0, 0), "significant after correction over languages (Holm)"),
        (svg.marker(12, 0, 0, hollow=True), "not significant"),
    ]
    head, top = svg.legend(entries)
    top += 14
    y, heading, dots = top, "", []
    for pair, row in drawn:
        if pair != heading:
            heading = pair
            dots.append(svg.text(2, y + 16, name(pair), class_="soft"))
            y += 20
        y += 14
        language = language_name(row["language"])
        dots.append(svg.text(8, y + 4, svg.short(language, svg.LABEL), hover=language))
        hollow = not significant(row)
        dots.append(axis.estimate(y, f"{pair}, {language}", _ends(row), 0, hollow=hollow))
    bottom = y + 14
    parts = [
        head,
        arrows(behind, ahead, left, FOREST_RIGHT, top - 2),
        *(axis.grid(top + 4, bottom), axis.line(0, top + 4, bottom, "floor"), axis.numbers(bottom)),
        *dots,
    ]
    above = sum(significant(row) and row["difference"] > 0 for _, row in drawn)
    below = sum(significant(row) and row["difference"] < 0 for _, row in drawn)
    alt = (
        f"Differences in weighted F1 on {label}, {len(drawn)} in all: {above} significantly above 0"
        f" ({ahead}), {below} significantly below ({behind})."
    )
    cells: Rows = []
    for pair, row in pairs:
        value, low, high = _ends(row)
        difference = Cell(signed(value), interval(low, high, signed))
        cells.append(
            (name(pair), language_name(row["language"]), difference, p_value(row["p_adjusted"]))
        )
    columns = ("pair", "language", "difference", "p, corrected")
    numbers = TableView.of(None, "differences", label, columns, cells, name=key, heads=2)
    finding = (
        f"{above + below} of {plural(len(drawn), 'difference')}"
        f" {'is' if above + below == 1 else 'are'} significant."
    )
    return Chart(key, label, alt, svg.drawing(bottom + 18, *parts), numbers, finding=finding)


def _ends(row: Row) -> Figures:
    return row["difference"], row["difference_low"], row["difference_high"]


def significant(row: Row) -> bool:
    """Whether a difference is significant at the 5% level after correction."""
    return known(row["p_adjusted"]) and row["p_adjusted"] < 0.05


def population_panels(panels: Mapping[str, Sequence[Row]], looks: Looks) -> str:
    """A drawing of scores by population of raters, with the central 95% of the rounds: how
    repeatable each is (GENIE, Figure 2).

    panels: for each design, its rows of the table `designs`; panels are stacked on one scale, with
    a line for each population. looks: the look for each labelling. The drawing is empty ("") if
    nothing has a score.
    """
    rows = list(chain.from_iterable(panels.values()))
    drawn = [row for row in rows if known(row["mean"])]
    if not drawn:
        return ""
    used = _used(looks, (row["labelling"] for row in drawn))
    head, y = svg.legend([(svg.marker(12, 0, series), label) for series, label in used.values()])
    asides = {look: (rank - (len(used) - 1) / 2) * 10 for rank, look in enumerate(used)}
    populations = list(dict.fromkeys(row["population"] for row in rows))[:MOST_POPULATIONS]
    values = filter(known, chain.from_iterable(map(_central, drawn)))
    axis = Axis.around(list(values), svg.beside(map(name, populations)), svg.WIDTH - 22.0)
    parts = [head]
    for title, panel in panels.items():
        y += 20
        bottom = y + 6 + POPULATION_STEP * len(populations)
        parts += [
            svg.text(2, y, title, class_="soft"),
            axis.grid(y + 6, bottom),
            axis.numbers(bottom),
        ]
        middles = {
            population: y + 6 + POPULATION_STEP * (row_number + 0.5)
            for row_number, population in enumerate(populations)
        }
        for population, middle in middles.items():
            parts.append(svg.lines(2, middle + 4, name(population)))
        for row in panel:
            if row["population"] in middles and known(row["mean"]):
                at = middles[row["population"]] + asides[row["labelling"]]
                series, _ = looks[row["labelling"]]
                parts.append(axis.estimate(at, name(row["population"]), _central(row), series))
        y = bottom + 18
    return svg.drawing(y, *parts)


def _central(row: Row) -> Figures:
    return row["mean"], row["low"], row["high"]
