"""How often the 80% interval of the items that a plan gives holds the true number, in simulated
worlds.

The true number is the formula's on 40,000 items. Prints a row for each world, judge and size of the
pilot: the share of pilots whose interval holds it, whose upper end is at least as high, whose
number itself is, and that have no upper end.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.errors import Undefined
from metal.questions.design.formula import Times, verdict_times
from metal.questions.design.plans import DRAWN
from metal.questions.design.verdicts import NEW_JUDGE, SimulatedVerdicts
from tests.hard_worlds import EQUAL, EVEN, LEVELS_5, SKEWED, UNEVEN, HardWorld

WORLDS = (
    HardWorld((0.5, 0.3, 0.2), (0.85,) * 4),
    HardWorld(UNEVEN, (0.85,) * 4),
    HardWorld(SKEWED, (0.95, 0.9, 0.9, 0.95)),
    HardWorld(EVEN, (0.85,) * 3, 0.0),
    HardWorld(LEVELS_5, (0.8,) * 4, ordered=True),
)
JUDGES = (EQUAL, "-.04", NEW_JUDGE)
PILOTS = (100, 200, 300)
TRUTH = 40_000  # items
POWER = 0.8
NAMES = "low", "value", "high"


@dataclass(frozen=True)
class Held:
    """true: items that are needed. planned: the share of pilots from which a number or a least
    number follows. Of these: inside: the share whose interval holds the true number; enough: whose
    upper end is at least that; at_point: whose number is; open: without an upper end.
    """

    true: float
    planned: float
    inside: float
    enough: float
    at_point: float
    open: float


def times(world: HardWorld, seed: int, judge: str, question: str) -> Times | None:
    """What a pilot says; None where nothing follows from it."""
    rng = np.random.default_rng([seed, world.items])
    alike = judge == NEW_JUDGE
    pilots = [world.draw(seed, (EQUAL if alike else judge,))]
    if alike:
        pilots = list(SimulatedVerdicts(pilots[0], judge, len(world.rights), rng).pilots(DRAWN))
    try:
        return verdict_times(pilots, judge, question, POWER, rng, alike=alike)
    except Undefined:
        return None


@cache
def true_number(world: HardWorld, judge: str, question: str) -> float:
    """The number of items by a pilot so large that its own error is small."""
    pilot = times(world, 3, judge, question)
    assert pilot is not None
    return pilot.value * world.items


def held(world: HardWorld, judge: str, question: str, pilots: int) -> Held:
    """How often intervals hold the number of items that is true in a world."""
    true = true_number(replace(world, items=TRUTH), judge, question) * (1 - 1e-9)
    every = [times(world, 41_000 + seed, judge, question) for seed in range(pilots)]
    planned = [each for each in every if each is not None]
    low, value, high = (
        np.array([getattr(each, name) for each in planned]) * world.items for name in NAMES
    )
    inside = (low <= true * (1 + 1e-6)) & (high >= true)
    ends = ((high >= true).mean(), (value >= true).mean(), np.isinf(high).mean())
    return Held(true, len(planned) / pilots, float(inside.mean()), *map(float, ends))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pilots", type=int, default=40)
    options = parser.parse_args()
    print(
        f"{'world':24} {'judge':20} {'plan':13} pilot   true  planned inside enough  point   open"
    )
    every = []
    for world in WORLDS:
        for judge in JUDGES:
            for question in (LIKE_A_PERSON, INFORMATIVE):
                for items in PILOTS:
                    row = held(replace(world, items=items), judge, question, options.pilots)
                    every.append(row)
                    name = (
                        f"{'/'.join(f'{share:.0%}' for share in world.shares)}, {world.rights[0]}"
                    )
                    figures = (row.planned, row.inside, row.enough, row.at_point, row.open)
                    print(
                        f"{name:24} {judge:20} {question:13} {items:5} {row.true:6,.0f} ",
                        *(f"{figure:6.2f}" for figure in figures),
                        flush=True,
                    )
    inside, enough = (
        np.mean([getattr(row, name) for row in every]) for name in ("inside", "enough")
    )
    print(f"in the mean: inside {inside:.3f}, enough {enough:.3f}")


if __name__ == "__main__":
    main()
