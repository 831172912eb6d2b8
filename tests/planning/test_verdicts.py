"""Verdicts to come, in worlds where the judge is like the people: the power that is promised is
there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metal.auditing.verdict import DISAGREE, INFORMATIVE, LIKE_A_PERSON, verdict
from metal.errors import Undefined
from metal.questions.design.cells import design_cells
from metal.questions.design.plans import SizePlan, judge_plans
from metal.questions.design.settings import DesignSettings
from metal.questions.design.verdicts import NEW_JUDGE, SimulatedVerdicts, like_a_person, one_more
from tests.planning.studies import BINARY, study
from tests.saying import tells
from tests.worlds import MIXES, answers, cell_of


def world(seed: int, mix: str, items: int, rights: tuple[float, ...] = (0.95, 0.95, 0.95)) -> Any:
    """A cell of people and a judge that answers as the first of them do."""
    rng, levels = np.random.default_rng(seed), len(MIXES[mix])
    truth = rng.choice(levels, items, p=MIXES[mix])
    people = np.stack([answers(rng, truth, levels, right) for right in rights], axis=1)
    return cell_of(
        people, answers(rng, truth, levels, rights[0]), ordered=mix == "5 ordered", levels=levels
    )


def planned(
    cell: Any, size: int = 3, judges: tuple[str, ...] = (NEW_JUDGE, "j"), **settings: Any
) -> dict[tuple[str, str], SizePlan]:
    """The plans of a cell of `world`, as a study makes them."""
    (design,), _ = design_cells(study(sources=2), DesignSettings(**{"rounds": 250, **settings}))
    object.__setattr__(design, "audit", cell)
    return {
        (plan.who, plan.question): plan for who in judges for plan in judge_plans(design, who, size)
    }


@pytest.mark.parametrize(
    ("mix", "rights"),
    [("50/50", (0.8, 0.8)), ("80/15/5", (0.9, 0.9, 0.8)), ("5 ordered", (0.8,) * 5)],
)
def test_a_judge_like_a_person_stands_to_the_others_as_people_do(
    mix: str, rights: tuple[float, ...]
) -> None:
    cell = world(1, mix, 1000, rights)
    chances = like_a_person(cell.by_people, cell.levels)
    rng, below = np.random.default_rng(0), []
    for _ in range(20):
        answer = (rng.random((1000, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
        said = verdict(
            cell_of(cell.by_people, answer, ordered=cell.ordered, levels=cell.levels), "j"
        )
        below.append(said.below_person.value)
    assert np.mean(below) == pytest.approx(0, abs=0.01)


def test_one_more_score_is_as_far_from_each_person_as_people_are() -> None:
    rng = np.random.default_rng(0)
    people = rng.normal(50, 20, (2000, 1)) + rng.normal(0, 10, (2000, 3))
    people[rng.random(people.shape) < 0.2] = np.nan
    people = people[~np.isnan(people).all(axis=1)]
    expected, errors = one_more(people)
    judge = expected + rng.choice(errors, len(expected))
    assert np.nanmean((judge[:, None] - people) ** 2) == pytest.approx(2 * 10**2, rel=0.05)
    assert judge.std() == pytest.approx((20**2 + 10**2) ** 0.5, rel=0.05)


def test_chances_by_hand() -> None:
    # Two people: alike on 90 items of each class, apart on 20. Of a person's 100 labels in a class
    # of the other's, 10
    # are wrong, so that the judge's are; where people differ it takes either side.
    people = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], [90, 90, 10, 10], axis=0)
    chances = like_a_person(people, 2)
    assert chances[-1].tolist() == pytest.approx([0.5, 0.5], abs=0.01)
    # 180 x wrong + 20 x 1/2 = 20 wrong of 200, and the smoothing's 0.5 x 1/2 of 100.5.
    assert chances[0, 1] == pytest.approx(0.055, abs=0.005)


@pytest.mark.slow
def test_the_power_is_there() -> None:
    # What was promised, what a larger simulation gives, and what the world gives: there the pilot's
    # error comes on top,
    # which for 200 items is about 0.08 of power.
    pilot = world(5, "50/50", 200)
    plan = planned(pilot, judges=(NEW_JUDGE,), thorough=True)[NEW_JUDGE, LIKE_A_PERSON]
    assert plan.needed is not None
    promised, items = plan.needed.value, plan.needed.sources
    assert promised == pytest.approx(0.8, abs=0.05)
    drawn = SimulatedVerdicts(pilot, NEW_JUDGE, 3, np.random.default_rng(9)).draw(items)
    fresh = np.mean([next(drawn).verdict == LIKE_A_PERSON for _ in range(200)])
    assert fresh == pytest.approx(promised, abs=0.05)
    real = np.mean(
        [
            verdict(world(1000 + seed, "50/50", items), "j").verdict == LIKE_A_PERSON
            for seed in range(100)
        ]
    )
    assert real == pytest.approx(promised, abs=0.05 + 2 * 0.08)


def test_one_person_per_item_is_enough_for_informative_only() -> None:
    plans = planned(world(2, "50/50", 200, (0.9,)), size=1)
    assert plans["j", INFORMATIVE].needed is not None
    assert "how good a person is" in plans["j", LIKE_A_PERSON].reason
    assert "how much people differ" in plans[NEW_JUDGE, LIKE_A_PERSON].reason


def test_why_no_number_of_items_would_do() -> None:
    def few(cell: Any, judge: str) -> dict[tuple[str, str], SizePlan]:
        return planned(cell, judges=(judge,), rounds=100, thorough=True)

    rng = np.random.default_rng(3)
    disagree = cell_of(rng.integers(0, 2, (200, 3)), rng.integers(0, 2, 200))
    for plan in few(disagree, "j").values():  # whoever judges
        assert (plan.verdict, plan.needed) == (DISAGREE, None)
        assert plan.reason.endswith("guidelines first")
    alike = cell_of(np.zeros((200, 3), int), np.zeros(200, int), levels=2)
    assert tells(few(alike, "j")["j", INFORMATIVE].reason, "undecided, people always")
    people = world(4, "50/50", 300)
    poor = cell_of(
        people.by_people, np.where(np.arange(300) % 2, people.by_people[:, 0], 0), levels=2
    )
    plans = few(poor, "j")
    assert "most often informative, not like a person" in plans["j", LIKE_A_PERSON].reason
    assert plans["j", INFORMATIVE].needed is not None
    with pytest.raises(Undefined, match="no item was rated by the judge and 4 or more people"):
        SimulatedVerdicts(poor, "j", 4, rng)


def test_sources_are_drawn_whole() -> None:
    (cell,), _ = design_cells(study(sources=30, criteria={"seen": BINARY}), DesignSettings())
    simulated = SimulatedVerdicts(cell.audit, "j", 3, np.random.default_rng(0))
    said = next(simulated.draw(50))
    assert (simulated.sources, simulated.items) == (30, 60)
    assert (said.sources, said.items) == (50, 100)
