"""What a report is made of: tables and charts, described once and written as HTML, LaTeX, SVG."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """A table's cell. text: what stands there; below: a second, smaller line; mark: a class of the style sheet."""

    text: str
    below: str = ""
    mark: str = ""


@dataclass(frozen=True)
class TableView:
    """A table as it is shown. The first `heads` columns name the row.

    source: the run's table it comes from, offered as CSV. signature: of that table.
    notes: what to know, one line each, with the reasons for undefined figures.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    source: str = ""
    signature: str = ""
    heads: int = 1
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A drawing with what it shows in words (alt) and in numbers.

    svg: a whole SVG element whose colours come from classes (metal.show.svg.STYLE).
    """

    name: str
    title: str
    alt: str
    svg: str
    numbers: TableView
    notes: tuple[str, ...] = field(default=())
