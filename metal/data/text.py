"""Text for pages and messages: names from files made harmless, and one format for each kind of
number.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

UNDEFINED = "–"
MINUS = "\N{MINUS SIGN}"
NAME_LENGTH = 80

# Controls, lone surrogates, and the marks that turn the direction of what follows; joiners and
# left-to-right or right-to-left marks stay, scripts need them.
HARMFUL = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
_UNPRINTABLE = re.compile(f"[{HARMFUL}]")
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
_TURNING = "\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_RIGHT_TO_LEFT = re.compile(f"[{_TURNING}](?:[{_TURNING}\u0300-\u036f\u200c\u200d ]*[{_TURNING}])?")
_ISOLATED = re.compile(f"{ISOLATE}([^{ISOLATE}{END_ISOLATE}]*){END_ISOLATE}")


def printable(text: object) -> str:
    """The text with every character that a page must not hold replaced by U+FFFD."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return _UNPRINTABLE.sub(
        "\N{REPLACEMENT CHARACTER}", plain.replace("\r\n", "\n").replace("\r", "\n")
    )


def printable_sentence(text: str) -> str:
    """Like `printable`, but for a page's own sentences, which may contain the isolates that
    `within` adds.
    """
    if text.isprintable():
        return text
    parts = _ISOLATED.split(text)  # every second one stood in an isolate
    return "".join(
        f"{ISOLATE}{printable(part)}{END_ISOLATE}" if index % 2 else printable(part)
        for index, part in enumerate(parts)
    )


def name(text: object, length: int = NAME_LENGTH) -> str:
    """A name from a file on one line, shortened in its middle if it is extremely long."""
    line = " ".join(printable(text).split())
    if len(line) <= length:
        return line
    end = (length - 1) // 3
    return f"{line[: length - 1 - end]}…{line[-end:]}"


def recorded(text: object) -> str:
    """A name from a file; a dash if none is recorded."""
    return name(text) or UNDEFINED


def capital(sentence: object) -> str:
    """Words with a capital first letter, as at the start of a sentence; the rest is unchanged."""
    text = printable_sentence(str(sentence))
    return text[:1].upper() + text[1:]


def note(text: object) -> str:
    """A finding or note for people, which may contain names from files."""
    return name(text, 300)


