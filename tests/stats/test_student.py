"""Student's t against SciPy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from metal.stats.student import t_cdf

DEGREES = (1, 2, 3, 10, 29, 99, 100, 299, 300, 301, 1000, 9999)


@pytest.mark.parametrize("df", DEGREES)
def test_probabilities(df: int) -> None:
    for t in (0, 1e-3, 0.1, 0.5, 0.9, 1, 1.3, 2, 3, 5, 8, 12, 20, 100, 1e5):
        assert t_cdf(-t, df) == pytest.approx(stats.t.cdf(-t, df), rel=2e-12, abs=1e-290)
        assert t_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), rel=2e-12)


def test_the_ends() -> None:
    assert t_cdf(math.inf, 5) == 1
    assert t_cdf(-math.inf, 5) == 0
    assert math.isnan(t_cdf(math.nan, 5))
