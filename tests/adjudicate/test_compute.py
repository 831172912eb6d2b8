"""The estimate of adjudication, by hand and in worlds with a known truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from metal.questions.adjudicate.compute import (
    AGREED,
    OTHERS,
    WITH_BAD,
    JudgeBeside,
    Sets,
    Truth,
    bad_end,
    difference,
    draw,
    gains,
    strata_of,
)
from metal.questions.adjudicate.verdicts import (
    AS_ACCURATE,
    BETTER,
    LESS,
    UNDECIDED,
    if_wrong,
    items_needed,
    power,
    verdict,
    with_errors,
)

from . import worlds

MARGIN = 0.1
NAN = float("nan")


def one_right(*answers: int | None, levels: int = 3) -> np.ndarray:
    """(items, levels) 1 for the answer, NaN where nobody decided."""
    return np.array([[NAN] * levels if each is None else np.eye(levels)[each] for each in answers])


def eight() -> JudgeBeside:
    """Two people and a judge on eight items of eight sources; 2 is the bad end.

    Items 0 to 3: all agree. 4 and 5: somebody says bad. 6 and 7: nobody does.
    """
    judge = np.array([0, 0, 1, 2, 2, 0, 1, 0])
    people = np.array([[0, 0], [0, 0], [1, 1], [2, 2], [0, 0], [2, 0], [0, 1], [1, 1]])
    return JudgeBeside(judge, people, np.arange(8), 2)


def test_by_hand() -> None:
    """Right: bad, bad, medium, medium. The judge gains 1 - 0, 0 - 1/2, 1 - 1/2, 0 - 1."""
    beside = eight()
    assert beside.strata.tolist() == [AGREED] * 4 + [WITH_BAD] * 2 + [OTHERS] * 2
    right = one_right(None, None, None, None, 2, 2, 1, 1)
    assert gains(beside, right).tolist() == [0, 0, 0, 0, 1, -0.5, 0.5, -1]
    made = difference(beside, right)
    assert made.figure is not None
    assert made.figure.value == pytest.approx(0)
    assert made.by_draw == 0  # every disputed item was decided
    # (1 + 1/4 + 1/4 + 1) / 8, by 8 items
    assert made.by_items == pytest.approx(2.5 / 8 / 8)
    assert (made.decided, made.disputed, made.items, made.figure.df) == (4, 4, 8, 3)


def test_what_was_not_decided_is_stood_for_by_the_rest_of_its_stratum() -> None:
    judge, people = np.zeros(12, dtype=int), np.ones((12, 1), dtype=int)
    people[:4] = 0  # 4 agree, 8 differ
    beside = JudgeBeside(judge, people, np.arange(12), None)
    right = one_right(*[None] * 4, 0, 0, 0, 1, *[None] * 4, levels=2)
    made = difference(beside, right)
    assert made.figure is not None
    assert made.figure.value == pytest.approx(8 * (1 + 1 + 1 - 1) / 4 / 12)
    assert made.by_draw == pytest.approx(8**2 * (1 - 4 / 8) * 1 / 4 / 12**2)  # s^2 of 1, 1, 1, -1


def test_a_refusal_is_never_right_and_always_disputed() -> None:
    beside = JudgeBeside(np.array([-1, 0]), np.array([[0, 0], [0, 0]]), np.arange(2), None)
    assert beside.disputed.tolist() == [True, False]
    assert gains(beside, one_right(0, None, levels=2)).tolist() == [-1, 0]


def test_a_set_makes_both_answers_right_and_two_adjudicators_count_half_each() -> None:
    beside = JudgeBeside(np.array([0, 0]), np.array([[1], [1]]), np.arange(2), None)
    assert gains(beside, np.array([[1.0, 1, 0], [0.5, 0.5, 0]])).tolist() == [0, 0]
    assert gains(beside, np.array([[1.0, 0, 0], [0.5, 0, 0.5]])).tolist() == [1, 0.5]


def test_outputs_of_one_source_are_no_more_than_one() -> None:
    """Each item three times: the same estimate with the same error as each once."""
    beside = eight()
    thrice = JudgeBeside(
        np.repeat(beside.judge, 3),
        np.repeat(beside.people, 3, axis=0),
        np.repeat(beside.sources, 3),
        2,
    )
    right = one_right(None, None, None, None, 2, 2, 1, 2)
    once, three = difference(beside, right), difference(thrice, np.repeat(right, 3, axis=0))
    assert once.figure is not None
    assert three.figure is not None
    assert three.figure.value == pytest.approx(once.figure.value)
    assert three.figure.error == pytest.approx(once.figure.error)
    assert three.figure.df == once.figure.df


def test_what_is_undefined_says_why() -> None:
    made = difference(eight(), one_right(None, None, None, None, 2, None, 1, 1))
    assert made.figure is None
    assert "1 of 2" in made.undefined
    assert verdict(made, None, MARGIN) == (UNDECIDED, made.undefined)
    single = JudgeBeside(np.array([0]), np.array([[1]]), np.array([0]), None)
    assert "two sources" in difference(single, one_right(0, levels=2)).undefined


def test_where_all_agree_nothing_differs() -> None:
    beside = JudgeBeside(np.zeros(9, dtype=int), np.zeros((9, 2), dtype=int), np.arange(9), None)
    made = difference(beside, one_right(*[None] * 9, levels=2))
    assert made.figure is not None
    assert (made.figure.value, made.figure.error) == (0, 0)


def test_recall_and_precision_of_the_bad_end_by_hand() -> None:
    """Bad: item 3 (agreed), 4 and 5 (decided). The judge finds 3 and 4, people 3 and half of 5."""
    beside, right = eight(), one_right(None, None, None, None, 2, 2, 1, 1)
    made = bad_end(beside, Truth(right, right))
    assert made is not None
    assert made.recall is not None
    assert made.recall_of_people is not None
    assert made.precision is not None
    assert made.precision_of_people is not None
    assert made.recall.value == pytest.approx(2 / 3)
    assert made.recall_of_people.value == pytest.approx(1.5 / 3)
    assert (made.precision.value, made.precision_of_people.value) == (1, 1)
    assert (made.items, made.called) == (3, 2)


@pytest.mark.parametrize(
    ("with_bad", "others", "items", "drawn"),
    [
        (100, 100, 40, (20, 20)),
        (5, 100, 40, (5, 35)),
        (100, 5, 40, (35, 5)),
        (5, 5, 40, (5, 5)),
        (0, 9, 5, (0, 5)),
    ],
)
def test_half_is_drawn_where_somebody_said_bad(
    with_bad: int, others: int, items: int, drawn: tuple[int, int]
) -> None:
    strata = np.repeat([AGREED, WITH_BAD, OTHERS], [30, with_bad, others])
    chances = draw(strata, items, np.random.default_rng(1))
    chosen = chances > 0
    assert tuple(int((chosen & (strata == each)).sum()) for each in (WITH_BAD, OTHERS)) == drawn
    assert (1 / chances[chosen]).sum() == pytest.approx(
        sum(number for number, some in zip((with_bad, others), drawn, strict=True) if some)
    )


def test_errors_of_the_adjudicator_by_hand() -> None:
    """Ten disputed items, the judge right in all: a tenth of the truth goes to the other answer."""
    beside = JudgeBeside(np.zeros(10, dtype=int), np.ones((10, 2), dtype=int), np.arange(10), None)
    right = one_right(*[0] * 10, levels=2)
    assert with_errors(beside, right, with_crowd=False)[0].tolist() == pytest.approx([0.9, 0.1])
    # nobody sided with most people, so no such error can have been made
    assert with_errors(beside, right, with_crowd=True).tolist() == right.tolist()
    sided = one_right(*[1] * 5, *[0] * 5, levels=2)
    changed = with_errors(beside, sided, with_crowd=True)
    assert changed[0].tolist() == pytest.approx([0.2, 0.8])  # 1 of 10 items, all among these 5
    assert changed[9].tolist() == [1, 0]


# ---------------------------------------------------------------- worlds


def says(
    person: float,
    judge: float,
    correlation: float,
    looked_at: int = 40,
    runs: int = 150,
    **world: float,
) -> Counter[str]:
    """How often each verdict is reached."""
    rng = np.random.default_rng(7)
    return Counter(
        verdict(*worlds.run(rng, person, judge, correlation, looked_at, **world), MARGIN)[0]
        for _ in range(runs)
    )


def as_accurate(counts: Counter[str]) -> float:
    return (counts[AS_ACCURATE] + counts[BETTER]) / counts.total()


@pytest.mark.parametrize("correlation", worlds.HARD)
def test_a_judge_20_points_worse_is_never_as_accurate(correlation: float) -> None:
    assert as_accurate(says(0.85, 0.65, correlation)) == 0


@pytest.mark.parametrize("correlation", worlds.HARD)
def test_at_the_margin_it_is_in_one_of_twenty(correlation: float) -> None:
    assert as_accurate(says(0.85, 0.75, correlation, runs=300)) <= 0.05 + 2 * 0.0126 + 0.02


@pytest.mark.parametrize(("correlation", "often"), [(0.0, 0.68), (0.32, 0.93), (0.58, 1.0)])
def test_an_equal_judge_is_as_accurate(correlation: float, often: float) -> None:
    assert as_accurate(says(0.85, 0.85, correlation)) >= often - 0.07 - 0.04


@pytest.mark.parametrize("correlation", [0.32, 0.58])
def test_people_right_in_two_thirds_license_no_bad_judge_and_are_beaten(correlation: float) -> None:
    assert says(0.65, 0.85, correlation)[BETTER] >= 0.95 * 150
    assert as_accurate(says(0.65, 0.45, correlation)) <= 0.02


@pytest.mark.parametrize("with_crowd", [False, True])
def test_an_adjudicator_right_in_nine_of_ten(*, with_crowd: bool) -> None:
    counts = says(0.85, 0.85, 0.32, error=0.1, with_crowd=with_crowd)
    assert as_accurate(counts) >= 0.93 - 0.15
    assert as_accurate(says(0.85, 0.65, 0.32, error=0.1, with_crowd=with_crowd)) <= 0.02


@pytest.mark.parametrize("correlation", worlds.HARD)
def test_the_interval_covers_the_truth(correlation: float) -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        figure = worlds.run(rng, 0.85, 0.75, correlation, 40)[0].figure
        assert figure is not None
        covered += figure.low(0.975) < -0.1 < figure.high(0.975)
    assert 0.91 <= covered / 300 <= 0.985


@pytest.mark.parametrize("correlation", worlds.HARD)
def test_the_power_that_is_promised_is_had(correlation: float) -> None:
    rng = np.random.default_rng(5)
    _, given = worlds.answers(rng, 300, worlds.HARD[correlation], [0.85] * 4)
    beside = JudgeBeside(given[:, 3], given[:, :3], np.arange(300), 2)
    promised = power(beside, draw(beside.strata, 40, rng) > 0, MARGIN)
    had = as_accurate(says(0.85, 0.85, correlation))
    assert abs(promised - had) <= 0.15


@pytest.mark.parametrize("correlation", worlds.HARD)
def test_a_judge_that_shares_its_draw_is_told_as_if_it_had_one(correlation: float) -> None:
    """The other judge calls bad most of what this one has wrong, so that this is drawn more
    often.
    """
    rng, passed, values = np.random.default_rng(3), 0, []
    for _ in range(200):
        truth, given = worlds.answers(rng, 300, worlds.HARD[correlation], [0.85] * 3 + [0.75])
        people, judge = given[:, :3], given[:, 3]
        critic = rng.random(300) < np.where(judge == truth, 0.05, 0.6)
        alone = JudgeBeside(judge, people, np.arange(300), 2)
        other = JudgeBeside(np.where(critic, 2, truth), people, np.arange(300), 2)
        named_bad = alone.names_bad | other.names_bad
        drawn = draw(strata_of(alone.disputed | other.disputed, named_bad), 40, rng)
        made = worlds.decided(truth, drawn > 0)
        beside = replace(alone, named_bad=named_bad)
        compared = difference(beside, made.right)
        passed += verdict(compared, bad_end(beside, made), MARGIN)[0] in (AS_ACCURATE, BETTER)
        assert compared.figure is not None
        values.append(compared.figure.value)
    assert passed / 200 <= 0.05 + 2 * 0.0154
    assert np.mean(values) == pytest.approx(-0.1, abs=0.015)


def test_outputs_of_a_source_on_which_a_judge_is_bad_are_counted_as_alike() -> None:
    """A judge whose skill differs by source: 45 sources of 22 outputs, 80 of them decided."""
    rng, covered, passed, times = np.random.default_rng(4), 0, 0, 200
    sources = np.repeat(np.arange(45), 22)
    start = worlds.start(0.75, 2.0)
    for _ in range(times):
        truth, people = worlds.answers(rng, len(sources), 2.0, [0.85] * 3)
        hard = np.repeat(rng.normal(size=45) * 2, 22)
        right = rng.random(len(sources)) < 1 / (1 + np.exp(hard - start))
        judge = np.where(right, truth, (truth + rng.integers(1, 3, len(sources))) % 3)
        beside = JudgeBeside(judge, people, sources, 2)
        compared = difference(beside, worlds.decided(truth, draw(beside.strata, 80, rng) > 0).right)
        assert compared.figure is not None
        covered += compared.figure.low(0.975) < -0.1 < compared.figure.high(0.975)
        passed += compared.figure.low() > -0.1
    assert covered / times >= 0.93 - 2 * 0.0154
    assert passed / times <= 0.05 + 2 * 0.0154


def test_an_answer_is_right_if_its_set_holds_what_is_right() -> None:
    """The first person says Good, also Medium, and Good is right; the others and the judge say
    Medium.
    """
    people = np.array([[0, 1, 1]] * 4)
    sets = Sets(np.arange(4), np.zeros(4, dtype=int), np.tile([True, True, False], (4, 1)))
    beside = JudgeBeside(np.ones(4, dtype=int), people, np.arange(4), 2, sets=sets)
    assert beside.disputed.all()
    assert gains(beside, one_right(0, 0, 1, None))[:3] == pytest.approx([-1 / 3, -1 / 3, 0])
    assert np.isnan(gains(beside, one_right(0, 0, 1, None))[3])


@pytest.mark.parametrize("with_crowd", [False, True])
def test_an_adjudicator_who_errs_makes_the_interval_wider(*, with_crowd: bool) -> None:
    rng = np.random.default_rng(6)
    truth, given = worlds.answers(rng, 300, worlds.HARD[0.32], [0.85] * 4)
    beside = JudgeBeside(given[:, 3], given[:, :3], np.arange(300), 2)
    right = worlds.decided(truth, draw(beside.strata, 40, rng) > 0).right
    plain, erring = difference(beside, right).figure, if_wrong(beside, right, with_crowd=with_crowd)
    assert plain is not None
    assert erring is not None
    assert erring.error > plain.error
    mean = difference(beside, with_errors(beside, right, with_crowd=with_crowd)).figure
    assert mean is not None
    assert erring.value == mean.value


def test_as_many_more_answers_as_needed_tell() -> None:
    """Of judges that are undecided after 20 answers, those that need so many more."""
    rng = np.random.default_rng(2)
    needed = []
    for _ in range(60):
        made, bad = worlds.run(rng, 0.85, 0.85, 0.32, 20)
        if verdict(made, bad, MARGIN)[0] == UNDECIDED and made.figure and made.figure.value > -0.1:
            needed.append(items_needed(made, MARGIN))
    assert needed
    assert 20 < np.median(needed) < 80


def test_who_calls_most_of_the_bad_good_is_held_back() -> None:
    """Nine bad outputs of 300 cannot do more: see docs/explanation/limits.md."""
    held = says(0.85, 0.85, 0.32, lenient=0.8)
    assert as_accurate(held) <= 0.4
    assert held[LESS] + held[UNDECIDED] >= 0.6 * 150
