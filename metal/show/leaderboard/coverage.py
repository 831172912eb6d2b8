"""What is still to be rated, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.data.text import count, name
from metal.genie.leaderboard.coverage import rating_command
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.view import Cell, TableView

MOST_ROWS = 200
MOST_COMMANDS = 12


def coverage_rows(run: LeaderboardRun) -> list[dict[str, Any]]:
    """How much of each generator was rated, over all languages."""
    rows = run.records("coverage")
    return [row for row in rows if row["language"] == rows[0]["language"]]


def coverage_table(
    run: LeaderboardRun, rows: Sequence[dict[str, Any]] | None = None, title: str = "Rated so far"
) -> TableView:
    """A generator a row and language: sources and outputs rated, and what can still be handed out.

    rows: these of the table, all if None.
    """
    sample = f"Of the sample of {run.sample} sources a language. " if run.sample else ""
    return TableView.of_figures(
        run,
        "coverage",
        title,
        run.records("coverage") if rows is None else rows,
        cells={
            "sources_rated": lambda row: Cell(f"{count(row['sources_rated'])} of {count(row['sources'])}"),
            "outputs_rated": lambda row: Cell(f"{count(row['outputs_rated'])} of {count(row['outputs'])}"),
        },
        heads=2,
        notes=(f"{sample}Outputs to rate are chosen ones with a text; those without a text cannot be handed out.",),
        most=MOST_ROWS,
    )


def unrated(run: LeaderboardRun) -> list[dict[str, Any]]:
    """The generators of which people rated nothing, and of which something can be handed out."""
    return [row for row in coverage_rows(run) if not row["outputs_rated"] and row["outputs_to_rate"]]


def commands(run: LeaderboardRun) -> list[tuple[str, str]]:
    """(generator, command that hands its outputs out) of the first that nobody has rated."""
    path = str(run.data.get("path", "DATASET"))
    return [
        (name(row["generator"]), rating_command(path, [row["generator"]], sample=run.sample, seed=run.seed))
        for row in unrated(run)[:MOST_COMMANDS]
    ]
