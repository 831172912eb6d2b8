"""How much is needed, where it is known: from variances in closed form, from the statistics, from an audit."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

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
from metal.genie.design.sampling import (
    binarised,
    by_panel,
    draw_panels,
    item_scores,
    means_of_draws,
    pool_of,
    simulate,
    usual_panel,
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


# ---------------------------------------------------------------- budgets of labels

# Var = (variance between items + variance within / labels an item) / items

ROUNDS = 4000
NEAR = 4 / np.sqrt(2 * ROUNDS)  # four standard errors of a standard deviation, relative
NAN = float("nan")


def variances(labels: np.ndarray, size: int) -> float:
    """The variance of an item's mean of `size` of its labels, over items and drawings: by listing all drawings."""
    return float(np.var([np.mean(drawn) for row in labels for drawn in combinations(row, size)]))


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    rng = np.random.default_rng(1)
    quality = rng.integers(0, 5, size=(90, 1)) / 4
    return np.clip(np.round(4 * (quality + rng.normal(0, 0.2, size=(90, 3)))) / 4, 0, 1)


def test_one_label_each(labels: np.ndarray) -> None:
    # 90 items with one label each, drawn with replacement: (between + within) / 90, which is all the variance / 90.
    found = simulate(labels, "unilabelling", "mean", ROUNDS, np.random.default_rng(0))
    assert (found.labels, found.items) == (1, 90)
    assert found.sd == pytest.approx(np.sqrt(labels.var() / 90), rel=NEAR)
    assert found.mean == pytest.approx(labels.mean(), abs=5 * found.sd / np.sqrt(ROUNDS))


def test_all_labels_each(labels: np.ndarray) -> None:
    # A third of the items with all labels, whose mean has no variance within: between / 30.
    found = simulate(labels, "multilabelling", "mean", ROUNDS, np.random.default_rng(0))
    assert (found.labels, found.items) == (3, 30)
    assert found.sd == pytest.approx(np.sqrt(labels.mean(axis=1).var() / 30), rel=NEAR)
    assert found.low == pytest.approx(found.mean - 1.96 * found.sd, abs=0.25 * found.sd)


def test_variance_components() -> None:
    # Items 0 or 1 (variance 1/4), and labels of item i scattered around it by +-1/4 (variance 1/16), independent:
    # one label each: (1/4 + 1/16) / 400; two each for 200 items: (1/4 + 1/32) / 200 where labels are drawn again.
    items = np.repeat([0.0, 1.0], 200)[:, None]
    labels = items + np.tile([0.25, -0.25], 200).reshape(400, 1) * np.array([[1, -1]])
    uni = simulate(labels, "unilabelling", "mean", ROUNDS, np.random.default_rng(3))
    assert uni.sd == pytest.approx(np.sqrt((1 / 4 + 1 / 16) / 400), rel=NEAR)
    multi = simulate(labels, "multilabelling", "mean", ROUNDS, np.random.default_rng(3))
    assert multi.sd == pytest.approx(np.sqrt((1 / 4) / 200), rel=NEAR)  # both labels are taken, and cancel


def test_majority_is_the_label_given_most() -> None:
    labels = np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 1.0], [1.0, 1.0, NAN], [0.0, 1.0, NAN]])
    assert item_scores(labels, ~np.isnan(labels), "majority").tolist() == [0.5, 0.5, 1.0, 0.5]
    assert item_scores(labels, ~np.isnan(labels), "mean").tolist() == pytest.approx([1 / 3, 0.5, 1.0, 0.5])


def test_people_an_item(labels: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    for fixed, items in (("labels", (90, 45, 30)), ("items", (90, 90, 90))):
        found = list(by_panel(labels, fixed, ROUNDS, rng))
        assert [one.labels for one in found] == [1, 2, 3]
        assert [one.items for one in found] == list(items)
        expected = [np.sqrt(variances(labels, size) / items[size - 1]) for size in (1, 2, 3)]
        # two of three labels are drawn VERSIONS times an item, which holds a little less than all variance
        assert [one.sd for one in found] == pytest.approx(expected, rel=NEAR + 0.02)


def test_items_without_the_usual_number_are_left_out() -> None:
    labels = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, NAN]])
    found = simulate(labels, "multilabelling", "mean", 200, np.random.default_rng(0))
    assert (found.labels, found.items) == (2, 1)  # three items with two labels: a budget of 2 labels
    assert found.mean == pytest.approx(2 / 3, abs=0.15)


@pytest.mark.parametrize(
    ("labels", "labelling", "reason"),
    [
        (np.full((3, 2), NAN), "unilabelling", "no ratings"),
        (np.array([[1.0], [0.0]]), "multilabelling", "one label"),
        (np.array([[1.0, 0.0, 1.0]]), "multilabelling", "fewer than 3 items"),
    ],
)
def test_undefined(labels: np.ndarray, labelling: str, reason: str) -> None:
    with pytest.raises(Undefined, match=reason):
        simulate(labels, labelling, "mean", 100, np.random.default_rng(0))


def test_many_values_are_drawn_one_by_one() -> None:
    # More distinct values than draws takes the other way; the law is the same.
    values = np.linspace(0, 1, 1000)
    drawn = means_of_draws(values, 10, ROUNDS, np.random.default_rng(0))
    assert drawn.std() == pytest.approx(np.sqrt(values.var() / 10), rel=NEAR)


def test_the_middle_counts_as_good() -> None:
    assert binarised(np.array([0.25, 0.5, 0.75])).tolist() == [0, 1, 1]
    assert np.isnan(binarised(np.array([NAN]))).all()


@given(arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 6))), st.integers(1, 3))
def test_panels_are_of_those_who_rated(rated: np.ndarray, size: int) -> None:
    rated = rated[rated.sum(axis=1) >= size]
    if not len(rated):
        return
    chosen = draw_panels(rated, size, np.random.default_rng(0))
    assert (chosen.sum(axis=-1) == size).all()
    assert not (chosen & ~rated).any()


def test_usual_panel() -> None:
    assert usual_panel(np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0]], dtype=bool)) == 3
    assert usual_panel(np.zeros((2, 2), dtype=bool)) == 0


@pytest.mark.parametrize("sources", [3, 2000])
def test_a_pool_is_a_bootstrap_of_sources(sources: int) -> None:
    # Both ways to draw: the sum over `sources` draws has mean and variance `sources` times those of one draw.
    rows = np.arange(40.0).reshape(1, 40, 1)
    pool = pool_of(rows, np.repeat(np.arange(20), 2))
    sums = np.arange(0, 40, 2) * 2 + 1.0  # of the two items of each source
    drawn = pool.draw(sources, ROUNDS, np.random.default_rng(0))[:, 0]
    assert pool.sources == 20
    assert drawn.mean() == pytest.approx(sources * sums.mean(), rel=0.02)
    assert drawn.std() == pytest.approx(np.sqrt(sources * sums.var()), rel=NEAR)


def test_equal_sources_are_put_together() -> None:
    pool = pool_of(np.array([[[1.0], [0.0], [1.0], [1.0]]]), np.arange(4))
    assert pool.sums.tolist() == [[0.0], [1.0]]
    assert pool.chances.tolist() == [0.25, 0.75]
