"""Class-balanced agreement, worked by hand, and people who are careless."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metal.stats.patterns import class_counts
from metal.stats.standing import Seats, balanced_agreement, careless, others_labels

PEOPLE = np.array([[0, 0, 1], [1, 0, 1], [1, 1, -1]])


def observed_only(weights: Any) -> Any:
    """Sums as observed, with the same as the only resample."""
    return lambda features: (
        np.tensordot(weights, features, axes=1),
        np.tensordot(weights, features, axes=1)[None],
    )


def test_the_others_labels_by_hand() -> None:
    votes = class_counts(PEOPLE, 2)
    assert others_labels(PEOPLE, 0, votes).tolist() == [[0.5, 0.5], [0.5, 0.5], [0, 1]]
    assert others_labels(PEOPLE, 2, votes).tolist() == [[1, 0], [0.5, 0.5], [0, 1]]


def test_features_leave_out_who_did_not_answer() -> None:
    judge = np.array([0, -1, 1])
    features = Seats(PEOPLE, judge, np.arange(2.0), False).features(2)
    assert features[:, 0].tolist() == [[1, 0], [0, 0], [0, 0]]  # no answer of the judge; no rating of the person
    assert features[0, 1].tolist() == [1, 0]  # the judge is right
    assert features[0, 2].tolist() == [0, 0]  # the person is not


def test_agreement_by_hand() -> None:
    """Two people, 40 items of class 0 and 10 of class 1; the judge finds 30 and 2 of them."""
    people = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    judge = np.array([0, 1, 1, 0])
    weights = np.array([30, 10, 2, 8])
    balanced = balanced_agreement(people, judge, np.arange(2.0), False, observed_only(weights), range(2))
    assert balanced is not None
    assert balanced.judge.tolist() == [pytest.approx((0.75 + 0.2) / 2)] * 2
    assert balanced.person.tolist() == [1, 1]
    assert balanced.constant == 0.5
    assert balanced.near_judge is None
    assert balanced_agreement(people, judge, np.arange(2.0), False, observed_only(weights // 4), range(2)) is None


def test_partly_right_answers_on_an_ordered_scale() -> None:
    people = np.array([[0, 0], [1, 1], [2, 2]])
    judge = np.array([1, 1, 0])
    balanced = balanced_agreement(people, judge, np.arange(3.0), True, observed_only(np.full(3, 10)), range(2))
    assert balanced is not None
    assert balanced.judge[0] == pytest.approx(1 / 3)
    assert balanced.near_judge is not None
    assert balanced.near_judge[0] == pytest.approx((0.5 + 1 + 0) / 3)
    assert balanced.near_constant == pytest.approx((0.5 + 1 + 0.5) / 3)


@pytest.mark.parametrize("people", [2, 3, 5])
def test_who_is_careless(people: int) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 200)
    answers = np.stack(
        [np.where(rng.random(200) < right, truth, 1 - truth) for right in [0.5, *[0.95] * (people - 1)]], 1
    )
    weights = rng.multinomial(200, np.full(200, 1 / 200), size=300)

    def draw(features: Any) -> Any:
        return features.sum(axis=0), np.tensordot(weights, features, axes=1)

    far = careless(answers, np.arange(2.0), np.ones(200), draw, lambda values: float(np.quantile(values[1:], 0.99)))
    assert far == ([] if people == 2 else [0])
