"""Which classes were given, as bars of shares: METAL's Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metal.data.records import Criterion
from metal.data.text import name
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

LEFT, RIGHT = 128.0, svg.WIDTH - 44.0
MOST_CLASSES = 9  # more classes than this cannot be told apart by shade
MOST_DESCRIBED = 6  # bars described in words
GREY = "#9aa0ab"


@dataclass(frozen=True)
class Bar:
    """Counts of the classes somebody gave to a set of items; panel: the heading it stands under."""

    panel: str
    label: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of items."""
        return sum(self.counts.values())


def class_bars(key: str, label: str, criterion: Criterion, bars: Sequence[Bar]) -> Chart:
    """A bar of shares for each entry, the counts in it; with too many classes for shades, the numbers alone.

    What is no level of the scale (no class, no answer) is grey and comes last.
    """
    levels = [level.shown for level in criterion.scale.levels]
    lower = criterion.direction == "lower"
    fills = {level: svg.class_fill(place, len(levels), lower_is_better=lower) for place, level in enumerate(levels)}
    others = dict.fromkeys(level for bar in bars for level, items in bar.counts.items() if items and level not in fills)
    fills |= dict.fromkeys(others, GREY)
    alt = f"Bars of the classes given on {criterion.label or criterion.name}: {_in_words(bars, list(fills))}"
    numbers = _numbers(key, label, bars, list(fills))
    if len(levels) > MOST_CLASSES:
        note = f"{len(levels)} classes cannot be told apart by shade: the numbers alone."
        return Chart(key, label, alt, "", numbers, (note,))
    head, y = svg.legend([(svg.swatch(fill=fill), name(level)) for level, fill in fills.items()])
    parts, panel = [head], ""
    for bar in bars:
        if bar.panel != panel:
            panel = bar.panel
            parts.append(svg.text(2, y + 18, panel, class_="soft"))
            y += 24
        parts.append(svg.text(2, y + 12, svg.short(name(bar.label), 19), hover=name(bar.label)))
        start = LEFT
        for level, fill in fills.items():
            items = bar.counts.get(level, 0)
            if not items:
                continue
            width = (RIGHT - LEFT) * items / bar.total
            words = f"{bar.label}: {level}, {items:,} of {bar.total:,} ({items / bar.total:.0%})"
            parts.append(svg.rect(start, y, width, 16, svg.title(words), fill=fill))
            if width > 7 * len(str(items)) + 3:
                parts.append(svg.text(start + width / 2, y + 12, str(items), class_="on", anchor="middle"))
            start += width
        parts.append(svg.text(svg.WIDTH, y + 12, f"{bar.total:,}", class_="soft", anchor="end"))
        y += 20
    return Chart(key, label, alt, svg.drawing(y + 6, *parts), numbers)


def _in_words(bars: Sequence[Bar], levels: Sequence[str]) -> str:
    sentences = []
    for bar in bars[:MOST_DESCRIBED]:
        if bar.total:
            most = max(levels, key=lambda level: bar.counts.get(level, 0))
            who = f"{bar.panel}, {name(bar.label)}" if bar.panel else name(bar.label)
            sentences.append(f"{who} mostly {most} ({bar.counts[most] / bar.total:.0%})")
    more = f"; and {len(bars) - MOST_DESCRIBED} more bars" if len(bars) > MOST_DESCRIBED else ""
    return "; ".join(sentences) + more + "."


def _numbers(key: str, label: str, bars: Sequence[Bar], levels: Sequence[str]) -> TableView:
    columns, heads = ("", *map(name, levels), "items"), 1
    rows = [
        (Cell(name(bar.label)), *(Cell(f"{bar.counts.get(level, 0):,}") for level in levels), Cell(f"{bar.total:,}"))
        for bar in bars
    ]
    if any(bar.panel for bar in bars):
        columns, heads = ("case", *columns), 2
        rows = [(Cell(bar.panel), *row) for bar, row in zip(bars, rows, strict=True)]
    return TableView(key, label, columns, tuple(rows), "class_distribution", heads=heads)
