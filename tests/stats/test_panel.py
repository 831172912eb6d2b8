"""Panels: by hand, against statsmodels and the krippendorff package, and where they are undefined."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from metal.errors import Undefined
from metal.stats.ceiling import pairwise
from metal.stats.panel import (
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pooled_agreement,
)
from metal.stats.patterns import class_counts, find_patterns

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
    assert fleiss_kappa(*weighted(RATINGS)) == pytest.approx((observed - expected) / (1 - expected))
    assert pooled_agreement(*weighted(RATINGS)) == pytest.approx(observed)


@given(panels)
def test_fleiss_as_statsmodels(ratings: np.ndarray) -> None:
    ours = fleiss_kappa(*weighted(ratings))
    if len(np.unique(ratings)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(statsmodels_fleiss(class_counts(ratings, 4)))


@pytest.mark.parametrize("measure", ["nominal", "ordinal", "interval"])
def test_alpha_as_the_krippendorff_package(measure: str) -> None:
    ratings = np.array(RATINGS, dtype=float)
    ratings[0, 1] = ratings[3, 0] = ratings[5, 2] = np.nan
    theirs = krippendorff.alpha(ratings.T, value_domain=[0, 1, 2, 3], level_of_measurement=measure)
    codes = np.nan_to_num(ratings, nan=-1).astype(int)
    patterns = find_patterns(codes)
    ours = krippendorff_alpha(patterns.counts, class_counts(patterns.rows, 4), np.arange(4.0), measure)
    assert ours == pytest.approx(theirs)


def test_degenerate_panels() -> None:
    # 100 items, all Absent: 0/0. One dissent in 300: -0.003, which is defined (published behaviour).
    constant = np.zeros((100, 3), dtype=int)
    assert np.isnan(fleiss_kappa(*weighted(constant, 2)))
    with pytest.raises(Undefined, match="one class"):
        krippendorff_alpha(*weighted(constant, 2), np.arange(2.0), "nominal")
    assert pairwise(*rows_of(constant), 2) == 1
    dissents = {1: (-0.003344, 0.0, 0.99329), 2: (-0.006711, -0.003356, 0.98649), 4: (-0.013514, -0.010135, 0.97261)}
    for count, (fleiss, alpha, ac1) in dissents.items():
        ratings = constant.copy()
        ratings[:count, 0] = 1
        assert fleiss_kappa(*weighted(ratings, 2)) == pytest.approx(fleiss, abs=1e-6)
        assert krippendorff_alpha(*weighted(ratings, 2), np.arange(2.0), "nominal") == pytest.approx(alpha, abs=1e-6)
        assert gwet_ac1(*weighted(ratings, 2)) == pytest.approx(ac1, abs=1e-5)
        # beside a kappa of 0 stands an F1 of 0.99: METAL's Table 6 has such pairs
        assert pairwise(*rows_of(ratings), 2) == pytest.approx(1 - count / 150, abs=1e-4)
    ratings = constant.copy()
    ratings[0, :2] = 1
    assert fleiss_kappa(*weighted(ratings, 2)) == pytest.approx(0.496644, abs=1e-6)
    assert gwet_ac1(*weighted(constant, 2)) == 1


def test_fleiss_refuses_unequal_panels() -> None:
    with pytest.raises(ValueError, match="same number of raters"):
        fleiss_kappa(np.array([1, 1]), np.array([[3, 0], [1, 1]]))


def test_nobody_rated_twice() -> None:
    single = np.array([[1, 0], [0, 1]])
    assert np.isnan(pooled_agreement(np.array([2, 3]), single))
    assert np.isnan(gwet_ac1(np.array([2, 3]), single))
    with pytest.raises(Undefined, match="two ratings"):
        krippendorff_alpha(np.array([2, 3]), single, np.arange(2.0), "nominal")
