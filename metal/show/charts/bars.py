"""Charts of bars: the classes that raters gave (METAL's Figures 2 and 3), and the lengths of
passages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metal.data.languages import language_name
from metal.data.records import Criterion
from metal.data.text import name, plural
from metal.show import svg
from metal.show.view import Chart, TableView

LEFT, RIGHT = 128.0, svg.WIDTH - 44.0
MOST_CLASSES = 9  # more classes than this cannot be told apart by shade
MOST_DESCRIBED = 6  # bars described in words
GREY = "#9aa0ab"
# of a panel of lengths: its bars, and from one to the next
HEIGHT, PANEL_LEFT, PANEL_ROOM = 62.0, 176.0, 92.0
TITLE_LENGTH = 22


@dataclass(frozen=True)
class Bar:
    """Counts of the classes that somebody gave to a set of items.

    panel: the heading above the bar.
    """

    panel: str
    label: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of items."""
        return sum(self.counts.values())

    def share(self, level: str) -> float:
        """The share of the items that got a class."""
        return self.counts.get(level, 0) / max(self.total, 1)


def class_bars(key: str, criterion: Criterion, bars: Sequence[Bar]) -> Chart:
    """A chart with a bar of shares for each entry; with too many classes to tell apart by shade,
    only the numbers.

    What is not a level of the scale (no class, no answer) is grey and comes last.
    """
    label = criterion.title
    levels = [level.shown for level in criterion.scale.levels]
    lower = criterion.direction == "lower"
    fills = {
        level: svg.class_fill(rank, len(levels), lower_is_better=lower)
        for rank, level in enumerate(levels)
    }
    for bar in bars:
        for level, items in bar.counts.items():
            if items:
                fills.setdefault(level, GREY)
    alt = f"Bars of the classes given on {label}: {_in_words(bars, list(fills))}"
    numbers = _numbers(key, label, bars, list(fills))
    if len(levels) > MOST_CLASSES:
        note = (
            f"{len(levels)} classes cannot be told apart by shade, so only the numbers are shown."
        )
        return Chart(key, label, alt, "", numbers, (note,))
    head, y = svg.legend([(svg.swatch(fill=fill), name(level)) for level, fill in fills.items()])
    parts, panel = [head], ""
    for bar in bars:
        if bar.panel != panel:
            panel = bar.panel
            parts.append(svg.text(2, y + 18, panel, class_="soft"))
            y += 24
        parts.append(svg.text(2, y + 12, svg.short(name(bar.label), 17), hover=name(bar.label)))
        start = LEFT
        for level, fill in fills.items():
            if items := bar.counts.get(level, 0):
                width = (RIGHT - LEFT) * items / bar.total
                hover = (
                    f"{bar.label}: {level}, {items:,} of {bar.total:,} ({items / bar.total:.0%})"
                )
                parts.append(svg.rect(start, y, width, 16, svg.title(hover), fill=fill))
                if width > 8 * len(str(items)) + 3:
                    parts.append(
                        svg.text(
                            start + width / 2, y + 12, str(items), class_="on", anchor="middle"
                        )
                    )
                start += width
        parts.append(svg.text(svg.WIDTH, y + 12, f"{bar.total:,}", class_="soft", anchor="end"))
        y += 20
    return Chart(
        key, label, alt, svg.drawing(y + 6, *parts), numbers, finding=_finding(bars, list(fills))
    )


def _finding(bars: Sequence[Bar], levels: Sequence[str]) -> str:
    """Say which bar differs most. Bars under headings are compared with the first bar of their
    panel; other bars, by the share of one class.
    """
    gaps: list[tuple[float, str]] = []
    firsts: dict[str, Bar] = {}
    for bar in bars:
        first = firsts.setdefault(bar.panel, bar)
        for level in levels:
            shares = (
                f"{bar.share(level):.0%} of {name(bar.label)}, {first.share(level):.0%} of"
                f" {name(first.label)}"
            )
            sentence = f"Furthest apart, {bar.panel}: {level} is {shares}."
            gaps.append((abs(bar.share(level) - first.share(level)), sentence))
    if list(firsts) == [""]:
        gaps = []
        for level in levels:
            *_, high = low, *_ = sorted(bars, key=lambda bar: bar.share(level))
            ends = (
                f"from {low.share(level):.0%} ({name(low.label)}) to {high.share(level):.0%}"
                f" ({name(high.label)})"
            )
            gaps.append((high.share(level) - low.share(level), f"{level} runs {ends}."))
    widest, sentence = max(gaps, default=(0.0, ""), key=lambda gap: gap[0])
    return sentence if widest else ""


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
    panels = any(bar.panel for bar in bars)
    rows = []
    for bar in bars:
        counts = (
            f"{items:,}" for items in (*(bar.counts.get(level, 0) for level in levels), bar.total)
        )
        rows.append((*([bar.panel] if panels else []), name(bar.label), *counts))
    columns = (*(["case"] if panels else []), "", *map(name, levels), "items")
    return TableView.of(
        None, "class_distribution", label, columns, rows, name=key, heads=1 + panels
    )


