"""Correlations in groups: by hand, as scipy in each group, and pair by pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metal.errors import Undefined
from metal.stats import grouped
from metal.stats.grouped import (
    ItemGroups,
    kendall_by_group,
    kendall_c_by_group,
    kendall_like,
    pairwise_accuracy_by_group,
    pairwise_difference_pearson,
    pearson_by_group,
    ranks_by_group,
    spearman_by_group,
    tied_threshold,
)
from metal.stats.pairwise import calibrate_ties

SCIPY: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "kendall c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
}
OURS = {
    "pearson": pearson_by_group,
    "spearman": spearman_by_group,
    "kendall": kendall_by_group,
    "kendall c": kendall_c_by_group,
}
# group, gold, score
items = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=30
)


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, ItemGroups]:
    group, gold, score = np.array(rows, dtype=float).T
    groups = ItemGroups.of(group)
    return groups.sorted(gold), groups.sorted(score), groups


@settings(max_examples=60)
@given(items, st.sampled_from(sorted(OURS)), st.sampled_from([2, 400]))
def test_each_group_as_scipy_does_it(
    rows: list[tuple[int, int, int]], name: str, listed: int
) -> None:
    gold, scores, groups = columns(rows)
    both = np.stack([scores, -2.0 * scores])
    before, grouped._LISTED = grouped._LISTED, listed
    try:
        values = OURS[name](gold, both, groups)
    finally:
        grouped._LISTED = before
    assert values.shape == (2, len(groups.starts))
    for at in range(len(groups.starts)):
        inside = groups.which == at
        x, y = gold[inside], scores[inside]
        if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan(values[:, at]).all()
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = SCIPY[name](x, y)
        assert values[:, at] == pytest.approx([expected, -expected], abs=1e-12)


def test_ranks_start_again_in_each_group_and_each_set() -> None:
    groups = ItemGroups.of(np.array([0, 0, 0, 1, 1]))
    sets = np.array([[5.0, 3.0, 5.0, 8.0, 7.0], [1.0, 1.0, 1.0, 0.0, 9.0]])
    assert ranks_by_group(sets, groups).tolist() == [[2.5, 1, 2.5, 2, 1], [2, 2, 2, 1, 2]]


def accuracy(gold: np.ndarray, scores: np.ndarray, epsilon: float) -> float:
    right = []
    for i, j in combinations(range(len(gold)), 2):
        gap = scores[i] - scores[j]
        sign = 0.0 if abs(gap) <= epsilon else np.sign(gap)
        right.append(sign == np.sign(gold[i] - gold[j]))
    return float(np.mean(right)) if right else np.nan


@settings(max_examples=60)
@given(items, st.sampled_from([3, 4_000_000]), st.sampled_from([0.0, 1.0, 2.5]))
def test_pairs_one_by_one(rows: list[tuple[int, int, int]], block: int, epsilon: float) -> None:
    gold, scores, groups = columns(rows)
    inside = [groups.which == at for at in range(len(groups.starts))]
    before, grouped._BLOCK = grouped._BLOCK, block
    try:
        ours = pairwise_accuracy_by_group(gold, scores, groups, epsilon=epsilon)
        if not groups.pairs:
            with pytest.raises(Undefined):
                tied_threshold(gold, scores, groups)
            return
        best = tied_threshold(gold, scores, groups)
    finally:
        grouped._BLOCK = before
    expected = [accuracy(gold[each], scores[each], epsilon) for each in inside]
    assert ours == pytest.approx(np.array(expected), abs=1e-12, nan_ok=True)
    # every difference that occurs is tried
    tried = {0.0, *(abs(scores[i] - scores[j]) for i, j in combinations(range(len(scores)), 2))}
    means = {
        each: np.nanmean([accuracy(gold[group], scores[group], each) for group in inside])
        for each in sorted(tried)
        if any(group.sum() > 1 for group in inside)
    }
    assert best.accuracy == pytest.approx(max(means.values()), abs=1e-12)
    assert means[best.epsilon] == pytest.approx(best.accuracy, abs=1e-12)
    assert all(
        value < best.accuracy - 1e-13 for each, value in means.items() if each < best.epsilon
    )


def test_thresholds_by_source_are_those_of_the_board() -> None:
    rng = np.random.default_rng(0)
    people = rng.integers(0, 4, (6, 40)).astype(float)
    rater = np.round(people + rng.normal(size=people.shape), 1)
    people[0, :9], rater[3, 4:12] = np.nan, np.nan
    scored = ~np.isnan(people) & ~np.isnan(rater)
    groups = ItemGroups.of(np.broadcast_to(np.arange(40), people.shape)[scored])
    ours = tied_threshold(groups.sorted(people[scored]), groups.sorted(rater[scored]), groups)
    board = calibrate_ties(people, rater)
    assert (ours.epsilon, ours.accuracy) == (board.epsilon, pytest.approx(board.accuracy))


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "MOST_PAIRS", 2)
    with pytest.raises(Undefined, match="3 pairs are too many"):
        tied_threshold(np.arange(3.0), np.arange(3.0), ItemGroups.of(np.zeros(3)))


@settings(max_examples=40)
@given(items)
def test_kendall_like_pair_by_pair(rows: list[tuple[int, int, int]]) -> None:
    gold, scores, groups = columns(rows)
    right = wrong = 0
    for i, j in combinations(range(len(gold)), 2):
        if groups.which[i] == groups.which[j] and abs(gold[i] - gold[j]) >= 2:
            alike = (gold[i] - gold[j]) * (scores[i] - scores[j]) > 0
            right, wrong = right + alike, wrong + (not alike)
    value = kendall_like(gold, scores, groups, least=2.0).item()
    if right + wrong:
        assert value == pytest.approx((right - wrong) / (right + wrong))
    else:
        assert np.isnan(value)


@settings(max_examples=40)
@given(items)
def test_differences_of_pairs_in_both_orders(rows: list[tuple[int, int, int]]) -> None:
    gold, scores, groups = columns(rows)
    pairs = [
        (i, j)
        for i in range(len(gold))
        for j in range(len(gold))
        if i != j and groups.which[i] == groups.which[j]
    ]
    x = np.array([gold[i] - gold[j] for i, j in pairs])
    y = np.array([scores[i] - scores[j] for i, j in pairs])
    value = pairwise_difference_pearson(gold, scores, groups).item()
    if x.any() and y.any():
        assert value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    else:
        assert np.isnan(value)
