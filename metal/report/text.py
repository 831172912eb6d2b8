"""Text on the page: names from files made harmless to look at, and one format for every kind of number."""

from __future__ import annotations

import math
import re
from typing import Any

UNDEFINED = "–"
NAME_LENGTH = 80

# Controls, lone surrogates, and the marks that turn the direction of what follows; joiners and
# left-to-right or right-to-left marks stay, scripts need them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def printable(text: object) -> str:
    """The text with every character that a page must not hold replaced by U+FFFD."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(text).replace("\r\n", "\n").replace("\r", "\n"))


def name(text: object) -> str:
    """A name from a file on one line, cut where it is absurdly long."""
    line = " ".join(printable(text).split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def known(value: Any) -> bool:
    """Whether there is a figure."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def figure(value: Any) -> str:
    """A coefficient or share of one with two digits; a dash where undefined."""
    if not known(value):
        return UNDEFINED
    text = f"{value:.2f}"
    return ("0.00" if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")


def signed(value: Any) -> str:
    """A difference with two digits and its sign."""
    if not known(value):
        return UNDEFINED
    text = f"{value:+.2f}"
    return ("0.00" if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")


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
    return UNDEFINED if not known(value) else f"{int(value):,}".replace("-", "\N{MINUS SIGN}")


def percent(value: Any) -> str:
    """A share in whole percent."""
    return UNDEFINED if not known(value) else f"{value:.0%}"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 language`, `5 languages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
