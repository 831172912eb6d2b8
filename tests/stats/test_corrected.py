"""Means from few labels and a judge: coverage, width, and what must hold exactly."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from metal.errors import Undefined
from metal.stats.corrected import corrected_mean, rogan_gladen


def world(
    rng: np.random.Generator, labels: int, rho: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People's scores with mean 0 and a biased judge: labels, the judge there, the judge
    elsewhere.
    """
    people = rng.normal(size=labels + 300)
    judge = rho * people + np.sqrt(1 - rho**2) * rng.normal(size=labels + 300) + 0.5
    return people[:labels], judge[:labels], judge[labels:]


@pytest.mark.slow
@pytest.mark.parametrize("labels", [10, 30])
@pytest.mark.parametrize(("rho", "widest"), [(0.0, 1.1), (0.5, 1.02), (0.8, 0.8)])
def test_intervals_hold_and_are_narrower(labels: int, rho: float, widest: float) -> None:
    """Over 3,000 draws: .957 .960 .965 at 10 labels, .953 .956 .952 at 30; widths +2%, -8%, -31% at
    30 labels.
    """
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
    """Where all labels say the same, a variance would be 0; over 3,000 draws .982 .980 .970 at 20,
    30, 60 labels.
    """
    rng, runs, covered = np.random.default_rng(2), 400, 0
    for run in range(runs):
        people = (rng.random(330) < 0.93).astype(float)
        judge = np.where(rng.random(330) < 0.85, people, 1 - people)
        low, high = corrected_mean(
            people[:30], judge[:30], judge[30:], seed=run
        ).corrected.interval(share=True)
        covered += low <= 0.93 <= high
    assert covered / runs >= 0.95


def test_without_weight_it_is_the_plain_mean() -> None:
    labels, judged, others = world(np.random.default_rng(3), 25, 0.5)
    assert (
        abs(corrected_mean(labels, judged, others, weight=0.0).corrected.value - labels.mean())
        < 1e-12
    )


def test_a_judge_that_is_right_gives_the_full_mean() -> None:
    people = np.random.default_rng(4).normal(size=325)
    estimate = corrected_mean(people[:25], people[:25], people[25:], weight=1.0)
    assert estimate.corrected.value == pytest.approx(people[25:].mean(), abs=1e-12)
    assert estimate.rho == pytest.approx(1)
    assert estimate.bias.value == 0


def test_by_hand() -> None:
    """Labels 0, 1, 1, 0 where the judge says 0, 1, 1, 1; elsewhere 1, 1, 0, 0. Weight 1/2: .5 -
    .375 + .25 = .375.
    """
    labels, judged, others = (
        np.array([0.0, 1, 1, 0]),
        np.array([0.0, 1, 1, 1]),
        np.array([1.0, 1, 0, 0]),
    )
    estimate = corrected_mean(labels, judged, others, weight=0.5)
    assert estimate.corrected.value == pytest.approx(0.375)
    residuals = labels - judged / 2
    assert estimate.corrected.variance == pytest.approx(
        residuals.var(ddof=1) / 3 + 0.25 * others.var(ddof=1) / 4
    )


def test_equals_ppi_python() -> None:
    """Figures of ppi-python 0.2.3, whose intervals have the normal quantile and variances over
    n.
    """
    rng = np.random.default_rng(7)
    people = rng.normal(size=145)
    judge = 0.7 * people + 0.5 * rng.normal(size=145) + 0.4
    labels, judged, others = people[:25], judge[:25], judge[25:]
    published = {0.0: -0.36978061087145464, 0.5: -0.2576001279903368, 1.0: -0.145419645109219}
    ends = {
        0.5: (-0.4983295185598187, -0.01687073742085493),
        1.0: (-0.4001810642354408, 0.10934177401700279),
    }
    for weight, value in published.items():
        estimate = corrected_mean(labels, judged, others, weight=weight)
        assert estimate.corrected.value == pytest.approx(value, abs=1e-12)
        if weight in ends:  # ours divides residuals by n - 1 twice, theirs by n
            parts = (
                (labels - weight * judged).var(ddof=1) / 24,
                weight**2 * others.var(ddof=1) / 120,
            )
            assert estimate.corrected.variance == pytest.approx(sum(parts))
            half = NormalDist().inv_cdf(0.975) * np.sqrt(
                parts[0] * (24 / 25) ** 2 + parts[1] * 119 / 120
            )
            assert (value - half, value + half) == pytest.approx(ends[weight], abs=1e-12)


