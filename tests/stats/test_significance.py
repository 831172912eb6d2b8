"""Many tests at once, clusters of a ranking, and means over clustered values, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.stats.bootstrap import SourceBootstrap
from metal.stats.significance import benjamini_yekutieli, clustered_mean, holm

FEW = SourceBootstrap(200)


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


# statsmodels collects garbage in each call, a second in a process that has loaded much
@settings(max_examples=12)
@given(p_values)
def test_as_statsmodels(p: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_yekutieli(p) == pytest.approx(multipletests(p, method="fdr_by")[1])


def test_undefined_tests_do_not_count() -> None:
    adjusted = holm([0.01, float("nan"), 0.04])
    assert adjusted[[0, 2]].tolist() == [0.02, 0.04]
    assert np.isnan(adjusted[1])
    assert np.isnan(benjamini_yekutieli([float("nan")])).all()


def test_clustered_mean_by_hand() -> None:
    # Sources: (1, 1), (0), (-1): totals 2, 0, -1, mean 1/4. Residuals: 2 - .5, 0 - .25, -1 - .25 =
    # 1.5, -.25, -1.25.
    # Their squares add up to 3.875, times 3/2: 5.8125; t = 1 / 2.411 = .4148 with 2 degrees of
    # freedom.
    score = clustered_mean(np.array([1.0, 1.0, 0.0, -1.0, np.nan]), np.array([0, 0, 1, 2, 3]), FEW)
    assert (score.mean.value, score.n, score.sources) == (0.25, 4, 3)
    t = 1 / np.sqrt(5.8125)
    # Student's t with 2 degrees, both tails
    assert score.p == pytest.approx(1 - t / np.sqrt(2 + t * t))
    assert score.mean.low <= 0.25 <= score.mean.high


def test_always_the_same_proves_no_more_than_its_sources() -> None:
    assert clustered_mean(np.full(20, -1.0), np.arange(20) // 2, FEW).p == 2.0**-9
    assert clustered_mean(np.zeros(6), np.arange(6), FEW).p == 1
    one_source = clustered_mean(np.ones(5), np.zeros(5, int), FEW)
    assert one_source.mean.value == 1
    assert np.isnan([one_source.p, *one_source.mean[1:]]).all()
    assert np.isnan(clustered_mean(np.full(3, np.nan), np.arange(3), FEW).mean.value)
