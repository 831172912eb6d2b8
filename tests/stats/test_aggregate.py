"""What people say together."""

from __future__ import annotations

import numpy as np

from metal.stats.aggregate import ALL, NOBODY, NONE, SOME, TIE, aggregate, agreement_case

THREE = np.arange(3.0)


def test_majority_or_mean() -> None:
    expected = {
        (0, 2, 2): 2,  # two of three
        (0, 1, 2): 1,  # none agree: the mean is 1, a level
        (0, 2, -1): 1,  # two people, mean 1
        (0, 1, -1): TIE,  # mean 0.5 is no level
        (2, -1, -1): 2,
        (-1, -1, -1): NOBODY,
    }
    assert aggregate(np.array([*expected]), THREE).tolist() == [*expected.values()]


def test_rules_differ_only_without_a_majority() -> None:
    rows = np.array([[0, 2, 2], [0, 1, -1], [0, 1, 2]])
    assert aggregate(rows, THREE, "majority-or-middle").tolist() == [2, 1, 1]
    assert aggregate(rows, THREE, "majority").tolist() == [2, TIE, TIE]


def test_five_levels_mean_may_be_no_class() -> None:
    rows = np.array([[0, 2, 4], [0, 1, 4], [3, 3, 0]])
    # means of the values 1..5: 3 (a level), 2.67 (none), majority 4
    assert aggregate(rows, np.arange(1.0, 6.0)).tolist() == [2, TIE, 3]


def test_nominal_scales_have_no_mean() -> None:
    assert aggregate(np.array([[0, 1, 2], [0, 2, -1]]), THREE, ordered=False).tolist() == [TIE, TIE]


def test_cases_of_three() -> None:
    rows = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 2], [1, 1, -1], [2, -1, -1]])
    assert agreement_case(rows, 3).tolist() == [ALL, SOME, NONE, ALL, -1]
