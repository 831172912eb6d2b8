"""Drawing with SVG: elements, markers, legends and axes, with one style sheet for screen and paper.

Elements have CSS classes instead of colours: a page defines the colours as variables, and a file of
a single drawing contains them. Only the fills of levels and verdicts are colours, because they suit
light and dark pages. Every drawing is WIDTH units wide, and pages never shrink it so far that its
text would be smaller than 12 pixels (`.drawing` in report.css).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import Any, Self

from metal.data.languages import language_name
from metal.data.text import MINUS, broken, figure, interval, known, name, slug

WIDTH = 400
MARGIN = 8  # around a drawing in a file of its own
LETTER = 7.6  # units that a character takes at most, on average
LINE = 13  # from one line of a name to the next
LABEL = 26  # characters of a line of a name beside a drawing, which then has half of the width
LEGEND_LENGTH = 48  # characters that fit beside a symbol
SERIES = 8  # lines or kinds of dots that can be told apart in one drawing
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # ticks of a figure between 0 and 1

Figures = tuple[Any, Any, Any]  # value, low, high; NaN or None where there is none

# Each colour on a light and on a dark page; s0 to s7 are those of series.
COLOURS = {
    "ink": ("#1c1d21", "#eceef2"),
    "soft": ("#5b5f69", "#a9aeb9"),
    "line": ("#c9ccd3", "#454a55"),
    "faint": ("#f1f2f5", "#22252c"),
    "paper": ("#ffffff", "#15171c"),
    "s0": ("#0060a8", "#6fb5f0"),
    "s1": ("#c24e00", "#ff9a52"),
    "s2": ("#00795c", "#4fd0ab"),
    "s3": ("#a3307a", "#f08bc8"),
    "s4": ("#7a5c00", "#dcc04a"),
    "s5": ("#5a4fb5", "#b3a8ff"),
    "s6": ("#37779e", "#8fd3f5"),
    "s7": ("#4a4a4a", "#c4c4c4"),
}

_SERIES_STYLE = "".join(
    f".s{i}{{stroke:var(--s{i})}}.m{i}{{fill:var(--s{i});stroke:var(--s{i})}}.h{i}{{fill:var(--paper);stroke:var(--s{i})}}"
    for i in range(SERIES)
)
STYLE = (
    ".ch{font:12.5px system-ui,-apple-system,'Segoe UI','Noto Sans',Arial,sans-serif}.ch"
    " text{fill:var(--ink)}.ch .soft{fill:var(--soft)}.ch .on{fill:#17181b}.ch"
    " .grid{stroke:var(--line);stroke-width:1;fill:none}.ch .band{fill:var(--faint)}.ch"
    " .ceiling{stroke:var(--ink);stroke-width:1.6;stroke-dasharray:5 3;fill:none}.ch"
    " .floor{stroke:var(--soft);stroke-width:1.6;stroke-dasharray:1.5 2.5;fill:none}.ch"
    " .ci{stroke-width:1.8;fill:none}.ch .way{stroke-width:1.8;fill:none}.ch"
    " .dot{stroke-width:1.6}.ch .d1{stroke-dasharray:7 3}.ch .d2{stroke-dasharray:2 2}.ch"
    " .d3{stroke-dasharray:9 3 2 3}" + _SERIES_STYLE
)

# Class fills, worst to best: orange over grey to blue, told apart by the colour-blind, dark text
# readable on all.
_RAMP = ((240, 160, 92), (245, 212, 170), (222, 222, 224), (176, 206, 240), (112, 168, 228))


def element(tag: str, *inside: str, hover: str = "", **attributes: object) -> str:
    """An SVG element. `inside` is markup; attribute values are escaped. In names of attributes,
    `class_` means class and `_` means a hyphen.

    hover: further words shown under the mouse.
    """
    inside = (title(hover), *inside) if hover else inside
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{written}/>"


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def text(
    x: float,
    y: float,
    content: str,
    *,
    class_: str | None = None,
    anchor: str | None = None,
    hover: str = "",
) -> str:
    """A line of text with its baseline at y; anchor: start, middle or end."""
    return element(
        "text", escape(content), hover=hover, x=x, y=y, class_=class_, text_anchor=anchor
    )


def short(words: str, length: int) -> str:
    """The words, cut in the middle if they would run into the drawing, because names often differ
    only at their end.
    """
    end = (length - 1) // 2
    return words if len(words) <= length else f"{words[: length - 1 - end]}…{words[-end:]}"


def folded(words: str, length: int = LABEL) -> list[str]:
    """The words in lines of at most `length` letters; only a part of a name that is longer by
    itself is cut.
    """
    return [short(part, length) for part in broken(words, length)]


def beside(labels: Iterable[str]) -> float:
    """The x position at which a drawing begins to the right of these folded labels."""
    return 6 + LETTER * max([8, *(len(line) for label in labels for line in folded(label))])


def lines(x: float, y: float, words: str, length: int = LABEL, **look: Any) -> str:
    """Words in lines of at most `length` letters, centred on y; the mouse shows them in full.

    look: class_ and text_anchor.
    """
    parts = folded(words, length)
    top = y - LINE * (len(parts) - 1) / 2
    spans = (
        element("tspan", escape(part), x=x, y=top + LINE * row) for row, part in enumerate(parts)
    )
    return element("text", *spans, hover=words, **look)


def title(content: str) -> str:
    """The text shown when the mouse rests on the enclosing element."""
    return element("title", escape(content))


def line(x1: float, y1: float, x2: float, y2: float, class_: str, hover: str = "") -> str:
    """A straight line."""
    return element("line", hover=hover, x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rect(x: float, y: float, width: float, height: float, *inside: str, **look: Any) -> str:
    """A rectangle.

    look: class_, fill, stroke, ...
    """
    return element("rect", *inside, x=x, y=y, width=width, height=height, **look)


def band(top: float, height: float) -> str:
    """A pale band across the whole drawing, which separates rows."""
    return rect(0, top, WIDTH, height, class_="band")


def drawing(height: float, *parts: str) -> str:
    """A complete SVG element of WIDTH x height; the enclosing figure says what it shows."""
    return element(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        width=WIDTH,
        height=f"{height:.0f}",
        class_="ch",
        aria_hidden="true",
        focusable="false",
    )


def standalone(svg: str, alt: str) -> str:
    """The drawing as a file of its own: on white paper with a margin, with its colours, and `alt`
    as its description.
    """
    style = re.sub(r"var\(--(\w+)\)", lambda match: COLOURS[match[1]][0], STYLE)
    opening, rest = svg.split(">", 1)
    height = int(opening.split('height="')[1].split('"')[0])
    sizes: dict[str, Any] = {"width": WIDTH + 2 * MARGIN, "height": height + 2 * MARGIN}
    box = f"{-MARGIN} {-MARGIN} {sizes['width']} {sizes['height']}"
    paper = rect(-MARGIN, -MARGIN, **sizes, fill="#ffffff")
    description = element("desc", escape(alt))
    opening = element(
        "svg", xmlns="http://www.w3.org/2000/svg", viewBox=box, class_="ch", role="img", **sizes
    )
    return f"{opening.removesuffix('/>')}>{description}<style>{style}</style>{paper}{rest}\n"


_SHAPES = (
    "M{0} {1}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M{0} {1}m-3.6 -3.6h7.2v7.2h-7.2z",
    "M{0} {1}m0 -4.6l4.4 8h-8.8z",
    "M{0} {1}m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z",
    "M{0} {1}m0 4.6l4.4 -8h-8.8z",
    "M{0} {1}m-1.4 -4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z",
    "M{0} {1}m-4.4 -2.4h8.8v4.8h-8.8z",
    "M{0} {1}m-2.4 -4.4h4.8v8.8h-4.8z",
)


def marker(x: float, y: float, series: int, hover: str = "", *, hollow: bool = False) -> str:
    """A dot of a series, with the shape and colour of the series.

    hollow: whether it is not shown to differ from zero.
    """
    number = series % SERIES
    shape = _SHAPES[number].format(_value(x), _value(y))
    return element("path", hover=hover, d=shape, class_=f"dot {'h' if hollow else 'm'}{number}")


def hollow_circle() -> str:
    """A hollow circle that belongs to no series, for the legend entry of hollow markers."""
    return element("path", d=_SHAPES[0].format(12, 0), class_="dot h7")


def swatch(**look: object) -> str:
    """A filled rectangle for a legend."""
    return rect(4, -6, 16, 12, **look)


def line_symbol(class_: str, series: int | None = None) -> str:
    """A piece of a line for a legend, with the marker of a series."""
    return line(1, 0, 23, 0, class_) + ("" if series is None else marker(12, 0, series))


def way(series: int) -> str:
    """The CSS classes of a series' line: colour and dashes."""
    return f"way s{series % SERIES} d{series % 4}"


