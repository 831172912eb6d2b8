"""Lengths of a split's passages, and the bin a sample was drawn from: a panel a language (METAL 3.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.data.languages import language_name
from metal.data.text import name, plural
from metal.show import svg
from metal.show.view import Cell, Chart, TableView

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
    picture, numbers = svg.drawing(bottom, *parts), _numbers(histograms, sampled)
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


def _numbers(histograms: Mapping[str, Mapping[str, Any]], sampled: Mapping[str, int]) -> TableView:
    rows = []
    for language, histogram in histograms.items():
        low, high = _bounds(histogram)
        before = [f"{histogram[key]:,}" for key in ("passages", "duplicates", "near_empty")]
        after = [f"{low:,.0f}–{high:,.0f}", f"{max(histogram['counts']):,}", f"{sampled.get(language, 0):,}"]
        rows.append((Cell(_title(language)), *map(Cell, before + after)))
    columns = ("", "passages", "duplicates", "near-empty", "fullest bin, tokens", "in it", "drawn")
    return TableView("passage_lengths", "Passage lengths", columns, tuple(rows))
