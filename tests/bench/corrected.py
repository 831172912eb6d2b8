"""How often corrected means hold people's mean, and how wide they are beside people alone, in
simulated worlds.

Of normal scores with 300 sources that only a biased judge rated; of labels drawn with unequal
probabilities; of shares of classes by a separate test set. Prints a table.
"""

from __future__ import annotations

import argparse

import numpy as np

from metal.errors import Undefined
from metal.stats.corrected import corrected_mean, rogan_gladen

LABELS = (20, 30, 60, 150)
RHOS = (0.0, 0.5, 0.8)
SHARES = (0.05, 0.2, 0.5)
MISTAKES = ((0.9, 0.95), (0.7, 0.8))


def means(labels: int, rho: float, times: int, *, unequal: bool) -> tuple[float, float]:
    """Coverage, and the width over that of people alone. unequal: the ends of the judge's fifths
    drawn more often.
    """
    rng = np.random.default_rng([labels, round(rho * 100), unequal])
    covered, width, alone = 0, 0.0, 0.0
    size = labels + 300
    for run in range(times):
        people = rng.normal(size=size)
        judge = rho * people + np.sqrt(1 - rho**2) * rng.normal(size=size) + 0.5
        if unequal:
            group = np.argsort(np.argsort(judge)) * 5 // size
            sizes = (labels * np.array([0.4, 0.15, 0.1, 0.1, 0.25])).round().astype(int)
            parts = [
                rng.choice(np.flatnonzero(group == code), part, False)
                for code, part in enumerate(sizes)
            ]
            chances = np.concatenate([np.full(len(part), len(part) * 5 / size) for part in parts])
            chosen = np.concatenate(parts)
        else:
            chosen, chances = rng.permutation(size)[:labels], np.ones(labels)
        others = np.delete(judge, chosen)
        estimate = corrected_mean(
            people[chosen], judge[chosen], others, probabilities=chances, seed=run
        )
        low, high = estimate.corrected.interval()
        first, last = estimate.people.interval()
        covered += low <= 0 <= high
        width, alone = width + high - low, alone + last - first
    return covered / times, width / alone


def classes(
    share: float, mistakes: tuple[float, float], tested: int, times: int
) -> tuple[float, float]:
    """Coverage, and how often nothing is said."""
    rng = np.random.default_rng([tested, round(share * 100), round(mistakes[0] * 100)])
    covered, refused = 0, 0
    called = share * mistakes[0] + (1 - share) * (1 - mistakes[1])
    for _ in range(times):
        sides = [(rng.binomial(tested, chance) / tested, float(tested)) for chance in mistakes]
        try:
            made, _ = rogan_gladen((rng.binomial(500, called) / 500, 500.0), sides[0], sides[1])
            covered += made.low <= share <= made.high
        except Undefined:
            refused += 1
    return covered / max(times - refused, 1), refused / times


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=300, help="simulated datasets per cell")
    times = parser.parse_args().times
    print("| labels | rho | coverage | width / people alone | drawn unequally: coverage | width |")
    print("|---" * 6 + "|")
    for labels in LABELS:
        for rho in RHOS:
            equal, unequal = (means(labels, rho, times, unequal=way) for way in (False, True))
            print(
                f"| {labels} | {rho} | {equal[0]:.3f} | {equal[1]:.2f} | {unequal[0]:.3f} |"
                f" {unequal[1]:.2f} |"
            )
    print(
        "\n| share | sensitivity, specificity | test items a side | coverage | refused"
        " |\n|---|---|---|---|---|"
    )
    for share in SHARES:
        for mistakes in MISTAKES:
            for tested in (30, 60):
                covered, refused = classes(share, mistakes, tested, times)
                print(
                    f"| {share} | {mistakes[0]}, {mistakes[1]} | {tested} | {covered:.3f} |"
                    f" {refused:.3f} |"
                )


if __name__ == "__main__":
    main()
