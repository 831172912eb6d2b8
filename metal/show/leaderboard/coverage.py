"""What is still to be rated, and how to go on."""

from __future__ import annotations

from typing import Any

from metal.data.text import count, name
from metal.genie.leaderboard.coverage import rating_command
from metal.runs.board_run import spoken
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.view import Cell, TableView

MOST_ROWS = 200
MOST_COMMANDS = 12


def coverage_rows(run: LeaderboardRun) -> list[dict[str, Any]]:
    """How much of each generator was rated, over all languages."""
    found = run.records("coverage")
    first = found[0]["language"] if found else ""
    return [row for row in found if row["language"] == first]


def coverage_table(run: LeaderboardRun) -> TableView:
    """A generator a row and language: sources and outputs rated, and what can still be handed out."""
    rows = run.records("coverage")
    shown = tuple(
        (
            Cell(name(row["generator"])),
            Cell(spoken(row["language"])),
            Cell(f"{row['sources_rated']:,} of {row['sources']:,}"),
            Cell(f"{row['outputs_rated']:,} of {row['outputs']:,}"),
            Cell(count(row["outputs_to_rate"]), "" if row["outputs_rated"] else "not rated yet"),
            Cell(count(row["without_text"])),
        )
        for row in rows[:MOST_ROWS]
    )
    columns = ("generator", "language", "sources rated", "outputs rated", "outputs to rate", "without a text")
    cut = (f"The first {MOST_ROWS} of {len(rows)} rows; the CSV has all.",) if len(rows) > MOST_ROWS else ()
    sample = f"Of the sample of {run.sample} sources a language. " if run.sample else ""
    note = f"{sample}Outputs to rate are chosen ones with a text; those without a text cannot be handed out."
    return TableView(
        "coverage",
        "Rated so far",
        columns,
        shown,
        "coverage",
        run.signature_of("coverage"),
        heads=2,
        notes=(note, *cut),
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
