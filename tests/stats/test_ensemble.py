"""The ensemble: from moments as from rows, and the released ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from metal.errors import Undefined
from metal.stats.correlation import pearson
from metal.stats.ensemble import ensemble_path, fit_ensemble, generator_moments, leave_one_out_correlation
from tests.stats.boards import BOARDS, read_board, read_oracle


def made_board(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five generators of unequal size, correlated metrics on scales far apart, two of them equal."""
    generator = np.repeat(["e", "a", "d", "b", "c"], [40, 60, 50, 30, 70])
    truth = rng.normal(size=250) + np.repeat([0.5, 0, -0.5, 1, -1], [40, 60, 50, 30, 70])
    metrics = truth[:, None] * [1, 0.5, 0.3, 0.8, 0] + rng.normal(size=(250, 5))
    metrics = metrics * [1, 100, 1e-3, 1, 5] + [0, 1e4, 0, -7, 0]
    metrics[:, 4] = metrics[:, 1]
    return metrics, 80 + 5 * truth + rng.normal(size=250), generator


def row_by_row(metrics: np.ndarray, target: np.ndarray, generator: np.ndarray, alpha: float) -> float:
    predicted = np.zeros(len(target))
    for name in np.unique(generator):
        out = generator == name
        mean, spread = metrics[~out].mean(axis=0), metrics[~out].std(axis=0)
        lasso = Lasso(alpha=alpha, tol=1e-13, max_iter=500_000).fit((metrics[~out] - mean) / spread, target[~out])
        predicted[out] = lasso.predict((metrics[out] - mean) / spread)
    return float(np.corrcoef(predicted, target)[0, 1])


def test_leaving_a_generator_out_of_the_moments_is_leaving_out_its_rows() -> None:
    metrics, target, generator = made_board(np.random.default_rng(5))
    alphas = np.array([0.05, 0.4, 1.1, 2.5])
    ours = leave_one_out_correlation(generator_moments(metrics, target, generator), alphas)
    theirs = [row_by_row(metrics, target, generator, alpha) for alpha in alphas]
    assert ours == pytest.approx(theirs, abs=1e-9)
    shuffled = np.random.default_rng(0).permutation(len(target))
    again = generator_moments(metrics[shuffled], target[shuffled], generator[shuffled])
    assert leave_one_out_correlation(again, alphas) == pytest.approx(ours, abs=1e-12)


def test_scores_of_the_whole_fit() -> None:
    metrics, target, generator = made_board(np.random.default_rng(6))
    moments = generator_moments(metrics, target, generator)
    ensemble = fit_ensemble(moments, 0.8)
    standard = (metrics - metrics.mean(axis=0)) / metrics.std(axis=0)
    lasso = Lasso(alpha=0.8, tol=1e-13, max_iter=500_000).fit(standard, target)
    assert ensemble.score(metrics) == pytest.approx(lasso.predict(standard), abs=1e-8)
    assert ensemble.intercept == pytest.approx(target.mean())
    unused = metrics.copy()
    unused[:, 4] = np.nan  # the twin of the second metric
    assert ensemble.coefficients[1] > 0
    assert ensemble.score(unused) == pytest.approx(ensemble.score(metrics))


def test_a_metric_that_is_constant_without_one_generator() -> None:
    metrics, target, generator = made_board(np.random.default_rng(7))
    metrics[:, 2] = np.where(generator == "a", metrics[:, 2], 0.1)
    moments = generator_moments(metrics, target, generator)
    without = np.delete(metrics, 2, axis=1)
    predicted = np.zeros(len(target))
    for name in np.unique(generator):
        out = generator == name
        used = without if name == "a" else metrics
        fold = fit_ensemble(generator_moments(used[~out], target[~out], generator[~out]), 0.3)
        predicted[out] = fold.score(used[out])
    assert leave_one_out_correlation(moments, np.array([0.3])) == pytest.approx([pearson(predicted, target)], abs=1e-9)


def test_refusals() -> None:
    metrics, target, generator = made_board(np.random.default_rng(8))
    with pytest.raises(Undefined, match="two generators"):
        leave_one_out_correlation(generator_moments(metrics, target, np.zeros(250)), np.array([1.0]))
    metrics[3, 1] = np.nan
    with pytest.raises(ValueError, match="every metric"):
        generator_moments(metrics, target, generator)


@pytest.mark.reference
@pytest.mark.parametrize("name", BOARDS)
def test_the_released_ensembles(reference: Path, name: str) -> None:
    board, oracle = read_board(reference, name), read_oracle(reference, name)["ensemble"]
    metrics = board.scores[board.metrics].to_numpy()
    moments = generator_moments(metrics, board.target, board.generator)
    ensemble = fit_ensemble(moments, oracle["alpha"])
    chosen = {metric: c for metric, c in zip(board.metrics, ensemble.coefficients, strict=True) if c}
    assert chosen == pytest.approx(oracle["coef"], abs=1e-3)
    assert ensemble.intercept == pytest.approx(oracle["intercept"], abs=1e-3)
    assert ensemble_path(moments).intervals_with(3) == (
        pytest.approx(tuple(oracle["alpha_interval_three_nonzero"]), rel=1e-3),
    )
    assert leave_one_out_correlation(moments, oracle["alpha"])[0] == pytest.approx(oracle["logo_r"], abs=1e-3)
    assert ensemble.score(metrics) == pytest.approx(board.scores["ensemble"].to_numpy(), abs=2e-3)
    assert pearson(ensemble.score(metrics), board.target) == pytest.approx(oracle["in_sample_r"], abs=1e-3)
