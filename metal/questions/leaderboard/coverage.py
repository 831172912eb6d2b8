"""How much of each generator's outputs people rated, and the commands that hand out the rest."""

from __future__ import annotations

from typing import Any

from metal.data.text import name
from metal.questions.leaderboard.beside import rating_command
from metal.questions.leaderboard.run import Leaderboard

MOST_COMMANDS = 12


def coverage_rows(run: Leaderboard) -> list[dict[str, Any]]:
    """A row per generator: how much of its outputs was rated, over all languages."""
    rows = run.records("coverage")
    return [row for row in rows if row["language"] == rows[0]["language"]]


def unrated(run: Leaderboard) -> list[dict[str, Any]]:
    """The coverage of generators that nobody has rated yet and that have outputs to hand out."""
    return [
        row for row in coverage_rows(run) if not row["outputs_rated"] and row["outputs_to_rate"]
    ]


def commands(run: Leaderboard) -> list[tuple[str, str]]:
    """The first generators that nobody has rated, each with the command that hands out its
    outputs.
    """
    path = str(run.data.get("path", "DATASET"))
    return [
        (
            name(row["generator"]),
            rating_command(path, [row["generator"]], sample=run.sample, seed=run.seed),
        )
        for row in unrated(run)[:MOST_COMMANDS]
    ]
