"""A page made of sections: some words, charts and tables each, between an overview and the methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metal.data.csv_cells import csv_text
from metal.runs.run import Run
from metal.show.document import PAGE_BYTES, document
from metal.show.methods import Definition
from metal.show.packing import Packed, blob, fitting
from metal.show.summary import Line
from metal.show.view import Chart, TableView


@dataclass(frozen=True)
class Section:
    """anchor: its id on the page. words: paragraphs. further: tables that stand closed, each under its title."""

    anchor: str
    title: str
    words: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[TableView, ...] = ()
    further: tuple[TableView, ...] = ()


def charts_of(sections: Sequence[Section]) -> list[Chart]:
    """Every chart, in the page's order (also for files of their own)."""
    return [chart for section in sections for chart in section.charts]


def tables_of(sections: Sequence[Section]) -> list[TableView]:
    """Every table, in the page's order (also for LaTeX)."""
    return [table for section in sections for table in (*section.tables, *section.further)]


def write_sections(
    run: Run, brand: str, facts: Sequence[Line], sections: Sequence[Section], definitions: Sequence[Definition]
) -> str:
    """The whole page. Two runs with equal tables give equal pages. brand: what kind of page it is."""
    content: dict[str, Any] = {"run": run, "brand": brand, "facts": facts, "sections": sections}
    content |= {"definitions": definitions, "settings": settings_in_words(run)}
    write = document("sections.html", content, styles=("report.css", "board.css"), scripts=("common.js", "board.js"))
    room = PAGE_BYTES - len(write(Packed("", 0, 0, frozenset(run.tables))).encode())
    csv = fitting({key: csv_text(table) for key, table in run.tables.items()}, room)
    return write(Packed(blob({"csv": csv}), 0, 0, frozenset(csv)))


def settings_in_words(run: Run) -> str:
    """The settings as they were given, without what was left alone."""
    given = ((key, value) for key, value in run.manifest["settings"].items() if _says_something(value))
    return ", ".join(f"{key} {_plain(value)}" for key, value in given)


def _says_something(value: Any) -> bool:
    """0 does."""
    return value is not False and value not in ("", [], {})


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{one}={other}" for one, other in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
