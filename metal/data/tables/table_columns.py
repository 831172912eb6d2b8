"""What a table was read from, as a draft keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ANSWERED_IN = "answered_in"  # of a wide table: the column in the file that a rating stood in


@dataclass(frozen=True)
class TableColumns:
    """What a table was read from: role -> column; the columns that hold answers, as `wide` names
    them; and the rest.

    sources_by: the column whose texts tell sources apart, where no column names them. doubtful: of
    the rest, those that hold answers under names that do not say whose. by_place: raters who are
    known by their place in a list.
    """

    roles: Mapping[str, str]
    wide: tuple[str, ...]
    unread: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    sources_by: str = ""
    by_place: frozenset[str] = frozenset()

    def __deepcopy__(self, memo: object) -> TableColumns:
        """Itself, as nothing in it changes: pandas copies what stands in `attrs` with every
        step.
        """
        return self
