"""Columns of a run's tables, each described once.

A column is checked against its description when a table is read. The description also gives its
heading and number format on every page, in LaTeX and in the terminal. Columns are shown in the
order of a table's descriptions.
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
    """A column of a table.

    title: its heading. format: a function that formats its values (metal.data.text). interval:
    whether the table also has NAME_low and NAME_high. direction: which end is better, "higher" or
    "lower"; empty if neither is. below: a function of the whole row that gives the text below the
    value. shown: whether the table of all figures has it. later: whether runs of version 0.1 lack
    it; these are shown without it.
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
        """The columns of the table that this description covers."""
        return (self.name, *((f"{self.name}_low", f"{self.name}_high") if self.interval else ()))

    def text(self, row: Row) -> str:
        """The formatted value of a row; a dash if it is undefined."""
        return self.format(row[self.name])

    def ends(self, row: Row) -> str:
        """The text below a row's value: its interval, and its range when one person is left out, or
        what `below` gives.
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
    """The ranks that are not ruled out, from rank_low and rank_high, in one column: `2 to 4`."""

    name: str = "rank_low"
    title: str = "ranks"
    later: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that this description covers."""
        return ("rank_low", "rank_high")

    def text(self, row: Row) -> str:
        """The ranks in words, such as `2 to 4`; a dash if they are unknown."""
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
    """Descriptions of columns that pages use but no table shows."""
    return tuple(Column(name, shown=False) for name in names)


def with_the_rest(columns: Iterable[Column], names: Iterable[str]) -> tuple[Column, ...]:
    """The descriptions, followed by descriptions of the table's other columns, which are not shown.

    names: the names of all columns of the table.
    """
    described = tuple(columns)
    have = {name for column in described for name in column.names}
    return (*described, *unshown(*(name for name in names if name not in have)))


def names_of(columns: Iterable[Column]) -> set[str]:
    """The names of the described columns."""
    return {name for column in columns for name in column.names}


def required_names(columns: Iterable[Column]) -> set[str]:
    """The names of the columns that a table must have."""
    return names_of(column for column in columns if not column.later)


def title_of(columns: Iterable[Column], figure: str) -> str:
    """A figure's title: the heading of its column, else of the first column whose name begins with
    it; empty without any.
    """
    titles = {column.name: column.title for column in columns if column.title}
    parts = (title for name, title in titles.items() if name.startswith(f"{figure}_"))
    return titles.get(figure) or next(parts, "")
