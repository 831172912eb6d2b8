"""Find the header of a table: titles may stand above it, and names may be in two rows (raters over
criteria).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from metal.data.tables.names import is_known
from metal.data.text import plural

Row: TypeAlias = Sequence[str | None]
LOOKED_AT = 20  # rows at the top of a file among which the header is sought
SURVEY_MONKEY = frozenset({"Respondent ID", "Collector ID"})  # columns that mark its exports
_NO_ROWS = ("Response", "Open-Ended Response")  # below questions without rows
_NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*%?\s*")


def titles_above(rows: Sequence[Row]) -> int:
    """How many rows are above the header, which names more columns than each of them.

    The header is the first row with the names of two columns known to METAL, perhaps together with
    the row above. If there is no such row and the first row of the table is a title, the header is
    the first of the widest rows.
    """
    filled = [sum(bool(cell and cell.strip()) for cell in row) for row in rows]
    named = [sum(is_known(cell) for cell in row if cell) > 1 for row in rows]
    header = next((at for at in range(len(rows)) if named[at]), 0)
    if header and all(n < max(2, filled[header] - 1) for n in filled[:header]):
        return header - (joined(rows[header - 1], rows[header], rows[header + 1 :]) is not None)
    return filled.index(max(filled)) if rows and not header and filled[0] < 2 < max(filled) else 0


def joined(first: Row, second: Row, below: Sequence[Row]) -> list[str] | None:
    """The names of a header in two rows, such as `A1__fluency`; None if the second row does not
    belong to the header.

    The second row belongs to the header in SurveyMonkey's exports. It also does if the first row
    has empty or repeated cells, the second repeats names under different names of the first, and
    numbers or other cells are below. below: some rows of data.
    """
    if {*first} >= SURVEY_MONKEY and not second[0]:
        return _questions(first, second)
    width = max(len(first), len(second))
    top, sub = _as_wide(first, width), _as_wide(second, width)
    if not _may_be_two_rows(top, sub):
        return None
    names = _in_one_row(top, sub)
    filled = list(filter(None, names))
    repeats = {name for name, times in Counter(filter(None, sub)).items() if times > 1}
    parts = [number for number, under in enumerate(sub) if under in repeats]
    if len(set(filled)) < len(filled) or not all("__" in names[number] for number in parts):
        return None
    cells = set[str]()
    for row in below:
        padded = [*row, *[None] * width]
        cells.update(filter(None, map(padded.__getitem__, parts)))
    return names if cells and repeats.isdisjoint(map(str.strip, cells)) else None


def _in_one_row(top: Sequence[str], sub: Sequence[str]) -> list[str]:
    """The names of both rows, joined with `__`; a name in the upper row holds for all columns up to
    the next name.
    """
    above, names = "", []
    for over, under in zip(top, sub, strict=True):
        above = over or (above if under else "")
        names.append("__".join(filter(None, (above, under))))
    return names


def _as_wide(row: Row, width: int) -> list[str]:
    """The cells of a row as texts, filled up to the width."""
    return [(cell or "").strip() for cell in [*row, *[None] * (width - len(row))]]


def _may_be_two_rows(top: Sequence[str], sub: Sequence[str]) -> bool:
    """Whether the lower row repeats names that are not numbers, and the upper row does not give
    each column a name of its own.
    """
    named = list(filter(None, sub))
    if len(set(named)) == len(named) or any(map(_NUMBER.fullmatch, named)):
        return False
    return not all(top) or len(set(top)) < len(top)


def _questions(first: Row, second: Row) -> list[str]:
    """The names of a SurveyMonkey header, which has a question and below it one of its rows or
    `Response`.
    """
    names, question = [], ""
    for over, under in zip(first, second, strict=True):
        question = (over or question).strip()
        is_row = bool(under) and under not in _NO_ROWS
        names.append(f"{question}__{(under or '').strip()}" if is_row else (over or "").strip())
    return names


def is_cell(text: str) -> bool:
    """Whether a text in a header is a number, a truth value or a list, none of which can name a
    column.
    """
    return bool(_NUMBER.fullmatch(text)) or text in ("True", "False", "[]")


def about_header(above: int, *, two_rows: bool) -> list[str]:
    """Notes on rows above the header and on its second row."""
    notes = [f"{plural(above, 'line')} above the header left out"] if above else []
    return notes + (["the header has two rows, joined with `__`"] if two_rows else [])
