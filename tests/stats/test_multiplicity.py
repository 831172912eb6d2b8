"""Adjusted p-values: by hand, and what must hold for any input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from metal.stats.multiplicity import benjamini_yekutieli, holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(max_examples=12)  # statsmodels collects garbage in each call, a second in a process that has loaded much
@given(p_values)
def test_as_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_yekutieli(p) == pytest.approx(multipletests(p, method="fdr_by")[1])


def test_undefined_tests_do_not_count() -> None:
    adjusted = holm([0.01, float("nan"), 0.04])
    assert adjusted[[0, 2]].tolist() == [0.02, 0.04]
    assert np.isnan(adjusted[1])
    assert np.isnan(benjamini_yekutieli([float("nan")])).all()
