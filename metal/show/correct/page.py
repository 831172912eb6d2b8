"""The page of corrected scores, and what `metal correct` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metal.correcting.corrected import ALL_LABELLED
from metal.data.text import known
from metal.runs.correct_run import CorrectRun
from metal.show.parts import closing, reasons
from metal.show.view import Chart, Screen, Section, TableView

MOST_ROWS = 60
HEADS = ("criterion", "language", "judge", "generator")
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
    shown = [_means(run)]
    differences = run.records("differences")
    if differences:
        title = "Differences between generators, on the same sources"
        shown.append(TableView.of_figures(run, "differences", title, differences, heads=5, most=MOST_ROWS))
    return shown


def _means(run: CorrectRun, without: Sequence[str] = (), titles: Mapping[str, str] | None = None) -> TableView:
    """The three means and what a label is worth; what is the same in all rows goes into the title or away."""
    rows = run.records("corrected")
    heads = [head for head in HEADS if len({row[head] for row in rows}) > 1 or head == "language"]
    title = "What people would give, by people and judge together"
    if "criterion" not in heads:
        title = f"{title}: {run.criterion(rows[0]['criterion'])}"
    unranked = () if any(known(row["rank"]) for row in rows) else ("rank",)
    notes = (EXPLAINED, *reasons(run, "corrected", rows, "generator"))
    without = (*without, *unranked, *(head for head in HEADS if head not in heads))
    options: dict[str, Any] = {"heads": len(heads), "notes": notes, "most": MOST_ROWS}
    return TableView.of_figures(run, "corrected", title, rows, without=without, titles=titles, **options)


def brief(run: CorrectRun) -> Iterator[TableView]:
    """The three means and what a label is worth."""
    if not run.records("corrected"):
        yield tables(run)[0]
    elif set(run.tables["corrected"]["undefined"]) != {f"corrected: {ALL_LABELLED}"}:  # else the headline says it
        yield _means(run, ("rank", "bias", "rho", "labelled"), {"labels_saved": "worth"})


def content(run: CorrectRun) -> dict[str, Any]:
    """What the template shows: a table that only says that nothing could be corrected stands below."""
    first, *rest = tables(run)
    if run.tables[first.source]["corrected"].isna().all():
        return {"answer": None, "sections": [Section("figures", "All figures", tables=(first, *rest))]}
    sections = [Section("differences", "Differences between generators", tables=tuple(rest))] if rest else []
    return {"answer": first, "sections": sections}


def screen(run: CorrectRun, by: Sequence[str] = ()) -> Screen:
    """The means, the warnings."""
    yield tables(run)[0]
    yield from closing(run)
