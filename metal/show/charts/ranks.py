"""Rankings side by side: a line a generator, coloured where they disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metal.data.text import name, within
from metal.show import svg
from metal.show.charts.axes import Axis

MOVED = 3  # a line is coloured from this many ranks away from the first ranking
LABEL = 21
MOST_ROWS = 60
LEFT, RIGHT, STEP = 150.0, svg.WIDTH - 40.0, 16
UP, DOWN, SAME = 0, 1, 7  # series


@dataclass(frozen=True)
class Ranks:
    """by: who ranks -> generator -> rank, the same generators everywhere. people: the generators that are human."""

    by: Mapping[str, Mapping[str, int]]
    people: frozenset[str] = frozenset()

    @property
    def generators(self) -> list[str]:
        """In the order of the first ranking."""
        first = next(iter(self.by.values()))
        return sorted(first, key=first.__getitem__)

    def moved(self, generator: str) -> int:
        """How far up (below 0) or down it is at most, away from where the first ranking has it."""
        first, *rest = [ranks[generator] for ranks in self.by.values()]
        return max((rank - first for rank in rest), key=abs, default=0)

    def words(self) -> str:
        """For those who cannot see the lines."""
        first, *rest = self.by
        furthest = sorted(self.generators, key=lambda generator: -abs(self.moved(generator)))[:4]
        apart = [
            f"{within(generator)} from {self.by[first][generator]} to "
            + " and ".join(f"{self.by[by][generator]} ({within(by)})" for by in rest)
            for generator in furthest
            if self.moved(generator)
        ]
        return (
            f"Lines from the rank that {within(first)} give to each of {len(self.generators)} generators to the rank "
            f"by {', '.join(within(by) for by in rest)}. "
            + (f"Furthest apart: {'; '.join(apart)}." if apart else "All rankings are the same.")
        )


def rank_lines(shown: Ranks) -> str:
    """The drawing: a column a ranking, first places on top."""
    first = next(iter(shown.by))
    entries = [
        (svg.line_symbol(f"way s{UP}", UP), f"{MOVED} or more ranks above where {name(first)} have it"),
        (svg.line_symbol(f"way s{DOWN}", DOWN), f"{MOVED} or more ranks below it"),
        (svg.line_symbol("grid") + _small(12, 0), "about the same"),
    ]
    if shown.people:
        entries.append((_small(12, 0, hollow=True), "hollow: human writing"))
    head, top = svg.legend(entries)
    top += 34
    last = len(shown.by) - 1
    x = Axis(0, max(last, 1), LEFT, RIGHT)
    parts = [head]
    for column, by in enumerate(shown.by):
        anchor, shift = ("start", -8) if column == 0 else ("end", 40) if column == last else ("middle", 0)
        y = top - 8 - 14 * (column % 2)  # by turns, so that long names do not meet
        parts.append(
            svg.text(x(column) + shift, y, svg.short(name(by), 22), class_="soft", anchor=anchor, hover=name(by))
        )
    # Coloured lines are drawn above grey ones.
    for generator in sorted(shown.generators[:MOST_ROWS], key=lambda generator: abs(shown.moved(generator)) >= MOVED):
        parts.append(_line(shown, generator, x, top))
    return svg.drawing(top + STEP * len(shown.generators) + 8, *parts)


def _line(shown: Ranks, generator: str, x: Axis, top: float) -> str:
    ranks = {by: order[generator] for by, order in shown.by.items()}
    places = [(x(column), top + STEP * (rank - 0.5)) for column, rank in enumerate(ranks.values())]
    moved, hollow = shown.moved(generator), generator in shown.people
    if abs(moved) < MOVED:
        look, dots = "grid", [_small(*place, hollow=hollow) for place in places]
    else:
        series = UP if moved < 0 else DOWN
        look, dots = f"way s{series}", [svg.marker(*place, series, hollow=hollow) for place in places]
    path = svg.element("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places), class_=look)
    words = f"{within(generator)}: " + ", ".join(f"{rank} by {within(by)}" for by, rank in ranks.items())
    label = svg.text(2, places[0][1] + 4, svg.short(name(generator), LABEL), hover=name(generator))
    last = svg.text(svg.WIDTH, places[-1][1] + 4, str([*ranks.values()][-1]), class_="soft", anchor="end")
    return svg.element("g", svg.title(words), path, *dots) + label + last


def _small(x: float, y: float, *, hollow: bool = False) -> str:
    """The dot of what need not be looked at."""
    return svg.element("circle", cx=float(x), cy=float(y), r=2.6, class_=f"dot {'h' if hollow else 'm'}{SAME}")
