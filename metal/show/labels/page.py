"""The page of a plan of labels, and what `metal design labels` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.runs.labels_run import LabelsRun
from metal.show.parts import closing, reasons
from metal.show.view import Chart, Screen, TableView

MOST_ROWS = 60
EXPLAINED = "95% intervals of means, as shares of the scale; the correlation at its lower 80% bound."


def charts(run: LabelsRun) -> list[Chart]:
    """None: the table says it."""
    return []


def tables(run: LabelsRun) -> list[TableView]:
    """The one table."""
    rows = run.records("labels")
    notes = (EXPLAINED, *reasons(run, "labels", rows, "judge"))
    without = [] if "pay" in run.manifest["settings"].get("prices", {}) else ["usd"]
    alone = [head for head in ("criterion", "judge") if len({row[head] for row in rows}) == 1]  # the headline names it
    options: dict[str, Any] = {"without": (*without, *alone), "heads": 3 - len(alone), "notes": notes}
    return [TableView.of_figures(run, "labels", "Labels for corrected means", rows, most=MOST_ROWS, **options)]


def content(run: LabelsRun) -> dict[str, Any]:
    """What the template shows."""
    return {"answer": tables(run)[0], "sections": []}


def screen(run: LabelsRun, by: Sequence[str] = ()) -> Screen:
    """The table, the warnings."""
    yield tables(run)[0]
    yield from closing(run)
