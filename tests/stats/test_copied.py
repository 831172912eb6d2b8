"""Whose answers look copied from a judge (metal.stats.copied)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metal.stats.copied import Copied, copied


def world(
    seed: int, right: list[float], judges: list[float], *, items: int, levels: int, copy: float = 0
) -> tuple[Any, list[Any]]:
    """People and judges who err independently; the first person copies the first judge in a share
    `copy` of the items.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, levels, items)

    def answers(skill: float) -> Any:
        wrong = (truth + rng.integers(1, levels, items)) % levels
        return np.where(rng.random(items) < skill, truth, wrong)

    people = np.stack([answers(skill) for skill in right], axis=1)
    by_judge = [answers(skill) for skill in judges]
    people[:, 0] = np.where(rng.random(items) < copy, by_judge[0], people[:, 0])
    return people, by_judge


def asked(people: Any, judges: list[Any], levels: int) -> set[tuple[int, int]]:
    """(person, judge) that an audit of this one case asks about, with an error of 5% over all."""
    every: list[tuple[int, int, Copied]] = []
    for place, judge in enumerate(judges):
        looks = copied(people, judge, np.arange(len(judge)), levels)
        every += [(who, place, look) for who, look in enumerate(looks) if look is not None]
    return {(who, place) for who, place, look in every if look.p * len(every) < 0.05}


def test_worked_by_hand() -> None:
    # 40 items, two labels, half of each. The judge is right on 32, two others on 36 each, with
    # errors on different items of either label; the person gives the judge's answers.
    truth = np.repeat([0, 1], 20)
    judge, ben, carl = truth.copy(), truth.copy(), truth.copy()
    judge[[0, 1, 2, 3, 20, 21, 22, 23]] ^= 1
    ben[[4, 5, 24, 25]] ^= 1
    carl[[6, 7, 26, 27]] ^= 1
    people = np.stack([judge, ben, carl], axis=1)
    look = next(copied(people, judge, np.arange(40), 2))
    assert look is not None
    # agreement beyond chance, chance .5: with the judge 1 - .5; others with it 28/40 - .5 = .2,
    # others with the person .2, others with each other 32/40 - .5 = .3
    # expected .2 * .2 / .3; share (.5 - .1333) / (1 - .5 - .1333) = 1
    assert (look.agreement, look.others) == (1.0, 0.7)
    assert look.share == pytest.approx(1.0)
    assert look.p < 0.001


def test_too_little_to_look_at() -> None:
    rng = np.random.default_rng(0)
    people, judge = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40)
    assert list(copied(people[:, :2], judge, np.arange(40), 2)) == [None, None]
    assert list(copied(people, judge, np.arange(40) % 19, 2)) == [None] * 3
    assert list(copied(people[:29], judge[:29], np.arange(29), 2)) == [None] * 3
    people[0, 1] = -1  # then 39 items
    assert None not in list(copied(people, judge, np.arange(40), 2))


@pytest.mark.parametrize("levels", [2, 3, 5])
@pytest.mark.parametrize("number", [3, 8])
def test_honest_people_are_rarely_asked(levels: int, number: int) -> None:
    """Of any skill, beside three judges: at most 5% of audits."""
    times, false = 60, 0
    for seed in range(times):
        skills = np.random.default_rng(seed).uniform(0.6, 0.95, number + 3).tolist()
        drawn = world(seed, skills[3:], skills[:3], items=150, levels=levels)
        false += bool(asked(*drawn, levels))
    assert false <= 0.05 * times + 2 * (0.05 * 0.95 * times) ** 0.5


def test_who_knows_more_is_not_asked() -> None:
    """The raw lead of a person right in .95 beside two of .7 is .2 with a judge of .9."""
    times = 40
    drawn = [world(seed, [0.95, 0.7, 0.7], [0.9], items=600, levels=3) for seed in range(times)]
    assert sum(bool(asked(*each, 3)) for each in drawn) <= 4


@pytest.mark.parametrize(("levels", "right", "number"), [(3, 0.8, 3), (5, 0.7, 3), (2, 0.85, 5)])
def test_who_copies_half_is_asked(levels: int, right: float, number: int) -> None:
    times, hits = 60, 0
    for seed in range(times):
        drawn = world(seed, [right] * number, [right], items=150, levels=levels, copy=0.5)
        hits += (0, 0) in asked(*drawn, levels)
    assert hits >= 0.8 * times - 2 * (0.8 * 0.2 * times) ** 0.5
