"""Two raters: by hand, and against scikit-learn on arbitrary tables."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score

from metal.stats.classification import (
    cohen_kappa,
    constant_confusion,
    macro_f1,
    percent_agreement,
    weighted_f1,
)
from metal.stats.patterns import confusion, find_patterns

#            answer: 0   1
#   truth 0:        20   5     p_o = 35/50                      = 0.7
#   truth 1:        10  15     p_e = .5*.6 + .5*.4 = 0.5  ->  kappa = 0.4
TABLE = np.array([[20.0, 5.0], [10.0, 15.0]])

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def matrix(truth: list[int], answer: list[int], levels: int = 4) -> np.ndarray:
    patterns = find_patterns(np.column_stack([truth, answer]))
    return confusion(patterns.counts, patterns.rows[:, 0], patterns.rows[:, 1], levels)


def test_by_hand() -> None:
    assert percent_agreement(TABLE) == pytest.approx(0.7)
    assert cohen_kappa(TABLE) == pytest.approx(0.4)
    # F1 of 0: 40/55, of 1: 30/45; both classes have half of the truths
    assert weighted_f1(TABLE) == pytest.approx((40 / 55 + 30 / 45) / 2)
    assert weighted_f1(TABLE) != pytest.approx(weighted_f1(TABLE.T), abs=1e-3)


@given(labels)
def test_symmetrised_f1_is_twice_the_agreement(pairs: list[tuple[int, int]]) -> None:
    table = matrix(*map(list, zip(*pairs, strict=True)))
    assert weighted_f1(table) + weighted_f1(table.T) == pytest.approx(2 * percent_agreement(table))


@given(labels)
def test_f1_as_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, answer = map(list, zip(*pairs, strict=True))
    table = matrix(truth, answer)
    assert weighted_f1(table) == pytest.approx(f1_score(truth, answer, average="weighted", zero_division=0))
    assert macro_f1(table) == pytest.approx(f1_score(truth, answer, average="macro", zero_division=0))


@given(labels, st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_as_scikit_learn(pairs: list[tuple[int, int]], weights: str) -> None:
    truth, answer = map(list, zip(*pairs, strict=True))
    ours = cohen_kappa(matrix(truth, answer), weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohen_kappa_score(truth, answer, labels=[0, 1, 2, 3], weights=None if weights == "none" else weights)
    assert ours == pytest.approx(theirs, nan_ok=True)


def test_one_class_on_both_sides_is_undefined() -> None:
    table = np.array([[9.0, 0.0], [0.0, 0.0]])
    assert np.isnan(cohen_kappa(table))
    assert np.isnan(cohen_kappa(table, "quadratic"))
    assert weighted_f1(table) == 1


def test_a_constant_judge_has_kappa_zero_and_may_have_a_high_f1() -> None:
    lopsided = constant_confusion(np.array([[2.0, 1.0], [3.0, 94.0]]), 1)
    assert cohen_kappa(lopsided) == pytest.approx(0, abs=1e-15)
    assert weighted_f1(lopsided) > 0.95


def test_no_items_is_undefined() -> None:
    empty = np.zeros((3, 3))
    assert np.isnan([weighted_f1(empty), macro_f1(empty), percent_agreement(empty), cohen_kappa(empty)]).all()


def test_many_matrices_at_once() -> None:
    stack = np.stack([TABLE, TABLE.T, np.zeros((2, 2))])
    assert weighted_f1(stack).shape == (3,)
    assert weighted_f1(stack)[0] == weighted_f1(TABLE)
