"""The mixed model: by hand, as statsmodels, and at its limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.errors import Undefined
from metal.stats.mixed_model import overrating, random_intercept


def made(
    rng: np.random.Generator, source: np.ndarray, between: float
) -> tuple[np.ndarray, np.ndarray]:
    rows = len(source)
    columns = np.column_stack(
        [np.ones(rows), rng.random(rows) < 0.8, rng.normal(size=rows) * 20 + 300]
    )
    target = columns @ [1.0, 0.5, 0.02] + rng.normal(size=source.max() + 1)[source] * np.sqrt(
        between
    )
    return target + rng.normal(size=rows), columns


@pytest.mark.parametrize("between", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("balanced", [True, False])
def test_as_statsmodels(balanced: bool, between: float) -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(4)
    source = np.repeat(np.arange(60), 6) if balanced else rng.integers(0, 60, 360)
    target, columns = made(rng, source, between)
    ours = random_intercept(target, columns, source)
    model = sm.MixedLM(target, columns, groups=source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its optimiser's first attempts
        theirs = model.fit(reml=True, gtol=1e-10)
    assert ours.effects == pytest.approx(theirs.fe_params, rel=1e-6, abs=1e-6)
    assert ours.source_variance == pytest.approx(float(theirs.cov_re[0, 0]), rel=1e-5)
    assert ours.residual_variance == pytest.approx(theirs.scale, rel=1e-6)
    assert log_likelihood(
        target, columns, source, ours.source_variance / ours.residual_variance
    ) == pytest.approx(theirs.llf, abs=1e-6)
    assert ours.errors == pytest.approx(by_definition(ours, columns, source), rel=1e-9)
    assert ours.errors == pytest.approx(theirs.bse_fe, rel=5e-3)


def by_definition(fit, columns: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Standard errors from the whole covariance matrix of the rows."""
    variance = fit.source_variance * (source[:, None] == source) + fit.residual_variance * np.eye(
        len(source)
    )
    return np.sqrt(np.diag(np.linalg.inv(columns.T @ np.linalg.solve(variance, columns))))


def test_balanced_is_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 5)) + rng.normal(size=(40, 1)) * 2
    fit = random_intercept(table.ravel(), np.ones((200, 1)), np.repeat(np.arange(40), 5))
    within = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1)
    assert fit.residual_variance == pytest.approx(within)
    assert fit.source_variance == pytest.approx(between - within / 5)
    assert fit.effects[0] == pytest.approx(table.mean())
    assert fit.errors[0] == pytest.approx(np.sqrt(between / 40))


def test_without_variance_between_sources_it_is_least_squares() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    source = np.repeat(np.arange(30), 4)
    target, columns = made(rng, source, 0)
    # sources more alike than chance makes them
    target -= np.repeat(target.reshape(30, 4).mean(axis=1), 4)
    fit = random_intercept(target, columns, source)
    plain = sm.OLS(target, columns).fit()
    assert fit.source_variance == 0
    assert fit.effects == pytest.approx(plain.params)
    assert fit.errors == pytest.approx(plain.bse)


@given(st.integers(0, 10_000), st.floats(0, 20))
def test_no_ratio_of_variances_is_likelier(seed: int, between: float) -> None:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 8, 40)
    target, columns = made(rng, source, between)
    fit = random_intercept(target, columns, source)
    reached = log_likelihood(target, columns, source, fit.source_variance / fit.residual_variance)
    for ratio in np.concatenate([[0], np.logspace(-4, 4, 17)]):
        assert log_likelihood(target, columns, source, ratio) <= reached + 1e-7


def log_likelihood(
    target: np.ndarray, columns: np.ndarray, source: np.ndarray, ratio: float
) -> float:
    """The restricted likelihood by its definition, with the covariance matrix of all rows."""
    variance, freedom = (
        (source[:, None] == source) * ratio + np.eye(len(source)),
        columns.shape[0] - columns.shape[1],
    )
    weighed = np.linalg.solve(variance, columns)
    information = columns.T @ weighed
    left = target - columns @ np.linalg.solve(information, weighed.T @ target)
    squares = left @ np.linalg.solve(variance, left)
    logs = np.linalg.slogdet(variance)[1] + np.linalg.slogdet(information)[1]
    return float(-(freedom * (1 + np.log(2 * np.pi * squares / freedom)) + logs) / 2)


def test_overrating_that_was_put_in_is_found() -> None:
    rng = np.random.default_rng(6)
    source, machine = np.tile(np.arange(200), 5), np.repeat([0.0, 1, 1, 1, 1], 200)
    human = rng.normal(size=1000) - 0.5 * machine
    score = human + 0.7 * machine + rng.normal(size=200)[source] + rng.normal(size=1000)
    machines = overrating(score, human, machine, source)
    assert machines.value * score.std(ddof=1) == pytest.approx(0.7, abs=0.15)
    columns = np.column_stack([np.ones(1000), machine, human])
    error = random_intercept(score / score.std(ddof=1), columns, source).errors[1]
    assert machines.half_width == pytest.approx(1.645 * error)


def test_refusals() -> None:
    rng = np.random.default_rng(3)
    source = np.repeat(np.arange(5), 4)
    y, ones = rng.normal(size=20), np.ones((20, 1))
    for target, columns, groups, why in (
        (y, ones, np.zeros(20), "two sources"),
        (y, ones, np.arange(20), "one row"),
        (y, np.column_stack([ones, 2 * ones]), source, "linearly"),
        (y, np.column_stack([ones, 0 * ones]), source, "linearly"),
        (source * 1.0, ones, source, "nothing varies"),
        (np.full(20, 0.1), ones, source, "explain"),
        (y[:3], np.eye(3), np.array([0, 0, 1]), "not more rows"),
    ):
        with pytest.raises(Undefined, match=why):
            random_intercept(target, columns, groups)
    with pytest.raises(Undefined, match="constant"):
        overrating(np.full(20, 0.1), y, source == 0, source)
    with pytest.raises(Undefined, match="linearly"):
        overrating(y, rng.normal(size=20), np.ones(20), source)
    with pytest.raises(ValueError, match="number"):
        random_intercept(np.where(source == 1, np.nan, y), ones, source)
