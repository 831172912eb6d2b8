"""The page of a leaderboard by people, and what `metal leaderboard` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.data.text import plural
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.leaderboard.tables import (
    MOST_COMMANDS,
    beside_table,
    commands,
    coverage_rows,
    coverage_table,
    criterion_map,
    further_rankings,
    language_maps,
    ranking_chart,
    ranking_table,
    unrated,
)
from metal.show.pages import within_cells
from metal.show.parts import closing, main_language_map
from metal.show.view import Chart, Paragraph, Screen, TableView

MOST_CELLS = 5_000  # of tables behind a choice, in each of two sections
MOST_ON_SCREEN = 3  # commands


def charts(run: LeaderboardRun) -> list[Chart]:
    """Every chart of the page (also for files of their own)."""
    return [ranking_chart(run)]


def tables(run: LeaderboardRun) -> list[TableView]:
    """Every table of the page, in its order, and those that it leaves out (also for LaTeX)."""
    shown = [
        ranking_table(run, run.main, run.language),
        criterion_map(run),
        *further_rankings(run),
        *language_maps(run),
        beside_table(run),
        coverage_table(run),
    ]
    return [table for table in shown if table and table.rows]


def content(run: LeaderboardRun) -> dict[str, Any]:
    """What the template shows."""
    maps = [(table.title, table) for table in language_maps(run)]
    return {
        "tables": {table.name: table for table in tables(run)},
        "chart": ranking_chart(run),
        "rankings": within_cells([(table.title, table) for table in further_rankings(run)], MOST_CELLS),
        "maps": within_cells(maps[1:], MOST_CELLS),
        "language_map": maps[0][1] if maps else None,
        "coverage": coverage_table(run),
        "commands": commands(run),
        "commands_left": max(len(unrated(run)) - MOST_COMMANDS, 0),
    }


def screen(run: LeaderboardRun, by: Sequence[str] = ()) -> Screen:
    """The main ranking, criteria and languages beside each other, metrics, what is to be rated.

    by: `language` or `criterion`, to show the ranking of each as well.
    """
    yield Paragraph(_headline(run), strong=True)
    yield ranking_table(run, run.main, run.language)
    for criterion, language in run.cells[1:]:
        if ("language" in by and criterion == run.main) or ("criterion" in by and language == run.language):
            yield ranking_table(run, criterion, language)
    yield from filter(None, (criterion_map(run), main_language_map(language_maps(run)), beside_table(run)))
    yield from _to_rate(run)
    yield from closing(run)


def _headline(run: LeaderboardRun) -> str:
    groups = sorted({run.raters[rater].group for rater in run.people_names if rater in run.raters} - {""})
    named = f" ({', '.join(groups)})" if groups else ""
    sample = f", a sample of {run.sample} sources a language" if run.sample else ""
    generators = plural(run.tables["leaderboard"]["generator"].nunique(), "generator")
    return f"{run.name}: {generators} by {plural(len(run.people_names), 'person', 'people')}{named}{sample}"


def _to_rate(run: LeaderboardRun) -> Screen:
    """Generators that nobody has rated yet, and those that were rated in part."""
    rows = [row for row in coverage_rows(run) if row["outputs_rated"] < row["outputs"]]
    if rows:
        yield coverage_table(run, rows, "Still to be rated")
    for _, command in commands(run)[:MOST_ON_SCREEN]:
        yield Paragraph(command, copied=True)
    more = len(unrated(run)) - MOST_ON_SCREEN
    if more > 0:
        yield Paragraph(f"... and so on for {more:,} more; --generators can be given several times")
