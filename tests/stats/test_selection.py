"""Calibration, thresholds with a guarantee, juries: by hand and in small worlds."""

from __future__ import annotations

import numpy as np
import pytest

from metal.stats.bootstrap import SourceBootstrap
from metal.stats.calibration import calibration, equal_mass, isotonic_map
from metal.stats.selection import GRID, answers_at, fixed_sequence, needed, upper_limit


def test_a_perfect_judge_needs_as_many_items_as_all_right_can_show() -> None:
    """0.9^22 is below 0.1, 0.9^21 is not."""
    assert needed(0.1, 0.1) == 22
    for items, kept in ((22, 22), (21, 0)):
        made = fixed_sequence(np.full((items, 1), 0.7), np.zeros((items, 1)), 0.1, 0.1)
        assert made.kept == kept
    assert upper_limit(3, 3, 0.1) == 1


def test_the_sequence_stops_where_errors_begin() -> None:
    """200 sure answers are right; of 200 unsure ones half are wrong: with the first few of those it
    ends.
    """
    confidence = np.concatenate([np.full(200, 0.9), np.full(200, 0.6)])[:, None]
    wrong = np.concatenate([np.zeros(200), np.tile([0.0, 1.0], 100)])[:, None]
    made = fixed_sequence(confidence, wrong, 0.1, 0.1)
    assert made.kept == 200
    assert made.errors == 0
    assert 0.6 < made.value <= 0.9
    assert made.limit == pytest.approx(1 - 0.1 ** (1 / 200))
    assert np.isnan(fixed_sequence(confidence, 1 - wrong, 0.1, 0.1).value)


def test_a_cascade_asks_the_next_only_below_the_threshold() -> None:
    confidence = np.array([[0.9, 0.9], [0.2, 0.9], [np.nan, 0.3]])
    assert answers_at(confidence, 0.5).tolist() == [0, 1, -1]


def test_the_guarantee_in_a_small_world() -> None:
    """Errors of 1 - confidence: a threshold with more than a tenth of errors is chosen in a tenth
    of sets at most.
    """
    rng, violated = np.random.default_rng(4), 0
    # of confidence uniform from 0.5 to 1
    errors_above = {value: (1 - max(value, 0.5)) / 2 for value in GRID}
    for _ in range(150):
        confidence = rng.uniform(0.5, 1, 200)
        wrong = (rng.random(200) > confidence).astype(float)
        made = fixed_sequence(confidence[:, None], wrong[:, None], 0.1, 0.1)
        violated += made.kept > 0 and errors_above[made.value] > 0.1
    assert violated <= 21  # 15 expected at most; 1 in 20 above 21 where it is exactly a tenth


def test_calibration_by_hand() -> None:
    """Ten answers of confidence 0.9 of which 6 are right, ten of 0.5 of which 5 are."""
    confidence = np.repeat([0.5, 0.9], 10)
    right = np.concatenate([np.tile([0.0, 1.0], 5), np.repeat([0.0, 1.0], [4, 6])])
    made = calibration(confidence, right, np.arange(20), SourceBootstrap(200))
    assert made.ece == pytest.approx(0.15)
    assert made.brier == pytest.approx((10 * 0.25 + 4 * 0.81 + 6 * 0.01) / 20)
    # surer, and ties of right and wrong
    assert made.auroc == pytest.approx((6 * 5 + (6 * 4 + 5 * 5) / 2) / (11 * 9))
    assert made.ece_low <= 0.15 <= made.ece_high
    assert made.bins[:, 0].tolist() == [10, 10]
    assert equal_mass(np.arange(100) / 100).max() == 9


def test_the_map_is_fitted_on_other_sources() -> None:
    """A source that alone knows its confidence cannot teach its own map."""
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.5, 1, 400)
    right = (rng.random(400) < confidence - 0.3).astype(float)
    mapped = isotonic_map(confidence, right, np.arange(400))
    assert abs(mapped.mean() - right.mean()) < 0.03
    flipped = right.copy()
    flipped[0] = 1 - right[0]
    assert isotonic_map(confidence, flipped, np.arange(400))[0] == mapped[0]
    assert np.isnan(isotonic_map(confidence[:4], right[:4], np.arange(4))).all()
