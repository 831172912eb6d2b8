"""Scores at a glance: generators in rows, criteria or languages in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metal.data.text import name, share
from metal.runs.columns import Row
from metal.runs.leaderboard_run import LeaderboardRun
from metal.runs.run import code, spoken
from metal.show.heat import Heat
from metal.show.view import Cell, TableView

MOST_ROWS = 100


def criterion_map(run: LeaderboardRun) -> TableView | None:
    """Criteria, in the language of the main ranking; None where there is one only."""
    rows = run.records("leaderboard", language=run.language)
    title = f"Scores by criterion: {spoken(run.language)}"
    return _map(run, "criteria", title, rows, "criterion", run.measured, run.criterion)


def language_maps(run: LeaderboardRun) -> list[TableView]:
    """Languages, on each criterion that was rated in several, the main one first."""
    maps = []
    for place, criterion in enumerate(run.measured):
        rows = run.records("leaderboard", criterion=criterion)
        key = "languages" if criterion == run.main else f"languages_{place + 1}"
        title = f"Scores by language: {run.criterion(criterion)}"
        maps.append(_map(run, key, title, rows, "language", run.languages, code))
    return [view for view in maps if view]


def _map(
    run: LeaderboardRun,
    key: str,
    title: str,
    rows: Sequence[dict[str, Any]],
    column: str,
    order: Sequence[str],
    called: Callable[[str], str],
) -> TableView | None:
    values = {(row["generator"], row[column]): row for row in rows}
    columns = [head for head in order if any(head == where for _, where in values)]
    if len(columns) < 2:
        return None
    generators = {generator for generator, _ in values}
    heat = Heat(
        "leaderboard",
        key,
        title,
        [generator for generator in run.order if generator in generators],
        columns,
        values,
        row_head=lambda generator: Cell(name(generator)),
        column_head=called,
        shade=_shaded,
        what="generators",
        blank="A blank: people rated nothing of it there.",
        most=MOST_ROWS,
    )
    return heat.view(run)


def _shaded(row: Row) -> Cell:
    """Darker where the score is higher, a shade a tenth."""
    return Cell(share(row["score"]), mark=f"q{max(1, min(9, int(row['score'] * 10)))}")
