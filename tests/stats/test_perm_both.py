"""PERM-BOTH: all exchanges of small examples, its error rate, and WMT's ranks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from metal.stats.grouped import ItemGroups, pearson_by_group, spearman_by_group
from metal.stats.pairwise import soft_pairwise_accuracy
from metal.stats.perm_both import (
    averaged_leads,
    cluster_ranks,
    every_two,
    leads_by_outcome,
    leads_by_score,
    p_matrix,
    p_of_leads,
    soft_accuracy_leads,
    standardised,
    williams,
)
from metal.stats.permutation import correlates_better

# The example vectors of mt-metrics-eval's own test of its permutation test.
PEOPLE = np.array([1, 2, 3, 4, 5, 5, 7, 8.0])
FIRST = np.array([1, 2, 3, 3, 7, 3, 5, 5.0])
SECOND = np.array([2, 1, 2, 6, 8, 8, 7, 6.0])
ONE = ItemGroups.of(np.zeros(8))


def rho(sets: np.ndarray) -> np.ndarray:
    return spearman_by_group(PEOPLE, sets, ONE)[..., 0]


def test_p_is_the_share_of_all_exchanges() -> None:
    z = standardised(np.stack([FIRST, SECOND]))
    leads = []
    for flags in product([False, True], repeat=8):
        first, second = np.where(flags, z[1], z[0]), np.where(flags, z[0], z[1])
        leads.append(rho(first).item() - rho(second).item())
    exact = np.mean(np.array(leads) >= leads[0] - 1e-12)
    drawn = leads_by_score(rho, np.stack([FIRST, SECOND]), np.random.default_rng(0), 40_000)
    assert drawn[0, 0] == pytest.approx(leads[0])
    assert p_of_leads(drawn)[0] == pytest.approx(exact, abs=4 * (0.25 / 40_000) ** 0.5)


def test_pearson_as_the_transform_gives_it() -> None:
    rng = np.random.default_rng(1)
    gold = rng.normal(size=200)
    raters = np.stack([gold + rng.normal(scale=spread, size=200) for spread in (1.0, 1.2, 3.0)])
    groups = ItemGroups.of(np.zeros(200))

    def r(sets: np.ndarray) -> np.ndarray:
        return pearson_by_group(gold, sets, groups)[..., 0]

    ours = p_matrix(leads_by_score(r, raters, np.random.default_rng(2), 4096), 3)
    other = correlates_better(gold, raters, np.random.default_rng(3), resamples=4095)
    assert ours == pytest.approx(other, abs=0.04, nan_ok=True)
    assert ours[0, 2] < 0.01 < 0.99 < ours[2, 0]


def test_outcomes_exchanged_one_by_one() -> None:
    # They differ in four outcomes, 3 for the first: its lead is 2, under exchanges of four signs.
    outcomes = np.array([[1, 1, 1, 0, 1, 0], [0, 0, 0, 1, 1, 0.0]])
    leads = leads_by_outcome(outcomes, np.random.default_rng(0), 1 << 13)
    assert leads[0, 0] == 2
    assert set(leads[0]) == {-4, -2, 0, 2, 4}
    # at least 2: three or four of four signs, 5 of 16
    assert p_of_leads(leads)[0] == pytest.approx(5 / 16, abs=0.02)


def test_equal_raters_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(4)
    p = []
    for _ in range(300):
        raters = rng.normal(size=(2, 8)) + PEOPLE / 2
        p.append(p_of_leads(leads_by_score(rho, raters, rng, 256))[0])
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    assert np.mean(p) == pytest.approx(0.5, abs=0.06)


def test_a_constant_rater_has_no_lead() -> None:
    raters = np.stack([FIRST, np.ones(8), SECOND])
    p = p_matrix(leads_by_score(rho, raters, np.random.default_rng(0), 64), 3)
    assert np.isnan(p[1]).all()
    assert not np.isnan(p[0, 2])


def test_a_clear_test_ends_early_with_the_same_answer() -> None:
    rng = np.random.default_rng(5)
    good, bad = PEOPLE + rng.normal(scale=0.1, size=8), rng.normal(size=8)
    swaps = {"swaps": 1024, "rng": np.random.default_rng(6)}
    early = leads_by_score(rho, np.stack([good, bad]), early=True, **swaps)
    assert early.shape == (1, 1024)
    assert (early[0, :128] == early[0, 128:256]).all()
    assert p_of_leads(early)[0] <= 0.05


def test_soft_accuracy_leads_from_the_observed_difference() -> None:
    rng = np.random.default_rng(7)
    gold = rng.normal(size=(6, 1)) * 0.1 + rng.normal(size=(6, 150))
    raters = np.stack([gold + rng.normal(scale=spread, size=gold.shape) for spread in (0.3, 3.0)])
    leads = soft_accuracy_leads(gold, raters, np.random.default_rng(8), 256)
    exact = [
        soft_pairwise_accuracy(gold, rater, np.random.default_rng(9), resamples=10_000).accuracy
        for rater in raters
    ]
    assert leads[0, 0] == pytest.approx(exact[0] - exact[1], abs=0.01)


def test_clusters_begin_where_somebody_of_the_last_is_shown_to_be_better() -> None:
    p = np.ones((5, 5))
    p[0, 2] = 0.05  # begins the second cluster
    p[1, 3] = 0.01  # the second is in the first cluster, so this begins none
    p[3, 4] = 0.02
    assert cluster_ranks(p) == [1, 1, 2, 2, 3]
    p[2, 4] = np.nan
    assert cluster_ranks(p, level=0.01) == [1, 1, 1, 2, 2]
    assert cluster_ranks(np.zeros((0, 0))) == []


def test_means_of_tasks_lead_by_the_mean_of_the_leads() -> None:
    tasks = [np.array([[0.4, 0.0, 0.2]]), np.array([[-0.2, 0.1]])]
    assert averaged_leads(tasks, [0.75, 0.5]) == pytest.approx(np.array([[0.2, 0.05]]))


def test_williams_by_the_formula() -> None:
    r1, r2, r12, n = 0.7, 0.5, 0.3, 12
    determinant = np.linalg.det([[1, r1, r2], [r1, 1, r12], [r2, r12, 1]])
    t = (r1 - r2) * np.sqrt(
        (n - 1)
        * (1 + r12)
        / (2 * (n - 1) / (n - 3) * determinant + (r1 + r2) ** 2 / 4 * (1 - r12) ** 3)
    )
    assert williams(r1, r2, r12, n) == pytest.approx(stats.t.sf(t, n - 3))
    assert williams(r2, r1, r12, n) == pytest.approx(williams(r1, r2, r12, n))
    assert np.isnan(williams(r1, r2, r12, 3))


def test_pairs_come_in_the_order_of_combinations() -> None:
    assert every_two(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
