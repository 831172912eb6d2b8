"""Bars: the classes that were given (METAL's Figures 2 and 3), and the lengths of passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import name, plural
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
    numbers = _class_numbers(key, label, bars, list(fills))
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


def _class_numbers(key: str, label: str, bars: Sequence[Bar], levels: Sequence[str]) -> TableView:
    columns, heads = ("", *map(name, levels), "items"), 1
    rows = [
        (Cell(name(bar.label)), *(Cell(f"{bar.counts.get(level, 0):,}") for level in levels), Cell(f"{bar.total:,}"))
        for bar in bars
    ]
    if any(bar.panel for bar in bars):
        columns, heads = ("case", *columns), 2
        rows = [(Cell(bar.panel), *row) for bar, row in zip(bars, rows, strict=True)]
    return TableView(key, label, columns, tuple(rows), "class_distribution", heads=heads)


HEIGHT, GAP = 74.0, 24.0  # of a panel's bars, and between panels
WIDTH = (svg.WIDTH - GAP) / 2


def length_histograms(histograms: Mapping[str, Mapping[str, Any]], sampled: Mapping[str, int]) -> Chart:
    """A panel a language, two beside each other; the fullest bin is full, the others pale.

    histograms: language -> what `metal.building.sample.Histogram.record` wrote. sampled: language -> passages drawn.
    """
    head, top = svg.legend(
        [
            (svg.swatch(class_="m0"), "the fullest bin, which the sample is from"),
            (svg.swatch(class_="h0"), "the other bins"),
        ]
    )
    parts = [head]
    for place, (language, histogram) in enumerate(histograms.items()):
        left = (place % 2) * (WIDTH + GAP)
        parts += _panel(language, histogram, sampled.get(language, 0), left, top + 14 + place // 2 * (HEIGHT + 70))
    bottom = top + (len(histograms) + 1) // 2 * (HEIGHT + 70)
    described = []
    for language, histogram in histograms.items():
        low, high = _bounds(histogram)
        share = max(histogram["counts"]) / sum(histogram["counts"])
        described.append(f"{_title(language)}, {share:.0%} in the fullest bin from {low:,.0f} to {high:,.0f}")
    alt = f"Histograms of passage lengths in tokens: {'; '.join(described)}."
    picture, numbers = svg.drawing(bottom, *parts), _length_numbers(histograms, sampled)
    return Chart("passage_lengths", "Passage lengths, in tokens", alt, picture, numbers)


def _title(language: str) -> str:
    return name(language_name(language))


def _bounds(histogram: Mapping[str, Any]) -> tuple[float, float]:
    """The ends of the chosen bin."""
    chosen = int(histogram["chosen_bin"])
    return histogram["edges"][chosen], histogram["edges"][chosen + 1]


def _panel(language: str, histogram: Mapping[str, Any], sampled: int, left: float, top: float) -> list[str]:
    counts, edges = histogram["counts"], histogram["edges"]
    low, high = _bounds(histogram)
    step, bottom = WIDTH / len(counts), top + 22 + HEIGHT
    parts = [
        svg.text(left, top, f"{_title(language)}: {plural(sum(counts), 'passage')}"),
        svg.text(left, top + 14, f"{sampled:,} drawn from {low:,.0f} to {high:,.0f} tokens", class_="soft"),
    ]
    for place, count in enumerate(counts):
        height = HEIGHT * count / max(counts)
        words = f"{edges[place]:,.0f} to {edges[place + 1]:,.0f} tokens: {plural(count, 'passage')}"
        look = "m0" if place == histogram["chosen_bin"] else "h0"
        parts.append(
            svg.rect(left + step * place + 0.5, bottom - height, step - 1, height, svg.title(words), class_=look)
        )
    return [
        *parts,
        svg.line(left, bottom, left + WIDTH, bottom, "grid"),
        svg.text(left, bottom + 13, f"{edges[0]:,.0f}", class_="soft"),
        svg.text(left + WIDTH, bottom + 13, f"{edges[-1]:,.0f}", class_="soft", anchor="end"),
    ]


def _length_numbers(histograms: Mapping[str, Mapping[str, Any]], sampled: Mapping[str, int]) -> TableView:
    rows = []
    for language, histogram in histograms.items():
        low, high = _bounds(histogram)
        before = [f"{histogram[key]:,}" for key in ("passages", "duplicates", "near_empty")]
        after = [f"{low:,.0f}–{high:,.0f}", f"{max(histogram['counts']):,}", f"{sampled.get(language, 0):,}"]
        rows.append((Cell(_title(language)), *map(Cell, before + after)))
    columns = ("", "passages", "duplicates", "near-empty", "fullest bin, tokens", "in it", "drawn")
    return TableView("passage_lengths", "Passage lengths", columns, tuple(rows))
