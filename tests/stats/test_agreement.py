"""Two raters, panels and human ceilings: by hand, against other libraries, and where they are
undefined.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.stats.aggregate import ALL, NOBODY, NONE, SOME, TIE, aggregate, agreement_case
from metal.stats.agreement import (
    against_all,
    cohen_kappa,
    constant_margins,
    fleiss_disagreement,
    gwet_disagreement,
    leave_one_out,
    macro_f1,
    majority_of_others,
    pairs_of,
    pairwise,
    percent_agreement,
    pooled_agreement,
    quadratic_disagreement,
    raters_with,
    weighted_f1,
)
from metal.stats.alpha import alpha_disagreement
from metal.stats.patterns import class_counts, find_patterns, margins
from metal.stats.skill import moments

#            answer: 0   1
#   truth 0:        20   5     p_o = 35/50                      = 0.7
#   truth 1:        10  15     p_e = .5*.6 + .5*.4 = 0.5  ->  kappa = 0.4
TABLE = np.array([[20.0, 15.0], [25.0, 25.0], [30.0, 20.0]])  # hits, truths, answers
SWAPPED = TABLE[[0, 2, 1]]

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def sides(truth: list[int], answer: list[int], levels: int = 4) -> np.ndarray:
    patterns = find_patterns(np.column_stack([truth, answer]))
    return margins(patterns.counts, patterns.rows[:, 0], patterns.rows[:, 1], levels)


def test_by_hand() -> None:
    assert percent_agreement(TABLE) == pytest.approx(0.7)
    assert cohen_kappa(TABLE) == pytest.approx(0.4)
    # F1 of 0: 40/55, of 1: 30/45; both classes have half of the truths
    assert weighted_f1(TABLE) == pytest.approx((40 / 55 + 30 / 45) / 2)
    assert weighted_f1(TABLE) != pytest.approx(weighted_f1(SWAPPED), abs=1e-3)


@given(labels)
def test_symmetrised_f1_is_twice_the_agreement(pairs: list[tuple[int, int]]) -> None:
    table = sides(*map(list, zip(*pairs, strict=True)))
    assert weighted_f1(table) + weighted_f1(table[[0, 2, 1]]) == pytest.approx(
        2 * percent_agreement(table)
    )


@given(labels)
def test_f1_as_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import f1_score

    truth, answer = map(list, zip(*pairs, strict=True))
    table = sides(truth, answer)
    assert weighted_f1(table) == pytest.approx(
        f1_score(truth, answer, average="weighted", zero_division=0)
    )
    assert macro_f1(table) == pytest.approx(
        f1_score(truth, answer, average="macro", zero_division=0)
    )


@given(labels, st.booleans())
def test_kappa_as_scikit_learn(pairs: list[tuple[int, int]], quadratic: bool) -> None:
    from sklearn.metrics import cohen_kappa_score

    truth, answer = map(list, zip(*pairs, strict=True))
    sums = moments(np.array(truth, dtype=float), np.array(answer, dtype=float)).sum(axis=0)
    ours = (
        quadratic_disagreement(sums, 3).beyond_chance
        if quadratic
        else cohen_kappa(sides(truth, answer))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohen_kappa_score(
            truth, answer, labels=[0, 1, 2, 3], weights="quadratic" if quadratic else None
        )
    assert ours == pytest.approx(theirs, nan_ok=True)


def test_one_class_on_both_sides_is_undefined() -> None:
    table = np.array([[9.0, 0.0]] * 3)
    assert np.isnan(cohen_kappa(table))
    assert np.isnan(
        quadratic_disagreement(
            moments(np.full(9, 0.1), np.full(9, 0.1)).sum(axis=0), 1
        ).beyond_chance
    )
    assert weighted_f1(table) == 1


def test_a_constant_judge_has_kappa_zero_and_may_have_a_high_f1() -> None:
    lopsided = constant_margins(np.array([[2.0, 94.0], [3.0, 97.0], [5.0, 95.0]]), 1)
    assert cohen_kappa(lopsided) == pytest.approx(0, abs=1e-15)
    assert weighted_f1(lopsided) > 0.95


def test_no_items_is_undefined() -> None:
    empty = np.zeros((3, 3))
    assert np.isnan(
        [weighted_f1(empty), macro_f1(empty), percent_agreement(empty), cohen_kappa(empty)]
    ).all()


def test_many_matrices_at_once() -> None:
    stack = np.stack([TABLE, SWAPPED, np.zeros((3, 2))])
    assert weighted_f1(stack).shape == (3,)
    assert weighted_f1(stack)[0] == weighted_f1(TABLE)


# 7 items x 3 raters x 4 levels: no two sizes alike, so that swapped axes show
RATINGS = np.array([[0, 0, 0], [1, 1, 2], [2, 2, 2], [3, 3, 0], [1, 1, 1], [0, 3, 2], [2, 2, 1]])
panels = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=2, max_size=40).map(np.array)


def weighted(ratings: np.ndarray, levels: int = 4) -> tuple[np.ndarray, np.ndarray]:
    patterns = find_patterns(np.sort(ratings, axis=1))
    return patterns.counts, class_counts(patterns.rows, levels)


def rows_of(ratings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    patterns = find_patterns(ratings)
    return patterns.counts, patterns.rows


def test_fleiss_by_hand() -> None:
    # P_i: 1, 1/3, 1, 1/3, 1, 0, 1/3 -> 4/7; p = (5, 6, 7, 3)/21 -> P_e = 119/441
    observed, expected = 4 / 7, (25 + 36 + 49 + 9) / 441
    assert fleiss_disagreement(*weighted(RATINGS)).beyond_chance == pytest.approx(
        (observed - expected) / (1 - expected)
    )
    assert pooled_agreement(*weighted(RATINGS)) == pytest.approx(observed)


@given(panels)
def test_fleiss_as_statsmodels(ratings: np.ndarray) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    ours = fleiss_disagreement(*weighted(ratings)).beyond_chance
    if len(np.unique(ratings)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(fleiss_kappa(class_counts(ratings, 4)))


def alpha(weights: np.ndarray, counts: np.ndarray) -> float:
    values = np.arange(float(counts.shape[1]))
    return float(alpha_disagreement(weights, weights, counts, values, "nominal").beyond_chance)


def test_degenerate_panels() -> None:
    # 100 items, all Absent: 0/0. One dissent in 300: -0.003, which is defined (published
    # behaviour).
    constant = np.zeros((100, 3), dtype=int)
    assert np.isnan(fleiss_disagreement(*weighted(constant, 2)).beyond_chance)
    assert np.isnan(alpha(*weighted(constant, 2)))
    assert pairwise(*rows_of(constant), 2, ROUND) == 1
    dissents = {
        1: (-0.003344, 0.0, 0.99329),
        2: (-0.006711, -0.003356, 0.98649),
        4: (-0.013514, -0.010135, 0.97261),
    }
    for count, (fleiss, expected_alpha, ac1) in dissents.items():
        ratings = constant.copy()
        ratings[:count, 0] = 1
        assert fleiss_disagreement(*weighted(ratings, 2)).beyond_chance == pytest.approx(
            fleiss, abs=1e-6
        )
        assert alpha(*weighted(ratings, 2)) == pytest.approx(expected_alpha, abs=1e-6)
        assert gwet_disagreement(*weighted(ratings, 2)).beyond_chance == pytest.approx(
            ac1, abs=1e-5
        )
        # beside a kappa of 0 stands an F1 of 0.99: METAL's Table 6 has such pairs
        assert pairwise(*rows_of(ratings), 2, ROUND) == pytest.approx(1 - count / 150, abs=1e-4)
    ratings = constant.copy()
    ratings[0, :2] = 1
    assert fleiss_disagreement(*weighted(ratings, 2)).beyond_chance == pytest.approx(
        0.496644, abs=1e-6
    )
    assert gwet_disagreement(*weighted(constant, 2)).beyond_chance == 1


def test_fleiss_takes_uneven_panels() -> None:
    # agreement of items: 1 (three alike), 0 (two differ); chance from 5 ratings, 4 of one class
    kappa = fleiss_disagreement(np.array([1, 1]), np.array([[3, 0], [1, 1]])).beyond_chance
    assert kappa == pytest.approx((0.5 - 0.68) / (1 - 0.68))


def test_levels_that_are_not_evenly_spaced_count_by_their_values() -> None:
    # 0 five times, 1 five times, 5 five times, and 0 and 1 mixed up once each: both sides 6, 6, 5
    truth = np.repeat([0.0, 1, 5, 0, 1], [5, 5, 5, 1, 1])
    answer = np.repeat([0.0, 1, 5, 1, 0], [5, 5, 5, 1, 1])
    observed, by_chance = 2 * 1 / 17, (2 * 36 * 1 + 2 * 30 * 16 + 2 * 30 * 25) / 17**2
    kappa = quadratic_disagreement(moments(truth, answer).sum(axis=0), 5).beyond_chance
    assert kappa == pytest.approx(1 - observed / by_chance)


def test_nobody_rated_twice() -> None:
    single = np.array([[1, 0], [0, 1]])
    assert np.isnan(pooled_agreement(np.array([2, 3]), single))
    assert np.isnan(gwet_disagreement(np.array([2, 3]), single).beyond_chance)
    assert np.isnan(alpha(np.array([2, 3]), single))


#            A1 A2 A3
ROWS = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [0, 1, 2], [2, 2, 2]])
ONE_EACH = np.ones(5)
ROUND = pairs_of(range(3))


def test_majority_of_others() -> None:
    assert majority_of_others(class_counts(ROWS, 3), ROWS[:, 2]).tolist() == [0, 0, 1, -1, 2]
    two = np.array([[0, -1, 1]])
    assert majority_of_others(class_counts(two, 2), two[:, 0]).tolist() == [-1]  # only one other


def test_leave_one_out() -> None:
    # A1 against A2 = A3:      items 0, 2, 4: all right                         -> 1
    # A2 against A1 = A3:      items 0, 2, 4                                     -> 1
    # A3 against A1 = A2: truth 0 0 1 2, answers 0 1 1 2 (items 0, 1, 2, 4)
    #   F1: class 0 2/3, class 1 2/3, class 2 1 -> (2 * 2/3 + 2/3 + 1) / 4 = 3/4
    assert leave_one_out(ONE_EACH, ROWS, 3, range(3)) == pytest.approx((1 + 1 + 0.75) / 3)


def test_pairwise_goes_round() -> None:
    assert pairs_of(range(4)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert pairs_of([2]) == []
    assert ROUND == [(0, 1), (1, 2), (2, 0)]
    forward = pairwise(ONE_EACH, ROWS, 3, ROUND)
    assert forward != pytest.approx(pairwise(ONE_EACH, ROWS, 3, [(0, 1), (0, 2), (1, 2)]), abs=1e-3)


def test_against_all_is_the_highest_here() -> None:
    truth = np.array([0, 0, 1, 1, 2])
    # A1: truth 0 0 1 1 2, answers 0 0 1 0 2: class 0 F1 4/5, class 1 2/3, class 2 1 -> (1.6 + 4/3 +
    # 1) / 5
    assert against_all(ONE_EACH, ROWS[:, :1], truth, 3, [0]) == pytest.approx(
        (2 * 0.8 + 2 * 2 / 3 + 1) / 5
    )


def test_pairs_that_never_meet_are_left_out() -> None:
    rows = np.array([[0, 0, -1], [1, 1, -1], [-1, -1, 0]])
    assert pairwise(np.ones(3), rows, 2, ROUND) == 1
    assert np.isnan(pairwise(np.ones(1), np.array([[0, -1, -1]]), 2, ROUND))
    assert np.isnan(pairwise(np.ones(1), np.array([[0]]), 2, []))
    assert np.isnan(leave_one_out(np.ones(1), np.array([[0, 0]]), 2, range(2)))


def test_one_weight_a_resample() -> None:
    weights = np.array([ONE_EACH, [5, 0, 0, 0, 0]])
    assert pairwise(weights, ROWS, 3, ROUND).shape == (2,)
    assert leave_one_out(weights, ROWS, 3, range(3))[1] == 1


# ---------------------------------------------------------------- the aggregate

THREE = np.arange(3.0)


def test_majority_or_mean() -> None:
    expected = {
        (0, 2, 2): 2,  # two of three
        (0, 1, 2): 1,  # none agree: the mean is 1, a level
        (0, 2, -1): 1,  # two people, mean 1
        (0, 1, -1): TIE,  # mean 0.5 is no level
        (2, -1, -1): 2,
        (-1, -1, -1): NOBODY,
    }
    assert aggregate(np.array([*expected]), THREE).tolist() == [*expected.values()]


def test_rules_differ_only_without_a_majority() -> None:
    rows = np.array([[0, 2, 2], [0, 1, -1], [0, 1, 2]])
    assert aggregate(rows, THREE, "majority-or-middle").tolist() == [2, 1, 1]
    assert aggregate(rows, THREE, "majority").tolist() == [2, TIE, TIE]


def test_five_levels_mean_may_be_no_class() -> None:
    rows = np.array([[0, 2, 4], [0, 1, 4], [3, 3, 0]])
    # means of the values 1..5: 3 (a level), 2.67 (none), majority 4
    assert aggregate(rows, np.arange(1.0, 6.0)).tolist() == [2, TIE, 3]


def test_nominal_scales_have_no_mean() -> None:
    assert aggregate(np.array([[0, 1, 2], [0, 2, -1]]), THREE, ordered=False).tolist() == [TIE, TIE]


def test_cases_of_three() -> None:
    rows = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 2], [1, 1, -1], [2, -1, -1]])
    assert agreement_case(rows, 3).tolist() == [ALL, SOME, NONE, ALL, -1]


def test_of_thousands_of_people_those_with_the_most_ratings_are_compared_one_by_one() -> None:
    rows = np.full((40, 3000), -1)
    rows[:20] = np.arange(20)[:, None] % 2
    rows[20:, 100:150] = 1
    assert raters_with(np.ones(40, dtype=int), rows, 10) == [*range(100, 150)]
    assert raters_with(np.ones(40, dtype=int), rows[:, :200], 10) == [*range(200)]


def test_patterns_of_thousands_of_people_are_found_without_a_warning() -> None:
    rows = np.random.default_rng(0).integers(0, 5, (30, 5000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(find_patterns(np.vstack([rows, rows])).rows) == 30
