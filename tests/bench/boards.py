"""How often a board is wrong about ranks, in simulated worlds with generators that are equally
good.

    python -m tests.bench.boards                # all boards and numbers of sources
    python -m tests.bench.boards --times 100

Scores of 1 to 5, the mean of three people, of every generator on the same sources. Covered: every
generator's true ranks lie in its interval. Split: some pair of equal generators is called
different. Power: share of the pairs that differ and are shown to. One-sided: by one-sided p in the
direction seen, Holm over those below each generator, as METAL once did.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from metal.stats.pairwise import generator_pairs
from metal.stats.ranks import Pairs
from metal.stats.significance import holm

SOURCES = (10, 20, 60, 200)
LEVEL, PEOPLE = 0.05, 3


@dataclass(frozen=True)
class Board:
    """Generators of these means. height: of all of them, toward the end of the scale."""

    name: str
    means: tuple[float, ...]
    height: float = 0.0

    def scores(
        self, rng: np.random.Generator, sources: int
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(generators, sources) of a draw."""
        source = rng.normal(size=sources) * 0.7
        good = 3.3 + self.height + np.array(self.means)[:, None] + source
        good = good + rng.normal(size=good.shape) * 0.6
        ratings = good[:, :, None] + rng.normal(size=(*good.shape, PEOPLE)) * 0.6
        return np.clip(np.round(ratings), 1, 5).mean(axis=2)

    def gaps(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(generators, generators) of the true means."""
        means = np.array(self.means)
        return np.round(means[:, None] - means, 9)


BOARDS = (
    Board("six: .0 .0 .1 .3 .3 .6", (0, 0, 0.1, 0.3, 0.3, 0.6)),
    Board("six equal", (0,) * 6),
    Board("two equal", (0, 0)),
    Board("twelve: four times three", (0,) * 3 + (0.15,) * 3 + (0.3,) * 3 + (0.5,) * 3),
    Board("six near the top", (0, 0, 0.1, 0.3, 0.3, 0.6), 1.3),
)


@dataclass(frozen=True)
class Rates:
    """covered, split, power, width (of the rank intervals, mean), one_sided (split, as METAL once
    tested).
    """

    covered: float
    split: float
    power: float
    width: float
    one_sided: float


def rates(board: Board, sources: int, times: int) -> Rates:
    """Of `times` draws of a board."""
    gaps = board.gaps()
    upper = np.triu(np.ones(gaps.shape, dtype=bool), 1)
    equal, unequal = upper & (gaps == 0), upper & (gaps != 0)
    best, last = 1 + (gaps < 0).sum(axis=1), len(gaps) - (gaps > 0).sum(axis=1)
    covered, split, once = 0, 0, 0
    power, width = [], []
    for seed in range(times):
        rng = np.random.default_rng([seed, sources, len(gaps), round(100 * board.height)])
        scores = board.scores(rng, sources)
        pairs = generator_pairs(scores, rng)
        low, high = pairs.ranks()
        shown = pairs.adjusted <= LEVEL
        covered += bool(((low <= best) & (high >= last)).all())
        split += bool((shown & equal).any())
        power.append(shown[unequal].mean() if unequal.any() else np.nan)
        width.append((high - low).mean())
        once += bool((_one_sided(scores, pairs) & (equal | equal.T)).any())
    shown_of_unequal = float(np.mean(power))
    return Rates(
        covered / times, split / times, shown_of_unequal, float(np.mean(width)), once / times
    )


def _one_sided(
    scores: np.ndarray[Any, np.dtype[np.float64]], pairs: Pairs
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    order = np.argsort(-scores.mean(axis=1), kind="stable")
    shown = np.zeros(pairs.p.shape, dtype=bool)
    for place, first in enumerate(order):
        below = order[place + 1 :]
        shown[first, below] = holm(pairs.p[first, below] / 2) <= LEVEL
    return shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=400)
    times = parser.parse_args().times
    print(
        "| board | sources | covered | equal split | one-sided: split | power | width"
        " |\n|---|---|---|---|---|---|---|"
    )
    for board in BOARDS:
        for sources in SOURCES:
            of_board = rates(board, sources, times)
            figures = (of_board.covered, of_board.split, of_board.one_sided, of_board.power)
            shares = " | ".join(f"{figure:.3f}" for figure in figures)
            print(f"| {board.name} | {sources} | {shares} | {of_board.width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
