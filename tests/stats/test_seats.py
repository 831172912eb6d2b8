"""Seats, recalls, order, limits and careless people, worked by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.stats.careless import careless
from metal.stats.measured import Measured, fieller, jackknife, jackknife_ratio
from metal.stats.order import midranks, order
from metal.stats.patterns import class_counts
from metal.stats.recalls import ClassSums
from metal.stats.seats import Seats, Votes
from metal.stats.source_sums import SourceSums

ONES = np.ones(3, dtype=np.int64)


def test_what_a_seat_faces() -> None:
    """Votes 2, 1: the two who said 0 face one of each, the one who said 1 faces two 0."""
    seats = Seats(np.array([[2, 1], [1, 0], [0, 3]]))
    assert list(
        zip(seats.item.tolist(), seats.own.tolist(), seats.times.tolist(), strict=True)
    ) == [
        (0, 0, 2),
        (0, 1, 1),
        (2, 1, 3),
    ]
    assert seats.target.tolist() == [[0.5, 0.5], [1, 0], [0, 1]]
    assert seats.untied.tolist() == [False, True, True]
    assert seats.weights().tolist() == [[2, 1], [0, 0], [0, 3]]
    assert seats.hits().tolist() == [[1, 0], [0, 0], [0, 3]]
    assert seats.numbers().tolist() == [3, 0, 3]
    assert [each.tolist() for each in seats.unanimous(1)] == [[0, 0, 3], [0, 0, 3]]


def test_an_item_with_one_rating_faces_that_rating_where_it_is_all_there_is() -> None:
    seats = Seats(np.array([[2, 1], [1, 0]]), alone=True)
    assert seats.weights().tolist() == [[2, 1], [1, 0]]


@given(
    st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=12),
    st.permutations(range(4)),
)
@settings(max_examples=20, deadline=None)
def test_who_gave_a_rating_does_not_matter(rows: list[list[int]], turned: list[int]) -> None:
    people = np.array(rows)
    one, other = Votes.of(people, 3), Votes.of(people[:, turned], 3)
    assert (one.counts[one.kind] == other.counts[other.kind]).all()


def _sums(
    weight: list[list[float]], judge: list[list[float]], person: list[list[float]]
) -> ClassSums:
    by = SourceSums(np.arange(len(weight)), np.arange(len(weight)))
    rows = [np.array(each, dtype=float) for each in (weight, judge, person)]
    return ClassSums(by, *rows, items=rows[0].sum(axis=0))  # type: ignore[misc]


def test_recalls_and_their_variance_by_hand() -> None:
    """Four sources of class 0, of which the judge hits two and people three; four of class 1, all
    hit by both.
    """
    weight = [[1, 0]] * 4 + [[0, 1]] * 4
    judge = [[1, 0]] * 2 + [[0, 0]] * 2 + [[0, 1]] * 4
    person = [[1, 0]] * 3 + [[0, 0]] * 1 + [[0, 1]] * 4
    recalls = _sums(weight, judge, person).of(np.array([0, 1]))
    assert (recalls.judge, recalls.person, recalls.constant) == (0.75, 0.875, 0.5)
    assert recalls.below.value == pytest.approx(-0.125)
    # Class 0: e is 1/8 (j - 1/2), so 8/7 of 4 (1/16)^2; its floor is less. Class 1: e is 0, and the
    # floor a quarter of
    # (5/6)(1/6) / (4 + 2) / 4.
    of_class_0, floor = 8 / 7 * 4 / 16**2, (5 / 6) * (1 / 6) / 6 / 4 / 4
    variance, df = recalls.variance(1, 0)
    assert variance == pytest.approx(of_class_0 + floor)
    assert df == pytest.approx((of_class_0 + floor) ** 2 / ((of_class_0**2 + floor**2) / 3))
    share = recalls.share()
    assert share.value == pytest.approx((0.75 - 0.5) / (0.875 - 0.5))
    assert share.low < share.value < share.high


def test_one_class_is_its_recall() -> None:
    recalls = _sums([[1, 0]] * 4, [[1, 0]] * 2 + [[0, 0]] * 2, [[1, 0]] * 4).of(np.array([0]))
    assert recalls.measured(1, 0.5).value == pytest.approx(0.5 - 0.5 * 1)


def test_sources_with_several_items_are_added_up() -> None:
    by = SourceSums(np.array([0, 1, 1, 0]), np.array([7, 7, 3, 9]))
    features = np.array([[1.0], [10.0]])
    assert (by.n, by.sources.tolist(), by.times.tolist()) == (3, [3, 7, 9], [1, 1, 1])
    assert by.rows(features)[by.row].tolist() == [[10], [11], [1]]
    alike = SourceSums(np.array([0, 1, 0]), np.array([5, 2, 9]))
    assert (alike.times.tolist(), alike.row.tolist(), alike.total(features).tolist()) == (
        [2, 1],
        [1, 0, 0],
        [12],
    )
    assert alike.without(features).tolist() == [[11], [2]]


def test_a_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.array([1.0, 2, 4, 7])
    without = (values.sum() - values) / 3
    measured = jackknife(float(values.mean()), without, np.ones(4, dtype=np.int64))
    assert measured.error == pytest.approx(values.std(ddof=1) / 2)
    assert measured.df == 3


def test_limits_and_p_values_agree() -> None:
    measured = Measured(0.3, 0.1, 20.0)
    assert measured.low() == pytest.approx(0.3 - 1.7247182 * 0.1)
    assert measured.p_above(measured.low(), 1e12) == pytest.approx(0.05)
    assert Measured(0.3, 0.1, 1e6).p_above(0.0, 1e12) == pytest.approx(
        1 - NormalDist().cdf(3), rel=1e-4
    )
    # By the definition of n': n items more would make the same distance as wide as the limit.
    assert measured.needed(0.0, 100) == pytest.approx(100 * ((0.3 - measured.low()) / 0.3) ** 2)
    assert measured.needed(0.4, 100) == math.inf


def test_the_ends_of_a_ratio() -> None:
    ratio = fieller(1.0, 2.0, lambda k: 0.2 * math.sqrt(1 + k * k))
    for end in (ratio.low, ratio.high):  # (1 - 2 k)^2 = 0.04 (1 + k^2)
        assert (1 - 2 * end) ** 2 == pytest.approx(0.04 * (1 + end * end), abs=1e-9)
    assert fieller(1.0, 0.5, lambda k: 10.0).high == math.inf
    ones = np.ones(4, dtype=np.int64)
    same = jackknife_ratio(2.0, 4.0, np.full(4, 2.0), np.full(4, 4.0), ones)
    assert (same.low, same.high) == (pytest.approx(0.5), pytest.approx(0.5))


def test_midranks_are_those_of_scipy() -> None:
    from scipy.stats import rankdata

    values = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    assert midranks(values, np.ones(10)) == pytest.approx(rankdata(values) - 5.5)


def test_order_is_spearmans_and_quadratic_kappa_scikit_learns() -> None:
    """Two people an item: a seat faces the other's label, so the judge's figures are those of the
    long table.
    """
    from scipy.stats import spearmanr
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(2)
    truth = rng.integers(0, 5, 120)
    people = np.stack([np.clip(truth + rng.integers(-1, 2, 120), 0, 4) for _ in range(2)], axis=1)
    judge = np.clip(truth + rng.integers(-1, 2, 120), 0, 4)
    votes = Votes.of(people, 5)
    joint = votes.kind * 5 + judge
    kinds, which = np.unique(joint, return_inverse=True)
    by = SourceSums(which, np.arange(120))
    found = order(
        Seats(votes.counts), kinds // 5, kinds % 5, np.arange(5.0), by, np.bincount(which)
    )
    assert found is not None
    facing, own, said = people[:, ::-1].ravel(), people.ravel(), np.repeat(judge, 2)
    assert found.ranks.judge == pytest.approx(spearmanr(said, facing).statistic)
    assert found.ranks.person == pytest.approx(spearmanr(own, facing).statistic)
    assert found.kappa.judge == pytest.approx(cohen_kappa_score(said, facing, weights="quadratic"))
    assert found.kappa.person == pytest.approx(cohen_kappa_score(own, facing, weights="quadratic"))
    assert found.higher == pytest.approx((said - facing).mean())
    assert (
        order(
            Seats(votes.counts),
            kinds // 5,
            np.zeros_like(kinds),
            np.arange(5.0),
            by,
            np.bincount(which),
        ).p
        == 0.5
    )  # type: ignore[union-attr]


@pytest.mark.parametrize(("people", "expected"), [(2, ()), (3, (0,)), (5, (0,))])
def test_who_is_careless(people: int, expected: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 200)
    rights = [0.5, *[0.95] * (people - 1)]
    answers = np.stack(
        [np.where(rng.random(200) < right, truth, 1 - truth) for right in rights], axis=1
    )
    found = careless(answers, np.arange(200), 2)
    assert found.people == expected
    assert all(below < -0.1 for below in found.below)


def test_most_people_cannot_all_be_careless() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 400)
    rights = [0.4, 0.4, 0.95, 0.95]
    answers = np.stack(
        [np.where(rng.random(400) < right, truth, (truth + 1) % 3) for right in rights], axis=1
    )
    found = careless(answers, np.arange(400), 3)
    assert found.people == ()
    assert set(found.many) == {0, 1} or not found.many


def test_an_equal_person_is_never_careless() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.choice(3, 150, p=(0.9, 0.07, 0.03))
        answers = np.stack(
            [np.where(rng.random(150) < 0.85, truth, (truth + 1) % 3) for _ in range(4)], axis=1
        )
        assert careless(answers, np.arange(150), 3).people == ()


def test_votes_without_one_person_are_those_of_the_others() -> None:
    people = np.array([[0, 1, 1], [2, 2, -1], [1, 1, 0], [-1, 0, -1]])
    votes = Votes.of(people, 3)
    for column in range(3):
        rows = votes.less_one.without(votes.kind, people[:, column])
        others = class_counts(np.delete(people, column, axis=1), 3)
        assert (votes.less_one.counts[rows] == others).all()
        assert votes.less_one.several[rows].tolist() == (others.sum(axis=1) >= 2).tolist()
        alone = Seats(others)
        assert votes.less_one.sums[0][rows].tolist() == alone.weights().tolist()
        assert votes.less_one.sums[1][rows].tolist() == alone.hits().tolist()
