"""Detection of changes: sums by hand, p-values that hold where a judge is at the border, Page's
statistic.
"""

from __future__ import annotations

import numpy as np
import pytest

from metal.stats.probes import detection, dose_trend

ENDS = (0.0, 2.0)


def test_a_change_by_hand() -> None:
    clean = np.array([2.0, 2.0, 1.0, 0.0, 1.0])
    changed = np.array([0.0, 2.0, 2.0, 0.0, 0.0])
    seen = detection(clean, changed, np.array([0, 0, 1, 2, 3]), ENDS)
    # clean better in 2 of 5, a tie in 2: (2 + 2 / 2) / 5
    assert (seen.n, seen.sources, seen.a.value, seen.strict.value) == (5, 4, 0.6, 0.4)
    assert (seen.raised.value, seen.room, seen.change.value) == (0.2, 0.8, pytest.approx(-0.4))
    # falls by source: 2, -1, 0, 1, which add up to 2; the p-value is the share of the 16 flips that
    # reach that
    sums = np.array([2.0, -1.0, 0.0, 1.0])
    flips = (
        np.array([[1 if flip >> bit & 1 else -1 for bit in range(4)] for flip in range(16)]) @ sums
    )
    assert seen.p == (flips >= 2).mean()


def test_a_judge_that_never_changes_its_score_is_blind() -> None:
    same = np.full(60, 2.0)
    seen = detection(same, same, np.arange(60), ENDS)
    assert (seen.a.value, seen.p, seen.moved_p) == (0.5, 1.0, 1.0)
    assert 0.3 < seen.a.low < 0.5 < seen.a.high < 0.7
    assert seen.blind_p < 1e-6


def test_one_source_says_nothing() -> None:
    seen = detection(np.array([2.0, 2.0]), np.array([0.0, 1.0]), np.array([0, 0]), ENDS)
    assert np.isnan([seen.blind_p, seen.raised_p, seen.moved_p]).all()
    assert (seen.a.low, seen.a.high) == (0, 1)


@pytest.mark.parametrize(("levels", "together"), [(3, 1), (5, 1), (2, 1), (5, 4)])
def test_a_judge_at_the_border_is_called_blind_in_5_of_100_at_most(
    levels: int, together: int
) -> None:
    """It notices half of the changes (and gives the worst score then), and guesses the rest."""
    rng, times, pairs = np.random.default_rng(levels), 250, 60
    blind = []
    for _ in range(times):
        clean = rng.integers(0, levels, pairs).astype(float)
        notices = np.repeat(rng.random(pairs // together) < 0.5, together)
        changed = np.where(notices, 0, rng.integers(0, levels, pairs)).astype(float)
        seen = detection(clean, changed, np.arange(pairs) // together, (0.0, levels - 1.0))
        blind.append(seen.blind_p < 0.05)
    assert np.mean(blind) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / times)


def test_intervals_of_a_hold_the_truth() -> None:
    """d' of 1 between normal scores: A is Phi(1 / sqrt 2)."""
    rng, times, truth = np.random.default_rng(5), 300, 0.7602
    worlds = ((rng.normal(size=60), rng.normal(-1, size=60)) for _ in range(times))
    drawn = [detection(clean, changed, np.arange(60), (-9.0, 9.0)).a for clean, changed in worlds]
    assert np.mean([share.low <= truth <= share.high for share in drawn]) >= 0.95 - 3 * np.sqrt(
        0.05 * 0.95 / times
    )


def test_page() -> None:
    # Blocks of four treatments; the sum of rank x place, as in Page's worked form: L =
    # 1*1+2*2+3*3+4*4 = 30 at most.
    falling = np.array([[4.0, 3.0, 2.0, 1.0]] * 3)
    assert dose_trend(falling, np.arange(3)).fall.value == pytest.approx(1)
    assert dose_trend(-falling, np.arange(3)).fall.value == pytest.approx(-1)
    mixed = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0], [3.0, 4.0, 2.0, 1.0]])
    # L less its mean of 25, over 5: (30 - 25) / 5, 0, (29 - 25) / 5
    assert dose_trend(mixed, np.arange(3)).fall.value == pytest.approx((1 + 0 + 0.8) / 3)
