"""The alternative annotator test, and a rater beside the others: by hand, in worlds with known
truth, refusals.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from metal.errors import Undefined
from metal.stats import alternative_annotator
from metal.stats.alternative_annotator import alternative_annotator_test
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.colleagues import Labels, difference_to_others
from metal.stats.significance import clustered_mean, t_cdf


def panel(rng: np.random.Generator, items: int, skill: list[float]) -> np.ndarray:
    truth = rng.integers(0, 3, items)
    columns = [
        np.where(rng.random(items) < share, truth, rng.integers(0, 3, items)) for share in skill
    ]
    return np.column_stack(columns).astype(float)


def test_wins_and_p_by_hand() -> None:
    # 40 items, two people, one judge. People agree on 30 (judge too); on 10 they differ and the
    # judge sides with A2.
    people = np.zeros((40, 2))
    people[30:, 0] = 1
    judge = np.zeros(40)
    result = alternative_annotator_test(people, judge, epsilon=0.1)
    first, second = result.people
    # A1 left out: the judge agrees with A2 on all 40, A1 on 30. A2 left out: both agree with A1 on
    # 30.
    assert (first.judge_wins, first.person_wins) == (1.0, 0.75)
    lead = np.array([0.0] * 30 + [-1.0] * 10)
    assert first.p == pytest.approx(stats.ttest_1samp(lead, 0.1, alternative="less").pvalue)
    assert (second.p, second.rejected) == (0, True)  # the lead is 0 on every item, below epsilon
    assert result.advantage == 1.0
    assert result.winning_rate == 1.0
    assert result.passed


def test_the_same_lead_on_every_item_is_beyond_doubt() -> None:
    # Once these people could not be tested: unanimous people and an equal judge had no result.
    equal = alternative_annotator_test(np.ones((40, 3)), np.ones(40), epsilon=0.1)
    assert [(person.p, person.rejected) for person in equal.people] == [(0, True)] * 3
    assert equal.passed
    # it is not below 0
    assert not alternative_annotator_test(np.ones((40, 3)), np.ones(40), epsilon=0).passed
    other = alternative_annotator_test(np.ones((40, 3)), np.zeros(40), epsilon=0.1)
    assert [person.p for person in other.people] == [1, 1, 1]
    assert (other.winning_rate, other.passed) == (0, False)


def test_distance_uses_squared_differences() -> None:
    # others rate 0 and 4 -> the judge's 2 is nearer (4 + 4) than a person's 0 (0 + 16), though it
    # equals nobody
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
            passed[name] += alternative_annotator_test(
                table[:, :3], table[:, column], epsilon=0.15
            ).passed
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


# ---------------------------------------------------------------- a rater beside the others


def test_agreement_by_hand() -> None:
    # One item, four people: 0 0 1 2. Of the first: one of three others agrees; of their pairs (0 1,
    # 0 2, 1 2) none.
    # Of the third: nobody; of the pairs of 0 0 2 one in three. Most of the others: of 0 1 2 tied;
    # of 0 0 2 it is 0.
    beside = Labels(np.zeros(4, int), np.array([0, 0, 1, 2]), np.ones(4, bool), (1, 3)).beside()
    assert beside.agreement == pytest.approx([1 / 3, 1 / 3, 0, 0])
    assert beside.among == pytest.approx([0, 0, 1 / 3, 1 / 3])
    assert beside.tied.tolist() == [True, True, False, False]
    assert beside.majority[2:].tolist() == [0, 0]
    assert np.isnan(beside.majority[:2]).all()
    assert beside.others.tolist() == [3, 3, 3, 3]


def test_who_is_no_person_has_all_people_as_colleagues_and_is_nobodys() -> None:
    labels = Labels(np.zeros(3, int), np.array([1, 1, 0]), np.array([True, True, False]), (1, 2))
    assert labels.beside().others.tolist() == [1, 1, 2]
    assert labels.beside().agreement.tolist() == [1, 1, 0]
    assert labels.beside().among[2] == 1
    assert np.isnan(labels.beside().among[:2]).all()
    assert labels.shares().tolist() == [[0, 1], [0, 1], [0, 1]]


def test_alone_is_undefined() -> None:
    labels = Labels(np.array([0]), np.array([1]), np.array([True]), (1, 2))
    assert np.isnan(
        [*labels.beside().agreement, *labels.beside().majority, *labels.shares()[0]]
    ).all()
    assert np.isnan(difference_to_others(np.array([0]), np.array([1.0]), np.array([True]), 1)).all()


def test_difference_leaves_out_missing_values() -> None:
    value = np.array([1.0, 0.5, np.nan])
    differences = difference_to_others(np.zeros(3, int), value, np.ones(3, bool), 1)
    assert differences[:2].tolist() == [0.5, -0.5]
    assert np.isnan(differences[2])


@given(
    codes=hnp.arrays(
        np.int64, st.tuples(st.integers(1, 8), st.integers(3, 6)), elements=st.integers(0, 2)
    )
)
def test_over_a_whole_panel_the_differences_cancel(codes: np.ndarray) -> None:
    items, raters = codes.shape
    item = np.repeat(np.arange(items), raters)
    beside = Labels(item, codes.ravel(), np.ones(codes.size, bool), (items, 3)).beside()
    sums = np.bincount(item, beside.agreement - beside.among)
    assert sums == pytest.approx(np.zeros(items), abs=1e-12)


def test_among_equals_one_in_twenty_is_named_at_five_percent() -> None:
    # Panels of three equals, four outputs per source that are alike in difficulty: 400 people are
    # tested, 5% wrongly.
    rng = np.random.default_rng(0)
    item, source = np.repeat(np.arange(120), 3), np.repeat(np.arange(120) // 4, 3)
    low = []
    for _ in range(400):
        clear = np.repeat(rng.random(30) < 0.5, 12)
        code = np.where(clear & (rng.random(360) < 0.9), 0, rng.integers(0, 3, 360))
        beside = Labels(item, code, np.ones(360, bool), (120, 3)).beside()
        lead, first = beside.agreement - beside.among, slice(0, None, 3)
        low.append(clustered_mean(lead[first], source[first], SourceBootstrap(100)).p < 0.05)
    assert 0.02 <= np.mean(low) <= 0.09


@pytest.mark.parametrize("closeness", ["agreement", "distance"])
def test_the_answers_of_hundreds_of_people_are_counted_with_the_same_result(
    closeness: alternative_annotator.Closeness, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    people = rng.integers(1, 6, (60, 210)).astype(float)
    people[rng.random(people.shape) < 0.3] = np.nan
    judge = rng.integers(1, 6, 60).astype(float)
    counted = alternative_annotator_test(people, judge, epsilon=0.2, closeness=closeness)
    monkeypatch.setattr(alternative_annotator, "MOST_ONE_BY_ONE", 1000)
    assert counted == alternative_annotator_test(people, judge, epsilon=0.2, closeness=closeness)
