"""Correlations from one table of sums against the plain formulas, rater after rater and resample after resample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.boards import agreement as module
from metal.boards.agreement import agreements, intervals
from metal.errors import Undefined
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.correlation import pearson, system_pearson

BOOTSTRAP = SourceBootstrap(100, 3)


def made(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores, people, sources and generators: gaps, constant raters, generators that wrote of some sources only."""
    rng = np.random.default_rng(seed)
    sources, generators = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    source, generator = (axis.ravel() for axis in np.meshgrid(np.arange(sources) * 5, np.arange(generators)))
    kept = (rng.random(len(source)) < rng.choice([0.6, 1.0])) | (source == 0)
    source, generator = source[kept], generator[kept]
    order = rng.permutation(len(source))
    human = np.round(rng.normal(size=len(source)), 1) + 40
    scores = np.round(human + rng.normal(size=(4, len(source))), 1)
    scores[1][generator == 0] = 0.1
    scores[2] = 0.7
    scores[3][rng.random(len(source)) < 0.3] = np.nan
    return scores[:, order], human[order], source[order], generator[order]


def plain(compute: object, *sides: np.ndarray) -> float:
    try:
        return float(compute(*sides))  # type: ignore[operator]
    except Undefined:
        return float("nan")


def value(figure: object) -> float:
    found = figure.value  # type: ignore[attr-defined]
    return float("nan") if found is None else found


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_figures_are_the_plain_ones(seed: int) -> None:
    scores, human, source, generator = made(seed)
    for mine, found in zip(scores, agreements(scores, human, source, generator, BOOTSTRAP), strict=True):
        assert value(found.instance) == pytest.approx(plain(pearson, mine, human), nan_ok=True)
        assert value(found.system) == pytest.approx(plain(system_pearson, mine, human, generator), nan_ok=True)
        for code, within in enumerate(found.within):
            here = generator == code
            assert value(within) == pytest.approx(plain(pearson, mine[here], human[here]), nan_ok=True)
            assert within.n == (~np.isnan(mine[here])).sum()
            assert within.value is not None or within.reason


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_intervals_are_those_of_resamples_written_out(seed: int) -> None:
    scores, human, source, generator = made(seed)
    weights = {}
    for mine, found in zip(scores, agreements(scores, human, source, generator, BOOTSTRAP), strict=True):
        for code, figure in enumerate((found.instance, *found.within), -1):
            here = (generator == code) | (code < 0)
            names, place = np.unique(source[here], return_inverse=True)
            weights[len(names)] = np.concatenate(list(BOOTSTRAP.source_weights(len(names)))).astype(int)
            drawn = []
            for counts in weights[len(names)]:
                items = np.repeat(np.flatnonzero(here), counts[place])
                drawn.append(plain(pearson, mine[items], human[items]))
            if figure.low is not None:
                assert (figure.low, figure.high) == pytest.approx(percentile_interval(np.array(drawn)), abs=1e-9)
            elif figure.value is not None:
                assert (
                    len(np.unique(source[here & ~np.isnan(mine)])) < 2 or percentile_interval(np.array(drawn)) is None
                )


def test_raters_in_several_parts_are_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = agreements(*made(1), BOOTSTRAP)
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    assert agreements(*made(1), BOOTSTRAP) == whole


def test_intervals_of_many_columns() -> None:
    drawn = np.random.default_rng(0).normal(size=(200, 2, 3))
    drawn[:50, 0, 1] = np.nan
    drawn[:150, 1, 2] = np.nan
    low, high = intervals(drawn)
    for place in np.ndindex(2, 3):
        expected = percentile_interval(drawn[:, *place])
        if expected is None:
            assert np.isnan(low[place])
        else:
            assert (low[place], high[place]) == pytest.approx(expected, rel=1e-12)
