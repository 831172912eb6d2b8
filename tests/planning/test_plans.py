"""How much is needed, where it is known: from variances in closed form, and from normal values."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.errors import Undefined
from metal.questions.design.cells import design_cells
from metal.questions.design.labels.sampling import (
    binarised,
    by_panel,
    draw_panels,
    item_scores,
    means_of_draws,
    pool_of,
    simulate,
    usual_panel,
)
from metal.questions.design.plans import SCORE, plans, score_plan
from metal.questions.design.search import (
    MOST_SOURCES,
    SimulatedPoint,
    narrow_enough,
    powerful_enough,
    share_of,
    width_of,
)
from metal.questions.design.settings import DesignSettings
from tests.planning.studies import BINARY, study


def normal_width(rng: np.random.Generator, sd: float):
    def measure(sources: int, times: int) -> SimulatedPoint:
        return width_of(rng.normal(0, sd / math.sqrt(sources), 500 * times), sources)

    return measure


@pytest.mark.parametrize(
    ("sd", "width", "now"), [(0.4, 0.05, 20), (0.4, 0.05, 5000), (1.0, 0.3, 100), (0.1, 0.9, 50)]
)
def test_the_search_finds_the_n_that_a_known_variance_needs(
    sd: float, width: float, now: int
) -> None:
    # 2 x 1.96 sd / sqrt(n) = width
    expected = max(2, (2 * 1.96 * sd / width) ** 2)
    for seed in range(5):
        found = narrow_enough(normal_width(np.random.default_rng(seed), sd), width, now)
        assert abs(found.sources - expected) <= 4 * found.error + 1.5
        assert found.error <= 0.15 * expected
        assert found.value == pytest.approx(width, rel=0.15) or found.sources == 2


def test_the_error_of_a_width_is_what_widths_scatter_by() -> None:
    rng = np.random.default_rng(0)
    points = [width_of(rng.normal(0, 1, 500), 1) for _ in range(400)]
    scatter = np.std([point.value for point in points])
    assert np.mean([point.error for point in points]) == pytest.approx(scatter, rel=0.15)


NUMBERS = (30, 100, 300, 1000, 3000)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_for_power(seed: int) -> None:
    # Passed where a normal with mean 0.1 sqrt(n) exceeds 1.645: power 0.8 at ((1.645 + 0.842) /
    # 0.1)^2 = 618.
    rng = np.random.default_rng(seed)

    def measure(sources: int, times: int) -> SimulatedPoint:
        return share_of(rng.normal(0.1 * math.sqrt(sources), 1, 100 * times) > 1.645, sources)

    found = powerful_enough(measure, 0.8, NUMBERS)
    assert abs(found.sources - 618) <= 3 * found.error + 1
    assert found.value == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("step", "most"), [(20, 30), (457, 600), (1001, 1310)])
def test_a_power_that_jumps(step: int, most: int) -> None:
    found = powerful_enough(
        lambda sources, times: SimulatedPoint(sources, float(sources >= step), 0.01), 0.8, NUMBERS
    )
    assert step <= found.sources <= most
    assert found.value == 1


def test_what_is_never_reached_is_undefined() -> None:
    with pytest.raises(Undefined, match=f"{MOST_SOURCES:,} sources are not enough"):
        narrow_enough(lambda sources, times: SimulatedPoint(sources, 0.8, 0.01), 0.1, 20)
    with pytest.raises(Undefined, match="3,000 sources are not enough"):
        powerful_enough(lambda sources, times: SimulatedPoint(sources, 0.1, 0.01), 0.8, NUMBERS)
    with pytest.raises(Undefined, match="in most samples"):
        width_of(np.full(500, np.nan), 3)


def test_a_score_needs_what_its_variance_says() -> None:
    # One binary label an output, half of them 1: sd 1/2, so 2 x 1.96 x 0.5 / sqrt(n) = 0.1 at n =
    # 384.
    data = study(sources=400, generators=("g",), people=("A",), criteria={"seen": BINARY})
    (cell,), _ = design_cells(data, DesignSettings(width=0.1))
    plan = score_plan(cell, "g", 1)
    assert plan.needed is not None
    expected = (2 * 1.96 * math.sqrt(plan.value * (1 - plan.value)) / 0.1) ** 2
    # a variance over 400 sources has 399 in it
    assert abs(plan.needed.sources - expected * 400 / 399) <= 1
    # At 28% of 400 the variance has a relative error of 0.05: 1.28 of these on either side are 80%.
    assert (plan.low, plan.high) == pytest.approx((0.93 * expected, 1.07 * expected), rel=0.03)
    assert plan.items_of(plan.needed.sources) == plan.needed.sources
    (cell,), _ = design_cells(data, DesignSettings(width=0.1, thorough=True))
    simulated = score_plan(cell, "g", 1)
    assert simulated.needed is not None
    assert abs(simulated.needed.sources - expected) <= 4 * simulated.needed.error + 2
    scale = simulated.needed.sources / plan.needed.sources
    assert (simulated.low, simulated.high) == pytest.approx(
        (plan.low * scale, plan.high * scale), abs=1
    )


def test_more_people_than_there_are_is_not_in_the_data() -> None:
    (cell,), _ = design_cells(
        study(criteria={"seen": BINARY}),
        DesignSettings(raters=(2, 7), rounds=100, margin=0.3, keep=0.3),
    )
    reasons = {(plan.question, plan.raters): plan.reason for plan in plans(cell)}
    for question in (LIKE_A_PERSON, INFORMATIVE, SCORE):
        assert "up to 3 people, not 7" in reasons[question, 7]
    assert not reasons[INFORMATIVE, 2] + reasons[SCORE, 2]


def test_samples_that_are_all_alike_say_nothing() -> None:
    data = study(sources=30, generators=("g",), people=("A",), criteria={"seen": BINARY}, seed=2)
    data.ratings["score"] = 1.0
    (cell,), _ = design_cells(data, DesignSettings())
    assert "every sample is alike" in score_plan(cell, "g", 1).reason


# Var = (variance between items + variance within / labels an item) / items

ROUNDS = 4000
NEAR = 4 / np.sqrt(2 * ROUNDS)  # four standard errors of a standard deviation, relative
NAN = float("nan")


def variances(labels: np.ndarray, size: int) -> float:
    """The variance of an item's mean of `size` of its labels, over items and drawings: by listing
    all drawings.
    """
    return float(np.var([np.mean(drawn) for row in labels for drawn in combinations(row, size)]))


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    rng = np.random.default_rng(1)
    quality = rng.integers(0, 5, size=(90, 1)) / 4
    return np.clip(np.round(4 * (quality + rng.normal(0, 0.2, size=(90, 3)))) / 4, 0, 1)


def test_one_label_each(labels: np.ndarray) -> None:
    # 90 items with one label each, drawn with replacement: (between + within) / 90, which is all
    # the variance / 90.
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
    # Items 0 or 1 (variance 1/4), and labels of item i scattered around it by +-1/4 (variance
    # 1/16), independent:
    # one label each: (1/4 + 1/16) / 400; two each for 200 items: (1/4 + 1/32) / 200 where labels
    # are drawn again.
    items = np.repeat([0.0, 1.0], 200)[:, None]
    labels = items + np.tile([0.25, -0.25], 200).reshape(400, 1) * np.array([[1, -1]])
    uni = simulate(labels, "unilabelling", "mean", ROUNDS, np.random.default_rng(3))
    assert uni.sd == pytest.approx(np.sqrt((1 / 4 + 1 / 16) / 400), rel=NEAR)
    multi = simulate(labels, "multilabelling", "mean", ROUNDS, np.random.default_rng(3))
    # both labels are taken, and cancel
    assert multi.sd == pytest.approx(np.sqrt((1 / 4) / 200), rel=NEAR)


def test_majority_is_the_label_given_most() -> None:
    labels = np.array([[0.0, 0.5, 0.5], [0.0, 0.5, 1.0], [1.0, 1.0, NAN], [0.0, 1.0, NAN]])
    assert item_scores(labels, ~np.isnan(labels), "majority").tolist() == [0.5, 0.5, 1.0, 0.5]
    assert item_scores(labels, ~np.isnan(labels), "mean").tolist() == pytest.approx(
        [1 / 3, 0.5, 1.0, 0.5]
    )


def test_people_an_item(labels: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    for fixed, items in (("labels", (90, 45, 30)), ("items", (90, 90, 90))):
        found = list(by_panel(labels, fixed, ROUNDS, rng))
        assert [one.labels for one in found] == [1, 2, 3]
        assert [one.items for one in found] == list(items)
        expected = [np.sqrt(variances(labels, size) / items[size - 1]) for size in (1, 2, 3)]
        # two of three labels are drawn VERSIONS times an item, which holds a little less than all
        # variance
        assert [one.sd for one in found] == pytest.approx(expected, rel=NEAR + 0.02)


def test_items_without_the_usual_number_are_left_out() -> None:
    labels = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, NAN]])
    found = simulate(labels, "multilabelling", "mean", 200, np.random.default_rng(0))
    # three items with two labels: a budget of 2 labels
    assert (found.labels, found.items) == (2, 1)
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
    # Both ways to draw: the sum over `sources` draws has mean and variance `sources` times those of
    # one draw.
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