def class_fill(position: int, levels: int, *, lower_is_better: bool = False) -> str:
    """The fill of a level, interpolated between the worst and the best."""
    share = position / max(levels - 1, 1)
    at = (1 - share if lower_is_better else share) * (len(_RAMP) - 1)
    low = min(int(at), len(_RAMP) - 2)
    mixed = (a + (b - a) * (at - low) for a, b in zip(_RAMP[low], _RAMP[low + 1], strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def legend(entries: Sequence[tuple[str, str]]) -> tuple[str, float]:
    """A legend at the top of a drawing: its markup, and the height at which it ends.

    entries: (symbol centred on (12, 0), words), one below the other.
    """
    parts, row = [], 0
    for symbol, label in entries:
        lines = wrap(label, LEGEND_LENGTH) or [""]
        label_lines = "".join(
            text(30, 4 + 16 * line_number, line) for line_number, line in enumerate(lines)
        )
        parts.append(element("g", symbol, label_lines, transform=f"translate(0 {16 * row + 8})"))
        row += len(lines)
    return "".join(parts), 16 * row + 6


def judge_legend(judges: Sequence[str], *, lines: bool = False) -> list[tuple[str, str]]:
    """Legend entries of judges, each with the look of its series.

    lines: whether to add the lines of a radar.
    """
    drawn = [
        line_symbol(way(series), series) if lines else marker(12, 0, series)
        for series in range(len(judges))
    ]
    return [
        (symbol, name(judge, LEGEND_LENGTH)) for symbol, judge in zip(drawn, judges, strict=True)
    ]


@dataclass(frozen=True)
class Axis:
    """A linear scale: `low` is drawn at `start`, `high` at `end`.

    ticks: values that have a line and a number. form: formats the numbers. words: the text of a
    tick that shows no number. An upright axis runs from the bottom (start) to the top (end), any
    other axis from left to right. `across` is a position on the other axis.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[float] = ()
    form: Callable[[float], str] = figure
    upright: bool = False
    words: Callable[[float], str] | None = None

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, **options: Any) -> Self:
        """An axis with round numbers that contains all values.

        options: form and upright.
        """
        ticks = ticks_for(values)
        return cls(ticks[0], ticks[-1], start, end, ticks, **options)

    def __call__(self, value: float) -> float:
        """The position at which a value is drawn."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def at(self, value: float, across: float) -> tuple[float, float]:
        """(x, y) of a value."""
        return (across, self(value)) if self.upright else (self(value), across)

    def line(self, value: float, first: float, last: float, class_: str, hover: str = "") -> str:
        """A line at a value, across the axis from `first` to `last`."""
        return line(*self.at(value, first), *self.at(value, last), class_, hover)

    def grid(self, first: float, last: float) -> str:
        """Draw a line at each tick."""
        return "".join(self.line(tick, first, last, "grid") for tick in self.ticks)

    def numbers(self, edge: float, *, above: bool = False) -> str:
        """Draw the number of each tick outside an edge of the drawing: left of it, below it, or
        above it.

        If there is no room for all numbers, only every second or third is drawn.
        """
        number = self.words or partial(tick_text, ticks=self.ticks, form=self.form)
        apart = min(
            (abs(self(after) - self(before)) for before, after in pairwise(self.ticks)),
            default=math.inf,
        )
        needs = (
            14
            if self.upright
            else LETTER * max((len(number(tick)) + 0.5 for tick in self.ticks), default=0)
        )
        shown = self.ticks[:: max(1, math.ceil(needs / apart))]
        if self.upright:
            places = [(edge - 4, self(tick) + 4, "end") for tick in shown]
        else:
            places = [(self(tick), edge - 4 if above else edge + 13, "middle") for tick in shown]
        return "".join(
            text(x, y, number(tick), class_="soft", anchor=anchor)
            for tick, (x, y, anchor) in zip(shown, places, strict=True)
        )

    def estimate(
        self,
        across: float,
        who: str,
        figures: Figures,
        series: int,
        *,
        hollow: bool = False,
    ) -> str:
        """A marker at a value, with its interval if it has one."""
        value, low, high = figures
        bar = ""
        if known(low) and known(high):
            bar = line(*self.at(low, across), *self.at(high, across), f"ci s{series}")
        hover = f"{who}: {self.form(value)} {interval(low, high, self.form)}".strip()
        return element(
            "g", title(hover), bar, marker(*self.at(value, across), series, hollow=hollow)
        )


def arrows(left: str, right: str, first: float, last: float, y: float) -> str:
    """Words with arrows above a drawing that say what is to the left and to the right of 0."""
    return text(first, y, f"← {left}", class_="soft") + text(
        last, y, f"{right} →", class_="soft", anchor="end"
    )


def ticks_for(values: Sequence[float]) -> list[float]:
    """Four to seven round numbers whose range contains all values.

    >>> ticks_for([0.31, 0.78])
    [0.30000000000000004, 0.4, 0.5, 0.6000000000000001, 0.7000000000000001, 0.8]
    """
    low, high = min(values), max(values)
    width = high - low
    if width <= 1e-9 * max(abs(high), abs(low)):  # as good as one value
        width = abs(high) or 1.0
    rough = width / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, max(last, first + 1) + 1)]


