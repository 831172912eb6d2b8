"""What a report is made of: tables, charts, words, described once, written as HTML, LaTeX, SVG and to a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Self

from metal.data.text import known, printable_sentence
from metal.runs.columns import Column, Row
from metal.runs.run import Run
from metal.show.svg import standalone


@dataclass(frozen=True)
class Cell:
    """A table's cell. text: what stands there; below: a second, smaller line; mark: a class of the style sheet."""

    text: str
    below: str = ""
    mark: str = ""

    @classmethod
    def of(cls, column: Column, row: Row, mark: str = "") -> Self:
        """The value of a row, with its interval or what else stands below it."""
        return cls(column.text(row), column.ends(row), mark)


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

    @classmethod
    def of(
        cls,
        run: Run,
        source: str,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        *,
        name: str = "",
        heads: int = 1,
        notes: Iterable[str] = (),
        most: int | None = None,
    ) -> Self:
        """A view of the run's table `source`, signed. name: the source's if empty. most: rows; more are left out."""
        shown = tuple(map(tuple, rows))
        cut = most is not None and len(shown) > most
        if cut:
            notes = (f"The first {most} of {len(shown):,} rows; the CSV has all.", *notes)
        signature = run.signature_of(source)
        return cls(
            name or source, title, tuple(columns), shown[:most], source, signature, heads=heads, notes=tuple(notes)
        )

    @classmethod
    def of_figures(
        cls,
        run: Run,
        source: str,
        title: str,
        rows: Sequence[Row],
        *,
        cells: Mapping[str, Callable[[Row], Cell]] | None = None,
        titles: Mapping[str, str] | None = None,
        without: Iterable[str] = (),
        band: str = "",
        name: str = "",
        heads: int = 1,
        notes: Iterable[str] = (),
        most: int | None = None,
    ) -> Self:
        """Rows of the run's table `source` with every column that its description shows.

        cells, titles: of columns that look otherwise here. without: columns left out. band: the column whose even
        numbers stand on a band. notes, most, name: as in `of`.
        """
        special = cells or {}
        left_out = set(without)
        columns = [column for column in run.columns(source) if column.shown and column.name not in left_out]
        headings = [(titles or {}).get(column.name, column.title) for column in columns]

        def cell(column: Column, row: Row) -> Cell:
            own = special[column.name](row) if column.name in special else Cell.of(column, row)
            even = band and known(row[band]) and int(row[band]) % 2 == 0
            return replace(own, mark="band") if even and not own.mark else own

        body = [[cell(column, row) for column in columns] for row in rows]
        return cls.of(run, source, title, headings, body, name=name, heads=heads, notes=notes, most=most)


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

    def __repr__(self) -> str:
        return f"<chart {self.name!r}: {self.title}>"

    def _repr_html_(self) -> str:
        """The title, the drawing with `alt` as its description, and the notes, for notebooks."""
        drawing = standalone(self.svg, self.alt) if self.svg else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        html = f"<figure><figcaption>{escape(self.title)}</figcaption>{drawing}{notes}</figure>"
        return printable_sentence(html)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph on a screen. strong: a headline; soft: a remark; copied: a path or command, which is not wrapped."""

    text: str
    strong: bool = False
    soft: bool = False
    copied: bool = False


Screen = Iterator[TableView | Paragraph]


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
