"""Test questions: golds in their own place and in another's, fixed by seed, and told from
ratings.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Output, Rating, Scale, Source
from metal.errors import UsageError
from metal.genie.gold_questions import (
    NEGATIVE,
    POSITIVE,
    SIDES,
    DrawnQuestions,
    Shares,
    apart,
    draw,
    leaked,
    rightness,
    side_of,
    tells,
    with_questions,
)
from tests.genie.people import METAL, by_name, outputs_of, source, with_golds

HALF = Shares(0.5, 0.5)


def words(text: str) -> str:
    return " ".join(text.split()).casefold()


def questions(
    sources: list[Source],
    shares: Shares = HALF,
    generators: tuple[str, ...] = ("good",),
    **more: object,
) -> DrawnQuestions:
    return draw(by_name(sources), outputs_of(sources, generators), shares, **more)  # type: ignore[arg-type]


def of(side: str, drawn: DrawnQuestions) -> list[Output]:
    return [one for one in drawn.questions if side_of(one.output) == side]


# ---------------------------------------------------------------- shares


@pytest.mark.parametrize(
    ("text", "positive", "negative"),
    [
        ("5%+5%", 0.05, 0.05),
        (" 2.5 % + 10% ", 0.025, 0.1),
        ("0%+100%", 0.0, 1.0),
        ("7%+0%", 0.07, 0.0),
    ],
)
def test_shares_are_read(text: str, positive: float, negative: float) -> None:
    assert Shares.read(text) == Shares(pytest.approx(positive), pytest.approx(negative))


def test_other_shares_are_refused_in_one_line() -> None:
    for text in (
        "",
        "5%",
        "5+5",
        "5%+5%+5%",
        "0%+0%",
        "101%+5%",
        "-5%+5%",
        "five",
        "5%+5% of all",
        "1e1%+5%",
        "5%\n",
    ):
        with pytest.raises(UsageError, match=r'e\.g\. `test_questions="5%\+5%"`') as raised:
            Shares.read(text)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [(0, (0, 0)), (1, (1, 1)), (29, (1, 3)), (30, (2, 3)), (1000, (50, 100))],
)
def test_shares_of_so_many_outputs_are_at_least_one(
    outputs: int, expected: tuple[int, int]
) -> None:
    assert tuple(Shares(0.05, 0.1).of(outputs).values()) == expected


def test_a_share_of_nothing_is_nothing() -> None:
    assert Shares(0, 0.1).of(100) == {POSITIVE: 0, NEGATIVE: 10}


# ---------------------------------------------------------------- what is drawn


def test_a_positive_shows_the_own_gold_and_a_negative_that_of_another_source() -> None:
    sources = [source(f"en-{number}", f"gold {number}") for number in range(10)]
    drawn = questions(sources, Shares(0.2, 0.3))
    known = by_name(sources)
    assert [side_of(one.output) for one in drawn.questions].count(POSITIVE) == 2
    assert [side_of(one.output) for one in drawn.questions].count(NEGATIVE) == 3
    for one in of(POSITIVE, drawn):
        assert (one.text, one.note) == (known[one.source].references[0], one.source)
    for one in of(NEGATIVE, drawn):
        assert one.note != one.source
        assert one.text == known[one.note].references[0] != known[one.source].references[0]
    assert not {one.source for one in of(POSITIVE, drawn)} & {
        one.source for one in of(NEGATIVE, drawn)
    }
    assert drawn.short == {}


def test_negatives_permute_the_golds_cyclically() -> None:
    sources = [source(f"en-{number}", f"gold {number}") for number in range(7)]
    gold_of = {one.source: one.note for one in of(NEGATIVE, questions(sources, Shares(0, 1)))}
    assert sorted(gold_of) == sorted(gold_of.values()) == sorted(one.source for one in sources)
    place, steps = "en-0", 0
    while steps == 0 or place != "en-0":
        place, steps = gold_of[place], steps + 1
    assert steps == 7


@pytest.mark.parametrize(
    "golds",
    [("same", "same", "same"), ("a b", " a\n\tb ", "A  B"), ("Straße", "STRASSE", "straße")],
)
def test_golds_that_differ_in_white_space_and_case_are_the_same(golds: tuple[str, ...]) -> None:
    drawn = questions(
        [source(f"en-{number}", gold) for number, gold in enumerate(golds)], Shares(1, 1)
    )
    assert of(NEGATIVE, drawn) == []
    assert len(of(POSITIVE, drawn)) == 3
    assert drawn.short == {("en", NEGATIVE): 3}


def test_all_references_of_a_source_are_its_golds() -> None:
    drawn = questions(
        [source("en-0", "a", "b"), source("en-1", "b"), source("en-2", " ", "c")], Shares(1, 1)
    )
    shown = {one.source: one.text for one in of(NEGATIVE, drawn)}
    assert shown["en-0"] == "c"
    assert {one.source: one.text for one in of(POSITIVE, drawn)} == {
        "en-0": "a",
        "en-1": "b",
        "en-2": "c",
    }


def test_golds_stay_within_their_language() -> None:
    sources = [
        source(f"{language}-{number}", f"{language} {number}")
        for language in ("en", "hi")
        for number in (0, 1)
    ]
    for one in questions(sources, Shares(1, 1)).questions:
        assert one.text.startswith(one.language)
        assert one.source.startswith(one.language)


def test_only_sources_that_are_rated_are_asked_about() -> None:
    sources = [source(f"en-{number}", f"gold {number}") for number in range(10)]
    drawn = draw(by_name(sources), outputs_of(sources[:3]), Shares(1, 1))
    assert (
        {one.source for one in drawn.questions}
        == {one.note for one in drawn.questions}
        == {"en-0", "en-1", "en-2"}
    )


def test_seed_and_ids_decide_and_no_order() -> None:
    sources = [source(f"en-{number}", f"gold {number}") for number in range(40)]
    backwards = questions(sources[::-1])
    assert set(questions(sources).questions) == set(backwards.questions)
    assert set(questions(sources, seed=1).questions) != set(backwards.questions)


def test_questions_of_earlier_exports_stay_as_they_were_asked() -> None:
    sources = [source(f"en-{number}", f"gold {number}") for number in range(10)]
    first = questions(sources, Shares(0.5, 0.5))
    changed = [replace(one, references=("another gold of " + one.source,)) for one in sources]
    again = questions(
        [*changed, source("en-99", "late")], earlier={one.output: one for one in first.questions}
    )
    before = {one.output: one.text for one in first.questions}
    kept = [one for one in again.questions if one.output in before]
    assert kept
    assert all(one.text == before[one.output] for one in kept)
    assert all(
        "another" in one.text or one.text == "late"
        for one in again.questions
        if one.output not in before
    )


golds = st.lists(
    st.lists(st.sampled_from(["a", "b", " A ", "c d", "c  d", ""]), max_size=2),
    min_size=1,
    max_size=9,
)
percent = st.integers(0, 100).map(lambda number: number / 100)


@given(golds, percent, percent, st.integers(1, 4), st.integers(0, 3))
def test_no_source_ever_meets_its_own_gold_as_a_negative(
    texts: list[list[str]], positive: float, negative: float, generators: int, seed: int
) -> None:
    sources = [source(f"en-{number}", *mine) for number, mine in enumerate(texts)]
    names = tuple(f"g{number}" for number in range(generators))
    shares = Shares(positive, negative)
    drawn = questions(sources, shares, names, seed=seed)
    known = by_name(sources)
    assert len({one.output for one in drawn.questions}) == len(drawn.questions)
    for one in drawn.questions:
        own = {words(text) for text in known[one.source].references}
        assert (words(one.text) in own) == (side_of(one.output) == POSITIVE)
        assert one.text in known[one.note].references
        assert one.text.strip()
    wanted = shares.of(len(sources) * generators)
    for side in SIDES:
        assert len(of(side, drawn)) + drawn.short.get(("en", side), 0) == wanted[side]


@given(golds, percent, percent, percent, percent, st.integers(1, 3))
def test_more_questions_keep_those_of_fewer(
    texts: list[list[str]],
    positive: float,
    negative: float,
    more: float,
    further: float,
    generators: int,
) -> None:
    sources = [source(f"en-{number}", *mine) for number, mine in enumerate(texts)]
    names = tuple(f"g{number}" for number in range(generators))
    few = questions(sources, Shares(positive, negative), names)
    many = questions(sources, Shares(min(1, positive + more), min(1, negative + further)), names)
    assert set(few.questions) <= set(many.questions)


# ---------------------------------------------------------------- right and wrong

ENDS = [
    ("linguistic_acceptability", POSITIVE, [0, 0, 1]),
    ("output_content_quality", POSITIVE, [0, 0, 1]),
    ("task_quality", POSITIVE, [0, 0, 1]),
    ("problematic_content", POSITIVE, [1, 0]),
    ("hallucinations", POSITIVE, [1, 0]),
    ("task_quality", NEGATIVE, [1, 0, 0]),
    ("hallucinations", NEGATIVE, [0, 1]),
]


@pytest.mark.parametrize(("name", "side", "expected"), ENDS)
def test_what_is_right_on_metals_criteria(name: str, side: str, expected: list[int]) -> None:
    criterion = METAL[name]
    assert tells(criterion, side)
    assert rightness(criterion, side, np.array(criterion.scale.values)).tolist() == expected


def test_which_of_metals_criteria_tell_something() -> None:
    assert [name for name in METAL if tells(METAL[name], POSITIVE)] == list(METAL)
    assert [name for name in METAL if tells(METAL[name], NEGATIVE)] == [
        name for name, side, _ in ENDS if side == NEGATIVE
    ]


@pytest.mark.parametrize("direction", ["higher", "lower"])
@pytest.mark.parametrize("comparative", [False, True])
def test_the_middle_is_wrong_but_where_the_gold_meets_itself(
    direction: str, comparative: bool
) -> None:
    scale = Scale("ordinal", tuple(Level(value, f"l{value}") for value in range(1, 6)))
    criterion = Criterion("likert", scale, direction)  # type: ignore[arg-type]
    best_first = np.array([5.0, 4, 3, 2, 1] if direction == "higher" else [1.0, 2, 3, 4, 5])
    positive = rightness(criterion, POSITIVE, best_first, comparative=comparative)
    negative = rightness(criterion, NEGATIVE, best_first, comparative=comparative)
    assert positive.tolist() == [1, 1, int(comparative), 0, 0]
    assert negative.tolist() == [0, 0, 0, 1, 1]


def test_no_score_is_neither() -> None:
    found = rightness(METAL["task_quality"], POSITIVE, np.array([2, np.nan]))
    assert found[0] == 1
    assert np.isnan(found[1])


def test_scales_without_ends_tell_nothing() -> None:
    for scale in (
        Scale("interval"),
        Scale("nominal", tuple(Level(value, f"l{value}") for value in range(3))),
    ):
        criterion = Criterion("open", scale)
        assert not tells(criterion, POSITIVE)
        assert np.isnan(rightness(criterion, POSITIVE, np.array([0.0, 1.0]))).all()


# ---------------------------------------------------------------- among a dataset's outputs


def test_sides_are_told_by_their_ids() -> None:
    ids = [
        "test:positive:en:x",
        "test:negative:en:x",
        "test:other:x",
        "en/positive:x",
        "positive",
        "test:",
    ]
    assert [side_of(name) for name in ids] == [POSITIVE, NEGATIVE, "", "", "", ""]


def test_answers_are_set_apart_by_what_was_asked() -> None:
    asked = draw(
        by_name([source("en-0", "a"), source("en-1", "b")]), outputs_of([source("en-0", "a")]), HALF
    )
    name = asked.questions[0].output
    rows = [
        Rating(one, "task_quality", rater, 1.0)
        for one in (name, "o", "test:positive:mine")
        for rater in ("A", "B")
    ]
    ratings, answers = apart(facts_from(rows), {name: asked.questions[0]})
    assert (
        set(ratings["output"])
        == set(ratings["output"].cat.categories)
        == {"o", "test:positive:mine"}
    )
    assert set(answers["output"]) == set(answers["output"].cat.categories) == {name}
    for table in apart(facts_from([]), {}):
        assert len(table) == 0


def test_a_dataset_with_its_questions() -> None:
    dataset = with_golds(4)
    drawn = draw(dataset.sources, dataset.outputs.values(), HALF)
    whole = with_questions(dataset, drawn.questions)
    assert whole.outputs.keys() == dataset.outputs.keys() | {one.output for one in drawn.questions}
    assert whole.ratings is dataset.ratings
    with pytest.raises(UsageError, match=r"output 'test:[a-z]+:en:en-\d' .*; rename it"):
        with_questions(whole, drawn.questions)


def test_leaks_are_found() -> None:
    dataset = with_golds(4, languages=("en",))
    drawn = draw(dataset.sources, dataset.outputs.values(), HALF)
    asked = {one.output: one for one in drawn.questions}
    assert leaked(dataset, asked) == []
    negative = of(NEGATIVE, drawn)[0]
    own = Output("mine", negative.source, "g", "en", f"  {negative.text.upper()} ")
    # there it is the gold: somebody may write it
    elsewhere = replace(own, output="elsewhere", source=negative.note)
    positive = of(POSITIVE, drawn)[0]
    outputs = {**dataset.outputs, "mine": own, "elsewhere": elsewhere, positive.output: positive}
    assert leaked(replace(dataset, outputs=outputs), asked) == ["mine", positive.output]
