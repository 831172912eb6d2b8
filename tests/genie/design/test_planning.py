"""How much is needed, where it is known: from variances, from the statistics themselves, from an audit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metal.auditing.audit import audit
from metal.auditing.settings import AuditSettings
from metal.errors import Undefined
from metal.genie.design.cells import DesignSettings, design_cells
from metal.genie.design.judged import _t_test_p, judged_pool
from metal.genie.design.planning import (
    F1,
    MOST_SOURCES,
    SCORE,
    TEST,
    SimulatedPoint,
    enough,
    judge_plans,
    plans,
    score_plan,
    share_of,
    width_of,
)
from metal.stats.alternative_annotator import alternative_annotator_test
from metal.stats.significance import benjamini_yekutieli
from tests.genie.design.studies import BINARY, study

VALUES = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def normal_width(rng: np.random.Generator, sd: float):
    def measure(sources: int, times: int) -> SimulatedPoint:
        return width_of(rng.normal(0, sd / math.sqrt(sources), 500 * times), sources)

    return measure


@pytest.mark.parametrize(("sd", "width", "now"), [(0.4, 0.05, 20), (0.4, 0.05, 5000), (1.0, 0.3, 100), (0.1, 0.9, 50)])
def test_the_search_finds_the_n_that_a_known_variance_needs(sd: float, width: float, now: int) -> None:
    # 2 x 1.96 sd / sqrt(n) = width
    expected = max(2, (2 * 1.96 * sd / width) ** 2)
    for seed in range(5):
        found = enough(normal_width(np.random.default_rng(seed), sd), width, "width", now)
        assert abs(found.sources - expected) <= 4 * found.error + 1.5
        assert found.error <= 0.15 * expected
        assert found.value == pytest.approx(width, rel=0.15) or found.sources == 2


def test_the_error_of_a_width_is_what_widths_scatter_by() -> None:
    rng = np.random.default_rng(0)
    points = [width_of(rng.normal(0, 1, 500), 1) for _ in range(400)]
    scatter = np.std([point.value for point in points])
    assert np.mean([point.error for point in points]) == pytest.approx(scatter, rel=0.15)


def test_the_search_for_power() -> None:
    # Passed where a normal with mean 0.1 sqrt(n) exceeds 1.645: power 0.8 at ((1.645 + 0.842) / 0.1)^2 = 618.
    rng = np.random.default_rng(0)

    def measure(sources: int, times: int) -> SimulatedPoint:
        return share_of(rng.normal(0.1 * math.sqrt(sources), 1, 500 * times) > 1.645, sources)

    found = enough(measure, 0.8, "power", 20)
    assert abs(found.sources - 618) <= 4 * found.error + 1


def test_what_is_never_reached_is_undefined() -> None:
    with pytest.raises(Undefined, match=f"{MOST_SOURCES:,} sources are not enough"):
        enough(lambda sources, times: SimulatedPoint(sources, 0.1, 0.01), 0.8, "power", 20)
    with pytest.raises(Undefined, match="in most samples"):
        width_of(np.full(500, np.nan), 3)


# ---------------------------------------------------------------- against the statistics themselves


def panel(seed: int, ordered: bool, items: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, items)[:, None]
    people = np.clip(truth + rng.integers(-1, 2, (items, 4)), 0, 4)
    people[rng.random(people.shape) < 0.2] = -1
    return people, np.clip(truth[:, 0] + rng.integers(-1, 2, items), 0, 4)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_sums_give_the_alternative_annotator_test(seed: int, ordered: bool) -> None:
    people, judge = panel(seed, ordered)
    rng = np.random.default_rng(0)
    # four people per item at most: two or more is everyone, so one draw of every source is the data
    keep = (people >= 0).sum(axis=1) == 4
    people, judge = people[keep], judge[keep]
    found = judged_pool(
        people, judge, np.arange(len(judge)), VALUES, 4, rule="majority-or-mean", ordered=ordered, rng=rng
    )
    sums = found.pool.chances @ found.pool.sums * len(judge)
    expected = alternative_annotator_test(
        np.where(people >= 0, VALUES[people], np.nan),
        VALUES[judge],
        epsilon=0.2,
        closeness="distance" if ordered else "agreement",
    )
    p = _t_test_p(*found._leads(sums), 0.2)
    assert p.tolist() == pytest.approx([person.p for person in expected.people], abs=1e-9)
    assert found.leads().tolist() == pytest.approx(
        [(person.person_wins or 0) - (person.judge_wins or 0) for person in expected.people]
    )
    for epsilon in (0.0, 0.05, 0.1, 0.2, 0.4):
        whole = alternative_annotator_test(
            VALUES[people], VALUES[judge], epsilon=epsilon, closeness="distance" if ordered else "agreement"
        )
        assert bool(found.passes(sums, epsilon)) == whole.passed


def test_many_tests_at_once_are_adjusted_as_one_by_one() -> None:
    from metal.genie.design.judged import _benjamini_yekutieli_rejects

    p = np.random.default_rng(0).beta(0.3, 3, (200, 5))
    p[np.random.default_rng(1).random(p.shape) < 0.2] = np.nan
    found = _benjamini_yekutieli_rejects(p, (~np.isnan(p)).sum(axis=1))
    assert found.tolist() == [int((benjamini_yekutieli(row) <= 0.05).sum()) for row in p]
    assert len(set(found.tolist())) > 3


def test_the_width_now_is_that_of_the_audit() -> None:
    data = study(sources=60)
    settings = DesignSettings(rounds=4000, width=0.2)
    (cell,), _ = design_cells(data, settings)
    plan, _ = judge_plans(cell, "j", 3)
    row = audit(data, AuditSettings(resamples=4000)).tables["judges"].iloc[0]
    assert plan.value == pytest.approx(row["weighted_f1"])
    assert plan.now is not None
    width = row["weighted_f1_high"] - row["weighted_f1_low"]
    assert plan.now.value == pytest.approx(width, abs=6 * plan.now.error)


def test_a_score_needs_what_its_variance_says() -> None:
    # One binary label an output, half of them 1: sd 1/2, so 2 x 1.96 x 0.5 / sqrt(n) = 0.1 at n = 384.
    data = study(sources=400, generators=("g",), people=("A",), criteria={"seen": BINARY})
    (cell,), _ = design_cells(data, DesignSettings(width=0.1))
    plan = score_plan(cell, "g", 1)
    assert plan.needed is not None
    expected = (2 * 1.96 * math.sqrt(plan.value * (1 - plan.value)) / 0.1) ** 2
    assert abs(plan.needed.sources - expected) <= 4 * plan.needed.error + 2
    assert plan.items_of(plan.needed.sources) == plan.needed.sources


def test_more_people_than_there_are_is_not_in_the_data() -> None:
    (cell,), _ = design_cells(study(), DesignSettings(raters=(2, 7)))
    reasons = {(plan.question, plan.raters): plan.reason for plan in plans(cell)}
    for question in (F1, TEST, SCORE):
        assert "not in the data: items were rated by up to 3 people, not 7" in reasons[question, 7]
        assert not reasons[question, 2]


def test_one_person_is_enough_for_f1_and_not_for_the_test() -> None:
    (cell,), _ = design_cells(study(people=("A",)), DesignSettings())
    f1, test = judge_plans(cell, "j", 1)
    assert f1.needed is not None
    assert test.needed is None
    assert "each item needs two people" in test.reason


def test_a_judge_that_people_are_ahead_of_never_passes() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 200)
    people = np.repeat(truth[:, None], 3, axis=1)
    people[rng.random(people.shape) < 0.1] = 0
    found = judged_pool(
        people, rng.integers(0, 5, 200), np.arange(200), VALUES, 3, rule="majority", ordered=True, rng=rng
    )
    assert (found.leads() > 0.2).all()
    assert not found.passes(found.pool.draw(5000, 50, rng), 0.2).any()


def test_people_of_few_items_are_no_measure_of_the_judge() -> None:
    people, judge = panel(0, True)
    people = np.column_stack([people, np.where(np.arange(len(people)) < 5, 2, -1)])
    found = judged_pool(
        people, judge, np.arange(len(judge)), VALUES, 2, rule="majority", ordered=True, rng=np.random.default_rng(0)
    )
    assert np.isnan(found.leads()[-1])
    assert found.dropped["from the test: people with fewer than 10 items"] == 1


def test_nothing_shared() -> None:
    people, judge = panel(0, True)
    with pytest.raises(Undefined, match="no item was rated by the judge and 2 people"):
        judged_pool(
            people,
            np.full(len(judge), -2),
            np.arange(len(judge)),
            VALUES,
            2,
            rule="majority",
            ordered=True,
            rng=np.random.default_rng(0),
        )


def test_samples_that_are_all_alike_say_nothing() -> None:
    data = study(sources=30, generators=("g",), people=("A",), criteria={"seen": BINARY}, seed=2)
    data.ratings["score"] = 1.0
    (cell,), _ = design_cells(data, DesignSettings())
    assert "every sample is alike" in score_plan(cell, "g", 1).reason
