"""The page of a run, its charts and tables, and what a terminal shows of it, whatever kind of run it is."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metal.runs.run import Run
    from metal.show.view import Chart, Screen, TableView

# The command of a run: the package with its `page` and its `screen`.
KINDS = {
    "audit": "metal.show",
    "billboard": "metal.show.board",
    "design": "metal.show.design",
    "leaderboard": "metal.show.leaderboard",
    "monitor": "metal.show.monitor",
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


def screen(run: Run, by: Sequence[str] = ()) -> Screen:
    """What a terminal shows, in its order. by: slices that are shown as well (language, criterion, generator)."""
    parts: Screen = import_module(f"{KINDS[run.command]}.screen").screen(run, by)
    return parts


def _module(run: Run) -> ModuleType:
    return import_module(f"{KINDS[run.command]}.page")
