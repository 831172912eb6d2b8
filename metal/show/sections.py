"""What a page consists of, and how the kinds of page differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from metal.runs.run import Run
from metal.show.packing import Payload, pack_csv
from metal.show.view import Chart, TableView


@dataclass(frozen=True)
class Fact:
    """A line of the overview: what it is about, and what it says."""

    about: str
    says: str


@dataclass(frozen=True)
class Definition:
    """A term, what it means on this page, and where it comes from."""

    term: str
    words: str
    source: str = ""


@dataclass(frozen=True)
class Section:
    """anchor: its id on the page. words: paragraphs. further: tables that are closed at first, each under its title."""

    anchor: str
    title: str
    words: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[TableView, ...] = ()
    further: tuple[TableView, ...] = ()


KindOfRun = TypeVar("KindOfRun", bound=Run)


@dataclass(frozen=True)
class Page(Generic[KindOfRun]):
    """How the page of one kind of run is made; `metal.show.pages` draws it.

    brand: what kind of page it is. charts, tables: all of them in the page's order, also for files of their own.
    content: what the template shows besides run, brand, facts, definitions and settings.
    pack: from the run, the CSV files of its tables and the characters left on the page, what the page carries for its
    script.
    """

    brand: str
    facts: Callable[[KindOfRun], list[Fact]]
    definitions: Callable[[KindOfRun], list[Definition]]
    charts: Callable[[KindOfRun], list[Chart]]
    tables: Callable[[KindOfRun], list[TableView]]
    content: Callable[[KindOfRun], Mapping[str, Any]]
    template: str
    styles: tuple[str, ...] = ("report.css", "board.css")
    scripts: tuple[str, ...] = ("common.js", "board.js")
    pack: Callable[[KindOfRun, Mapping[str, str], int], Payload] = pack_csv