def tick_text(tick: float, ticks: Sequence[float], form: Callable[[float], str] = figure) -> str:
    """The text of a tick, with enough digits to tell ticks apart, and with the percent and plus
    signs of the figures.

    >>> from metal.data.text import percent_change
    >>> (
    ...     tick_text(0.5, [0.0, 0.25, 0.5]),
    ...     tick_text(0.5, [0.0, 0.5], percent_change),
    ...     tick_text(0.0, [0.0, 0.25]),
    ... )
    ('0.50', '+50%', '0')
    """
    like = form(1.0)
    times, unit = (100, "%") if like.endswith("%") else (1, "")
    digits = max(0, -math.floor(math.log10(times * (ticks[1] - ticks[0]) * 1.0001)))
    finer = any(
        round(times * number, digits) != round(times * number, digits + 1) for number in ticks
    )
    text = f"{times * tick:{'+' * like.startswith('+')}.{digits + finer}f}"
    return ("0" if float(text) == 0 else text).replace("-", MINUS) + unit


def cell_key_and_label(what: str, criterion: str, language: str, title: str) -> tuple[str, str]:
    """The name and title of a chart for one criterion and language; "" means all languages.

    title: what the chart shows.
    """
    if not language:
        return f"{what}_{slug(criterion)}_all", f"{title}, all languages"
    return f"{what}_{slug(criterion)}_{slug(language)}", f"{title}, {language_name(language)}"
