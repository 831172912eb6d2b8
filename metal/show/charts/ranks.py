"""Rankings side by side: a line a generator, coloured where they disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metal.data.text import name, within
from metal.show import svg

MOVED = 3  # ranks away from the first ranking, from which on a line is coloured
LABEL = 21
MOST_ROWS = 60
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
        return max((place - first for place in rest), key=abs, default=0)

    def words(self) -> str:
        """For those who cannot see the lines."""
        first, *rest = self.by
        far = sorted(self.generators, key=lambda one: -abs(self.moved(one)))[:4]
        told = [
            f"{within(one)} from {self.by[first][one]} to "
            + " and ".join(f"{self.by[by][one]} ({within(by)})" for by in rest)
            for one in far
            if self.moved(one)
        ]
        return (
            f"Lines from the rank that {within(first)} give to each of {len(self.generators)} generators to the rank "
            f"by {', '.join(within(by) for by in rest)}. "
            + (f"Furthest apart: {'; '.join(told)}." if told else "All rankings are the same.")
        )


def rank_lines(shown: Ranks) -> str:
    """The drawing: a column a ranking, first places on top."""
    generators = shown.generators[:MOST_ROWS]
    first = next(iter(shown.by))
    entries = [
        (
            svg.line(1, 0, 23, 0, f"way s{UP}") + svg.marker(12, 0, UP),
            f"{MOVED} or more ranks above where {name(first)} have it",
        ),
        (svg.line(1, 0, 23, 0, f"way s{DOWN}") + svg.marker(12, 0, DOWN), f"{MOVED} or more ranks below it"),
        (svg.line(1, 0, 23, 0, "grid") + _small(12, 0), "about the same"),
    ]
    if shown.people:
        entries.append((_small(12, 0, hollow=True), "hollow: human writing"))
    head, top = svg.legend(entries, 0)
    top += 34
    left, right, step = 150.0, svg.WIDTH - 40.0, 16
    columns = len(shown.by)

    def x(column: int) -> float:
        return left + (right - left) * column / max(columns - 1, 1)

    def y(rank: int) -> float:
        return top + step * (rank - 0.5)

    parts = [head]
    for column, by in enumerate(shown.by):
        anchor = "middle" if 0 < column < columns - 1 else "start" if column == 0 else "end"
        at = x(column) + (-8 if column == 0 else 40 if column == columns - 1 else 0)
        height = top - 8 - 14 * (column % 2)  # by turns, so that long names do not meet
        parts.append(svg.text(at, height, svg.short(name(by), 22), class_="soft", anchor=anchor, hover=name(by)))
    calm = [one for one in generators if abs(shown.moved(one)) < MOVED]
    for one in [*calm, *(one for one in generators if one not in calm)]:  # coloured lines above grey ones
        ranks = [mine[one] for mine in shown.by.values()]
        moved = shown.moved(one)
        series = SAME if one in calm else UP if moved < 0 else DOWN
        path = "M" + "L".join(f"{x(column):.1f} {y(rank):.1f}" for column, rank in enumerate(ranks))
        hollow = one in shown.people
        dots = "".join(
            _small(x(column), y(rank), hollow=hollow)
            if one in calm
            else svg.marker(x(column), y(rank), series, hollow=hollow)
            for column, rank in enumerate(ranks)
        )
        words = f"{within(one)}: " + ", ".join(
            f"{rank} by {within(by)}" for by, rank in zip(shown.by, ranks, strict=True)
        )
        line = svg.element("path", d=path, class_="grid" if one in calm else f"way s{series}")
        parts.append(svg.element("g", svg.title(words), line, dots))
        parts.append(svg.text(2, y(ranks[0]) + 4, svg.short(name(one), LABEL), hover=name(one)))
        parts.append(svg.text(svg.WIDTH, y(ranks[-1]) + 4, f"{ranks[-1]}", class_="soft", anchor="end"))
    return svg.drawing(top + step * len(shown.generators) + 8, *parts)


def _small(x: float, y: float, *, hollow: bool = False) -> str:
    """The dot of what need not be looked at."""
    return svg.element("circle", cx=float(x), cy=float(y), r=2.6, class_=f"dot {'h' if hollow else 'm'}{SAME}")