def broken(name: str, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """A name broken into lines of at most `width`; where possible, a line ends at a blank or after
    `-`, `/`, `_`, `?` or `&`.

    >>> broken("fake:blind?language=hi, twice", 12)
    ['fake:blind?', 'language=hi,', 'twice']
    """
    lines: list[str] = []
    for line in name.split("\n"):
        lines.append("")
        for part in re.findall(r"[^-/_?& ]*[-/_?& ]|[^-/_?& ]+$", line):
            if lines[-1] and measure(lines[-1] + part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return [line.rstrip() for line in lines]


def within(text: object) -> str:
    """A name for use inside a sentence, isolated so that right-to-left writing does not reverse its
    surroundings.
    """
    line = name(text)
    turns = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in line)
    return f"{ISOLATE}{line}{END_ISOLATE}" if turns else line


def isolated(text: str) -> str:
    """A line of a page with each stretch of right-to-left writing isolated, so that it does not
    reverse the order of what is beside it, such as the numbers of levels.

    >>> isolated("0 א, 1 ב ג") == f"0 {ISOLATE}א{END_ISOLATE}, 1 {ISOLATE}ב ג{END_ISOLATE}"
    True
    """
    return _RIGHT_TO_LEFT.sub(f"{ISOLATE}\\g<0>{END_ISOLATE}", without_isolates(text))


def without_isolates(text: str) -> str:
    """A text from `within` without its isolates, for LaTeX and terminals, which do not write from
    right to left.
    """
    return text.replace(ISOLATE, "").replace(END_ISOLATE, "")


def slug(text: str) -> str:
    """The text as a file name or an anchor: letters, digits, dash and underscore, at most 60."""
    return re.sub("[^A-Za-z0-9_-]+", "-", text)[:60].strip("-") or "x"


def known(value: Any) -> bool:
    """Whether there is a figure: neither None nor NaN, nor the NA of pandas, which cannot be
    compared.
    """
    return type(value).__name__ not in ("NoneType", "NAType") and not (
        isinstance(value, float) and math.isnan(value)
    )


def figure(value: Any, form: str = ".2f") -> str:
    """A coefficient, or a share of one, with two digits or in the given format; a dash if
    undefined.

    >>> import pandas
    >>> figure(-0.126), figure(-0.001), figure(None), figure(pandas.NA)
    ('−0.13', '0.00', '–', '–')
    """
    if not known(value):
        return UNDEFINED
    text = format(value, form)
    return (text.lstrip("+-") if float(text.replace(",", "").rstrip("%")) == 0 else text).replace(
        "-", MINUS
    )


signed = partial(figure, form="+.2f")  # a difference, with two digits and its sign
share = partial(figure, form=".3f")  # a mean score, a width or a power, with three digits
signed_share = partial(figure, form="+.3f")  # the difference of two of these
spread = partial(figure, form=".4f")  # a standard deviation, with four digits
score = partial(figure, form=".4g")  # a coefficient on any scale, with four significant digits
percent = partial(figure, form=",.0%")  # a share in whole percent
percent_change = partial(figure, form="+,.0%")  # the difference of two shares, in points of percent
rounded = partial(figure, form=",.0f")  # a quantity rounded to a whole number, with thousands apart


def probability(value: Any) -> str:
    """A probability with three digits, which is never rounded to 0 or 1."""
    if not known(value):
        return UNDEFINED
    if value > 0.9995:
        return ">0.999"
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def interval(low: Any, high: Any, form: Any = figure) -> str:
    """An interval such as `[0.20, 0.41]`; empty without an interval. An end without a number is
    open.

    >>> interval(0.2, 0.41), interval(0.2, math.inf), interval(math.nan, 0.41), interval(None, None)
    ('[0.20, 0.41]', '[0.20, →]', '[←, 0.41]', '')
    """
    lower, upper = (known(end) and math.isfinite(end) for end in (low, high))
    if not (lower or upper):
        return ""
    beyond = form(high) if upper else "→"
    return f"[{form(low)}, {beyond}]" if lower else f"[←, {beyond}]"


def estimate(row: Mapping[str, Any], column: str, form: Callable[[Any], str] = figure) -> str:
    """A row's figure, with the interval from NAME_low and NAME_high if there is one:
    `0.31 [0.20, 0.41]`.
    """
    return (
        f"{form(row[column])} {interval(row[f'{column}_low'], row[f'{column}_high'], form)}".strip()
    )


def ranks(low: Any, high: Any) -> str:
    """The ranks that are not ruled out, such as `2 to 4` or `2`; a dash if they are unknown."""
    if not known(low):
        return UNDEFINED
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def p_value(value: Any, at_most: bool = False) -> str:
    """A p-value with three digits, or a bound if it is smaller than that.

    at_most: whether the value is the smallest that its test can give.

    >>> p_value(0.0117), p_value(0.0111, at_most=True), p_value(0.0009, at_most=True)
    ('0.012', '≤0.012', '<0.001')
    """
    if not known(value):
        return UNDEFINED
    if value < 0.001:
        return "<0.001"
    return f"≤{math.ceil(value * 1000) / 1000:.3f}" if at_most else f"{value:.3f}"


def p_words(value: float) -> str:
    """A p-value in a sentence: `p = 0.012`, `p < 0.001`."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def with_minus(sentence: str) -> str:
    """A sentence with minus signs before numbers, in place of the hyphens that tables and messages
    use.
    """
    return re.sub(r"(?<!\w)-(?=\d)", MINUS, sentence)


def without_ending(file: str) -> str:
    """A file's name without its ending. The ending of a compressed file (`.csv.gz`) counts as one.

    >>> without_ending("mqm_zhen.avg_scores.tsv"), without_ending("mqm.tar.gz")
    ('mqm_zhen.avg_scores', 'mqm')
    """
    for packed in (".gz", ".bz2", ".xz", ".zst"):
        file = file.removesuffix(packed)
    return PurePath(file).stem


def count(value: Any) -> str:
    """A whole number with separated thousands."""
    return figure(int(value) if known(value) else None, ",d")


def coverage(value: Any) -> str:
    """A share in whole percent: 0% only if nothing is covered, and from 90% on, where the limits
    are, never rounded up.

    >>> coverage(0.949), coverage(0.999), coverage(1.0), coverage(0.001), coverage(0.667)
    ('94%', '99%', '100%', '1%', '67%')
    """
    if not known(value) or value <= 0:
        return percent(value)
    hundredths = round(100 * value, 9)
    return percent(max(math.floor(hundredths) if hundredths > 90 else hundredths, 1) / 100)


def dollars(value: Any) -> str:
    """An amount such as `$1.20`, `$1,216` or `<$0.01`; a dash if it is unknown."""
    if not known(value):
        return UNDEFINED
    if value < 0.005 and value != 0:
        return "<$0.01"
    return f"${value:,.0f}" if value >= 100 else f"${value:,.2f}"


def duration(seconds: float) -> str:
    """A duration such as `45 s`, `12 min` or `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def thousands(value: float) -> str:
    """A number in short form, such as `950`, `12k` or `3.4M`."""
    if value < 1000:
        return f"{value:.0f}"
    return f"{value / 1000:.0f}k" if value < 1e6 else f"{value / 1e6:.1f}M"


def plural(number: int, singular: str, many: str = "") -> str:
    """A number with its noun: `1 language`, `5 languages`.

    many: the plural, if it is not formed with s.
    """
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def first_few(names: Sequence[str], most: int = 5) -> str:
    """The first names, with dots if there are more: `a, b, c, d, e, ...`."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def counted(names: Sequence[str], singular: str) -> str:
    """The number and the first three names: `5 outputs ('a', 'b', 'c', ...)`."""
    return f"{plural(len(names), singular)} ({first_few(list(map(repr, names)), 3)})"


def slugs(texts: Iterable[str]) -> dict[str, str]:
    """A unique file name or anchor for each text."""
    names: dict[str, str] = {}
    for text in texts:
        plain = slug(text)
        names[text] = f"{plain}-{len(names) + 1}" if plain in names.values() else plain
    return names


def divided(line: str) -> tuple[str, ...]:
    """Split a line at its commas, without blanks around the texts. A text in double quotes, as in
    CSV, may contain commas.

    >>> divided('"3,5", -1,'), divided('5" x 7", a')
    (('3,5', '-1'), ('5" x 7"', 'a'))
    """
    try:
        parts = next(csv.reader([line], skipinitialspace=True, strict=True), [])
    except csv.Error:  # a quote that is no quotation
        parts = line.split(",")
    return tuple(filter(None, map(str.strip, parts)))


def in_list(texts: Iterable[str]) -> str:
    """Join texts with commas, as `divided` reads them. A text that contains a comma is put in
    double quotes.

    >>> in_list(["3,5", "-1"])
    '"3,5",-1'
    """
    parts = []
    for text in texts:
        plain = "," not in text and not text.startswith('"')
        parts.append(text if plain else '"' + text.replace('"', '""') + '"')
    return ",".join(parts)


def listed(names: list[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def signature_line(parts: Mapping[str, object]) -> str:
    """The signature under a figure, `key:value|key:value`; equal signatures mean equal figures.

    A | inside a value is written %7C; parts without a value are left out.

    >>> signature_line({"data": "demo@3f9c", "judge": "a|b", "lang": ""})
    'data:demo@3f9c|judge:a%7Cb'
    """
    filled = {key: value for key, value in parts.items() if value not in (None, "")}
    return "|".join(f"{key}:{str(value).replace('|', '%7C')}" for key, value in filled.items())
