"""Who overrates machines, and whose judge prefers its own family (Billboard 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metal.data.text import count, interval, known, name, plural, signed, within
from metal.runs.board_run import BoardRun
from metal.show.board.ranking import LOOKS
from metal.show.board.reasons import reasons
from metal.show.charts.intervals import Dot
from metal.show.dots import dots_chart
from metal.show.view import Cell, Chart, TableView


@dataclass(frozen=True)
class _Question:
    """What is asked of a table: its name, a title, what lies left and right of 0, and the words of a finding."""

    table: str
    title: str
    sides: tuple[str, str]
    over: str
    under: str


MACHINES = _Question(
    "overrating", "Machines, people's judgement being equal", ("underrated", "overrated"), "overrates", "underrates"
)
FAMILY = _Question(
    "self_preference",
    "Generators of the judge's own family, people's judgement being equal",
    ("underrated", "overrated"),
    "prefers its own",
    "disfavours its own",
)


def overrating_tables(run: BoardRun) -> list[TableView]:
    """The tables that have rows on the main criterion."""
    return [table for question in (MACHINES, FAMILY) if (table := _table(run, question)).rows]


def overrating_charts(run: BoardRun) -> list[Chart]:
    """The charts of what is defined."""
    return [chart for question in (MACHINES, FAMILY) if (chart := _chart(run, question))]


def _rows(run: BoardRun, question: _Question) -> list[dict[str, Any]]:
    """Those most overrating first; those without figure last."""
    rows = run.records(question.table, criterion=run.main, language=run.language)
    return sorted(rows, key=lambda row: (not known(row["value"]), -row["value"] if known(row["value"]) else 0.0))


def _table(run: BoardRun, question: _Question) -> TableView:
    rows = _rows(run, question)
    family = question is FAMILY
    body = (
        (
            Cell(name(row["rater"])),
            Cell(run.kind(row["rater"])),
            *([Cell(name(row["family"]))] if family else []),
            Cell(signed(row["value"]), interval(row["low"], row["high"], signed)),
            Cell(_finding(row, question)),
            Cell(count(row["outputs"])),
        )
        for row in rows
    )
    columns = ("rater", "kind", *(("family",) if family else ()), "by standard deviations", "", "outputs")
    title = f"{question.title}: {run.where(run.main, run.language)}"
    notes = reasons(run, question.table, rows)
    return TableView.of(run, question.table, title, columns, body, heads=3 if family else 2, notes=notes)


def _finding(row: dict[str, Any], question: _Question) -> str:
    if not known(row["value"]):
        return ""
    return question.over if row["low"] > 0 else question.under if row["high"] < 0 else "not shown"


def _chart(run: BoardRun, question: _Question) -> Chart | None:
    rows = [
        Dot(row["rater"], row["value"], row["low"], row["high"], run.kinds[row["rater"]])
        for row in _rows(run, question)
        if known(row["value"])
    ]
    if not rows:
        return None
    over = sum(row.low > 0 for row in rows)
    under = sum(row.high < 0 for row in rows)
    alt = (
        f"Dots with 90% intervals for {plural(len(rows), 'rater')}, in standard deviations: {over} above 0 "
        f"({question.over}), {under} below. First {within(rows[0].label)} {signed(rows[0].value)}, last "
        f"{within(rows[-1].label)} {signed(rows[-1].value)}."
    )
    title = f"{question.title}: {run.where(run.main, run.language)}"
    return dots_chart(
        question.table,
        title,
        alt,
        rows,
        LOOKS,
        value="by",
        between={"kind": lambda row: run.kind(row.label)},
        caption=f"{title}, as drawn",
        source=question.table,
        form=signed,
        sides=question.sides,
    )
