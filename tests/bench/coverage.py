"""How often 95% intervals hold the truth, in simulated worlds. Prints a table;
docs/explanation/intervals.md has one.

A judge is right with a share that varies from source to source (beta-distributed, so that outputs
of one source are right or wrong together) and otherwise gives another class. The truth is the
figure of 400,000 outputs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np

from metal.auditing.figures import Resampled, few_of_a_second_class
from metal.auditing.judging import classes_worth
from metal.data.records import Estimate
from metal.stats.agreement import (
    cohen_disagreement,
    cohen_kappa,
    macro_f1,
    percent_agreement,
    weighted_f1,
)
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import margins

SOURCES = (20, 30, 60, 100, 300)
RIGHT = (0.5, 0.7, 0.9, 0.97, 0.99)
OUTPUTS = (1, 8)
MIXES = {"50/50": (0.5, 0.5), "80/15/5": (0.8, 0.15, 0.05)}
TOGETHER = 8.0  # alpha + beta of a source's share of right answers
FIGURES = ("share", "F1", "macro F1", "kappa")


def world(rng: Any, mix: tuple[float, ...], sources: int, outputs: int, right: float) -> Any:
    """(items, 2) the true class and the judge's, of all outputs of some sources."""
    truth = rng.choice(len(mix), sources * outputs, p=mix)
    shares = (
        rng.beta(right * TOGETHER, (1 - right) * TOGETHER, sources)
        if outputs > 1
        else np.full(sources, right)
    )
    is_right = rng.random(len(truth)) < np.repeat(shares, outputs)
    other = (truth + rng.integers(1, len(mix), len(truth))) % len(mix)
    return np.column_stack([truth, np.where(is_right, truth, other)])


def estimates(codes: Any, outputs: int, levels: int) -> Iterator[Estimate]:
    """The figures with their intervals, in the order of FIGURES."""
    drawn = Resampled(codes, np.arange(len(codes)) // outputs, SourceBootstrap(100))
    sums = drawn.sums(lambda weights: margins(weights, *drawn.rows.T, levels))
    yield drawn.share(percent_agreement, "none", sums)
    yield drawn.share(weighted_f1, "none", sums)
    items, alike = classes_worth(drawn, sums)
    yield drawn.share(macro_f1, "none", sums, items, alike)
    hits, truths, answers = sums.observed
    few = few_of_a_second_class(drawn.n, int(hits[(truths + answers).argmax()]))
    yield drawn.beyond_chance(cohen_disagreement, "none", sums, few)


def covered(cell: tuple[str, int, int, float, int]) -> list[float]:
    """The share of intervals that hold the truth, by figure; NaN where most were refused."""
    mix, sources, outputs, right, times = cell
    rng = np.random.default_rng([sources, outputs, round(right * 100), *map(ord, mix)])
    levels = len(MIXES[mix])
    large = world(rng, MIXES[mix], 400_000 // outputs, outputs, right)
    exact = margins(np.ones(len(large)), *large.T, levels)
    statistics: list[Callable[[Any], Any]] = [percent_agreement, weighted_f1, macro_f1, cohen_kappa]
    truth = [float(statistic(exact)) for statistic in statistics]
    held: list[list[bool]] = [[] for _ in FIGURES]
    for _ in range(times):
        codes = world(rng, MIXES[mix], sources, outputs, right)
        for place, estimate in enumerate(estimates(codes, outputs, levels)):
            if estimate.low is not None and estimate.high is not None:
                held[place].append(estimate.low <= truth[place] <= estimate.high)
    return [float(np.mean(each)) if 2 * len(each) >= times else float("nan") for each in held]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="simulated datasets per cell")
    times = parser.parse_args().times
    cells = [
        (mix, n, k, right, times) for mix, k, n, right in product(MIXES, OUTPUTS, SOURCES, RIGHT)
    ]
    with ProcessPoolExecutor() as pool:
        shares = dict(zip(cells, pool.map(covered, cells, chunksize=1), strict=True))
    print(
        "| classes | outputs a source | figure | mean | worst | worst at (sources, right) | cells"
        " below .90 |"
    )
    print("|---|---|---|---|---|---|---|")
    for mix, outputs, (place, figure) in product(MIXES, OUTPUTS, enumerate(FIGURES)):
        here = {
            cell[1:4:2]: share[place]
            for cell, share in shares.items()
            if cell[0] == mix and cell[2] == outputs
        }
        known = {where: share for where, share in here.items() if not np.isnan(share)}
        worst = min(known, key=lambda where: known[where])
        mean = np.mean(list(known.values()))
        below = sum(share < 0.9 for share in known.values())
        print(
            f"| {mix} | {outputs} | {figure} | {mean:.3f} | {known[worst]:.3f} | {worst} | {below}"
            f" of {len(known)} |"
        )


if __name__ == "__main__":
    main()
