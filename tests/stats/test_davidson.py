"""Strengths from pairs: by hand, against statsmodels, and in simulated worlds."""

from __future__ import annotations

import numpy as np
import pytest

from metal.errors import Undefined
from metal.stats.davidson import davidson


def world(
    rng: np.random.Generator, n: int, tie: float, order: float, players: int = 5
) -> tuple[np.ndarray, ...]:
    """Comparisons of players with strengths 1, .5, 0, -.5, -1, four from each source."""
    strength = np.linspace(1, -1, players)
    first = rng.integers(0, players, n)
    second = (first + rng.integers(1, players, n)) % players
    shown = rng.choice([-1, 1], n)
    a, b = strength[first] + order * shown / 2, strength[second] - order * shown / 2
    odds = np.exp(np.stack([a, b, tie + (a + b) / 2], axis=1))
    chance = odds / odds.sum(axis=1, keepdims=True)
    outcome = (chance.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return first, second, outcome, shown, np.arange(n) // 4


def test_two_players_by_hand() -> None:
    """12 wins, 6 defeats, 6 ties: points (12 + 3) / 24, log odds log(12 / 6), v = 6 / sqrt(12 *
    6).
    """
    outcome = np.repeat([0, 1, 2], [12, 6, 6])
    zeros = np.zeros(24, dtype=int)
    fit = davidson(zeros, zeros + 1, outcome, zeros, np.arange(24), 2)
    assert fit.points == pytest.approx([15 / 24, 9 / 24])
    assert fit.strength[0] - fit.strength[1] == pytest.approx(np.log(2))
    assert fit.first_place == 0
    # Each comparison is its own source: the variance of the mean of 1, 0 and 1/2, with 23 degrees
    # of freedom.
    variance = np.var([1] * 12 + [0] * 6 + [0.5] * 6) / 23
    assert fit.points_half[0] == pytest.approx(2.0687 * np.sqrt(variance), rel=1e-4)


def test_without_ties_it_is_logistic_regression() -> None:
    import statsmodels.api as sm

    first, second, outcome, shown, cluster = world(np.random.default_rng(1), 600, -np.inf, 0.4)
    fit = davidson(first, second, outcome, shown, cluster, 5)
    design = np.zeros((600, 5))
    design[np.arange(600), first] += 1
    design[np.arange(600), second] -= 1
    contrast = np.column_stack([design[:, :4] - design[:, [4]], shown])
    groups = {"groups": cluster, "use_correction": False}
    model = sm.Logit((outcome == 0).astype(float), contrast).fit(
        disp=0, cov_type="cluster", cov_kwds=groups
    )
    assert fit.strength[:4] == pytest.approx(model.params[:4], abs=1e-8)
    assert fit.first_place == pytest.approx(model.params[4], abs=1e-8)
    scale = 150 / 149  # ours counts clusters / (clusters - 1)
    assert fit.covariance[:4, :4] == pytest.approx(model.cov_params()[:4, :4] * scale, rel=1e-6)


def test_intervals_cover_and_the_order_is_found() -> None:
    rng = np.random.default_rng(5)
    strength = np.linspace(1, -1, 5)
    covered: list[float] = []
    orders = []
    for _ in range(150):
        fit = davidson(*world(rng, 300, -0.2, 0.3), 5)
        covered += (np.abs(fit.strength - strength) < fit.half).tolist()
        orders.append(abs(fit.first_place - 0.3) < fit.first_place_half)
    assert 0.92 <= np.mean(covered) <= 0.97
    assert 0.89 <= np.mean(orders) <= 0.99


def test_names_and_orders_do_not_matter() -> None:
    first, second, outcome, shown, cluster = world(np.random.default_rng(2), 400, 0.0, 0.5)
    fit = davidson(first, second, outcome, shown, cluster, 5)
    other = np.array([3, 1, 4, 0, 2])
    renamed = davidson(other[first], other[second], outcome, shown, cluster, 5)
    assert renamed.strength[other] == pytest.approx(fit.strength)
    turned = davidson(second, first, np.array([1, 0, 2])[outcome], -shown, cluster, 5)
    assert turned.points == pytest.approx(fit.points)
    assert turned.first_place == pytest.approx(fit.first_place)


def reason(*rows: tuple[int, int, int], clusters: int = 3) -> str:
    first, second, outcome = map(np.array, zip(*rows, strict=True))
    with pytest.raises(Undefined) as undefined:
        davidson(first, second, outcome, first * 0, np.arange(len(rows)) % clusters, 3)
    return str(undefined.value)


def test_undefined() -> None:
    chain = (0, 1, 0), (1, 2, 0), (2, 0, 2)
    assert "never lost" in reason((0, 1, 0), (0, 2, 0), (1, 2, 2))
    assert reason(*chain, clusters=1) == "fewer than two sources"
    assert reason((0, 1, 2), (1, 2, 2), (2, 0, 2)) == "every answer is a tie"


def test_answers_that_leave_no_doubt_have_no_strengths() -> None:
    """The first always wins where it is shown first, and half the time else: its order's odds would
    be infinite.
    """
    first, second = np.repeat([0, 0, 1], 40), np.repeat([1, 2, 2], 40)
    shown = np.tile(np.repeat([1, -1], 20), 3)
    outcome = np.where((shown == -1) & (second - first == 1) & (np.arange(120) % 2 == 1), 1, 0)
    with pytest.raises(Undefined, match="does not converge"):
        davidson(first, second, outcome, shown, np.arange(120), 3)
