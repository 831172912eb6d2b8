"""Columns of a run's tables, each described once.

From its description a column is checked when a table is read, and has its heading and number format
on every page, in LaTeX and in the terminal. The order of a table's descriptions is the order in
which they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from metal.data import text as formats
from metal.data.languages import language_name

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table. title: its heading. format: of its values (metal.data.text). interval:
    whether NAME_low and NAME_high stand beside it. direction: which end is better, "higher" or
    "lower"; empty if neither is. below: what stands below the value, from the whole row. shown:
    whether the table of all figures has it. later: whether runs of version 0.1 lack it, which are
    shown without.
    """

    name: str
    title: str = ""
    format: Callable[[Any], str] = formats.name
    interval: bool = False
    direction: str = ""
    below: Callable[[Row], str] | None = None
    shown: bool = True
    later: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it stands for."""
        return (self.name, *((f"{self.name}_low", f"{self.name}_high") if self.interval else ()))

    def text(self, row: Row) -> str:
        """The value of a row; a dash where it is undefined."""
        return self.format(row[self.name])

    def ends(self, row: Row) -> str:
        """The interval of a row and its range without one person, or what else stands below its
        value.
        """
        if self.interval:
            low, high = (row[end] for end in self.names[1:])
            least, most = (row.get(f"{self.name}_{end}") for end in ("least", "most"))
            span = (
                f"{self.format(least)} to {self.format(most)} when one person is left out"
                if formats.known(least)
                else ""
            )
            return "\n".join(filter(None, [formats.interval(low, high, self.format), span]))
        return self.below(row) if self.below else ""


@dataclass(frozen=True)
class RankInterval(Column):
    """The ranks that are not ruled out, in one column: `2 to 4`, of rank_low and rank_high."""

    name: str = "rank_low"
    title: str = "ranks"
    later: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it stands for."""
        return ("rank_low", "rank_high")

    def text(self, row: Row) -> str:
        """`2 to 4`; a dash where they are not known."""
        return formats.ranks(row["rank_low"], row["rank_high"])


Tables = Mapping[str, tuple[Column, ...]]

# Columns that several kinds of run have.
LANGUAGE = Column("language", "language", lambda code: formats.name(language_name(code)))
HEAD = (Column("criterion", ""), LANGUAGE)
JUDGE = Column("judge", "judge")
Figure = partial(Column, format=formats.figure, interval=True, direction="higher")
Share = partial(Column, format=formats.percent, interval=True)
Rate = partial(Share, direction="higher")  # of answers that are as they should be


def unshown(*names: str) -> tuple[Column, ...]:
    """Columns that pages use but no table shows."""
    return tuple(Column(name, shown=False) for name in names)


def with_the_rest(columns: Iterable[Column], names: Iterable[str]) -> tuple[Column, ...]:
    """The descriptions, then the table's other columns, which are not shown. names: of all its
    columns.
    """
    described = tuple(columns)
    have = {name for column in described for name in column.names}
    return (*described, *unshown(*(name for name in names if name not in have)))


def names_of(columns: Iterable[Column]) -> set[str]:
    """The columns that are described."""
    return {name for column in columns for name in column.names}


def required_names(columns: Iterable[Column]) -> set[str]:
    """The columns that a table must have."""
    return names_of(column for column in columns if not column.later)


def title_of(columns: Iterable[Column], figure: str) -> str:
    """What a figure is called: the heading of its column, or of the first that begins with its
    name; empty if none.
    """
    titles = {column.name: column.title for column in columns if column.title}
    parts = (title for name, title in titles.items() if name.startswith(f"{figure}_"))
    return titles.get(figure) or next(parts, "")
