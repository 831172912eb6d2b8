"""Ranks that data leave open: p-values by hand, Holm over all pairs, and boards with ties in
truth.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metal.stats.pairwise import generator_pairs
from metal.stats.permutation import correlation_pairs
from metal.stats.ranks import Pairs, paired_t
from metal.stats.significance import holm
from tests.bench.boards import BOARDS, Board, rates

NONE = np.nan


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_p_is_two_sided_and_never_below_what_the_sources_can_give() -> None:
    # gaps 1, 2, 3 on three sources: of 8 flips the first and the last are as far from 0
    three = generator_pairs(np.array([[2.0, 3, 4], [1, 1, 1]]), rng())
    assert three.p[0, 1] == three.p[1, 0] == 2 / 8
    assert three.ahead.tolist() == [[False, True], [False, False]]
    # gaps 1, -1: the observed sum 0 is below none of the others
    assert generator_pairs(np.array([[2.0, 1], [1, 2]]), rng()).p[0, 1] == 1
    # 30 sources that all say the same, by 15 permutations: not 2 / 16, but 2 / 2^30
    assert (
        generator_pairs(np.array([[2.0] * 30, [1.0] * 30]), rng(), resamples=15).p[0, 1] == 2.0**-29
    )


def test_far_beyond_the_permutations_p_is_students() -> None:
    scores = rng(1).normal(size=(2, 40)) + np.array([[1.2], [0.0]])
    assert generator_pairs(scores, rng()).p[0, 1] == pytest.approx(stats.ttest_rel(*scores).pvalue)
    t, sources = paired_t(scores)
    assert t[0, 1] == pytest.approx(stats.ttest_rel(*scores).statistic)
    assert sources[0, 1] == 40


def test_pairs_on_shared_sources_only() -> None:
    scores = rng(2).normal(size=(3, 60))
    scores[0] += 2
    scores[0, 50:] = scores[2, :50] = NONE  # the first and the last share none
    pairs = generator_pairs(scores, rng())
    assert pairs.p[0, 1] == pytest.approx(stats.ttest_rel(scores[0, :50], scores[1, :50]).pvalue)
    assert np.isnan(pairs.p[0, 2])
    low, high = pairs.ranks()
    assert (low.tolist(), high.tolist()) == ([1, 2, 1], [2, 3, 3])  # untested is not different
    assert np.isnan(generator_pairs(scores, rng(), least=51).p).all()


def test_holm_runs_over_all_pairs() -> None:
    p = np.full((4, 4), NONE)
    above = np.triu_indices(4, 1)
    p[above] = [0.001, 0.02, 0.3, 0.04, NONE, 0.009]
    p.T[above] = p[above]
    pairs = Pairs(np.triu(np.ones((4, 4), dtype=bool), 1), p)
    np.testing.assert_allclose(pairs.adjusted[above], holm(p[above]))
    assert pairs.adjusted[0, 1] == pytest.approx(5 * 0.001)  # of five defined pairs
    low, high = pairs.ranks()  # 1 above 2, and 3 above 4: 4 x .009
    assert (low.tolist(), high.tolist()) == ([1, 2, 1, 2], [3, 4, 3, 4])


def test_equal_scores_share_a_rank() -> None:
    """0.1 + 0.2 and 0.3 differ in the last digit only."""
    pairs = Pairs(np.zeros((4, 4), dtype=bool), np.full((4, 4), NONE))
    in_order = pairs.in_order(np.array([0.3, 0.1 + 0.2, 0.1, 0.9]))
    assert [at for at, _ in in_order] == [3, 0, 1, 2]
    assert [ranks["rank"] for _, ranks in in_order] == [1, 2, 2, 4]
    assert {(ranks["rank_low"], ranks["rank_high"]) for _, ranks in in_order} == {(1, 4)}


def test_raters_exchange_whole_sources() -> None:
    """Two equal raters whose errors an output shares with its source: exchanging single outputs is
    too sure.
    """
    by_source, by_output, times = 0, 0, 150
    for seed in range(times):
        random = rng(seed)
        people = random.normal(size=240)
        source = np.repeat(np.arange(30), 8)
        people = people + np.repeat(random.normal(size=30), 8)
        raters = (
            people
            + np.repeat(random.normal(size=(2, 30)), 8, axis=1) * 1.5
            + random.normal(size=(2, 240)) * 0.3
        )
        by_source += correlation_pairs(people, raters, rng(), source).p[0, 1] <= 0.05
        by_output += correlation_pairs(people, raters, rng(), np.arange(240)).p[0, 1] <= 0.05
    assert by_source / times <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / times)
    assert by_output / times > 0.2


def test_a_better_rater_is_seen_by_far() -> None:
    random = rng(5)
    people = random.normal(size=200)
    raters = people + random.normal(size=(3, 200)) * np.array([[0.3], [0.3], [3.0]])
    pairs = correlation_pairs(people, raters, rng(), np.arange(200))
    assert pairs.p[0, 2] < 1e-6 < 0.05 < pairs.p[0, 1]
    assert [open_ranks.tolist() for open_ranks in pairs.ranks()] == [[1, 1, 3], [2, 2, 3]]
    assert len(correlation_pairs(people, raters[:0], rng(), np.arange(200)).p) == 0


@pytest.mark.parametrize("board", BOARDS[1:], ids=lambda board: board.name)
def test_true_ranks_are_covered_and_equal_generators_not_split(board: Board) -> None:
    """Of few draws; tests.bench.boards prints all of them."""
    times = 100
    of_board = rates(board, 60, times)
    assert of_board.covered >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / times)
    assert of_board.split <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / times)


def test_one_sided_p_in_the_direction_seen_fails_the_same_test() -> None:
    assert rates(BOARDS[3], 60, 100).one_sided > 0.15
