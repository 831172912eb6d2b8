"""Permutation tests by the definition, their error rates; pairs of generators as mt-metrics-eval
publishes them.
"""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from metal.errors import Undefined
from metal.stats.intervals import share_interval
from metal.stats.pairwise import (
    SoftAccuracy,
    better_on_shared,
    better_than,
    calibrate_ties,
    soft_pairwise_accuracy,
)
from metal.stats.permutation import correlates_better, draw_flips

# The example vectors of mt-metrics-eval's own test of its permutation test.
PEOPLE = np.array([1, 2, 3, 4, 5, 5, 7, 8.0])
FIRST = np.array([1, 2, 3, 3, 7, 3, 5, 5.0])
SECOND = np.array([2, 1, 2, 6, 8, 8, 7, 6.0])


def signs(classes: np.ndarray, count: int) -> np.ndarray:
    """(flips, items) of 1 and -1, bit by bit."""
    return np.array(
        [[(-1.0) ** (int(bits & flip).bit_count()) for bits in classes] for flip in range(count)]
    )


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
    p = correlates_better(
        PEOPLE, np.stack([FIRST, SECOND]), np.random.default_rng(0), resamples=40_000
    )
    # five standard errors
    assert p[0, 1] == pytest.approx(exact_p(PEOPLE, FIRST, SECOND), abs=0.012)
    assert p[1, 0] == pytest.approx(exact_p(PEOPLE, SECOND, FIRST), abs=0.012)
    assert np.isnan(np.diag(p)).all()


def test_equal_raters_and_those_on_another_scale_do_not_differ() -> None:
    p = correlates_better(
        PEOPLE, np.stack([FIRST, FIRST, 3 * FIRST - 20]), np.random.default_rng(0)
    )
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
    flips = draw_flips(
        np.random.default_rng(int(np.random.default_rng(seed).integers(2**63))),
        len(people),
        resamples,
    )
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
def test_equal_to_the_plain_formula_also_with_missing_answers(
    items: int, seed: int, resamples: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=(4, items)), 1)
    scores[rng.random(scores.shape) < rng.choice([0, 0.1, 0.5])] = np.nan
    people, raters = scores[0], scores[1:]
    p = correlates_better(people, raters, np.random.default_rng(seed), resamples=resamples)
    np.testing.assert_array_equal(p, plain_p(people, raters, resamples, seed))


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
    assert np.isnan(
        correlates_better(constant, np.stack([FIRST, SECOND]), np.random.default_rng(0))
    ).all()
    assert np.isnan(
        correlates_better(PEOPLE[:1], np.stack([FIRST, SECOND])[:, :1], np.random.default_rng(0))
    ).all()


# ---------------------------------------------------------------- pairs of generators

MISSING = np.nan


@pytest.mark.parametrize(
    ("people", "epsilons", "accuracies", "best"),
    [
        ([1, 2, 3, 4], [0, 2, 4, 6, 8], [6, 4, 3, 1, 0], 0),
        ([1, 1, 1, 4], [0, 2, 4, 6, 8], [3, 3, 4, 4, 3], 4),
    ],
)
def test_published_vectors(
    people: list[float], epsilons: list[float], accuracies: list[int], best: float
) -> None:
    given_, wanted = np.array([[0.0], [2.0], [6.0], [8.0]]), np.array(people, dtype=float)[:, None]
    shares = [by_definition(wanted, given_, epsilon) for epsilon in epsilons]
    assert shares == pytest.approx([hits / 6 for hits in accuracies])
    calibrated = calibrate_ties(wanted, given_)
    assert calibrated.epsilon == best
    assert calibrated.accuracy == pytest.approx(max(accuracies) / 6)
    assert calibrated.uncalibrated == pytest.approx(accuracies[0] / 6)


def test_published_matrix_with_missing_scores() -> None:
    rater = np.array(
        [[0, 5, 2, 3, 2], [MISSING, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [MISSING] * 5]
    ).T
    people = np.array(
        [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, MISSING, 3, 2], [MISSING] * 5]
    ).T
    published = [
        0.4666666666666667,
        0.4916666666666668,
        0.38333333333333347,
        0.29166666666666674,
        0.2666666666666667,
    ]
    assert [by_definition(people, rater, epsilon) for epsilon in range(5)] == pytest.approx(
        published
    )
    calibrated = calibrate_ties(people, rater)
    assert calibrated.epsilon == 1
    assert calibrated.accuracy == pytest.approx(0.4916666666666668)
    assert calibrated.uncalibrated == pytest.approx(0.4666666666666667)


whole_or_missing = st.sampled_from([MISSING, 0.0, 1.0, 2.0, 5.0])


@given(
    arrays(float, (4, 5), elements=whole_or_missing),
    arrays(float, (4, 5), elements=whole_or_missing),
)
def test_calibration_is_the_best_of_all_epsilons(people: np.ndarray, rater: np.ndarray) -> None:
    both = ~np.isnan(people) & ~np.isnan(rater)
    if both.sum(axis=0).max() < 2:
        with pytest.raises(Undefined):
            calibrate_ties(people, rater)
        return
    calibrated = calibrate_ties(people, rater)
    tried = {
        epsilon: by_definition(people, rater, epsilon) for epsilon in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    }
    best = max(tried.values())
    assert calibrated.accuracy == pytest.approx(best)
    assert calibrated.uncalibrated == pytest.approx(tried[0.0])
    assert calibrated.epsilon == min(
        epsilon for epsilon, share in tried.items() if share > best - 1e-9
    )


