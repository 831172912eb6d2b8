"""How often a judge is called as good as a person, in simulated worlds: its power, and what it says wrongly.

    python -m tests.bench.verdicts                           # few draws of each world, a minute or two
    nice python -m tests.bench.verdicts --times 100 --cores 1 > table.md

Markdown: a table for each panel of people, with the shares at 30 / 100 / 300 / 600 items; 0 where all of them are. *As
good as a person* is right for a judge like a person (power), and wrong for all others; with one person an item the same
of *informative*, and where most items have one, *informative* is wrong, too, of judges that know nothing. Then a row
for each kind of judge: its cells, how many are more than two standard errors above 5%, and the worst.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from multiprocessing import Pool

from tests.worlds import LIKE_A_PERSON, MIXES, ScoreWorld, World

ITEMS = (30, 100, 300, 600)
RIGHTS = (0.95, 0.8)
PANELS: tuple[dict[str, int], ...] = (
    {"people": 3},
    {"people": 2},
    {"people": 5},
    {"people": 3, "careless": 1},
    {"people": 5, "careless": 1},
    {"people": 3, "outputs": 8},
    {"people": 1},
    {"people": 3, "alone": 0.6},
    {"people": 2, "alone": 0.8},
)
FALSE = 0.05


def worlds(panels: Iterable[int]) -> Iterator[World]:
    for panel in (PANELS[number] for number in panels):
        yield from (World(mix, items, right, **panel) for mix in MIXES for right in RIGHTS for items in ITEMS)
        yield from (ScoreWorld("scores", items, right, **panel) for right in RIGHTS for items in ITEMS)


def count(work: tuple[World, int]) -> tuple[World, Counter[str]]:
    """How often each kind of judge got the best verdict of its world."""
    world, times = work
    given = (world.verdicts(seed) for seed in range(times))
    every = ((kind, said.verdict) for verdicts in given for kind, said in verdicts.items())
    return world, Counter(kind for kind, said in every if said in world.best(kind))


def share(number: float) -> str:
    """`0`, `.04`, `1`"""
    return f"{number:.2f}".removeprefix("0").removesuffix(".00") or "0"


def table(chosen: list[World], counts: dict[World, Counter[str]], times: int) -> Iterator[str]:
    """A row for each mix of classes and accuracy of people, in worlds with the same kinds of judges."""
    kinds = max((world.kinds for world in chosen), key=len)
    yield f"\n**{chosen[0].panel}**: share *{chosen[0].best(LIKE_A_PERSON)[0]}*\n"
    yield f"| {chosen[0].title} | {' | '.join(kinds)} |"
    yield "|---" * (len(kinds) + 1) + "|"
    for row, same in groupby(chosen, key=lambda world: world.row):
        sizes = list(same)
        shares = [[share(counts[world][kind] / times) for world in sizes] for kind in kinds]
        cells = [" / ".join(each) if set(each) != {"0"} else "0" for each in shares]
        yield f"| {row} | {' | '.join(cells[: len(sizes[0].kinds)])} |"


def summary(counts: dict[World, Counter[str]], times: int) -> Iterator[str]:
    """A row for each kind of judge that is not as good as a person, of classes and of scores."""
    limit = FALSE + 2 * (FALSE * (1 - FALSE) / times) ** 0.5
    yield f"\n| judge | cells | above {share(limit)} | worst | where |\n|---|---|---|---|---|"
    false = [(world.title, kind) for world in counts for kind in world.kinds if kind != LIKE_A_PERSON]
    for title, kind in dict.fromkeys(false):
        same = (world for world in counts if world.title == title and kind in world.kinds)
        shares = {world: counts[world][kind] / times for world in same}
        worst = max(shares, key=lambda world: shares[world])
        where = f"{worst.panel}, {worst.row}, {worst.items} items" if shares[worst] else ""
        above = sum(value > limit for value in shares.values())
        name = f"{kind} (scores)" if title == ScoreWorld.title else kind
        yield f"| {name} | {len(shares)} | {above} | {share(shares[worst])} | {where} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=3, help="draws of each world (default: 3)")
    parser.add_argument("--panels", type=int, nargs="+", default=range(len(PANELS)), help="numbers of panels, from 0")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="processes (default: all cores)")
    options = parser.parse_args()
    with Pool(options.cores) as pool:
        work = [(world, options.times) for world in worlds(options.panels)]
        counts = dict(pool.imap(count, work))
    print(f"{options.times} draws of each world, 300 resamples; at {' / '.join(map(str, ITEMS))} items")
    for _, same in groupby(counts, key=lambda world: (world.panel, world.title)):
        print("\n".join(table(list(same), counts, options.times)))
    print("\n".join(summary(counts, options.times)))


if __name__ == "__main__":
    main()
