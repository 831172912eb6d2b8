"""Krippendorff's alpha: by hand, against the package of its name, where it is undefined, limits."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from metal.stats.agreement import Measure
from metal.stats.alpha import alpha_disagreement, alpha_limits
from metal.stats.patterns import class_counts, find_patterns
from metal.stats.seats import Votes

MEASURES: tuple[Measure, ...] = ("nominal", "ordinal", "interval")
FOUR = np.array([0.0, 1.0, 3.5, 10.0])


def alpha(codes: np.ndarray, values: np.ndarray, measure: Measure) -> float:
    patterns = find_patterns(codes)
    counts = class_counts(patterns.rows, len(values))
    times = patterns.counts
    return alpha_disagreement(times, times, counts, values, measure).beyond_chance.item()


def theirs(codes: np.ndarray, values: np.ndarray, measure: Measure) -> float:
    scores = np.where(codes >= 0, values[codes], np.nan)
    return krippendorff.alpha(scores.T, value_domain=list(values), level_of_measurement=measure)


#   item   A  B  C     of values 0, 1, 3 these pairs differ: item 1 once by 1, item 3 twice by 2
#    0     0  0  -     ratings that have a partner: 0 0 | 0 1 | 1 1 1 | 3 1 1, the last item's 3
#    1     0  1  -     is alone; three of 0, six of 1, one of 3
#    2     1  1  1
#    3     3  1  1
#    4     -  -  3
BY_HAND = np.array([[0, 0, -1], [0, 1, -1], [1, 1, 1], [2, 1, 1], [-1, -1, 2]])


def test_by_hand() -> None:
    values = np.array([0.0, 1.0, 3.0])
    # each item: twice its differing pairs, over one less than its ratings; then over 10 ratings
    observed = (2 * 1 / 1 + 2 * 2 / 2) / 10
    expected = 2 * (3 * 6 + 3 * 1 + 6 * 1) / (10 * 9)
    assert alpha(BY_HAND, values, "nominal") == pytest.approx(1 - observed / expected)
    # squared differences: 0 and 1 by 1, 0 and 3 by 9, 1 and 3 by 4
    observed = (2 * 1 / 1 + 2 * 2 * 4 / 2) / 10
    expected = 2 * (3 * 6 * 1 + 3 * 1 * 9 + 6 * 1 * 4) / (10 * 9)
    assert alpha(BY_HAND, values, "interval") == pytest.approx(1 - observed / expected)
    # middles of the ranks of 3, 6 and 1 ratings: 1.5, 6, 9.5
    observed = (2 * 4.5**2 / 1 + 2 * 2 * 3.5**2 / 2) / 10
    expected = 2 * (3 * 6 * 4.5**2 + 3 * 1 * 8**2 + 6 * 1 * 3.5**2) / (10 * 9)
    assert alpha(BY_HAND, values, "ordinal") == pytest.approx(1 - observed / expected)


@given(
    st.lists(st.lists(st.integers(-1, 3), min_size=5, max_size=5), min_size=1, max_size=40),
    st.sampled_from(MEASURES),
)
def test_as_the_package(rows: list[list[int]], measure: Measure) -> None:
    codes = np.array(rows)
    paired = codes[(codes >= 0).sum(axis=1) >= 2]
    assume(len(np.unique(paired[paired >= 0])) > 1)
    expected = theirs(codes, FOUR, measure)
    assert alpha(codes, FOUR, measure) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_as_the_package_on_a_hundred_levels(measure: Measure) -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 101, 700)
    codes = np.clip(truth[:, None] + rng.integers(-9, 10, (700, 4)), 0, 100)
    codes[rng.random(codes.shape) < 0.3] = -1
    values = np.arange(101.0)
    assert alpha(codes, values, measure) == pytest.approx(theirs(codes, values, measure), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_undefined(measure: Measure) -> None:
    alone, one_class = np.array([[0, -1], [-1, 1]]), np.array([[1, 1, -1], [-1, -1, 2]])
    assert np.isnan(alpha(alone, FOUR, measure))
    assert np.isnan(alpha(one_class, FOUR, measure))  # the 2 has no partner
    assert np.isnan(alpha(np.zeros((0, 2), dtype=int), FOUR, measure))


@pytest.mark.parametrize("measure", MEASURES)
def test_limits_hold_it(measure: Measure) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 90)
    people = np.where(rng.random((90, 3)) < 0.7, truth[:, None], rng.integers(0, 3, (90, 3)))
    votes = Votes.of(people, 3)
    ours = alpha_limits(votes.counts, votes.kind, np.arange(90), np.arange(3.0), measure)
    assert ours.value == pytest.approx(theirs(people, np.arange(3.0), measure), abs=1e-12)
    assert ours.low < ours.value < ours.high


def test_limits_of_people_who_never_differ() -> None:
    truth = np.random.default_rng(3).integers(0, 3, 90)
    same = Votes.of(np.repeat(truth[:, None], 2, axis=1), 3)
    unanimous = alpha_limits(same.counts, same.kind, np.arange(90), np.arange(3.0), "nominal")
    assert (unanimous.value, unanimous.high) == (1, 1)
    assert 0.9 < unanimous.low < 1
