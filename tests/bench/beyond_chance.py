"""How often 95% intervals of kappa and alpha hold the truth, in seven simulated worlds. Prints a
table.

People and a judge answer a true class, each right with a share that varies from source to source,
so that they err on the same sources. The truth is the figure of 200,000 outputs. Cells in which
most intervals were refused are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from metal.auditing.figures import (
    Resampled,
    few_of_a_second_class,
    few_on_panels,
    krippendorff_alpha,
)
from metal.data.records import Criterion, Estimate, Level, Scale
from metal.stats import agreement
from metal.stats.agreement import Disagreement, Measure, cohen_disagreement, quadratic_disagreement
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import class_counts, margins, total
from metal.stats.skill import moments

SOURCES = (40, 100, 300)
EXACT = 200_000  # outputs behind a figure's truth


@dataclass(frozen=True)
class World:
    """mix: shares of the classes. right: of the people's and the judge's answers. together: alpha +
    beta of a source's share of right answers, small where people err on the same sources. near:
    errors fall on the next level. rated: the share of an output's people who rated it. alike: the
    share of outputs with the true class of their source's first.
    """

    mix: tuple[float, ...]
    right: float
    people: int = 3
    outputs: int = 1
    together: float = 1e9
    near: bool = False
    rated: float = 1.0
    alike: float = 0.0

    def draw(self, rng: Any, sources: int) -> Any:
        """(items, people + 1) the codes of the people, -1 where somebody did not rate, and of the
        judge.
        """
        items, levels, raters = sources * self.outputs, len(self.mix), self.people + 1
        own = rng.choice(levels, (sources, self.outputs), p=self.mix)
        of_first = rng.random(own.shape) < self.alike
        truth = np.where(of_first, own[:, :1], own).reshape(items, 1)
        alpha, beta = self.right * self.together, (1 - self.right) * self.together
        share = np.repeat(rng.beta(alpha, beta, sources), self.outputs)[:, None]
        if self.near:
            wrong = np.clip(truth + rng.choice([-1, 1], (items, raters)), 0, levels - 1)
        else:
            wrong = (truth + rng.integers(1, levels, (items, raters))) % levels
        codes = np.where(rng.random((items, raters)) < share, truth, wrong)
        codes[:, :-1][rng.random((items, self.people)) >= self.rated] = -1
        return codes


WORLDS = {
    "50/50": World((0.5, 0.5), 0.85),
    "80/15/5, 8 outputs a source": World(
        (0.8, 0.15, 0.05), 0.9, outputs=8, together=10.0, alike=0.5
    ),
    "90/10, 2 people": World((0.9, 0.1), 0.9, people=2),
    "90/7/3, shared errors": World((0.9, 0.07, 0.03), 0.85, together=3.0),
    "5 ordered": World((0.1, 0.15, 0.3, 0.3, 0.15), 0.6, near=True),
    "5 ordered, 8 outputs a source": World(
        (0.05, 0.05, 0.1, 0.4, 0.4), 0.7, outputs=8, together=6.0, near=True, alike=0.5
    ),
    "30/40/30, 5 people, half of the ratings": World((0.3, 0.4, 0.3), 0.7, people=5, rated=0.5),
}
Figure = Callable[[World, Any, Any], Estimate]


def _of_people(codes: Any, source: Any) -> Resampled:
    twice = (codes[:, :-1] >= 0).sum(axis=1) >= 2
    return Resampled(codes[twice, :-1], source[twice], SourceBootstrap(100))


def _alpha(measure: Measure) -> Figure:
    def figure(world: World, codes: Any, source: Any) -> Estimate:
        levels = tuple(Level(float(place), str(place)) for place in range(len(world.mix)))
        return krippendorff_alpha(_of_people(codes, source), Criterion("c", Scale(measure, levels)))

    return figure


def _panel(disagreement: Callable[[Any, Any], Disagreement], refuse: bool) -> Figure:
    def figure(world: World, codes: Any, source: Any) -> Estimate:
        drawn = _of_people(codes, source)
        counts = class_counts(drawn.rows, len(world.mix))
        few = few_on_panels(drawn.observed, counts) if refuse else ""
        return drawn.beyond_chance(lambda weights: disagreement(weights, counts), "none", few=few)

    return figure


def _kappa(world: World, codes: Any, source: Any) -> Estimate:
    drawn = Resampled(
        codes[codes[:, 0] >= 0][:, [0, -1]], source[codes[:, 0] >= 0], SourceBootstrap(100)
    )
    sums = drawn.sums(lambda weights: margins(weights, *drawn.rows.T, len(world.mix)))
    hits, truths, answers = sums.observed
    few = few_of_a_second_class(drawn.n, int(hits[(truths + answers).argmax()]))
    return drawn.beyond_chance(cohen_disagreement, "none", sums, few)


def _quadratic(world: World, codes: Any, source: Any) -> Estimate:
    drawn = Resampled(
        codes[codes[:, 0] >= 0][:, [0, -1]], source[codes[:, 0] >= 0], SourceBootstrap(100)
    )
    hits, truths, answers = margins(drawn.observed, *drawn.rows.T, len(world.mix))
    few = few_of_a_second_class(drawn.n, int(hits[(truths + answers).argmax()]))
    span = len(world.mix) - 1.0
    sums = drawn.sums(lambda weights: total(weights, moments(*drawn.rows.T.astype(float))))
    return drawn.beyond_chance(
        lambda added: quadratic_disagreement(added, span), "none", sums, few, np.inf
    )


FIGURES: Mapping[str, Figure] = {
    "kappa": _kappa,
    "quadratic kappa": _quadratic,
    "alpha, nominal": _alpha("nominal"),
    "alpha, ordinal": _alpha("ordinal"),
    "alpha, interval": _alpha("interval"),
    "Fleiss' kappa": _panel(agreement.fleiss_disagreement, refuse=True),
    "AC1": _panel(agreement.gwet_disagreement, refuse=False),
}
Cell = tuple[str, int, str, int]


def coverage(cell: Cell) -> tuple[float, float]:
    """(share of intervals that hold the truth, share refused) in a world, with so many sources, of
    a figure.
    """
    name, sources, figure, times = cell
    world = WORLDS[name]
    seed = [*map(ord, name)]
    truth = _truth(world, FIGURES[figure], seed)
    rng, held, refused = np.random.default_rng([sources, *seed]), 0, 0
    for _ in range(times):
        codes = world.draw(rng, sources)
        estimate = FIGURES[figure](world, codes, np.arange(len(codes)) // world.outputs)
        if estimate.low is None or estimate.high is None:
            refused += 1
        else:
            held += estimate.low <= truth <= estimate.high
    return held / max(times - refused, 1), refused / times


def _truth(world: World, figure: Figure, seed: list[int]) -> float:
    """The figure of many outputs, in which outputs of a source are alike as they are in few."""
    large = replace(world).draw(np.random.default_rng(seed), EXACT // world.outputs)
    estimate = figure(world, large, np.zeros(len(large), dtype=np.int64))
    assert estimate.value is not None
    return estimate.value


def cells(times: int) -> list[Cell]:
    """Every world, size and figure that has a meaning there."""
    every = []
    for name, sources, figure in product(WORLDS, SOURCES, FIGURES):
        ordered = figure in ("quadratic kappa", "alpha, ordinal", "alpha, interval")
        if not ordered or len(WORLDS[name].mix) > 2:
            every.append((name, sources, figure, times))
    return every


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000, help="simulated datasets per cell")
    every = cells(parser.parse_args().times)
    with ProcessPoolExecutor() as pool:
        shares = dict(zip(every, pool.map(coverage, every, chunksize=1), strict=True))
    print("| figure | mean | worst | worst at (world, sources) | cells below .90 |")
    print("|---|---|---|---|---|")
    for figure in FIGURES:
        here = {
            cell[:2]: held
            for cell, (held, refused) in shares.items()
            if cell[2] == figure and refused < 0.5
        }
        worst = min(here, key=lambda where: here[where])
        below = sum(held < 0.9 for held in here.values())
        where = f"{worst[0]}; {worst[1]}"
        print(
            f"| {figure} | {np.mean(list(here.values())):.3f} | {here[worst]:.3f} | {where} |"
            f" {below} of {len(here)} |"
        )


if __name__ == "__main__":
    main()
