"""Drawing with SVG: elements, scales, legends, and one style sheet for page and paper.

Drawings carry classes, never colours of their own (but for the fills of classes, which suit a light and a
dark page alike). A page defines the colours as variables, in a file of its own they are written out.
Every drawing is WIDTH units wide, so that its text can be read on a phone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from metal.data.text import name

WIDTH = 400
MARGIN = 8  # around a drawing in a file of its own
LEGEND_LENGTH = 56  # characters that fit beside a symbol
SERIES = 8  # lines or kinds of dots that can be told apart in one drawing

PALETTE = {
    "light": {
        "ink": "#1c1d21",
        "soft": "#5b5f69",
        "line": "#c9ccd3",
        "faint": "#f1f2f5",
        "paper": "#ffffff",
        "s0": "#0060a8",
        "s1": "#c24e00",
        "s2": "#00795c",
        "s3": "#a3307a",
        "s4": "#7a5c00",
        "s5": "#5a4fb5",
        "s6": "#37779e",
        "s7": "#4a4a4a",
    },
    "dark": {
        "ink": "#eceef2",
        "soft": "#a9aeb9",
        "line": "#454a55",
        "faint": "#22252c",
        "paper": "#15171c",
        "s0": "#6fb5f0",
        "s1": "#ff9a52",
        "s2": "#4fd0ab",
        "s3": "#f08bc8",
        "s4": "#dcc04a",
        "s5": "#b3a8ff",
        "s6": "#8fd3f5",
        "s7": "#c4c4c4",
    },
}

_SERIES_STYLE = "".join(
    f".s{i}{{stroke:var(--s{i})}}.m{i}{{fill:var(--s{i});stroke:var(--s{i})}}.h{i}{{fill:var(--paper);stroke:var(--s{i})}}"
    for i in range(SERIES)
)
STYLE = (
    ".ch{font:11px system-ui,-apple-system,'Segoe UI','Noto Sans',Arial,sans-serif}"
    ".ch text{fill:var(--ink)}.ch .soft{fill:var(--soft)}.ch .on{fill:#17181b}"
    ".ch .grid{stroke:var(--line);stroke-width:1;fill:none}.ch .band{fill:var(--faint)}"
    ".ch .ceiling{stroke:var(--ink);stroke-width:1.6;stroke-dasharray:5 3;fill:none}"
    ".ch .floor{stroke:var(--soft);stroke-width:1.6;stroke-dasharray:1.5 2.5;fill:none}"
    ".ch .ci{stroke-width:1.8;fill:none}.ch .way{stroke-width:1.8;fill:none}.ch .dot{stroke-width:1.6}"
    ".ch .d1{stroke-dasharray:7 3}.ch .d2{stroke-dasharray:2 2}.ch .d3{stroke-dasharray:9 3 2 3}" + _SERIES_STYLE
)

# Class fills, worst to best: orange over grey to blue, told apart by the colour-blind, dark text readable on all.
_RAMP = ((240, 160, 92), (245, 212, 170), (222, 222, 224), (176, 206, 240), (112, 168, 228))


def element(tag: str, *inside: str, **attributes: object) -> str:
    """An element; `inside` is markup, attribute values are escaped; `class_` and `stroke_width` name attributes."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{written}/>"


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def text(
    x: float, y: float, content: str, *, class_: str | None = None, anchor: str | None = None, hover: str = ""
) -> str:
    """A line of text with its baseline at y; anchor: start, middle or end; hover: more words on a mouse's visit."""
    more = (title(hover),) if hover else ()
    return element("text", *more, escape(content), x=float(x), y=float(y), class_=class_, text_anchor=anchor)


def short(words: str, length: int) -> str:
    """The words, cut where they would run into the drawing."""
    return words if len(words) <= length else words[: length - 1] + "…"


def title(content: str) -> str:
    """What is shown when the mouse rests on the element around it."""
    return element("title", escape(content))


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """A straight line."""
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def drawing(height: float, *parts: str) -> str:
    """A whole SVG element of WIDTH x height; what it shows is said by the figure around it."""
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
    """The drawing as a file of its own: on white paper with a margin, colours written out, the words inside."""
    style = re.sub(r"var\(--(\w+)\)", lambda match: PALETTE["light"][match[1]], STYLE)
    opening, rest = svg.split(">", 1)
    height = int(opening.split('height="')[1].split('"')[0])
    sizes = {"width": WIDTH + 2 * MARGIN, "height": height + 2 * MARGIN}
    box = f"{-MARGIN} {-MARGIN} {sizes['width']} {sizes['height']}"
    paper = element("rect", x=-MARGIN, y=-MARGIN, fill="#ffffff", **sizes)
    words = element("desc", escape(alt))
    opening = element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=box, class_="ch", role="img", **sizes)
    return f"{opening.removesuffix('/>')}>{words}<style>{style}</style>{paper}{rest}\n"


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


def marker(x: float, y: float, series: int, *inside: str, hollow: bool = False) -> str:
    """A dot of a series: its own shape and colour; hollow for what is not shown to differ from nothing."""
    place = series % SERIES
    shape = _SHAPES[place].format(_value(float(x)), _value(float(y)))
    return element("path", *inside, d=shape, class_=f"dot {'h' if hollow else 'm'}{place}")


def hollow_circle() -> str:
    """What hollow means, for a legend: a circle of no series."""
    return element("path", d=_SHAPES[0].format(12, 0), class_="dot h7")


def way(series: int) -> str:
    """The classes of a series' line: colour and dashes."""
    return f"way s{series % SERIES} d{series % 4}"


def class_fill(position: int, levels: int, *, lower_is_better: bool = False) -> str:
    """The fill of a class, interpolated worst to best."""
    share = position / max(levels - 1, 1)
    at = (1 - share if lower_is_better else share) * (len(_RAMP) - 1)
    low = min(int(at), len(_RAMP) - 2)
    mixed = (a + (b - a) * (at - low) for a, b in zip(_RAMP[low], _RAMP[low + 1], strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def legend(entries: Sequence[tuple[str, str]], top: float) -> tuple[str, float]:
    """Lines of (symbol centred on (12, 0), words) from `top` down; the markup and where it ends."""
    parts = []
    for row, (symbol, words) in enumerate(entries):
        y = top + 15 * row + 8
        parts.append(
            element("g", symbol, text(30, 4, short(words, LEGEND_LENGTH + 6)), transform=f"translate(0 {y:.0f})")
        )
    return "".join(parts), top + 15 * len(entries) + 6


def judge_legend(judges: Sequence[str], *, lines: bool = False) -> list[tuple[str, str]]:
    """Legend entries of judges in their series; lines: as they run through a radar."""
    return [
        ((line(1, 0, 23, 0, way(series)) if lines else "") + marker(12, 0, series), name(judge, LEGEND_LENGTH))
        for series, judge in enumerate(judges)
    ]
