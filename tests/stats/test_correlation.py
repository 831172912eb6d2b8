"""Correlations: by hand, as scipy, and through sums as over rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metal.errors import Undefined
from metal.stats import correlation
from metal.stats.correlation import (
    deviation_sums,
    distinct,
    kendall,
    moved_sums,
    pearson,
    pearson_from_sums,
    rank_correlations,
    system_pearson,
    system_pearson_from_sums,
)

scores = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=40)


@pytest.mark.parametrize(("few", "largest"), [(1_000, 500_000), (1_000, 0), (0, 500_000), (0, 0)])
def test_ranks_by_tables_and_by_sorting_are_the_same(monkeypatch: pytest.MonkeyPatch, few: int, largest: int) -> None:
    monkeypatch.setattr(correlation, "_FEW", few)
    monkeypatch.setattr(correlation, "_LARGEST_TABLE", largest)
    rng = np.random.default_rng(0)
    x, y = np.round(rng.normal(size=(2, 300)), 1)
    x[:5], y[3:9] = np.nan, np.nan
    left, right = x[given_both := ~np.isnan(x) & ~np.isnan(y)], y[given_both]
    expected = stats.spearmanr(left, right).statistic, stats.kendalltau(left, right).statistic
    assert rank_correlations(x, distinct(y)) == pytest.approx(expected, rel=1e-12)


@given(scores)
def test_as_scipy_with_ties_or_undefined(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        for statistic in (pearson, kendall):
            with pytest.raises(Undefined, match="constant"):
                statistic(x, y)
        return
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    rho, tau = rank_correlations(x, distinct(y))
    assert rho == pytest.approx(stats.spearmanr(x, y).statistic)
    assert kendall(x, y) == tau == pytest.approx(tau_by_definition(x, y))


def tau_by_definition(x: np.ndarray, y: np.ndarray) -> float:
    first, second = np.triu_indices(len(x), 1)
    left, right = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
    return float((left * right).sum() / np.sqrt((left != 0).sum() * (right != 0).sum()))


def test_missing_answers_leave_the_pair_out() -> None:
    x = np.array([1.0, 2.0, np.nan, 4.0, 7.0])
    y = np.array([1.0, np.nan, 5.0, 3.0, 2.0])
    kept = [0, 3, 4]
    for statistic in (pearson, kendall):
        assert statistic(x, y) == statistic(x[kept], y[kept])
    with pytest.raises(Undefined, match="fewer than two"):
        pearson(x[1:3], y[1:3])


def test_constant_scores_with_a_rounded_mean_are_constant() -> None:
    with pytest.raises(Undefined):
        pearson(np.full(49, 0.1), np.arange(49.0))
    table, _ = deviation_sums(np.full((1, 49), 0.1), np.arange(49.0), np.arange(49), np.zeros(49, dtype=int))
    assert np.isnan(pearson_from_sums(table.sum(axis=0))).all()


def board(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    source, system = np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30)
    x = rng.normal(size=120) + system + 1000
    y = x + rng.normal(size=120) * 3
    x[rng.random(120) < 0.1] = np.nan
    y[rng.random(120) < 0.1] = np.nan
    return x, y, source, system


def test_sums_weighted_by_source_are_resampled_rows() -> None:
    rng = np.random.default_rng(1)
    x, y, source, system = board(rng)
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=5)
    table, means = deviation_sums(x[None], y, source, system)
    drawn = moved_sums(np.tensordot(weights, table, 1), means)[:, :, 0]
    fast, fast_system = pearson_from_sums(drawn.sum(axis=1)), system_pearson_from_sums(drawn[..., :3])
    for draw, r, between in zip(weights, fast, fast_system, strict=True):
        rows = np.repeat(np.arange(120), draw[source])
        assert r == pytest.approx(pearson(x[rows], y[rows]), abs=1e-12)
        assert between == pytest.approx(system_pearson(x[rows], y[rows], system[rows]), abs=1e-9)


def test_a_resample_in_which_a_side_is_constant_is_undefined() -> None:
    x, y = np.array([[0.1, 0.1, 0.7]]), np.array([1.0, 2.0, 5.0])
    table, _ = deviation_sums(x, y, np.arange(3), np.zeros(3, dtype=int))
    drawn = pearson_from_sums(np.array([[2, 1, 0], [1, 1, 1], [0, 0, 0]]) @ table[:, 0, 0])
    assert np.isnan(drawn).tolist() == [True, False, True]


def test_system_level_by_hand() -> None:
    # means of x: 1, 2, 6; of y: 2, 2, 5 -> centred (-2, -1, 3), (-1, -1, 2): 9 / sqrt(14 * 6)
    x, y = np.array([0.0, 2.0, 2.0, 6.0]), np.array([1.0, 3.0, 2.0, 5.0])
    assert system_pearson(x, y, np.array(["a", "a", "b", "c"])) == pytest.approx(9 / np.sqrt(84))
    with pytest.raises(Undefined, match="two systems"):
        system_pearson(x, y, np.zeros(4))
    with pytest.raises(Undefined, match="equal means"):
        system_pearson(np.array([1.0, 3.0, 2.0, 2.0]), y, np.array(["a", "a", "b", "c"]))
