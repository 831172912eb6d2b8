"""Whose ratings were left out, or would be: named, counted, with the reason."""

from __future__ import annotations

from typing import Any

from metal.data.text import count, name
from metal.runs.run import Run
from metal.show.view import Cell, TableView


def exclusions_table(run: Run) -> TableView | None:
    """A row a person, from the table `exclusions`; None where a run has none."""
    if "exclusions" not in run.tables or run.tables["exclusions"].empty:
        return None
    by_rater: dict[str, list[dict[str, Any]]] = {}
    for row in run.records("exclusions"):
        by_rater.setdefault(str(row["rater"]), []).append(row)
    rows = []
    for rater, parts in by_rater.items():
        cells = (f"{run.short(row['criterion'])} {name(row['language'])} {count(row['ratings'])}" for row in parts)
        total = count(sum(row["ratings"] for row in parts))
        rows.append((Cell(name(rater)), Cell(total, ", ".join(cells)), Cell(str(parts[-1]["why"]))))
    return TableView.of(run, "exclusions", "Ratings of noisy people", ("rater", "ratings", "why"), rows)
