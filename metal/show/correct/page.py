"""The page of corrected scores, and what `metal correct` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.runs.correct_run import CorrectRun
from metal.show.parts import closing, reasons
from metal.show.view import Chart, Screen, Section, TableView

MOST_ROWS = 60
EXPLAINED = "Shares of the scale, 0 its low end and 1 its high end; 95% intervals over sources."


def charts(run: CorrectRun) -> list[Chart]:
    """None: the tables say it."""
    return []


def tables(run: CorrectRun) -> list[TableView]:
    """Every table of the page, in its order."""
    rows = run.records("corrected")
    notes = (EXPLAINED, *reasons(run, "corrected", rows, "generator"))
    title = "What people would give, by people and judge together"
    shown = [TableView.of_figures(run, "corrected", title, rows, heads=4, notes=notes, most=MOST_ROWS)]
    differences = run.records("differences")
    if differences:
        title = "Differences between generators, on the same sources"
        shown.append(TableView.of_figures(run, "differences", title, differences, heads=5, most=MOST_ROWS))
    return shown


def content(run: CorrectRun) -> dict[str, Any]:
    """What the template shows."""
    first, *rest = tables(run)
    sections = [Section("differences", "Differences between generators", tables=tuple(rest))] if rest else []
    return {"answer": first, "sections": sections}


def screen(run: CorrectRun, by: Sequence[str] = ()) -> Screen:
    """The means, the warnings."""
    yield tables(run)[0]
    yield from closing(run)
