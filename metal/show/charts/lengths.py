"""Lengths of a split's passages, and the bin a sample was drawn from: a panel a language (METAL 3.1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metal.data.languages import language_name
from metal.data.text import name, plural
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

HEIGHT = 74.0  # of a panel's bars


def length_histograms(found: Mapping[str, Mapping[str, Any]], sampled: Mapping[str, int]) -> Chart:
    """A panel a language, two beside each other; the fullest bin is full, the others pale.

    found: language -> what `metal.building.sample.Histogram.record` wrote. sampled: language -> passages drawn.
    """
    entries = [
        (svg.element("rect", x=4, y=-6, width=16, height=12, class_="m0"), "the fullest bin, which the sample is from"),
        (svg.element("rect", x=4, y=-6, width=16, height=12, class_="h0"), "the other bins"),
    ]
    head, y = svg.legend(entries, 0)
    parts = [head]
    width = (svg.WIDTH - 24.0) / 2
    for place, (language, histogram) in enumerate(found.items()):
        left = 0.0 if place % 2 == 0 else width + 24
        parts += _panel(language, histogram, sampled.get(language, 0), left, y + 14, width)
        if place % 2 or place == len(found) - 1:
            y += HEIGHT + 70
    alt = "Histograms of passage lengths in tokens: " + "; ".join(_in_words(*one) for one in found.items()) + "."
    numbers = _numbers(found, sampled)
    return Chart("passage_lengths", "Passage lengths, in tokens", alt, svg.drawing(y, *parts), numbers)


def _panel(language: str, histogram: Mapping[str, Any], drawn: int, left: float, top: float, width: float) -> list[str]:
    counts: Sequence[int] = histogram["counts"]
    edges: Sequence[float] = histogram["edges"]
    most, chosen = max(counts), int(histogram["chosen_bin"])
    step = width / len(counts)
    low, high = edges[chosen], edges[chosen + 1]
    parts = [
        svg.text(left, top, f"{name(language_name(language))}: {plural(sum(counts), 'passage')}"),
        svg.text(left, top + 14, f"{drawn:,} drawn from {low:,.0f} to {high:,.0f} tokens", class_="soft"),
    ]
    base = top + 22 + HEIGHT
    for place, count in enumerate(counts):
        height = HEIGHT * count / most
        words = f"{edges[place]:,.0f} to {edges[place + 1]:,.0f} tokens: {plural(count, 'passage')}"
        parts.append(
            svg.element(
                "rect",
                svg.title(words),
                x=left + step * place + 0.5,
                y=base - height,
                width=step - 1,
                height=height,
                class_="m0" if place == chosen else "h0",
            )
        )
    parts.append(svg.line(left, base, left + width, base, "grid"))
    parts.append(svg.text(left, base + 13, f"{edges[0]:,.0f}", class_="soft"))
    parts.append(svg.text(left + width, base + 13, f"{edges[-1]:,.0f}", class_="soft", anchor="end"))
    return parts


def _in_words(language: str, histogram: Mapping[str, Any]) -> str:
    low, high = (histogram["edges"][histogram["chosen_bin"] + end] for end in (0, 1))
    share = max(histogram["counts"]) / sum(histogram["counts"])
    return f"{name(language_name(language))}, {share:.0%} in the fullest bin from {low:,.0f} to {high:,.0f}"


def _numbers(found: Mapping[str, Mapping[str, Any]], sampled: Mapping[str, int]) -> TableView:
    rows = []
    for language, histogram in found.items():
        low, high = (histogram["edges"][histogram["chosen_bin"] + end] for end in (0, 1))
        figures = [
            f"{histogram['passages']:,}",
            f"{histogram['duplicates']:,}",
            f"{histogram['near_empty']:,}",
            f"{low:,.0f}–{high:,.0f}",
            f"{max(histogram['counts']):,}",
            f"{sampled.get(language, 0):,}",
        ]
        rows.append((Cell(name(language_name(language))), *map(Cell, figures)))
    columns = ("", "passages", "duplicates", "near-empty", "fullest bin, tokens", "in it", "drawn")
    return TableView("passage_lengths", "Passage lengths", columns, tuple(rows))
