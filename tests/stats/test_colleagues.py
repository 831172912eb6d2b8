"""A rater beside the others: by hand, and that nobody stands out among equals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metal.stats.bootstrap import SourceBootstrap
from metal.stats.colleagues import Labels, difference_to_others
from metal.stats.significance import clustered_mean


def test_agreement_by_hand() -> None:
    # One item, four people: 0 0 1 2. Of the first: one of three others agrees; of their pairs (0 1, 0 2, 1 2) none.
    # Of the third: nobody; of the pairs of 0 0 2 one in three. Most of the others: of 0 1 2 tied; of 0 0 2 it is 0.
    beside = Labels(np.zeros(4, int), np.array([0, 0, 1, 2]), np.ones(4, bool), (1, 3)).beside()
    assert beside.agreement == pytest.approx([1 / 3, 1 / 3, 0, 0])
    assert beside.among == pytest.approx([0, 0, 1 / 3, 1 / 3])
    assert beside.tied.tolist() == [True, True, False, False]
    assert beside.majority[2:].tolist() == [0, 0]
    assert np.isnan(beside.majority[:2]).all()
    assert beside.others.tolist() == [3, 3, 3, 3]


def test_who_is_no_person_has_all_people_as_colleagues_and_is_nobodys() -> None:
    labels = Labels(np.zeros(3, int), np.array([1, 1, 0]), np.array([True, True, False]), (1, 2))
    assert labels.beside().others.tolist() == [1, 1, 2]
    assert labels.beside().agreement.tolist() == [1, 1, 0]
    assert labels.beside().among[2] == 1
    assert np.isnan(labels.beside().among[:2]).all()
    assert labels.shares().tolist() == [[0, 1], [0, 1], [0, 1]]


def test_alone_is_undefined() -> None:
    labels = Labels(np.array([0]), np.array([1]), np.array([True]), (1, 2))
    assert np.isnan([*labels.beside().agreement, *labels.beside().majority, *labels.shares()[0]]).all()
    assert np.isnan(difference_to_others(np.array([0]), np.array([1.0]), np.array([True]), 1)).all()


def test_difference_leaves_out_missing_values() -> None:
    value = np.array([1.0, 0.5, np.nan])
    differences = difference_to_others(np.zeros(3, int), value, np.ones(3, bool), 1)
    assert differences[:2].tolist() == [0.5, -0.5]
    assert np.isnan(differences[2])


@given(codes=hnp.arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(3, 6)), elements=st.integers(0, 2)))
def test_over_a_whole_panel_the_differences_cancel(codes: np.ndarray) -> None:
    items, raters = codes.shape
    item = np.repeat(np.arange(items), raters)
    beside = Labels(item, codes.ravel(), np.ones(codes.size, bool), (items, 3)).beside()
    sums = np.bincount(item, beside.agreement - beside.among)
    assert sums == pytest.approx(np.zeros(items), abs=1e-12)


def test_among_equals_one_in_twenty_is_named_at_five_percent() -> None:
    # Panels of three equals, four outputs per source that are alike in difficulty: 400 people are tested, 5% wrongly.
    rng = np.random.default_rng(0)
    item, source = np.repeat(np.arange(120), 3), np.repeat(np.arange(120) // 4, 3)
    low = []
    for _ in range(400):
        clear = np.repeat(rng.random(30) < 0.5, 12)
        code = np.where(clear & (rng.random(360) < 0.9), 0, rng.integers(0, 3, 360))
        beside = Labels(item, code, np.ones(360, bool), (120, 3)).beside()
        lead, first = beside.agreement - beside.among, slice(0, None, 3)
        low.append(clustered_mean(lead[first], source[first], SourceBootstrap(100)).p < 0.05)
    assert 0.02 <= np.mean(low) <= 0.09
