"""Which classes were given, as bars of shares: METAL's Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metal.data.records import Criterion
from metal.data.text import name
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

MOST_CLASSES = 9  # more classes than this cannot be told apart by shade
GREY = "#9aa0ab"


@dataclass(frozen=True)
class Bar:
    """Counts of the classes somebody gave to a set of items; panel: the heading it stands under."""

    panel: str
    label: str
    counts: Mapping[str, int]


def class_bars(key: str, label: str, criterion: Criterion, found: Sequence[Bar]) -> Chart:
    """A bar of shares for each entry, the counts in it; with too many classes for shades, the numbers alone.

    What is no level of the scale (no class, no answer) is grey and comes last.
    """
    levels = [level.shown for level in criterion.scale.levels]
    lower = criterion.direction == "lower"
    fills = {level: svg.class_fill(place, len(levels), lower_is_better=lower) for place, level in enumerate(levels)}
    others = [level for level in dict.fromkeys(level for bar in found for level in bar.counts) if level not in fills]
    fills |= dict.fromkeys(others, GREY)
    used = [*levels, *(level for level in others if any(bar.counts.get(level) for bar in found))]
    alt = f"Bars of the classes given on {criterion.label or criterion.name}: " + _in_words(found, used)
    numbers = _numbers(key, label, found, used)
    if len(levels) > MOST_CLASSES:
        note = f"{len(levels)} classes cannot be told apart by shade: the numbers alone."
        return Chart(key, label, alt, "", numbers, (note,))
    swatches = [(svg.element("rect", x=4, y=-6, width=16, height=12, fill=fills[level]), name(level)) for level in used]
    head, y = svg.legend(swatches, 0)
    left, right = 128.0, svg.WIDTH - 44.0
    parts, panel = [head], ""
    for bar in found:
        if bar.panel != panel:
            panel = bar.panel
            y += 18
            parts.append(svg.text(2, y, panel, class_="soft"))
            y += 6
        total = sum(bar.counts.values())
        parts.append(svg.text(2, y + 12, svg.short(name(bar.label), 19), hover=name(bar.label)))
        start = left
        for level in used:
            number = bar.counts.get(level, 0)
            if not number:
                continue
            width = (right - left) * number / total
            words = f"{bar.label}: {level}, {number:,} of {total:,} ({number / total:.0%})"
            parts.append(
                svg.element("rect", svg.title(words), x=start, y=float(y), width=width, height=16, fill=fills[level])
            )
            if width > 7 * len(f"{number}") + 3:
                parts.append(svg.text(start + width / 2, y + 12, str(number), class_="on", anchor="middle"))
            start += width
        parts.append(svg.text(svg.WIDTH, y + 12, f"{total:,}", class_="soft", anchor="end"))
        y += 20
    return Chart(key, label, alt, svg.drawing(y + 6, *parts), numbers)


def _in_words(found: Sequence[Bar], used: Sequence[str]) -> str:
    said = []
    for bar in found[:6]:
        total = sum(bar.counts.values())
        if total:
            most = max(used, key=lambda level: bar.counts.get(level, 0))
            who = f"{bar.panel}, {name(bar.label)}" if bar.panel else name(bar.label)
            said.append(f"{who} mostly {most} ({bar.counts[most] / total:.0%})")
    more = f"; and {len(found) - 6} more bars" if len(found) > 6 else ""
    return "; ".join(said) + more + "."


def _numbers(key: str, label: str, found: Sequence[Bar], used: Sequence[str]) -> TableView:
    grouped = any(bar.panel for bar in found)
    rows = tuple(
        (
            *((Cell(bar.panel),) if grouped else ()),
            Cell(name(bar.label)),
            *(Cell(f"{bar.counts.get(level, 0):,}") for level in used),
            Cell(f"{sum(bar.counts.values()):,}"),
        )
        for bar in found
    )
    columns = (*(("case",) if grouped else ()), "", *map(name, used), "items")
    return TableView(key, label, columns, rows, "class_distribution", heads=2 if grouped else 1)
