"""Text on the page: names from files made harmless to look at, and one format for every kind of number."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

UNDEFINED = "–"
MINUS = "\N{MINUS SIGN}"
NAME_LENGTH = 80

# Controls, lone surrogates, and the marks that turn the direction of what follows; joiners and
# left-to-right or right-to-left marks stay, scripts need them.
HARMFUL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_UNPRINTABLE = re.compile(f"[{HARMFUL}]")
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
_ISOLATED = re.compile(f"{ISOLATE}([^{ISOLATE}{END_ISOLATE}]*){END_ISOLATE}")


def printable(text: object) -> str:
    """The text with every character that a page must not hold replaced by U+FFFD."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(text).replace("\r\n", "\n").replace("\r", "\n"))


def printable_sentence(text: str) -> str:
    """The same for what a page writes itself, which may hold the closed isolates of `within`."""
    parts = _ISOLATED.split(text)  # every second one stood in an isolate
    return "".join(
        f"{ISOLATE}{printable(part)}{END_ISOLATE}" if place % 2 else printable(part) for place, part in enumerate(parts)
    )


def name(text: object, length: int = NAME_LENGTH) -> str:
    """A name from a file on one line, cut in its middle where it is absurdly long."""
    line = " ".join(printable(text).split())
    if len(line) <= length:
        return line
    end = (length - 1) // 3
    return f"{line[: length - 1 - end]}…{line[-end:]}"


def within(text: object) -> str:
    """A name for the middle of a sentence: one written from right to left does not turn what stands around it."""
    line = name(text)
    turns = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in line)
    return f"{ISOLATE}{line}{END_ISOLATE}" if turns else line


def slug(text: str) -> str:
    """The text as a file name or an anchor: letters, digits, dash and underscore, at most 60."""
    return re.sub("[^A-Za-z0-9_-]+", "-", text)[:60].strip("-") or "x"


def known(value: Any) -> bool:
    """Whether there is a figure."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def figure(value: Any) -> str:
    """A coefficient or share of one with two digits; a dash where undefined."""
    if not known(value):
        return UNDEFINED
    text = f"{value:.2f}"
    return ("0.00" if float(text) == 0 else text).replace("-", MINUS)


def signed(value: Any) -> str:
    """A difference with two digits and its sign."""
    if not known(value):
        return UNDEFINED
    text = f"{value:+.2f}"
    return ("0.00" if float(text) == 0 else text).replace("-", MINUS)


def interval(low: Any, high: Any, form: Any = figure) -> str:
    """`[0.20, 0.41]`; empty where there is no interval."""
    return f"[{form(low)}, {form(high)}]" if known(low) and known(high) else ""


def p_value(value: Any) -> str:
    """Three digits; what is smaller is said to be."""
    if not known(value):
        return UNDEFINED
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def count(value: Any) -> str:
    """A whole number with thousands apart."""
    return UNDEFINED if not known(value) else f"{int(value):,}".replace("-", MINUS)


def percent(value: Any) -> str:
    """A share in whole percent."""
    return UNDEFINED if not known(value) else f"{value:.0%}"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 language`, `5 languages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
