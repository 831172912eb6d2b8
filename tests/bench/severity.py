"""How often the interval of a person's severity holds it, and how far severities are off. Prints a
table.
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.stats.test_severity import TRUE, fitted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    times = parser.parse_args().times
    print("| outputs | people an output | coverage | mean of severities |")
    print("|---|---|---|---|")
    for outputs in (40, 150):
        for each in (2, 3):
            worlds = [
                fitted(np.random.default_rng([outputs, each, seed]), outputs, each)
                for seed in range(times)
            ]
            ends = np.array(
                [[world.interval(place) for place in range(len(TRUE))] for world in worlds]
            )
            held = ((ends[..., 0] <= TRUE) & (ends[..., 1] >= TRUE)).mean()
            means = ", ".join(
                f"{mean:.2f}" for mean in np.mean([world.severity for world in worlds], axis=0)
            )
            print(f"| {outputs} | {each} | {held:.3f} | {means} |")


if __name__ == "__main__":
    main()
