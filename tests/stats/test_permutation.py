"""Permutation tests: flips of signs by the definition, the exact distribution of rater against rater, error rates."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from metal.stats.permutation import correlates_better, draw_flips

# The example vectors of mt-metrics-eval's own test of its permutation test.
PEOPLE = np.array([1, 2, 3, 4, 5, 5, 7, 8.0])
FIRST = np.array([1, 2, 3, 3, 7, 3, 5, 5.0])
SECOND = np.array([2, 1, 2, 6, 8, 8, 7, 6.0])


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


def exact_p(people: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Over all swaps, with scipy's z-scores and correlations."""
    first, second = stats.zscore(first), stats.zscore(second)

    def lead(swap: np.ndarray) -> float:
        left, right = np.where(swap, second, first), np.where(swap, first, second)
        return stats.pearsonr(left, people).statistic - stats.pearsonr(right, people).statistic

    swaps = ((np.arange(2 ** len(people))[:, None] >> np.arange(len(people))) & 1).astype(bool)
    leads = np.array([lead(swap) for swap in swaps])
    return float((leads >= leads[0] - 1e-12).mean())


def test_p_is_that_of_all_swaps() -> None:
    p = correlates_better(PEOPLE, np.stack([FIRST, SECOND]), np.random.default_rng(0), resamples=40_000)
    assert p[0, 1] == pytest.approx(exact_p(PEOPLE, FIRST, SECOND), abs=0.012)  # five standard errors
    assert p[1, 0] == pytest.approx(exact_p(PEOPLE, SECOND, FIRST), abs=0.012)
    assert np.isnan(np.diag(p)).all()


def test_equal_raters_and_those_on_another_scale_do_not_differ() -> None:
    p = correlates_better(PEOPLE, np.stack([FIRST, FIRST, 3 * FIRST - 20]), np.random.default_rng(0))
    assert p[0, 1] == p[1, 0] == 1
    assert p[0, 2] == p[2, 0] == 1


def test_error_rate_and_power() -> None:
    rng = np.random.default_rng(3)
    small = {"equal": 0, "worse": 0}
    for _ in range(300):
        people = rng.normal(size=80)
        good, same, worse = (people + rng.normal(size=80) * noise for noise in (1.0, 1.0, 2.5))
        p = correlates_better(people, np.stack([good, same, worse]), rng, resamples=199)
        small["equal"] += p[0, 1] <= 0.05
        small["worse"] += p[0, 2] <= 0.05
    assert 0.01 <= small["equal"] / 300 <= 0.095  # 0.05 +- 3.5 standard errors
    assert small["worse"] / 300 > 0.9


def plain_p(people: np.ndarray, raters: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Pair after pair and flip after flip, by the definition of both."""
    flips = draw_flips(np.random.default_rng(int(np.random.default_rng(seed).integers(2**63))), len(people), resamples)
    p = np.full((len(raters), len(raters)), np.nan)
    for i, j in permutations(range(len(raters)), 2):
        shared = ~np.isnan(people) & ~np.isnan(raters[i]) & ~np.isnan(raters[j])
        first, second, wanted = raters[i][shared], raters[j][shared], people[shared]
        if len(wanted) < 2 or min(map(np.ptp, (first, second, wanted))) == 0:
            continue
        first, second = stats.zscore(first), stats.zscore(second)
        leads = []
        for swap in signs(flips.classes[shared], flips.count) < 0:
            left, right = np.where(swap, second, first), np.where(swap, first, second)
            if min(np.ptp(left), np.ptp(right)) < 1e-9:
                leads.append(np.nan)
                continue
            leads.append(np.corrcoef(left, wanted)[0, 1] - np.corrcoef(right, wanted)[0, 1])
        p[i, j] = np.mean(np.array(leads) >= leads[0] - 1e-9)
    return p


@settings(max_examples=25, deadline=None)
@example(10, 4567, 7)  # a swap after which a rater is constant
@given(st.integers(3, 12), st.integers(0, 10_000), st.sampled_from([7, 40]))
def test_equal_to_the_plain_formula_also_with_missing_answers(items: int, seed: int, resamples: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=(4, items)), 1)
    scores[rng.random(scores.shape) < rng.choice([0, 0.1, 0.5])] = np.nan
    people, raters = scores[0], scores[1:]
    p = correlates_better(people, raters, np.random.default_rng(seed), resamples=resamples)
    np.testing.assert_array_equal(p, plain_p(people, raters, resamples, seed))


def test_each_pair_is_compared_on_what_both_answered() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(size=50)
    raters = people + rng.normal(size=(3, 50))
    people[0] = np.nan
    raters[0, 1:5] = np.nan
    p = correlates_better(people, raters, np.random.default_rng(0), resamples=20_000)
    alone = correlates_better(people[5:], raters[:2, 5:], np.random.default_rng(0), resamples=20_000)
    assert p[0, 1] == pytest.approx(alone[0, 1], abs=0.01)
    assert not np.isnan(p[np.triu_indices(3, 1)]).any()


def test_pairs_that_nobody_asked_for_are_left_out() -> None:
    raters = PEOPLE + np.random.default_rng(0).normal(size=(3, 8))
    wanted = np.zeros((3, 3), dtype=bool)
    wanted[2, 0] = True
    p = correlates_better(PEOPLE, raters, np.random.default_rng(0), wanted=wanted)
    every = correlates_better(PEOPLE, raters, np.random.default_rng(0))
    assert (p[0, 2], p[2, 0]) == (every[0, 2], every[2, 0])
    assert np.isnan(p).sum() == 7


def test_undefined_correlations_are_not_compared() -> None:
    constant = np.full(8, 0.1)
    p = correlates_better(PEOPLE, np.stack([FIRST, constant, SECOND]), np.random.default_rng(0))
    assert np.isnan(p[1]).all()
    assert not np.isnan(p[0, 2])
    assert np.isnan(correlates_better(constant, np.stack([FIRST, SECOND]), np.random.default_rng(0))).all()
    assert np.isnan(correlates_better(PEOPLE[:1], np.stack([FIRST, SECOND])[:, :1], np.random.default_rng(0))).all()
