"""Budgets of labels against closed forms: Var = (variance of items + variance within / labels per item) / items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metal.errors import Undefined
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
