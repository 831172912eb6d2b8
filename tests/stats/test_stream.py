"""Streams watched by betting, held against a baseline that is a sample: by hand, and in worlds with
a known truth.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from metal.stats.stream import Baseline, Stream, stake_at_alarm
from tests.bench.drift import Watched, alarms

AGREEMENT = 0.8


def test_the_level_is_what_the_anchors_show_for_sure() -> None:
    # 240 of 300, alpha .05, 8 streams: the limit at .05 / 16 is .7305, below .8 - .05
    assert Baseline(0.8, 300).lower(0.05, 8) == pytest.approx(0.7301, abs=1e-4)
    assert Baseline(0.8, 300).level(0.05, 0.05, 8) == Baseline(0.8, 300).lower(0.05, 8)
    # the margin is what is left
    assert Baseline(0.8, 3000).level(0.05, 0.05, 8) == pytest.approx(0.75)
    assert Baseline(0.8, 300).loss_seen(0.05, 0.05, 8) == pytest.approx(
        2 * (0.8 - 0.7301), abs=1e-3
    )
    assert Baseline(0.8, 3000).loss_seen(0.05, 0.05, 8) == pytest.approx(0.1)
    assert stake_at_alarm(0.05, 8) == 320


@pytest.mark.parametrize("rate", [0.0, 0.0003])
def test_a_stream_that_was_at_its_lowest_never_alarms(rate: float) -> None:
    """Nothing can fall below 0, so that a long watch of an unchanged rare label stays silent."""
    level = Baseline(rate, 300).level(0.05, 0.05, 1)
    assert level == 0
    stream, values = Stream(level), np.random.default_rng(0).random(20_000) < rate
    for value in values.astype(float):
        stream = stream.after(value)
    assert stream.log_e == 0


def test_the_limit_is_clopper_and_pearsons() -> None:
    """P(240 or more of 300 | limit) is alpha / 16."""
    limit = Baseline(0.8, 300).lower(0.05, 8)
    ways = [
        math.comb(300, hits) * limit**hits * (1 - limit) ** (300 - hits) for hits in range(240, 301)
    ]
    assert sum(ways) == pytest.approx(0.05 / 16)


@pytest.mark.parametrize(("anchors", "streams"), [(30, 1), (30, 40), (100, 8), (300, 1)])
def test_false_alarms_over_2000_steps(anchors: int, streams: int) -> None:
    """However few anchors, an unchanged judge is called drifted in 5% at most, in any of its
    streams.
    """
    world = alarms(Watched(anchors, streams), worlds=200)
    assert world.in_any(streams) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_a_baseline_taken_for_exact_fails_the_same_test() -> None:
    """As it was: the baseline's mean less the margin, and all of alpha for the bets."""
    assert alarms(Watched(30, 8), worlds=200, exact=True).in_any(8) > 0.5


def test_a_z_test_at_every_step_fails_the_same_test() -> None:
    assert alarms(Watched(300, 1), worlds=200).peeking > 0.3


def test_a_loss_of_15_after_200_steps_is_found() -> None:
    world = alarms(Watched(300, 8, loss=0.15, after=200, steps=1700), worlds=300)
    assert world.found >= 0.8
    assert world.before_loss <= 0.01
    assert world.median < 700


def test_from_100_anchors_it_is_not_found_in_400_steps() -> None:
    """100 anchors and 8 streams leave open whether 65% is less than it was: no valid rule can
    tell.
    """
    assert Baseline(AGREEMENT, 100).lower(0.05, 8) < AGREEMENT - 0.12
    assert alarms(Watched(100, 8, loss=0.15, after=200, steps=600), worlds=200).found < 0.2
    assert Baseline(AGREEMENT, 100).sources_for(0.15, 0.05, 8) == 213


def test_a_shift_in_one_language_names_that_language() -> None:
    same = alarms(Watched(300, 8, steps=1700), worlds=300)
    shifted = alarms(Watched(300, 8, loss=0.25, after=200, steps=1700), worlds=300)
    assert shifted.found > 0.95
    assert same.in_any(7) <= 0.05


def test_outputs_of_a_source_are_one_step() -> None:
    """Eight outputs of a source that are right or wrong together, each as a step of its own: false
    alarms.
    """
    apart = alarms(Watched(1000, 1, together=8), worlds=200)
    assert apart.in_any(1) > 0.3


def test_the_bet_is_placed_before_the_value_is_seen() -> None:
    stream = Stream(0.75)
    # nothing is known yet, so nothing is staked
    assert stream.after(0.0).log_e == stream.after(1.0).log_e == 0
    after = stream.after(0.0)  # mean .75 - .75 / 11
    short = 0.75 / 11
    bet = short / ((0.75 - short) * (0.25 + short) + short**2 + 1e-9)
    assert after.after(0.0).log_e == pytest.approx(math.log1p(bet * 0.75))
    assert after.after(1.0).log_e == pytest.approx(math.log1p(-bet * 0.25))
