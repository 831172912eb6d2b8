"""Wilson's interval at the size that sources are worth, and how often it covers."""

from __future__ import annotations

import numpy as np
import pytest

from metal.stats.intervals import jackknife_variance, share_interval, wilson


@pytest.mark.parametrize(("hits", "items"), [(0, 10), (9, 10), (10, 10), (37, 120)])
def test_wilson_is_that_of_statsmodels(hits: int, items: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    expected = proportion_confint(hits, items, alpha=0.1, method="wilson")
    assert wilson(hits / items, items, 1.6448536269514722) == pytest.approx(expected, abs=1e-12)


def test_the_jackknife_of_a_mean_is_its_variance() -> None:
    values = np.random.default_rng(1).normal(size=30)
    without = (values.sum() - values) / 29
    assert jackknife_variance(without, np.ones(30, dtype=int)) == pytest.approx(
        values.var(ddof=1) / 30
    )
    kinds, times = np.array([2.0, 5.0]), np.array([3, 2])
    without = ((kinds @ times) - kinds) / 4
    assert jackknife_variance(without, times) == pytest.approx(
        np.repeat(kinds, times).var(ddof=1) / 5
    )


@pytest.mark.parametrize("truth", [0.8, 0.97])
@pytest.mark.parametrize(("sources", "outputs"), [(20, 1), (60, 1), (20, 8)])
def test_coverage_of_shares(truth: float, sources: int, outputs: int) -> None:
    """0.95 is promised; the percentile bootstrap reaches 0.47 with 20 sources at 0.97."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        share = (
            rng.beta(truth * 4, (1 - truth) * 4, sources)
            if outputs > 1
            else np.full(sources, truth)
        )
        hits = rng.binomial(outputs, share)
        without = (hits.sum() - hits) / (outputs * (sources - 1))
        variance = jackknife_variance(without, np.ones(sources, dtype=int))
        low, high = share_interval(
            hits.sum() / (sources * outputs), variance, sources * outputs, sources
        )
        covered += low <= truth <= high
    assert covered / 400 >= 0.90


def test_one_source_says_nothing() -> None:
    assert share_interval(0.5, float("nan"), 10, 1) == (0.0, 1.0)