def length_histograms(
    histograms: Mapping[str, Mapping[str, Any]], sampled: Mapping[str, int]
) -> Chart:
    """A chart of passage lengths with one panel per language; the fullest bin is dark, the others
    are pale.

    histograms: language -> the record that `metal.building.sample.Histogram.record` wrote. sampled:
    language -> number of passages drawn.
    """
    full = (svg.swatch(class_="m0"), "the fullest bin, from which the sample is drawn")
    head, top = svg.legend([full, (svg.swatch(class_="h0"), "the other bins")])
    parts, described, rows = [head], [], []
    shares = [max(each["counts"]) / sum(each["counts"]) for each in histograms.values()]
    for index, (language, histogram) in enumerate(histograms.items()):
        title, counts, chosen = (
            name(language_name(language)),
            histogram["counts"],
            int(histogram["chosen_bin"]),
        )
        drawn = sampled.get(language, 0)
        low, high = (f"{edge:,.0f}" for edge in histogram["edges"][chosen : chosen + 2])
        sampling = f"{drawn:,} drawn from", f"{low} to {high} tokens"
        parts += _panel(title, sampling, histogram, top + 14 + index * PANEL_ROOM)
        described.append(
            f"{title}, {max(counts) / sum(counts):.0%} in the fullest bin from {low} to {high}"
        )
        before = (f"{histogram[key]:,}" for key in ("passages", "duplicates", "near_empty"))
        rows.append((title, *before, f"{low}–{high}", f"{max(counts):,}", f"{drawn:,}"))
    alt = f"Histograms of passage lengths in tokens: {'; '.join(described)}."
    picture = svg.drawing(top + len(histograms) * PANEL_ROOM, *parts)
    columns = ("", "passages", "duplicates", "near-empty", "fullest bin, tokens", "in it", "drawn")
    numbers = TableView.of(None, "", "Passage lengths", columns, rows, name="passage_lengths")
    least, *_, most = sorted([*shares, *shares])
    finding = (
        f"The fullest bin holds {least:.0%}{f' to {most:.0%}' if most > least else ''} of a"
        " language's passages."
    )
    return Chart(
        "passage_lengths", "Passage lengths, in tokens", alt, picture, numbers, finding=finding
    )


def _panel(title: str, drawn: Sequence[str], histogram: Mapping[str, Any], top: float) -> list[str]:
    counts, edges = histogram["counts"], histogram["edges"]
    step, bottom = (svg.WIDTH - PANEL_LEFT) / len(counts), top + HEIGHT
    lines = plural(sum(counts), "passage"), *drawn
    parts = [svg.text(2, top + 10, svg.short(title, TITLE_LENGTH), hover=title)]
    parts += [
        svg.text(2, top + 10 + 15 * number, line, class_="soft")
        for number, line in enumerate(lines, 1)
    ]
    for bar, count in enumerate(counts):
        height = HEIGHT * count / max(counts)
        hover = f"{edges[bar]:,.0f} to {edges[bar + 1]:,.0f} tokens: {plural(count, 'passage')}"
        look = "m0" if bar == histogram["chosen_bin"] else "h0"
        across = PANEL_LEFT + step * bar + 0.5
        parts.append(
            svg.rect(across, bottom - height, step - 1, height, svg.title(hover), class_=look)
        )
    return [
        *parts,
        svg.line(PANEL_LEFT, bottom, svg.WIDTH, bottom, "grid"),
        svg.text(PANEL_LEFT, bottom + 13, f"{edges[0]:,.0f}", class_="soft"),
        svg.text(svg.WIDTH, bottom + 13, f"{edges[-1]:,.0f}", class_="soft", anchor="end"),
    ]
