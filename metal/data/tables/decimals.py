"""Numbers as written around the world: decimal commas, decimal points, and marks between
thousands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)
MARKS = (",", ".")
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+")
_WITH_POINT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)")
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
# With thousands divided by the other mark.
_DIVIDED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}
_NOTES = {",": "decimal commas", ".": "commas between thousands"}


@dataclass(frozen=True)
class Numerals:
    """Texts whose numbers have been read.

    texts: the given texts, with a decimal point in numbers and nothing between thousands.

    note: what was decided; "" if there was no choice. doubtful: texts that contradict each other or
    the decimal mark that the user named, or a single one that may be 1.5 or 1,500.
    """

    texts: tuple[str, ...]
    note: str = ""
    doubtful: tuple[str, ...] = ()


def is_numeral(text: str) -> bool:
    """Whether a text is a number in the notation of some country."""
    if NUMBER.fullmatch(text):
        return True
    return any(pattern.fullmatch(text) for pattern in (_WITH_COMMA, *_DIVIDED.values()))


def with_points(texts: Sequence[str], decimal: str = "", highest: float | None = None) -> Numerals:
    """Write each number with a decimal point; other texts stay.

    decimal: the user's decimal mark, one of MARKS, or "" to derive it from the texts. A comma that
    has only one possible meaning gets it: `3,5` among whole numbers has a decimal comma. If each
    comma has three digits after it, `highest`, the best or worst score, decides whether it
    separates thousands.

    >>> with_points(["3,5", "4"]).texts, with_points(["3,5", "4.0"]).doubtful
    (('3.5', '4'), ('3,5', '4.0'))
    """
    if decimal:
        return _by_mark(texts, decimal)
    if not any("," in text for text in texts):
        return Numerals(tuple(texts))
    both = [text for text in texts if {*MARKS} <= {*text}]
    divided = {mark: list(filter(_DIVIDED[mark].fullmatch, both)) for mark in MARKS}
    marks = list(filter(divided.get, MARKS))
    if len(marks) == 2:
        return Numerals(tuple(texts), doubtful=(divided[","][0], divided["."][0]))
    if marks:
        return _by_mark(texts, marks[0])
    commas = list(filter(_WITH_COMMA.fullmatch, texts))
    if not commas:
        return Numerals(tuple(texts))
    read = tuple(map(_decimal_point, texts))
    points = list(filter(_WITH_POINT.fullmatch, texts))
    if points:
        return Numerals(read, doubtful=(commas[0], points[0]))
    if not all(map(_THREE_DIGITS.fullmatch, commas)):
        return Numerals(read, "decimal commas")
    if highest is None:
        return Numerals(read, doubtful=(commas[0],))
    return _by_mark(texts, "." if highest >= 1000 else ",")


def _decimal_point(text: str) -> str:
    return text.replace(",", ".") if _WITH_COMMA.fullmatch(text) else text


def _by_mark(texts: Sequence[str], decimal: str) -> Numerals:
    """The texts read with this decimal mark; `doubtful` is the first number that uses the other
    mark for decimals.
    """
    read, doubtful = [], []
    for text in texts:
        if decimal == "," and (_WITH_COMMA.fullmatch(text) or _DIVIDED[","].fullmatch(text)):
            read.append(text.replace(".", "").replace(",", "."))
        elif decimal == "." and _DIVIDED["."].fullmatch(text):
            read.append(text.replace(",", ""))
        else:
            read.append(_decimal_point(text))
            other = _WITH_POINT if decimal == "," else _WITH_COMMA
            if other.fullmatch(text):
                doubtful.append(text)
    has_comma = any("," in text and is_numeral(text) for text in texts)
    note = _NOTES[decimal] if has_comma else ""
    return Numerals(tuple(read), note, tuple(doubtful[:1]))


def about_doubtful(doubtful: Sequence[str], decimal: str, name: str) -> tuple[str, str]:
    """What is wrong with doubtful numbers of a criterion, and what to do."""
    same_mark = "Write all of them with the same decimal mark"
    if decimal:
        other = "point" if decimal == "," else "comma"
        return (
            f"{doubtful[0]!r} of {name} has a decimal {other}, against `decimal={decimal!r}`",
            same_mark,
        )
    if len(doubtful) == 1:
        problem = f"{doubtful[0]!r} of {name} may have a decimal comma or a mark between thousands"
        ends = {name: "1-5"}
        return (
            problem,
            f"Say which: `decimal=','` or `decimal='.'`; or the ends of the scale: `ranges={ends}`",
        )
    comma, point = doubtful
    problem = (
        f"{comma!r} and {point!r} of {name}: a decimal comma in one, a decimal point in the other"
    )
    if _DIVIDED["."].fullmatch(comma):
        return problem, f"{same_mark}; if the commas divide thousands: `decimal='.'`"
    if _DIVIDED[","].fullmatch(point):
        return problem, f"{same_mark}; if the points divide thousands: `decimal=','`"
    return problem, same_mark
