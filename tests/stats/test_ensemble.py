"""The ensemble: the lasso path by hand, as scikit-learn's, always optimal; from moments as from
rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metal.errors import Undefined
from metal.stats.correlation import pearson
from metal.stats.ensemble import (
    LassoPath,
    choose_alpha,
    fit_ensemble,
    generator_moments,
    lasso_path,
    leave_one_out_correlation,
    violation,
)


def moments(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of z-scored columns, constant ones left at 0."""
    spread = columns.std(axis=0)
    columns = np.where(
        spread > 1e-9, (columns - columns.mean(axis=0)) / np.where(spread > 1e-9, spread, 1), 0
    )
    return columns.T @ columns / len(columns), columns.T @ (target - target.mean()) / len(columns)


def check_path(path: LassoPath, gram: np.ndarray, covariance: np.ndarray) -> None:
    grid = np.concatenate([path.alphas, np.linspace(0, path.alphas[0] * 1.2, 23)])
    scale = 1 + np.abs(covariance).max(initial=0) + np.abs(path.coefficients).max(initial=0)
    for alpha in grid:
        assert violation(gram, covariance, float(alpha), path.at(float(alpha))) < 1e-9 * scale
    middles = (path.alphas[:-1] + path.alphas[1:]) / 2
    assert (path.at(middles) != 0).sum(axis=1).tolist() == list(path.sizes)


def test_two_correlated_columns_by_hand() -> None:
    # r = 0.5, covariances 2 and 1.6. Column 1 alone: b = 2 - a. Column 2's remaining covariance 1.6
    # - (2 - a) / 2
    # = 0.6 + a / 2 meets a at 1.2. Then b solves [1 .5; .5 1] b = (2 - a, 1.6 - a): at 0, b = (1.6,
    # 0.8).
    path = lasso_path(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([2.0, 1.6]))
    assert path.alphas == pytest.approx([2, 1.2, 0])
    assert path.coefficients == pytest.approx(np.array([[0, 0], [0.8, 0], [1.6, 0.8]]))
    assert path.intervals_with(1) == (pytest.approx((1.2, 2.0)),)
    assert path.at(0.6) == pytest.approx([1.2, 0.4])
    assert path.at(5.0).tolist() == [0, 0]


def test_as_scikit_learn() -> None:
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(0)
    columns = rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8))
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    target = columns @ rng.normal(size=8) + rng.normal(size=300) * 3
    path = lasso_path(*moments(columns, target))
    for alpha in np.linspace(0.01, 1, 12) * path.alphas[0]:
        theirs = Lasso(alpha=alpha, tol=1e-12, max_iter=200_000).fit(columns, target).coef_
        assert path.at(alpha) == pytest.approx(theirs, abs=1e-7)
    check_path(path, *moments(columns, target))


def test_of_two_equal_columns_the_first_stands_for_both() -> None:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(100, 4))
    target = columns @ np.array([1.0, 2.0, -1.5, 0.2]) + rng.normal(size=100)
    doubled = np.column_stack([columns, columns[:, 1], columns[:, 2]])
    single, double = lasso_path(*moments(columns, target)), lasso_path(*moments(doubled, target))
    assert double.alphas == pytest.approx(single.alphas)
    assert double.coefficients[:, :4] == pytest.approx(single.coefficients)
    assert not double.coefficients[:, 4:].any()
    assert double.sizes == single.sizes
    check_path(double, *moments(doubled, target))


integers = st.integers(-3, 3).map(float)


@given(arrays(float, (9, 5), elements=integers), arrays(float, 9, elements=integers), st.booleans())
@example(np.zeros((9, 5)), np.zeros(9), True)
@example(np.ones((9, 5)), np.arange(9.0), False)
def test_optimal_for_tied_and_dependent_columns(
    columns: np.ndarray, target: np.ndarray, dependent: bool
) -> None:
    if dependent:
        columns = np.column_stack([columns[:, :3], columns[:, 0], columns[:, 1] - columns[:, 2]])
    gram, covariance = moments(columns, target)
    try:
        path = lasso_path(gram, covariance)
    # a tangle, which only dependent columns can make; about one in ten thousand of these
    except Undefined:
        assert dependent
        reject()
    check_path(path, gram, covariance)


def test_a_column_that_leaves_again_makes_two_intervals() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        mixed = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4))
        gram, covariance = moments(mixed, rng.normal(size=40))
        path = lasso_path(gram, covariance)
        if len(path.intervals_with(3)) == 2:
            break
    else:
        pytest.fail("no such path found")
    (low, high), (lower, below) = path.intervals_with(3)
    assert high > low > below > lower
    for alpha in (choose_alpha([(low, high)], "middle"), choose_alpha([(lower, below)])):
        assert (path.at(alpha) != 0).sum() == 3
    check_path(path, gram, covariance)


def test_rules_for_alpha() -> None:
    assert choose_alpha([(4.0, 9.0), (1.0, 2.0)], "middle") == 6
    assert choose_alpha([(0.0, 9.0)], "middle") == 4.5
    assert choose_alpha([(4.0, 9.0)]) == pytest.approx(4.005)
    with pytest.raises(Undefined, match="no alpha"):
        choose_alpha([])
    with pytest.raises(ValueError, match="smallest"):
        choose_alpha([(1.0, 2.0)], "best")  # type: ignore[arg-type]


def made_board(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five generators of unequal size, correlated metrics on scales far apart, two of them
    equal.
    """
    generator = np.repeat(["e", "a", "d", "b", "c"], [40, 60, 50, 30, 70])
    truth = rng.normal(size=250) + np.repeat([0.5, 0, -0.5, 1, -1], [40, 60, 50, 30, 70])
    metrics = truth[:, None] * [1, 0.5, 0.3, 0.8, 0] + rng.normal(size=(250, 5))
    metrics = metrics * [1, 100, 1e-3, 1, 5] + [0, 1e4, 0, -7, 0]
    metrics[:, 4] = metrics[:, 1]
    return metrics, 80 + 5 * truth + rng.normal(size=250), generator


def row_by_row(
    metrics: np.ndarray, target: np.ndarray, generator: np.ndarray, alpha: float
) -> float:
    from sklearn.linear_model import Lasso

    predicted = np.zeros(len(target))
    for name in np.unique(generator):
        out = generator == name
        mean, spread = metrics[~out].mean(axis=0), metrics[~out].std(axis=0)
        lasso = Lasso(alpha=alpha, tol=1e-13, max_iter=500_000).fit(
            (metrics[~out] - mean) / spread, target[~out]
        )
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
    from sklearn.linear_model import Lasso

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
    assert leave_one_out_correlation(moments, np.array([0.3])) == pytest.approx(
        [pearson(predicted, target)], abs=1e-9
    )


def test_refusals() -> None:
    metrics, target, generator = made_board(np.random.default_rng(8))
    with pytest.raises(Undefined, match="two generators"):
        leave_one_out_correlation(
            generator_moments(metrics, target, np.zeros(250)), np.array([1.0])
        )
    metrics[3, 1] = np.nan
    with pytest.raises(ValueError, match="every metric"):
        generator_moments(metrics, target, generator)
