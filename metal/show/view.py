"""The parts of a report: tables, charts and words, described once and written as HTML, LaTeX, SVG
and terminal output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Self

from metal.data.languages import NO_LANGUAGE
from metal.data.text import MINUS, UNDEFINED, printable_sentence, with_minus
from metal.runs.columns import Column, Row
from metal.runs.run import Run
from metal.show.svg import standalone


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    text: its content. below: a second, smaller line. mark: a class of the style sheet.
    """

    text: str
    below: str = ""
    mark: str = ""

    @classmethod
    def of(cls, shown: Cell | str) -> Cell:
        """A cell as it is; a text as a cell that contains only this text."""
        return shown if isinstance(shown, Cell) else cls(shown)


_NUMBER = re.compile(f"[-+{MINUS}<>≤≥$x ]*[0-9]")  # how a figure begins
Rows = list[Sequence[Cell | str]]  # cells, or the text of those that are nothing else


@dataclass(frozen=True)
class TableView:
    """A table as it is shown. The first `heads` columns name the row.

    source: the run's table from which it comes, offered as CSV. signature: the signature of that
    table. notes: what to know, one line each, with the reasons for undefined figures. turns:
    whether rows and columns may change places if the table would not fit. brief: whether a terminal
    shows only the columns that fit next to each other. cut: if not all rows are shown, how many
    are, and where the rest is. total: the number of all rows in that case. look: a class of the
    style sheet, such as `heat` or `ranking`.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    source: str = ""
    signature: str = ""
    heads: int = 1
    notes: tuple[str, ...] = ()
    turns: bool = False
    brief: bool = False
    cut: str = ""
    total: int = 0
    look: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """The lines below the table."""
        return (self.cut, *self.notes) if self.cut else self.notes

    @property
    def flush_left(self) -> tuple[bool, ...]:
        """For each column, whether it is aligned on the left, as columns of names and of
        words are.
        """
        texts = ([row[column].text for row in self.rows] for column in range(len(self.columns)))
        written = ([text for text in column if text not in ("", UNDEFINED)] for column in texts)
        return tuple(
            number < self.heads or 2 * sum(not _NUMBER.match(text) for text in column) > len(column)
            for number, column in enumerate(written)
        )

    @classmethod
    def of(
        cls,
        run: Run | None,
        source: str,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Cell | str]],
        *,
        name: str = "",
        heads: int = 1,
        notes: Iterable[str] = (),
        most: int | None = None,
        turns: bool = False,
        look: str = "",
    ) -> Self:
        """A view of the run's table `source`, with its signature; without a run, a view of numbers
        under a chart, which have no signature.

        name: the name of the view; the source's name if empty. most: the largest number of rows.
        """
        body = tuple(tuple(map(Cell.of, row)) for row in rows)
        signature, notes = run.signature_of(source) if run else "", tuple(map(with_minus, notes))
        named = [
            index
            for index, cells in enumerate(zip(*body, strict=True))
            if {cell.text for cell in cells} != {NO_LANGUAGE}
        ]
        if body and heads > 1:  # a column of languages that nobody named says nothing
            heads = sum(index < heads for index in named)
            columns = [columns[index] for index in named]
            body = tuple(tuple(row[index] for index in named) for row in body)
        every = cls(
            name or source,
            title,
            tuple(columns),
            body,
            source,
            signature,
            heads,
            notes,
            turns,
            look=look,
        )
        return every if most is None else every.first(most)

    def turned(self) -> Self:
        """The table with rows and columns exchanged: its first column becomes the headings, its
        headings the first column.
        """
        columns = (self.columns[0], *(row[0].text for row in self.rows))
        rows = zip(map(Cell, self.columns[1:]), *(row[1:] for row in self.rows), strict=True)
        return replace(self, columns=columns, rows=tuple(rows))

    def in_pieces(self, tables: int) -> list[Self]:
        """The table split into at most `tables` tables with about equally many columns; only the
        first has the title.
        """
        heads, columns = self.heads, len(self.columns) - self.heads
        size = math.ceil(columns / tables) or 1
        cuts = [slice(start, start + size) for start in range(heads, heads + max(columns, 1), size)]
        return [
            replace(
                self,
                title="" if number else self.title,
                columns=self.columns[:heads] + self.columns[cut],
                rows=tuple(row[:heads] + row[cut] for row in self.rows),
            )
            for number, cut in enumerate(cuts)
        ]

    def first(self, most: int, total: int = 0, rest: str = "the CSV has all") -> Self:
        """The first rows of a long table, with a note on how many are left out and where to find
        them.

        total: the number of all rows, if the table does not have all.
        """
        total = max(total, self.total, len(self.rows))
        if total <= most or (self.total and len(self.rows) <= most):
            return self
        return replace(
            self,
            rows=self.rows[:most],
            cut=f"The first {most} of {total:,} rows; {rest}.",
            total=total,
        )

    def strong_first(self, most: int) -> Self:
        """If there are more rows than `most`, put rows with something strong first, because the
        headline names them.
        """
        if len(self.rows) <= most:
            return self
        return replace(
            self,
            rows=tuple(
                sorted(self.rows, key=lambda row: all(cell.mark != "strong" for cell in row))
            ),
        )

    def divided(self, most: int) -> tuple[Self, Self | None]:
        """Split the table in two: a few rows, those with something strong first, and the other
        rows; None if there are hardly any others.
        """
        ordered = self.strong_first(most + 2)
        if ordered is self:
            return self, None
        others = replace(self, title=f"{self.title}, continued", rows=ordered.rows[most:])
        return replace(self, rows=ordered.rows[:most]), others

    @classmethod
    def of_figures(
        cls,
        run: Run | None,
        source: str,
        title: str,
        rows: Sequence[Row],
        *,
        described: Iterable[Column] = (),
        cells: Mapping[str, Callable[[Row], Cell | str]] | None = None,
        titles: Mapping[str, str] | None = None,
        without: Iterable[str] = (),
        most: int | None = None,
        **options: Any,
    ) -> Self:
        """A view of rows of the run's table `source` with every column that its description shows.

        described: the columns, if the rows are no table of a run or if run is None. cells, titles:
        for columns that look different here. without: columns to leave out. options: name, heads,
        notes and look, as in `of`. most: the largest number of rows.
        """
        described = described or (run.columns(source) if run else ())
        columns = [
            column for column in described if column.shown and column.name not in set(without)
        ]
        headings = [(titles or {}).get(column.name, column.title) for column in columns]
        titled = {"criterion": lambda row: run.criterion(row["criterion"])} if run else {}
        special = {**titled, **(cells or {})}

        def shown(column: Column, row: Row) -> Cell:
            if column.name in special:
                return Cell.of(special[column.name](row))
            return Cell(column.text(row), column.ends(row))

        body = ([shown(column, row) for column in columns] for row in rows[:most])
        every = cls.of(run, source, title, headings, body, **options)
        return every if most is None else every.first(most, len(rows))


@dataclass(frozen=True)
class Chart:
    """A drawing, with a description in words (alt) and its numbers.

    svg: an SVG element whose colours come from classes (metal.show.svg.STYLE). finding: what the
    chart shows, in a sentence.
    """

    name: str
    title: str
    alt: str
    svg: str
    numbers: TableView
    notes: tuple[str, ...] = field(default=())
    finding: str = ""

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
    """A paragraph on a screen.

    strong: whether it is a headline. soft: whether it is a remark. copied: whether it is a path or
    command, which is not wrapped. cut: whether to cut it to one line, or to two if the second names
    an option.
    """

    text: str
    strong: bool = False
    soft: bool = False
    copied: bool = False
    cut: bool = False


Screen = Iterator[TableView | Paragraph]


@dataclass(frozen=True)
class Remark:
    """A short remark on a first screen.

    command: a command that the reader can copy into a shell. cell: the language, the criterion and
    the judge that it is about, as far as it is about one.
    """

    title: str
    words: str
    command: str = ""
    cell: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A section of a page. Page, terminal, Markdown, LaTeX and pictures are all written from a
    kind's sections, in the order of its fields.

    Attributes:
        anchor: Its id on the page; parts of a section need no id.
        title: Its heading.
        words: Paragraphs.
        scale: The meaning of the shades 0 to 9, if its tables are heat maps.
        charts, tables: Its charts and tables.
        remarks: Facts in a word or two, and commands to copy.
        parts: Sections within it.
        folded: Whether a part is closed at first.
        beside: Whether charts are placed next to the rest if there is room.
        by: The slices that `--by` must name before a terminal shows the section.
        left: What was left out to keep the page small, in a sentence.
    """

    anchor: str
    title: str
    words: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[TableView, ...] = ()
    parts: tuple[Section, ...] = ()
    remarks: tuple[Remark, ...] = ()
    scale: Mapping[int, str] = field(default_factory=dict)
    folded: bool = False
    beside: bool = False
    by: tuple[str, ...] = ()
    left: str = ""

    @property
    def every(self) -> Iterator[Section]:
        """The section, followed by all sections within it."""
        yield self
        for part in self.parts:
            yield from part.every


def folded(table: TableView, title: str = "", by: tuple[str, ...] = ()) -> Section:
    """A folded section with a table, under the table's title or another one."""
    return Section("", title or table.title, tables=(table,), folded=True, by=by)
