"""Leans between languages: worlds where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from metal.stats.leniency import (
    RatedItems,
    flip_p_values,
    mean_shift,
    parallel_shifts,
    shifts_beside_people,
)

LANGUAGES = 4


def rated(
    rng: np.random.Generator, lean: Any = 0.0, outputs: int = 200, people: int = 3
) -> RatedItems:
    """A world of languages of unequal quality: noisy people of unequal severity, and a judge that
    leans so.
    """
    language = np.repeat(np.arange(LANGUAGES), outputs)
    source = np.tile(np.arange(outputs) // 2, LANGUAGES)
    size = LANGUAGES * outputs
    quality = np.linspace(-0.6, 0.6, LANGUAGES)[language] + rng.normal(size=size) * 0.8
    panel = np.full((size, LANGUAGES * people), np.nan)
    for one in range(LANGUAGES):
        rows = language == one
        severity = rng.normal(size=people) * 0.3
        said = (
            quality[rows, None]
            + rng.normal(size=(outputs, people)) * 0.9
            + severity
            - severity.mean()
        )
        panel[rows, one * people : (one + 1) * people] = said
    judge = 0.7 * quality + (np.zeros(LANGUAGES) + lean)[language] + rng.normal(size=size) * 0.5
    return RatedItems(judge, panel, language, source, LANGUAGES)


def test_languages_of_unequal_quality_are_no_lean() -> None:
    """The corrected figure raises 5% false alarms; the naive ones fail the same test (METHODS: 15%
    or more).
    """
    rng, runs = np.random.default_rng(3), 150
    alarms = dict.fromkeys(("gap", "naive_regression", "naive_difference"), 0.0)
    for _ in range(runs):
        shifts = shifts_beside_people(rated(rng))
        for name in alarms:
            alarms[name] += float((shifts[name].p < 0.05).mean()) / runs
    assert alarms["gap"] <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / (runs * LANGUAGES))
    assert min(alarms["naive_regression"], alarms["naive_difference"]) > 0.15


def test_a_lean_is_found_and_covered() -> None:
    rng, runs = np.random.default_rng(4), 100
    covered, values = 0, []
    for _ in range(runs):
        gap = shifts_beside_people(rated(rng, [0, 0, 0.4, 0]))["gap"]
        low, high = gap.interval(2)
        covered += low <= 0.3 <= high  # 0.4 less the mean of 0.1
        values.append(gap.value[2])
    assert abs(np.mean(values) - 0.3) < 0.03
    assert covered >= 90


def test_a_judge_that_says_one_thing_is_blind_and_not_lenient() -> None:
    world = rated(np.random.default_rng(5))
    says_two = np.where(world.language == 1, 2.0, world.judge)
    slope = shifts_beside_people(
        RatedItems(says_two, world.people, world.language, world.source, LANGUAGES)
    )["slope"]
    assert slope.value[1] == 0
    assert slope.interval(0)[0] > 0.4  # the world has 0.7


def test_renaming_languages_permutes() -> None:
    world = rated(np.random.default_rng(6), [0.5, 0, 0, 0])
    order = np.array([2, 0, 3, 1])
    renamed = RatedItems(world.judge, world.people, order[world.language], world.source, LANGUAGES)
    before, after = (shifts_beside_people(each)["gap"].value for each in (world, renamed))
    assert np.allclose(after[order], before)


def test_people_who_agree_by_chance_refuse_a_gap() -> None:
    world = rated(np.random.default_rng(9))
    noise = world.people.copy()
    noise[world.language == 2] = np.random.default_rng(1).normal(
        size=noise[world.language == 2].shape
    )
    noise[np.isnan(world.people)] = np.nan
    shifts = shifts_beside_people(
        RatedItems(world.judge, noise, world.language, world.source, LANGUAGES)
    )
    assert np.isnan(shifts["gap"].value).tolist() == [False, False, True, False]
    assert np.isfinite(shifts["above_people"].value).all()


def test_shifts_on_the_same_contents_by_hand() -> None:
    """Twelve contents in two languages, the second higher by 1 in all but one: 11/12, half of it on
    either side.
    """
    content = np.repeat(np.arange(12), 2)
    values = np.tile([1.0, 2.0], 12)
    values[1] = 1.0
    shifts = parallel_shifts(values, np.tile([0, 1], 12), content, content, 2)
    assert np.allclose(shifts.value, [-11 / 24, 11 / 24])
    differences = values[1::2] - values[::2]
    assert np.allclose(shifts.variance, differences.var(ddof=1) / 12 / 4)
    assert shifts.df.tolist() == [11, 11]


def test_shifts_with_contents_missing_hold_their_level() -> None:
    rng, runs = np.random.default_rng(7), 150
    alarms = 0.0
    for _ in range(runs):
        content = np.repeat(np.arange(40), 5)
        language = np.tile(np.arange(5), 40)
        values = rng.normal(size=40)[content] + rng.normal(size=200) * 0.5
        kept = rng.random(200) > 0.2
        shifts = parallel_shifts(*(each[kept] for each in (values, language, content, content)), 5)
        alarms += float((shifts.p < 0.05).mean()) / runs
    assert 0.02 < alarms < 0.05 + 2 * np.sqrt(0.05 * 0.95 / (runs * 3))


def test_a_mean_of_one_cluster_has_no_interval() -> None:
    assert np.isnan(mean_shift(np.array([1.0, 2.0]), np.array([0, 0])).interval(0)).all()


def test_sign_flips_are_exact() -> None:
    """Four contents that all stand 1 higher: of 16 flips two sum to 4 or -4."""
    content, language = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    p_values = flip_p_values(content + 1.0 * language, language, content, content, 2, pivot=0)
    assert np.isnan(p_values[0])
    assert p_values[1] == 2 / 16
    both = flip_p_values(content + 1.0 * language, language, content, content // 2, 2, pivot=0)
    assert both[1] == 2 / 4  # two contents of two outputs each


def test_sign_flips_keep_their_level() -> None:
    rng = np.random.default_rng(3)
    content, language = np.repeat(np.arange(9), 2), np.tile([0, 1], 9)
    drawn = [
        flip_p_values(rng.normal(size=18), language, content, content, 2, pivot=0)[1]
        for _ in range(300)
    ]
    assert np.mean(np.array(drawn) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
