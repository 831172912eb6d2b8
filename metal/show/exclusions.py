"""Whose ratings were left out, or would be: named, counted, with the reason."""

from __future__ import annotations

from metal.data.text import count, name
from metal.runs.run import Run
from metal.show.view import Cell, TableView

COLUMNS = ("rater", "language", "criterion", "ratings", "why")


def exclusions_table(run: Run) -> TableView | None:
    """A row a person, from the table `exclusions`; None where a run has none."""
    if "exclusions" not in run.tables or run.tables["exclusions"].empty:
        return None
    parts: dict[str, list[str]] = {}
    total: dict[str, int] = {}
    why: dict[str, str] = {}
    for row in run.records("exclusions"):
        rater = str(row["rater"])
        criterion = run.criteria.get(row["criterion"])
        short = name(criterion.short if criterion else row["criterion"])
        parts.setdefault(rater, []).append(f"{short} {name(row['language'])} {count(row['ratings'])}")
        total[rater] = total.get(rater, 0) + int(row["ratings"])
        why[rater] = str(row["why"])
    rows = tuple(
        (Cell(name(rater)), Cell(count(total[rater]), ", ".join(listed)), Cell(why[rater]))
        for rater, listed in parts.items()
    )
    title = "Ratings of noisy people"
    columns = ("rater", "ratings", "why")
    return TableView("exclusions", title, columns, rows, "exclusions", run.signature_of("exclusions"))