def by_definition(people: np.ndarray, rater: np.ndarray, epsilon: float) -> float:
    shares = []
    for wanted, answer in zip(people.T, rater.T, strict=True):
        alike = []
        for i, j in combinations(np.flatnonzero(~np.isnan(wanted) & ~np.isnan(answer)), 2):
            gap = answer[i] - answer[j]
            alike.append(
                np.sign(wanted[i] - wanted[j]) == (0 if abs(gap) <= epsilon else np.sign(gap))
            )
        if alike:
            shares.append(np.mean(alike))
    return float(np.mean(shares))


def test_p_of_better_than_is_that_of_all_swaps() -> None:
    scores = np.array(
        [
            [0.8, 0.9, 0.7, 1.0, 0.6, 0.3],
            [0.2, 0.95, 0.1, 0.9, 0.0, 0.3],
            [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
        ]
    )
    p = better_than(scores, np.random.default_rng(0), resamples=40_000)
    signs = 1 - 2 * ((np.arange(64)[:, None] >> np.arange(6)) & 1)
    for i in range(3):
        for j in range(3):
            gap = scores[i] - scores[j]
            exact = ((signs @ gap) >= gap.sum() - 1e-9).mean()
            assert p[i, j] > 0  # what was observed is one of the swaps
            assert p[i, j] == pytest.approx(exact, abs=0.012)  # five standard errors
    assert (np.diag(p) == 1).all()


def test_a_rater_as_sure_as_people_and_one_who_says_the_reverse() -> None:
    rng = np.random.default_rng(1)
    people = np.arange(5)[:, None] + rng.normal(size=(5, 200))
    assert soft_pairwise_accuracy(people, people * 3 - 8, np.random.default_rng(0)) == SoftAccuracy(
        1, 0
    )
    reverse = soft_pairwise_accuracy(people, -people, np.random.default_rng(0))
    assert reverse.accuracy == pytest.approx(0, abs=0.002)  # p is 1/2048 or more
    blind = soft_pairwise_accuracy(people, rng.normal(size=(5, 200)), np.random.default_rng(0))
    assert 0.2 < blind.accuracy < 0.8


def test_the_order_of_generators_does_not_matter_to_soft_accuracy() -> None:
    """Ties counted whole gave a rater with many equal scores .91 or .11, depending on how
    generators were named.
    """
    rng = np.random.default_rng(4)
    people, rater = (
        rng.normal(size=(4, 30)) + np.arange(4)[:, None],
        (rng.random((4, 30)) < 0.1) * 1.0,
    )
    rater[2, :9] = MISSING
    expected = soft_pairwise_accuracy(people, rater, np.random.default_rng(0))
    for order in permutations(range(4)):
        found = soft_pairwise_accuracy(people[[*order]], rater[[*order]], np.random.default_rng(0))
        assert (found.accuracy, found.variance) == pytest.approx(
            (expected.accuracy, expected.variance), rel=1e-9
        )


def test_intervals_of_pairwise_figures_cover() -> None:
    """Six generators on 40 sources; the truth is the mean over worlds."""
    rng = np.random.default_rng(5)
    soft, hard = [], []
    for _ in range(150):
        quality = np.arange(6)[:, None] / 6 + 0.7 * rng.normal(size=(6, 40))
        people, rater = (
            np.round(2 * (quality + noise * rng.normal(size=(6, 40)))) for noise in (0.3, 1.0)
        )
        found, ties = soft_pairwise_accuracy(people, rater, rng), calibrate_ties(people, rater)
        soft.append(
            (found.accuracy, *share_interval(found.accuracy, found.variance, ties.pairs, 40))
        )
        hard.append((ties.accuracy, *share_interval(ties.accuracy, ties.variance, ties.pairs, 40)))
    for figures, most in ((soft, 1.0), (hard, 0.99)):
        value, low, high = np.array(figures).T
        assert 0.91 < ((low <= value.mean()) & (value.mean() <= high)).mean() <= most
        assert (high - low).mean() < 6 * value.std()  # four would be exact


@given(
    arrays(float, (3, 6), elements=whole_or_missing),
    arrays(float, (3, 6), elements=whole_or_missing),
)
def test_better_is_by_definition_also_with_gaps(people: np.ndarray, rater: np.ndarray) -> None:
    tables = np.stack([people, rater])
    p = better_on_shared(tables, np.random.default_rng(0), resamples=6)
    scored = ~np.isnan(tables).any(axis=0)
    complete = scored[:, scored.any(axis=0)].all()
    sources = scored.any(axis=0) if complete and scored.any() else np.ones(6, dtype=bool)
    flips = draw_flips(np.random.default_rng(0), int(sources.sum()), 6)
    for table, i, j in product(range(2), range(3), range(3)):
        shared = (scored[i] & scored[j])[sources]
        if not shared.any() or i == j:
            assert i == j or np.isnan(p[table, i, j])
            continue
        gap = (tables[table, i] - tables[table, j])[sources]
        leads = gap[shared] @ signs(flips.classes[shared], flips.count).T
        assert p[table, i, j] == np.mean(leads >= leads[0] - 1e-9)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(Undefined, match="two generators were"):
        soft_pairwise_accuracy(np.array([[1.0, MISSING], [MISSING, 1.0]]), np.ones((2, 2)), rng)
    with pytest.raises(Undefined, match="two generators"):
        soft_pairwise_accuracy(np.ones((1, 3)), np.ones((1, 3)), rng)
    with pytest.raises(Undefined, match="all generators the same"):
        soft_pairwise_accuracy(rng.normal(size=(3, 4)), np.tile(np.arange(4.0), (3, 1)), rng)
    with pytest.raises(Undefined, match="two generators"):
        calibrate_ties(np.ones((1, 3)), np.ones((1, 3)))
