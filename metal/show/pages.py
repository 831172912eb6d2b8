"""The page of a run, its charts and its tables, whatever kind of run it is."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metal.runs.run import Run
    from metal.show.view import Chart, TableView

# The command of a run: the module that draws its page.
PAGES = {
    "audit": "metal.show.page",
    "billboard": "metal.show.board.page",
    "design": "metal.show.design.page",
    "leaderboard": "metal.show.leaderboard.page",
    "monitor": "metal.show.monitor.page",
}


def page(run: Run) -> str:
    """The whole page as HTML. Two runs with equal tables give equal pages."""
    html: str = _module(run).page(run)
    return html


def charts(run: Run) -> list[Chart]:
    """Every chart of the page, in its order."""
    drawn: list[Chart] = _module(run).charts(run)
    return drawn


def tables(run: Run) -> list[TableView]:
    """Every table of the page, in its order."""
    views: list[TableView] = _module(run).tables(run)
    return views


def _module(run: Run) -> ModuleType:
    return import_module(PAGES[run.command])
