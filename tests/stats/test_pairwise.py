"""Pairs of generators: the published examples of mt-metrics-eval, by definition, and in worlds with a known answer."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metal.errors import Undefined
from metal.stats.pairwise import (
    better_on_shared,
    better_than,
    calibrate_ties,
    soft_pairwise_accuracy,
)
from metal.stats.permutation import draw_flips
from tests.stats.test_permutation import signs

MISSING = np.nan


@pytest.mark.parametrize(
    ("people", "epsilons", "accuracies", "best"),
    [
        ([1, 2, 3, 4], [0, 2, 4, 6, 8], [6, 4, 3, 1, 0], 0),
        ([1, 1, 1, 4], [0, 2, 4, 6, 8], [3, 3, 4, 4, 3], 4),
    ],
)
def test_published_vectors(people: list[float], epsilons: list[float], accuracies: list[int], best: float) -> None:
    given_, wanted = np.array([[0.0], [2.0], [6.0], [8.0]]), np.array(people, dtype=float)[:, None]
    shares = [by_definition(wanted, given_, epsilon) for epsilon in epsilons]
    assert shares == pytest.approx([hits / 6 for hits in accuracies])
    calibrated = calibrate_ties(wanted, given_)
    assert calibrated.epsilon == best
    assert calibrated.accuracy == pytest.approx(max(accuracies) / 6)
    assert calibrated.uncalibrated == pytest.approx(accuracies[0] / 6)


def test_published_matrix_with_missing_scores() -> None:
    rater = np.array([[0, 5, 2, 3, 2], [MISSING, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [MISSING] * 5]).T
    people = np.array([[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, MISSING, 3, 2], [MISSING] * 5]).T
    published = [0.4666666666666667, 0.4916666666666668, 0.38333333333333347, 0.29166666666666674, 0.2666666666666667]
    assert [by_definition(people, rater, epsilon) for epsilon in range(5)] == pytest.approx(published)
    calibrated = calibrate_ties(people, rater)
    assert calibrated.epsilon == 1
    assert calibrated.accuracy == pytest.approx(0.4916666666666668)
    assert calibrated.uncalibrated == pytest.approx(0.4666666666666667)


whole_or_missing = st.sampled_from([MISSING, 0.0, 1.0, 2.0, 5.0])


@given(arrays(float, (4, 5), elements=whole_or_missing), arrays(float, (4, 5), elements=whole_or_missing))
def test_calibration_is_the_best_of_all_epsilons(people: np.ndarray, rater: np.ndarray) -> None:
    both = ~np.isnan(people) & ~np.isnan(rater)
    if both.sum(axis=0).max() < 2:
        with pytest.raises(Undefined):
            calibrate_ties(people, rater)
        return
    calibrated = calibrate_ties(people, rater)
    tried = {epsilon: by_definition(people, rater, epsilon) for epsilon in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)}
    best = max(tried.values())
    assert calibrated.accuracy == pytest.approx(best)
    assert calibrated.uncalibrated == pytest.approx(tried[0.0])
    assert calibrated.epsilon == min(epsilon for epsilon, share in tried.items() if share > best - 1e-9)


def by_definition(people: np.ndarray, rater: np.ndarray, epsilon: float) -> float:
    shares = []
    for wanted, answer in zip(people.T, rater.T, strict=True):
        alike = []
        for i, j in combinations(np.flatnonzero(~np.isnan(wanted) & ~np.isnan(answer)), 2):
            gap = answer[i] - answer[j]
            alike.append(np.sign(wanted[i] - wanted[j]) == (0 if abs(gap) <= epsilon else np.sign(gap)))
        if alike:
            shares.append(np.mean(alike))
    return float(np.mean(shares))


def test_p_is_that_of_all_swaps() -> None:
    scores = np.array([[0.8, 0.9, 0.7, 1.0, 0.6, 0.3], [0.2, 0.95, 0.1, 0.9, 0.0, 0.3], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]])
    p = better_than(scores, np.random.default_rng(0), resamples=40_000)
    signs = 1 - 2 * ((np.arange(64)[:, None] >> np.arange(6)) & 1)
    for i in range(3):
        for j in range(3):
            gap = scores[i] - scores[j]
            exact = ((signs @ gap) >= gap.sum() - 1e-9).mean()
            assert p[i, j] == pytest.approx(exact, abs=0.012)  # five standard errors
    assert (np.diag(p) == 1).all()


def test_a_rater_as_sure_as_people_and_one_who_says_the_reverse() -> None:
    rng = np.random.default_rng(1)
    people = np.arange(5)[:, None] + rng.normal(size=(5, 200))
    assert soft_pairwise_accuracy(people, people * 3 - 8, np.random.default_rng(0)) == pytest.approx(1)
    assert soft_pairwise_accuracy(people, -people, np.random.default_rng(0)) == pytest.approx(0, abs=1e-9)
    blind = soft_pairwise_accuracy(people, rng.normal(size=(5, 200)), np.random.default_rng(0))
    assert 0.2 < blind < 0.8


def test_soft_accuracy_compares_each_pair_on_the_sources_it_shares() -> None:
    rng = np.random.default_rng(2)
    people, holes = rng.normal(size=(4, 40)), rng.normal(size=(4, 40))
    holes[0, :7] = holes[1, 30:] = MISSING
    holes[3, :30] = MISSING  # shares nothing with 1
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    alone = []
    for i, j in pairs:
        shared = ~np.isnan(holes[[i, j]]).any(axis=0)
        both = people[[i, j]][:, shared], holes[[i, j]][:, shared]
        alone.append(soft_pairwise_accuracy(*both, np.random.default_rng(0), resamples=4000))
    together = soft_pairwise_accuracy(people, holes, np.random.default_rng(0), resamples=4000)
    assert together == pytest.approx(np.mean(alone), abs=0.02)


@given(arrays(float, (3, 6), elements=whole_or_missing), arrays(float, (3, 6), elements=whole_or_missing))
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
        assert p[table, i, j] == np.mean(leads[1:] >= leads[0] - 1e-9)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(Undefined, match="two generators were scored"):
        soft_pairwise_accuracy(np.array([[1.0, MISSING], [MISSING, 1.0]]), np.ones((2, 2)), rng)
    with pytest.raises(Undefined, match="two generators"):
        soft_pairwise_accuracy(np.ones((1, 3)), np.ones((1, 3)), rng)
    with pytest.raises(Undefined, match="two generators"):
        calibrate_ties(np.ones((1, 3)), np.ones((1, 3)))
