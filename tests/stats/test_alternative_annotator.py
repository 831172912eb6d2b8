"""The alternative annotator test: by hand, in worlds with known truth, and where it must refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metal.errors import Undefined
from metal.stats.alternative_annotator import alternative_annotator_test
from metal.stats.significance import t_cdf


def panel(rng: np.random.Generator, items: int, skill: list[float]) -> np.ndarray:
    truth = rng.integers(0, 3, items)
    columns = [np.where(rng.random(items) < share, truth, rng.integers(0, 3, items)) for share in skill]
    return np.column_stack(columns).astype(float)


def test_wins_and_p_by_hand() -> None:
    # 40 items, two people, one judge. People agree on 30 (judge too); on 10 they differ and the judge sides with A2.
    people = np.zeros((40, 2))
    people[30:, 0] = 1
    judge = np.zeros(40)
    result = alternative_annotator_test(people, judge, epsilon=0.1)
    first, second = result.people
    # A1 left out: the judge agrees with A2 on all 40, A1 on 30. A2 left out: both agree with A1 on 30.
    assert (first.judge_wins, first.person_wins) == (1.0, 0.75)
    lead = np.array([0.0] * 30 + [-1.0] * 10)
    assert first.p == pytest.approx(stats.ttest_1samp(lead, 0.1, alternative="less").pvalue)
    assert second.p is None
    assert "equal" in second.reason
    assert result.advantage == 1.0
    assert result.winning_rate == 1.0  # of the one person who could be tested
    assert result.passed


def test_distance_uses_squared_differences() -> None:
    # others rate 0 and 4 -> the judge's 2 is nearer (4 + 4) than a person's 0 (0 + 16), though it equals nobody
    people = np.tile([0.0, 0.0, 4.0], (40, 1))
    people[:5] = 2.0
    result = alternative_annotator_test(people, np.full(40, 2.0), epsilon=0.1, closeness="distance")
    assert result.people[0].judge_wins == 1.0
    assert result.people[0].person_wins == pytest.approx(5 / 40)


def test_a_good_judge_passes_and_a_guessing_one_fails() -> None:
    rng = np.random.default_rng(4)
    passed = {"good": 0, "guessing": 0}
    for _ in range(40):
        table = panel(rng, 150, [0.8, 0.8, 0.8, 0.9, 0.0])
        for name, column in (("good", 3), ("guessing", 4)):
            passed[name] += alternative_annotator_test(table[:, :3], table[:, column], epsilon=0.15).passed
    assert passed["good"] >= 38
    assert passed["guessing"] == 0


def test_people_with_few_items_are_left_out_and_named() -> None:
    table = panel(np.random.default_rng(0), 60, [0.8, 0.8, 0.8, 0.9])
    people = table[:, :3].copy()
    people[20:, 2] = np.nan
    result = alternative_annotator_test(people, table[:, 3], epsilon=0.2)
    assert result.people[2].items == 20
    assert "fewer than 30" in result.people[2].reason
    assert result.people[2].p is None
    tested = alternative_annotator_test(people, table[:, 3], epsilon=0.2, wilcoxon=True).people[2]
    assert tested.p is not None
    assert tested.reason == "Wilcoxon"


def test_refusals() -> None:
    with pytest.raises(Undefined, match="two or more people"):
        alternative_annotator_test(np.array([[1.0, np.nan]] * 40), np.ones(40), epsilon=0.2)
    with pytest.raises(Undefined, match="fewer than 30"):
        alternative_annotator_test(np.ones((10, 3)), np.ones(10), epsilon=0.2)
    with pytest.raises(Undefined, match="all differences equal"):
        alternative_annotator_test(np.ones((40, 3)), np.ones(40), epsilon=0.2)


# ---------------------------------------------------------------- Student's t, of our own

DEGREES = (1, 2, 3, 10, 29, 99, 100, 299, 300, 301, 1000, 9999)


@pytest.mark.parametrize("df", DEGREES)
def test_probabilities(df: int) -> None:
    for t in (0, 1e-3, 0.1, 0.5, 0.9, 1, 1.3, 2, 3, 5, 8, 12, 20, 100, 1e5):
        assert t_cdf(-t, df) == pytest.approx(stats.t.cdf(-t, df), rel=2e-12, abs=1e-290)
        assert t_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), rel=2e-12)


def test_the_ends() -> None:
    assert t_cdf(math.inf, 5) == 1
    assert t_cdf(-math.inf, 5) == 0
    assert math.isnan(t_cdf(math.nan, 5))
