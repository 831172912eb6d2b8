"""A table on its way to one rating per row, in the form that the steps of the pipeline pass on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.tables import surveys
from metal.data.tables.answer_columns import AnswerColumn
from metal.data.tables.described import NOTHING, Described
from metal.data.tables.nested import NO_LISTS, FromLists, Paths, unnested
from metal.data.tables.who_rated import ROW

PARTED = " (criterion)"  # the end of a column's name that was parted from that of raters


@dataclass(frozen=True)
class GuessedTable:
    """A table as far as it has been understood.

    frame: its cells; the index is the row in the file. notes: what was guessed, for the user; all
    steps add to this list. lists: what came out of lists in cells. reopened: whether lists were
    just turned into rows or columns, so that all steps have to start again. paths: for columns that
    were members of objects, their paths. pair: the column joined from two that hold a pair of
    languages. roles: role -> column. places: the columns that hold answers. chosen: whether these
    are raters' choices between two outputs. on_its_side: whether each of these columns is about one
    output.
    people: columns of people's answers in a judge's row. long: whether one column holds everybody's
    answers. doubtful: columns that may hold answers, but do not show whose. unread: columns from
    which nothing was read. described: what columns say of the criteria. ignored: the patterns of
    columns to leave out that some column matched.
    """

    frame: pd.DataFrame
    options: Mapping[str, Any]
    notes: list[str]
    where: Path
    lists: FromLists = NO_LISTS
    reopened: bool = False
    paths: Paths = field(default_factory=dict)
    pair: str = ""
    roles: dict[str, str] = field(default_factory=dict)
    places: Sequence[AnswerColumn] = ()
    chosen: bool = False
    on_its_side: bool = False
    people: Sequence[str] = ()
    long: bool = False
    doubtful: Sequence[str] = ()
    unread: Sequence[str] = ()
    described: Described = NOTHING
    ignored: frozenset[str] = frozenset()

    @property
    def named(self) -> Mapping[str, str]:
        """The roles that the user named: role -> column."""
        return self.options.get("columns") or {}

    @property
    def patterns(self) -> list[str]:
        """The columns that the user says hold answers; empty if that has to be guessed."""
        wide = self.options.get("wide") or ()
        return [wide] if isinstance(wide, str) else list(wide)

    @property
    def to_ignore(self) -> list[str]:
        """The patterns of the columns that the user wants left out."""
        ignore = self.options.get("ignore") or ()
        return [ignore] if isinstance(ignore, str) else list(ignore)

    @property
    def answers(self) -> list[str]:
        """The names of the columns that hold answers."""
        return [answer.column for answer in self.places]

    @property
    def role_of(self) -> dict[str, str]:
        """The role of each column that has one."""
        return {column: role for role, column in self.roles.items()}

    @property
    def roles_in_file(self) -> dict[str, str]:
        """The roles without columns that were added while reading."""
        added = (surveys.RESPONDENT, ROW, f"{self.roles.get('rater')}{PARTED}")
        return {role: column for role, column in self.roles.items() if column not in added}

    def opened(self, columns: Sequence[str]) -> GuessedTable:
        """The table with the lists in these columns turned into rows or columns; everything else is
        unknown again.
        """
        frame, lists = unnested(self.frame, columns, self.notes, self.where)
        opened = GuessedTable(frame, self.options, self.notes, self.where, lists, reopened=True)
        return replace(opened, ignored=self.ignored)