def test_unequal_probabilities() -> None:
    """Fifths by the judge, the ends drawn more often: plain means are biased, weighed ones hold.

    Over 1,500 draws at 40 labels: .938 .945 .946 at a correlation of 0, .5, .8."""
    rng, runs, covered, plain = np.random.default_rng(6), 300, 0, 0
    for run in range(runs):
        people = rng.normal(size=340)
        judge = 0.8 * people + 0.6 * rng.normal(size=340)
        group = np.argsort(np.argsort(judge)) * 5 // 340
        taken = [
            rng.choice(np.flatnonzero(group == code), size, False)
            for code, size in enumerate((4, 4, 6, 10, 16))
        ]
        chosen = np.concatenate(taken)
        chances = np.concatenate([np.full(len(part), len(part) / 68) for part in taken])
        others = np.delete(judge, chosen)
        estimate = corrected_mean(
            people[chosen], judge[chosen], others, probabilities=chances, seed=run
        )
        low, high = estimate.corrected.interval()
        covered += low <= 0 <= high
        low, high = estimate.people.interval()
        plain += not low <= people[chosen].mean() <= high
    assert 0.92 <= covered / runs <= 0.98
    assert plain / runs > 0.2  # what weights take away


def test_unequal_probabilities_by_hand() -> None:
    """Labels 1, 0, 1 with chances 1/4, 1/2, 1/2 count 1/2, 1/4, 1/4: people .75. The judge's 1, 1,
    0 and elsewhere 0: weight 1/2 gives .5 x 2/4 + .75 - .5 x .75 = .625."""
    labels, judged, others = np.array([1.0, 0, 1]), np.array([1.0, 1, 0]), np.array([0.0])
    estimate = corrected_mean(
        labels, judged, others, weight=0.5, probabilities=np.array([0.25, 0.5, 0.5])
    )
    assert estimate.people.value == pytest.approx(0.75)
    assert estimate.people.worth == pytest.approx(1 / 0.375)
    assert estimate.corrected.value == pytest.approx(0.625)
    equal = corrected_mean(labels, judged, others, weight=0.5, probabilities=np.full(3, 0.5))
    assert equal == corrected_mean(labels, judged, others, weight=0.5)


@pytest.mark.parametrize(
    ("share", "sensitivity", "specificity"), [(0.05, 0.9, 0.95), (0.2, 0.7, 0.8), (0.5, 0.9, 0.95)]
)
def test_shares_of_classes_hold(share: float, sensitivity: float, specificity: float) -> None:
    """Over 2,000 draws of 60 test items a side: .960 .965 .958."""
    rng, runs, covered = np.random.default_rng(8), 400, 0
    for _ in range(runs):
        called = rng.binomial(500, share * sensitivity + (1 - share) * (1 - specificity)) / 500
        right = [(rng.binomial(60, chance) / 60, 60.0) for chance in (sensitivity, specificity)]
        made, _ = rogan_gladen((called, 500.0), right[0], right[1])
        covered += made.low <= share <= made.high
    assert covered / runs >= 0.93


def test_a_judge_that_does_not_tell_the_class() -> None:
    with pytest.raises(Undefined, match=r"do not show.*judge tells"):
        rogan_gladen((0.4, 500), (0.5, 40), (0.6, 40))
