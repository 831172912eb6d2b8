"""Flips of signs: every sum by the definition, all flips where items are few, and independent in pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.stats.sign_flips import draw_flips


def signs(classes: np.ndarray, count: int) -> np.ndarray:
    """(flips, items) of 1 and -1, bit by bit."""
    return np.array([[(-1.0) ** (int(bits & flip).bit_count()) for bits in classes] for flip in range(count)])


@given(st.integers(1, 40), st.integers(1, 60), st.integers(0, 100))
def test_sums_are_those_of_every_flip(items: int, resamples: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    flips = draw_flips(rng, items, resamples)
    assert flips.count > resamples >= flips.count / 2
    values = rng.integers(-9, 9, (2, 3, items)).astype(float)
    expected = values @ signs(flips.classes, flips.count).T
    np.testing.assert_array_equal(flips.sums(values), expected)
    np.testing.assert_array_equal(expected[..., 0], values.sum(axis=-1))
    some = rng.random(items) < 0.5
    expected = np.where(some, values, 0.0) @ signs(flips.classes, flips.count).T
    np.testing.assert_array_equal(flips.only(some).sums(values[..., some]), expected)


def test_few_items_have_all_their_flips() -> None:
    flips = draw_flips(np.random.default_rng(0), 3, 8)  # 16 flips: each of the 8 twice
    table = sorted(map(tuple, signs(flips.classes, flips.count).tolist()))
    assert table == sorted([*product([-1.0, 1.0], repeat=3)] * 2)
    assert flips.sums(np.array([1.0, 2.0, 4.0])).max() == 7


def test_any_two_flips_are_independent_over_the_items() -> None:
    table = signs(draw_flips(np.random.default_rng(1), 20_000, 7).classes, 8)
    together = table @ table.T / 20_000
    assert (np.diag(together) == 1).all()
    assert np.abs(together - np.eye(8)).max() < 0.035  # five standard errors


def test_the_spread_of_a_p_value_is_that_of_independent_flips() -> None:
    values = np.random.default_rng(2).normal(size=60) + 0.1
    p_values = []
    for seed in range(400):
        leads = draw_flips(np.random.default_rng(seed), 60, 100).sums(values)
        p_values.append(float((leads[1:] >= leads[0]).mean()))
    p = np.mean(p_values)
    assert np.std(p_values) == pytest.approx(np.sqrt(p * (1 - p) / 127), rel=0.15)
