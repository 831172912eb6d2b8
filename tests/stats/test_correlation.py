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
    Correlation,
    deviation_sums,
    distinct,
    kendall,
    moved_sums,
    pearson,
    pearson_from_sums,
    pearson_influence,
    rank_correlations,
    system_pearson,
    system_pearson_from_sums,
)
from metal.stats.intervals import correlation_interval

scores = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=40)


@pytest.mark.parametrize(("few", "largest"), [(1_000, 500_000), (1_000, 0), (0, 500_000), (0, 0)])
def test_ranks_by_tables_and_by_sorting_are_the_same(
    monkeypatch: pytest.MonkeyPatch, few: int, largest: int
) -> None:
    monkeypatch.setattr(correlation, "_FEW", few)
    monkeypatch.setattr(correlation, "_LARGEST_TABLE", largest)
    rng = np.random.default_rng(0)
    x, y = np.round(rng.normal(size=(2, 300)), 1)
    x[:5], y[3:9] = np.nan, np.nan
    left, right = x[given_both := ~np.isnan(x) & ~np.isnan(y)], y[given_both]
    expected = stats.spearmanr(left, right).statistic, stats.kendalltau(left, right).statistic
    assert [each.value for each in rank_correlations(x, distinct(y))] == pytest.approx(
        expected, rel=1e-12
    )


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
    assert rho.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert kendall(x, y) == tau.value == pytest.approx(tau_by_definition(x, y))


@pytest.mark.parametrize("continuous", [False, True])
def test_an_influence_is_what_one_more_of_an_item_adds(continuous: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = np.round(rng.normal(size=(2, 40)), 9 * continuous)
    y += x
    x[3] = np.nan
    many = 2_000
    for item in (0, 7, 20):
        more = np.append(np.tile(np.arange(40), many), item)
        for before, after in zip(figures(x, y), figures(x[more], y[more]), strict=True):
            assert (after.value - before.value) * many == pytest.approx(
                before.influence[item], rel=0.01, abs=1e-4
            )
            assert np.isnan(before.influence[3])


def figures(x: np.ndarray, y: np.ndarray) -> tuple[Correlation, ...]:
    return (pearson_influence(x, y), *rank_correlations(x, distinct(y)))


def test_intervals_of_rank_correlations_cover() -> None:
    """Eight outputs a source, alike within it; five levels on one side. True rho and tau from
    160,000 outputs.
    """
    rng = np.random.default_rng(1)

    def world(sources: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        quality = rng.normal(size=(sources, 8)) + rng.normal(size=(sources, 1))
        people = np.clip(np.round(quality + rng.normal(size=quality.shape) / 2 + 2), 0, 4)
        scores = quality + rng.normal(size=quality.shape) + rng.normal(size=(sources, 1)) / 2
        return scores.ravel(), people.ravel(), np.repeat(np.arange(sources), 8)

    true = [each.value for each in figures(*world(20_000)[:2])]
    covered = np.zeros(3)
    for _ in range(200):
        scores, people, source = world(25)
        for place, found in enumerate(figures(scores, people)):
            low, high = correlation_interval(found.value, found.influence, source) or (
                np.nan,
                np.nan,
            )
            covered[place] += low <= true[place] <= high
    assert (covered / 200 > 0.9).all()
    assert (covered / 200 < 0.99).all()
    assert correlation_interval(found.value, found.influence, np.zeros(200, dtype=int)) is None


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
    table, _ = deviation_sums(
        np.full((1, 49), 0.1), np.arange(49.0), np.arange(49), np.zeros(49, dtype=int)
    )
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
    fast, fast_system = (
        pearson_from_sums(drawn.sum(axis=1)),
        system_pearson_from_sums(drawn[..., :3]),
    )
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
    with pytest.raises(Undefined, match="two generators"):
        system_pearson(x, y, np.zeros(4))
    with pytest.raises(Undefined, match="equal means"):
        system_pearson(np.array([1.0, 3.0, 2.0, 2.0]), y, np.array(["a", "a", "b", "c"]))
