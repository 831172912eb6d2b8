"""The page of a board."""

from __future__ import annotations

from typing import Any

from metal.runs.board_run import BoardRun
from metal.show.board.crowd import crowd_sections
from metal.show.board.ensemble import ablation_chart, ensembles_table, fitted, member_table
from metal.show.board.facts import facts
from metal.show.board.generators import further_generators, generator_charts, generator_table
from metal.show.board.history import history_table
from metal.show.board.maps import criterion_map, generator_map, language_maps
from metal.show.board.methods import definitions, undefined_table
from metal.show.board.overrating import overrating_charts, overrating_tables
from metal.show.board.ranking import further_rankings, ranking_charts, ranking_table
from metal.show.packing import within_cells
from metal.show.sections import Page
from metal.show.view import Chart, TableView

MOST_FURTHER_CELLS = 4_000  # of tables behind a choice, in each of two sections: about 300 KB
MOST_MAP_CELLS = 4_000


def charts(run: BoardRun) -> list[Chart]:
    """Every chart of the page, in its order (also for files of their own)."""
    crowd = [chart for part in crowd_sections(run) for chart in part.charts]
    ablation = [chart for chart in [ablation_chart(run)] if chart]
    return [*ranking_charts(run), *generator_charts(run), *ablation, *overrating_charts(run), *crowd]


def tables(run: BoardRun) -> list[TableView]:
    """Every table of the page, in its order, and those that it leaves out (also for LaTeX)."""
    shown = [
        ranking_table(run, run.main, run.language),
        *(table for _, table in further_rankings(run)),
        *language_maps(run),
        criterion_map(run),
        generator_map(run),
        generator_table(run, run.main, run.language),
        *(table for _, table in further_generators(run)),
        member_table(run),
        ensembles_table(run),
        *overrating_tables(run),
        *(table for part in crowd_sections(run) for table in part.tables),
        history_table(run),
        undefined_table(run),
    ]
    return [table for table in shown if table and table.rows]


def content(run: BoardRun) -> dict[str, Any]:
    """What the template shows."""
    rankings, rankings_left = within_cells(further_rankings(run), MOST_FURTHER_CELLS)
    generators, generators_left = within_cells(further_generators(run), MOST_FURTHER_CELLS)
    maps, maps_left = within_cells([(table.title, table) for table in language_maps(run)], MOST_MAP_CELLS)
    return {
        "ranking": ranking_table(run, run.main, run.language),
        "ranking_charts": ranking_charts(run),
        "rankings": rankings,
        "rankings_left": rankings_left,
        "language_maps": maps,
        "maps_left": maps_left,
        "criterion_map": criterion_map(run),
        "generator_map": generator_map(run),
        "generator_table": generator_table(run, run.main, run.language),
        "generator_charts": generator_charts(run),
        "generators": generators,
        "generators_left": generators_left,
        "fitted": fitted(run),
        "members": member_table(run),
        "ablation": ablation_chart(run),
        "ensembles": ensembles_table(run),
        "overrating": {chart.name: chart for chart in overrating_charts(run)},
        "overrating_tables": overrating_tables(run),
        "crowd": crowd_sections(run),
        "history": history_table(run),
        "undefined": undefined_table(run),
    }


PAGE = Page(
    brand="board of raters and generators",
    facts=facts,
    definitions=definitions,
    charts=charts,
    tables=tables,
    content=content,
    template="board.html",
)
