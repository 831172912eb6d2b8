"""The page of generated texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metal.runs.generate_run import GenerateRun
from metal.show.parts import closing
from metal.show.view import Chart, Screen, Section, TableView

MOST_ROWS = 200


def charts(run: GenerateRun) -> list[Chart]:
    """None: the tables say it."""
    return []


def tables(run: GenerateRun) -> list[TableView]:
    """Every table of the page, in its order."""
    overall = TableView.of_figures(run, "languages", "Texts by language", run.records("languages"), most=MOST_ROWS)
    rows = run.records("texts")
    return [overall, TableView.of_figures(run, "texts", "Texts by generator", rows, heads=3, most=MOST_ROWS)]


def content(run: GenerateRun) -> dict[str, Any]:
    """What the template shows."""
    overall, by_generator = tables(run)
    return {"answer": overall, "sections": [Section("generators", "Who wrote them", tables=(by_generator,))]}


def screen(run: GenerateRun, by: Sequence[str] = ()) -> Screen:
    """The tables, the warnings."""
    yield from tables(run)
    yield from closing(run)
