"""Paired differences within margins: by hand, and in worlds with a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metal.stats.drift import PairedDifference, least_pairs, paired_difference
from metal.stats.significance import t_tail


def pairs(better: int, worse: int, n: int) -> PairedDifference:
    """So many outputs judged better and worse than before, one a source."""
    return paired_difference(
        np.repeat([1.0, -1.0, 0.0], [better, worse, n - better - worse]), np.arange(n)
    )


def test_p_is_mcnemars_with_correction() -> None:
    # b 2, c 14: (|2 - 14| - 1)^2 / 16 = 7.5625, z 2.75; with 99 degrees of freedom
    assert pairs(2, 14, 100).p == pytest.approx(2 * t_tail(2.75, 99))
    assert pairs(3, 3, 100).p == 1
    assert pairs(1, 0, 100).p == 1  # one output is nothing


def test_the_ends_of_the_interval_are_where_the_score_test_rejects() -> None:
    low, high = pairs(2, 14, 100).interval(0.05)
    for end, sign in ((low, 1), (high, -1)):
        # of (d - end), with mean square 0.16 and mean -0.12; at least what rare changes of 1 need
        spread = max(0.16 - 2 * end * -0.12 + end**2, abs(end) - end**2)
        t = (sign * (-0.12 - end) - 0.005) / math.sqrt(spread / 100)
        assert t == pytest.approx(1.6604, abs=0.01)  # t_{99, .95}
    assert low < -0.12 < high < 0


def test_no_change_among_few_proves_nothing() -> None:
    assert pairs(0, 0, 30).interval(0.05)[1] > 0.05
    # sqrt(d (1 - d) / n) 1.67 <= d - .5 / n at d = .05: n from 72 on
    assert least_pairs(0.05, 0.05) == 72
    assert pairs(0, 0, 72).interval(0.05)[1] < 0.05 <= pairs(0, 0, 71).interval(0.05)[1]


def test_outputs_of_a_source_that_change_together_are_worth_one() -> None:
    changed = np.repeat([1.0, -1.0, 0.0, 0.0], 5)
    together = paired_difference(changed, np.repeat(np.arange(4), 5))
    # clusters: totals 5, -5, 0, 0; sum of squares 50; alone 20 x .5 = 10; 20 x 10 / 50
    assert (together.n, together.sources, together.worth) == (20, 4, 4)
    assert together.interval(0.05)[1] > paired_difference(changed, np.arange(20)).interval(0.05)[1]
    assert paired_difference(np.zeros(20), np.repeat(np.arange(4), 5)).worth == 4
    assert paired_difference(changed, np.zeros(20, dtype=int)).interval(0.05) == (-1, 1)


def test_what_is_needed() -> None:
    # (1.6449 + 1.2816)^2 x 0.1 / 0.05^2
    assert pairs(5, 5, 100).needed(0.05, 0.05, 0.8) == 343
    assert pairs(0, 0, 30).needed(0.05, 0.05, 0.8) == 72
    assert pairs(50, 50, 1000).needed(0.05, 0.05, 0.8) == 1001  # there are enough already
    # .02 are left
    assert pairs(10, 40, 1000).needed(0.05, 0.05, 0.8) == math.ceil(8.5643 * 0.05 / 0.02**2)


def test_a_change_as_large_as_the_margin_passes_in_five_per_cent() -> None:
    rng, runs = np.random.default_rng(5), 400
    for n, margin, discordant in (
        (80, 0.1, 0.1),
        (200, 0.05, 0.1),
        (200, 0.1, 0.2),
        (200, 0.1, 0.4),
    ):
        worse, better = (discordant + margin) / 2, (discordant - margin) / 2
        passed = 0
        for counts in rng.multinomial(n, [better, worse, 1 - discordant], runs):
            low, high = pairs(int(counts[0]), int(counts[1]), n).interval(0.05)
            passed += -margin < low and high < margin
        assert passed / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs), (n, margin, discordant)
