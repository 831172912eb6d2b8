"""The page of a jury, and what `metal jury` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.data.text import UNDEFINED, percent
from metal.runs.columns import Row
from metal.runs.jury_run import JuryRun, points
from metal.show.parts import across_languages, closing, reasons
from metal.show.view import Cell, Chart, Screen, Section, TableView

MOST_ROWS = 100
EXPLAINED = (
    "Points of agreement with people that the jury gains on the member that agrees most on other sources, 95% interval."
)


def charts(run: JuryRun) -> list[Chart]:
    """None: the tables say it."""
    return []


def tables(run: JuryRun) -> list[TableView]:
    """Every table of the page, in its order."""
    rows = run.records("jury")
    places = ({**row, "place": run.where(row["criterion"], row["language"])} for row in rows)
    notes = (EXPLAINED, *reasons(run, "jury", places, "place"))
    title = "The jury beside its best member"
    first = across_languages(run, "jury", title, rows, {"criterion": ""}, _cell, name="gain", notes=notes)
    free = [] if any(row["weights"] for row in rows) else ["weights"]
    return [
        first,
        TableView.of_figures(
            run, "jury", "How the jury agrees with people", rows, heads=2, most=MOST_ROWS, without=free
        ),
    ]


def _cell(rows: list[Row]) -> Cell:
    (row,) = rows
    if row["undefined"]:
        return Cell(UNDEFINED)
    ends = f"[{points(row['gain_low'])}, {points(row['gain_high'])}]"
    below = f"{percent(row['agreement'])}, best {percent(row['best_agreement'])}"
    return Cell(f"{points(row['gain'])} {ends}", below, "strong" if row["better"] == "yes" else "")


def content(run: JuryRun) -> dict[str, Any]:
    """What the template shows."""
    first, figures = tables(run)
    return {"answer": first, "sections": [Section("figures", "All figures", tables=(figures,))]}


def screen(run: JuryRun, by: Sequence[str] = ()) -> Screen:
    """Every table, the warnings."""
    yield from tables(run)
    yield from closing(run)
