"""The page of a leaderboard by people."""

from __future__ import annotations

from typing import Any

from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.leaderboard.beside import beside_table
from metal.show.leaderboard.coverage import MOST_COMMANDS, commands, coverage_table, unrated
from metal.show.leaderboard.facts import facts
from metal.show.leaderboard.maps import criterion_map, language_maps
from metal.show.leaderboard.methods import definitions
from metal.show.leaderboard.ranking import further_rankings, ranking_chart, ranking_table
from metal.show.packing import within_cells
from metal.show.sections import Page
from metal.show.view import Chart, TableView

MOST_CELLS = 5_000  # of tables behind a choice, in each of two sections


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
    by_language = language_maps(run)
    maps, maps_left = within_cells([(table.title, table) for table in by_language[1:]], MOST_CELLS)
    rankings, rankings_left = within_cells([(table.title, table) for table in further_rankings(run)], MOST_CELLS)
    return {
        "ranking": ranking_table(run, run.main, run.language),
        "chart": ranking_chart(run),
        "rankings": rankings,
        "rankings_left": rankings_left,
        "criterion_map": criterion_map(run),
        "language_map": by_language[0] if by_language else None,
        "maps": maps,
        "maps_left": maps_left,
        "beside": beside_table(run),
        "coverage": coverage_table(run),
        "commands": commands(run),
        "commands_left": max(len(unrated(run)) - MOST_COMMANDS, 0),
    }


PAGE = Page(
    brand="leaderboard by people",
    facts=facts,
    definitions=definitions,
    charts=charts,
    tables=tables,
    content=content,
    template="leaderboard.html",
)
