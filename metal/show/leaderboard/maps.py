"""Scores at a glance: generators in rows, criteria or languages in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metal.data.text import name
from metal.runs.board_run import code, spoken
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.leaderboard.share import share
from metal.show.view import Cell, TableView

MOST_COLUMNS = 40
MOST_ROWS = 100


def criterion_map(run: LeaderboardRun) -> TableView | None:
    """Criteria, in the language of the main ranking; None where there is one only."""
    rows = run.records("leaderboard", language=run.language)
    columns = [one for one in run.measured if one in {row["criterion"] for row in rows}]
    title = f"Scores by criterion: {spoken(run.language)}"
    return _map(run, "criteria", title, rows, "criterion", columns, run.criterion)


def language_maps(run: LeaderboardRun) -> list[TableView]:
    """Languages, on each criterion that was rated in several, the main one first."""
    found = []
    for place, criterion in enumerate(run.measured):
        rows = run.records("leaderboard", criterion=criterion)
        columns = [one for one in run.languages if one in {row["language"] for row in rows}]
        key = "languages" if criterion == run.main else f"languages_{place + 1}"
        title = f"Scores by language: {run.criterion(criterion)}"
        found.append(_map(run, key, title, rows, "language", columns, code))
    return [one for one in found if one]


def _map(
    run: LeaderboardRun,
    key: str,
    title: str,
    rows: Sequence[dict[str, Any]],
    column: str,
    columns: Sequence[str],
    called: Callable[[str], str],
) -> TableView | None:
    if len(columns) < 2:
        return None
    values = {(row["generator"], row[column]): row for row in rows}
    order = [one for one in run.order if any((one, head) in values for head in columns)]
    shown = columns[:MOST_COLUMNS]
    lines = tuple((Cell(name(one)), *(_shaded(values.get((one, head))) for head in shown)) for one in order[:MOST_ROWS])
    notes = []
    if any((one, head) not in values for one in order for head in columns):
        notes.append("A blank: people rated nothing of it there.")
    if len(columns) > MOST_COLUMNS or len(order) > MOST_ROWS:
        notes.append(
            f"Cut to {min(len(order), MOST_ROWS)} of {len(order)} generators and {len(shown)} of {len(columns)} "
            "columns; the CSV has all."
        )
    heads = ("", *(called(one) for one in shown))
    return TableView(
        f"map_{key}", title, heads, lines, "leaderboard", run.signature_of("leaderboard"), notes=tuple(notes)
    )


def _shaded(row: dict[str, Any] | None) -> Cell:
    """Darker where the score is higher, a shade a tenth."""
    if row is None:
        return Cell("")
    return Cell(share(row["score"]), mark=f"q{max(1, min(9, int(row['score'] * 10)))}")
