"""Severity of people: worlds where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from metal.errors import Undefined
from metal.stats.severity import Severities, severities

TRUE = np.array([-0.8, 0.0, 0.8])


def rated(
    rng: np.random.Generator, outputs: int, each: int = 3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levels 0 to 2 that people of severities TRUE give; `each` of them rate an output."""
    output, person = np.nonzero(rng.random((outputs, len(TRUE))).argsort(axis=1) < each)
    logits = rng.normal(size=outputs)[output] * 1.2 - TRUE[person]
    raw = logits[:, None] * np.arange(3) - np.array([0.0, -0.5, 0.0])
    shares = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    return (rng.random((len(output), 1)) > shares.cumsum(axis=1)).sum(axis=1), output, person


def fitted(rng: np.random.Generator, outputs: int, each: int = 3) -> Severities:
    """Outputs are independent."""
    return severities(*rated(rng, outputs, each), np.arange(outputs))


@pytest.mark.parametrize("each", [3, 2])
def test_severities_are_recovered_and_covered(each: int) -> None:
    """Also where two of three people rate an output. Steps and the spread of qualities come out as
    they went in.
    """
    drawn = [fitted(np.random.default_rng([each, seed]), 120, each) for seed in range(12)]
    assert np.mean([world.severity for world in drawn], axis=0) == pytest.approx(TRUE, abs=0.15)
    assert np.mean([world.steps for world in drawn], axis=0) == pytest.approx([-0.5, 0.5], abs=0.12)
    assert np.mean([world.spread for world in drawn]) == pytest.approx(1.2, abs=0.2)
    held = [
        low <= true <= high
        for world in drawn
        for true, (low, high) in zip(TRUE, map(world.interval, range(3)), strict=True)
    ]
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(held))


def test_two_people_and_two_levels_are_the_pairs_that_differ() -> None:
    """With the quality integrated out, what tells severities apart is who of two says 1 where they
    differ: by hand, the difference is log(30 / 10), as in Rasch's conditional likelihood, where
    qualities fit the pairs."""
    pairs = np.repeat([[1, 0], [0, 1], [1, 1], [0, 0]], [30, 10, 40, 40], axis=0)
    world = severities(
        pairs.ravel(), np.repeat(np.arange(120), 2), np.tile([0, 1], 120), np.arange(120)
    )
    assert world.severity[1] - world.severity[0] == pytest.approx(np.log(3), abs=0.02)
    assert world.p[0] < 0.01
    assert world.below(0.0, np.array([0.0, 1.0])) == 0
    assert world.below(float(world.severity[1]), np.array([0.0, 1.0])) == pytest.approx(
        (70 - 50) / 120 / 2, abs=0.01
    )


def test_what_has_no_severity() -> None:
    with pytest.raises(Undefined, match="two levels"):
        severities(
            np.zeros(4, dtype=int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.arange(2)
        )
    level, output, person = rated(np.random.default_rng(1), 60)
    with pytest.raises(Undefined, match="no bound"):
        severities(np.where(person == 0, 0, level), output, person, np.arange(60))
