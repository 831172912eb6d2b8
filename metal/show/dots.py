"""A chart of dots with intervals, with the numbers it draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metal.data.text import count, figure, interval, known, name
from metal.show.charts.intervals import MOST_ROWS, Dot, Mark, interval_dots
from metal.show.view import Cell, Chart, TableView

Texts = Mapping[str, Callable[[Dot], str]]


def dots_chart(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Dot],
    looks: Mapping[str, tuple[int, str]],
    *,
    value: str,
    label: str = "rater",
    between: Texts | None = None,
    before: Sequence[Dot] = (),
    caption: str = "",
    heads: int = 1,
    source: str = "",
    form: Callable[[float], str] = figure,
    marks: Sequence[Mark] = (),
    sides: tuple[str, str] | None = None,
    group: str = "",
) -> Chart:
    """A row each. label, value: headings of the first and last column of the numbers; between: the others'. before:
    rows that stand first among the numbers, and are not drawn. caption: of the numbers; the chart's title if empty.

    heads: columns that name a row. looks, form, marks, sides, group: of `interval_dots`. source: the run's table that
    the rows come from.
    """
    more = between or {}
    numbers = tuple(
        (
            Cell(name(row.label)),
            *(Cell(text(row)) for text in more.values()),
            Cell(form(row.value), interval(row.low, row.high, form)),
        )
        for row in (*before, *rows)
    )
    picture = interval_dots(rows, looks, marks=marks, sides=sides, form=form, group=group)
    notes = (f"The first {MOST_ROWS} of {len(rows)}; all are in the table.",) if len(rows) > MOST_ROWS else ()
    view = TableView(f"{key}_numbers", caption or title, (label, *more, value), numbers, source, heads=heads)
    return Chart(key, title, alt, picture, view, notes)


GENERATORS = {"machine": (0, "machine"), "human": (2, "human writing")}


def scored(generator: str, row: Mapping[str, Any]) -> Dot:
    """The row of a ranked generator: its score with interval, whether people wrote it, and its cluster."""
    cluster = int(row["cluster"]) if known(row["cluster"]) else None
    look = "human" if row["human"] else "machine"
    return Dot(generator, row["score"], row["score_low"], row["score_high"], look, cluster)


def generator_dots(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Dot],
    *,
    value: str,
    source: str,
    form: Callable[[float], str],
) -> Chart:
    """Scores of generators, clusters on bands; people's writing apart from machines' where it occurs."""
    looks = GENERATORS if any(row.look == "human" for row in rows) else {"machine": (0, "")}
    return dots_chart(
        key,
        title,
        alt,
        rows,
        looks,
        label="generator",
        value=value,
        between={"cluster": lambda row: count(row.group)},
        source=source,
        form=form,
        group="cluster",
    )
