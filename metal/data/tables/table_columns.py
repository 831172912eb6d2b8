"""The columns from which a table was read, as a draft records them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ANSWERED_IN = "answered_in"  # of a wide table: the column in the file that a rating stood in


@dataclass(frozen=True)
class TableColumns:
    """The columns from which a table was read: role -> column; the columns that hold answers, as
    `wide` names them; and the unread rest.

    sources_by: the column whose texts tell sources apart, if no column names them. doubtful: unread
    columns that hold answers, but whose names do not say whose. by_place: raters who are known only
    by their place in a list. of_format: roles that the file's format decides, which no option need
    name.
    """

    roles: Mapping[str, str]
    wide: tuple[str, ...]
    unread: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    sources_by: str = ""
    by_place: frozenset[str] = frozenset()
    of_format: frozenset[str] = frozenset()

    def __deepcopy__(self, memo: object) -> TableColumns:
        """Return the object itself, because it never changes, while pandas copies everything in
        `attrs` at every step.
        """
        return self
