"""Three human ceilings by hand."""

from __future__ import annotations

import numpy as np
import pytest

from metal.stats.ceiling import against_all, leave_one_out, majority_of_others, pairs_of, pairwise

#            A1 A2 A3
ROWS = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, 2], [2, 2, 2]])
ONE_EACH = np.ones(5)


def test_majority_of_others() -> None:
    assert majority_of_others(ROWS, 2, 3).tolist() == [0, 0, 1, -1, 2]
    assert majority_of_others(np.array([[0, -1, 1]]), 0, 2).tolist() == [-1]  # only one other


def test_leave_one_out() -> None:
    # A1 against A2 = A3:      items 0, 2, 4: all right                         -> 1
    # A2 against A1 = A3:      items 0, 2, 4                                     -> 1
    # A3 against A1 = A2: truth 0 0 1 2, answers 0 1 1 2 (items 0, 1, 2, 4)
    #   F1: class 0 2/3, class 1 2/3, class 2 1 -> (2 * 2/3 + 2/3 + 1) / 4 = 3/4
    assert leave_one_out(ONE_EACH, ROWS, 3) == pytest.approx((1 + 1 + 0.75) / 3)


def test_pairwise_goes_round() -> None:
    assert pairs_of(range(4)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert pairs_of([2]) == []
    forward = pairwise(ONE_EACH, ROWS, 3)
    assert forward == pytest.approx(pairwise(ONE_EACH, ROWS, 3, [(0, 1), (1, 2), (2, 0)]))
    assert forward != pytest.approx(pairwise(ONE_EACH, ROWS, 3, [(0, 1), (0, 2), (1, 2)]), abs=1e-3)


def test_against_all_is_the_highest_here() -> None:
    truth = np.array([0, 0, 1, 1, 2])
    # A1: truth 0 0 1 1 2, answers 0 0 1 0 2: class 0 F1 4/5, class 1 2/3, class 2 1 -> (1.6 + 4/3 + 1) / 5
    assert against_all(ONE_EACH, ROWS[:, :1], truth, 3) == pytest.approx((2 * 0.8 + 2 * 2 / 3 + 1) / 5)


def test_pairs_that_never_meet_are_left_out() -> None:
    rows = np.array([[0, 0, -1], [1, 1, -1], [-1, -1, 0]])
    assert pairwise(np.ones(3), rows, 2) == 1
    assert np.isnan(pairwise(np.ones(1), np.array([[0, -1, -1]]), 2))
    assert np.isnan(pairwise(np.ones(1), np.array([[0]]), 2))
    assert np.isnan(leave_one_out(np.ones(1), np.array([[0, 0]]), 2))


def test_one_weight_a_resample() -> None:
    weights = np.array([ONE_EACH, [5, 0, 0, 0, 0]])
    assert pairwise(weights, ROWS, 3).shape == (2,)
    assert leave_one_out(weights, ROWS, 3)[1] == 1
