"""The page of corrected scores, and what `metal correct` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metal.auditing.corrected import ALL_LABELLED
from metal.data.text import known, name
from metal.runs.correct_run import CorrectRun
from metal.show.parts import closing, reasons
from metal.show.view import Chart, Screen, Section, TableView

MOST_ROWS = 60
EXPLAINED = "Shares of the scale, 0 its low end and 1 its high end; 95% intervals over sources."
OF_CLASSES = "Of the outputs that only the judge rated; 95% intervals."


def charts(run: CorrectRun) -> list[Chart]:
    """None: the tables say it."""
    return []


def tables(run: CorrectRun) -> list[TableView]:
    """Every table of the page, in its order."""
    if classes := run.records("classes"):
        notes = (OF_CLASSES, *reasons(run, "classes", classes, "generator"))
        title = "Shares of classes, corrected for the judge's mistakes on the test set"
        return [TableView.of_figures(run, "classes", title, classes, heads=5, notes=notes, most=MOST_ROWS)]
    rows = run.records("corrected")
    notes = (EXPLAINED, *reasons(run, "corrected", rows, "generator"))
    title = "What people would give, by people and judge together"
    ranked = any(known(row["rank"]) for row in rows)
    without = () if ranked else ("rank",)
    shown = [TableView.of_figures(run, "corrected", title, rows, without=without, heads=4, notes=notes, most=MOST_ROWS)]
    differences = run.records("differences")
    if differences:
        title = "Differences between generators, on the same sources"
        shown.append(TableView.of_figures(run, "differences", title, differences, heads=5, most=MOST_ROWS))
    return shown


def brief(run: CorrectRun) -> Iterator[TableView]:
    """The three means and what a label is worth."""
    rows = run.records("corrected")
    if not rows:
        yield tables(run)[0]
        return
    if set(run.tables["corrected"]["undefined"]) == {f"corrected: {ALL_LABELLED}"}:
        return  # the headline says it
    alone = ("generator",) if len({row["generator"] for row in rows}) == 1 else ()
    without = (*alone, "rank", "bias", "rho", "labelled")
    notes = (EXPLAINED, *reasons(run, "corrected", rows, "generator"))
    title = "What people would give"
    cells = {"language": lambda row: name(row["language"])}
    options: dict[str, Any] = {"heads": 4 - len(alone), "notes": notes, "most": MOST_ROWS}
    titles = {"labels_saved": "worth"}
    yield TableView.of_figures(run, "corrected", title, rows, cells=cells, titles=titles, without=without, **options)


def content(run: CorrectRun) -> dict[str, Any]:
    """What the template shows."""
    first, *rest = tables(run)
    sections = [Section("differences", "Differences between generators", tables=tuple(rest))] if rest else []
    return {"answer": first, "sections": sections}


def screen(run: CorrectRun, by: Sequence[str] = ()) -> Screen:
    """The means, the warnings."""
    yield tables(run)[0]
    yield from closing(run)
