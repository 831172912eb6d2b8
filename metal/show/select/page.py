"""The page of a selection, and what `metal select` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metal.data.text import known, name
from metal.runs.select_run import SelectRun
from metal.show.parts import closing, reasons
from metal.show.view import Chart, Screen, Section, TableView

MOST_ROWS = 100
TITLE = "How much each judge may answer"


def charts(run: SelectRun) -> list[Chart]:
    """None: the tables say it."""
    return []


def _selection(run: SelectRun, *without: str, **options: Any) -> TableView:
    rows = run.records("selection")
    notes = reasons(run, "selection", rows, "judge")
    free = tuple(column for column in ("cost", "cost_people") if not any(known(row[column]) for row in rows))
    return TableView.of_figures(
        run, "selection", TITLE, rows, without=(*without, *free), heads=3, notes=notes, most=MOST_ROWS, **options
    )


def tables(run: SelectRun) -> list[TableView]:
    """Every table of the page, in its order."""
    rows, curve = run.records("calibration"), run.records("curve")
    notes = reasons(run, "calibration", rows, "judge")
    title = "Whether confidence can be believed"
    shown = [_selection(run)]
    shown.append(TableView.of_figures(run, "calibration", title, rows, heads=3, notes=notes, most=MOST_ROWS))
    if curve:
        title = "Reliability: how often answers of a confidence agree with people"
        shown.append(TableView.of_figures(run, "curve", title, curve, heads=4, most=MOST_ROWS))
    return shown


def brief(run: SelectRun) -> Iterator[TableView]:
    """What each judge may answer."""
    cells = {"language": lambda row: name(row["language"])}
    yield _selection(run, "agreement", "by", "cost_people", "confidence", "decided", cells=cells)


def content(run: SelectRun) -> dict[str, Any]:
    """What the template shows."""
    first, *rest = tables(run)
    return {"answer": first, "sections": [Section("calibration", "Confidence", tables=tuple(rest))]}


def screen(run: SelectRun, by: Sequence[str] = ()) -> Screen:
    """Every table, the warnings."""
    yield from tables(run)
    yield from closing(run)
