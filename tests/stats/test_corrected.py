"""Means from few labels and a judge: coverage, width, and what must hold exactly."""

from __future__ import annotations

import numpy as np
import pytest

from metal.stats.corrected import corrected_mean


def world(rng: np.random.Generator, labels: int, rho: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People's scores with mean 0 and a biased judge: labels, the judge there, the judge elsewhere."""
    people = rng.normal(size=labels + 300)
    judge = rho * people + np.sqrt(1 - rho**2) * rng.normal(size=labels + 300) + 0.5
    return people[:labels], judge[:labels], judge[labels:]


@pytest.mark.parametrize("labels", [10, 30])
@pytest.mark.parametrize(("rho", "widest"), [(0.0, 1.1), (0.5, 1.02), (0.8, 0.8)])
def test_intervals_hold_and_are_narrower(labels: int, rho: float, widest: float) -> None:
    """Over 3,000 draws: .957 .960 .965 at 10 labels, .953 .956 .952 at 30; widths +2%, -8%, -31% at 30 labels."""
    rng, runs = np.random.default_rng(1), 400
    covered, width, alone = 0, 0.0, 0.0
    for run in range(runs):
        estimate = corrected_mean(*world(rng, labels, rho), seed=run)
        low, high = estimate.corrected.interval()
        covered += low <= 0 <= high
        width += high - low
        alone += float(np.subtract(*estimate.people.interval()[::-1]))
    assert 0.93 <= covered / runs <= 0.985
    assert width / alone < widest


def test_shares_near_an_end_hold() -> None:
    """Where all labels say the same, a variance would be 0; over 3,000 draws .982 .980 .970 at 20, 30, 60 labels."""
    rng, runs, covered = np.random.default_rng(2), 400, 0
    for run in range(runs):
        people = (rng.random(330) < 0.93).astype(float)
        judge = np.where(rng.random(330) < 0.85, people, 1 - people)
        low, high = corrected_mean(people[:30], judge[:30], judge[30:], seed=run).corrected.interval(share=True)
        covered += low <= 0.93 <= high
    assert covered / runs >= 0.95


def test_without_weight_it_is_the_plain_mean() -> None:
    labels, judged, others = world(np.random.default_rng(3), 25, 0.5)
    assert abs(corrected_mean(labels, judged, others, weight=0.0).corrected.value - labels.mean()) < 1e-12


def test_a_judge_that_is_right_gives_the_full_mean() -> None:
    people = np.random.default_rng(4).normal(size=325)
    estimate = corrected_mean(people[:25], people[:25], people[25:], weight=1.0)
    assert estimate.corrected.value == pytest.approx(people[25:].mean(), abs=1e-12)
    assert estimate.rho == pytest.approx(1)
    assert estimate.bias.value == 0


def test_by_hand() -> None:
    """Labels 0, 1, 1, 0 where the judge says 0, 1, 1, 1; elsewhere 1, 1, 0, 0. Weight 1/2: .5 - .375 + .25 = .375."""
    labels, judged, others = np.array([0.0, 1, 1, 0]), np.array([0.0, 1, 1, 1]), np.array([1.0, 1, 0, 0])
    estimate = corrected_mean(labels, judged, others, weight=0.5)
    assert estimate.corrected.value == pytest.approx(0.375)
    residuals = labels - judged / 2
    assert estimate.corrected.variance == pytest.approx(residuals.var(ddof=1) / 3 + 0.25 * others.var(ddof=1) / 4)
