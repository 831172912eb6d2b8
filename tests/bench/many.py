"""How often a list of languages is wrong, and how many of the good ones it names: 40 languages,
people's errors shared.

    python -m tests.bench.many                # a minute
    nice python -m tests.bench.many --times 200

Markdown. In each world the judge is like the people in 20, 4 or none of 40 languages, and worse in
the others. Wrong: the mean share of the listed languages that should not be; found: the share of
the good ones that is listed.
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.hard_worlds import EVEN, UNEVEN, HardWorld
from tests.many_languages import LANGUAGES, listed

GOOD = (20, 4, 0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    times = parser.parse_args().times
    print(f"**Lists of {LANGUAGES} languages**, {times} draws each\n")
    print("| world | good | wrong | found |\n|---|---|---|---|")
    for shares in (EVEN, UNEVEN):
        for people in (3, 4):
            for items in (60, 150):
                world = HardWorld(shares, (0.85,) * people, 0.2, items)
                for good in GOOD:
                    drawn = [listed(world, good, seed) for seed in range(times)]
                    wrong = float(np.mean([false / max(false + true, 1) for false, true in drawn]))
                    found = (
                        float(np.mean([true / good for _, true in drawn])) if good else float("nan")
                    )
                    print(f"| {world} | {good} | {wrong:.3f} | {found:.2f} |", flush=True)


if __name__ == "__main__":
    main()
