"""The page of a run, its charts and tables, and what a terminal shows of it, for every kind of run."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from metal.data.escaping import csv_text
from metal.runs.run import Run
from metal.show.document import PAGE_BYTES, document
from metal.show.packing import Payload
from metal.show.sections import Page
from metal.show.view import Chart, Screen, TableView

# The command of a run: the package with the PAGE and the `screen` of its kind.
KINDS = {
    "audit": "metal.show",
    "billboard": "metal.show.board",
    "design": "metal.show.design",
    "leaderboard": "metal.show.leaderboard",
    "monitor": "metal.show.monitor",
}


def page(run: Run) -> str:
    """The whole page as HTML. Two runs with equal tables give equal pages."""
    kind = _kind(run)
    common = {
        "run": run,
        "brand": kind.brand,
        "facts": kind.facts(run),
        "definitions": kind.definitions(run),
        "settings": settings_in_words(run),
    }
    write = document(kind.template, {**common, **kind.content(run)}, styles=kind.styles, scripts=kind.scripts)
    room = PAGE_BYTES - len(write(Payload("", frozenset(run.tables))).encode())
    return write(kind.pack(run, {key: csv_text(table) for key, table in run.tables.items()}, room))


def charts(run: Run) -> list[Chart]:
    """Every chart of the page, in its order."""
    return _kind(run).charts(run)


def tables(run: Run) -> list[TableView]:
    """Every table of the page, in its order, and those that the page leaves out."""
    return _kind(run).tables(run)


def screen(run: Run, by: Sequence[str] = ()) -> Screen:
    """What a terminal shows, in its order. by: slices that are shown as well (language, criterion, generator)."""
    parts: Screen = import_module(f"{KINDS[run.command]}.screen").screen(run, by)
    return parts


def _kind(run: Run) -> Page[Any]:
    kind: Page[Any] = import_module(f"{KINDS[run.command]}.page").PAGE
    return kind


def settings_in_words(run: Run) -> str:
    """The settings as `name value`, without those that are empty or false; 0 is shown."""
    settings = run.manifest["settings"].items()
    shown = ((key, value) for key, value in settings if value is not False and value not in ("", [], {}))
    return ", ".join(f"{key} {_plain(value)}" for key, value in shown)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={part}" for key, part in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
