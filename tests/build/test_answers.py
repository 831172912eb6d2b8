"""Answers against what was handed out: what is refused, what becomes a rating, what is never lost;
pairs are turned.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.building.answers import (
    NO_ANSWER,
    Assigned,
    CheckedAnswers,
    Pair,
    ambiguous,
    check_answers,
    mirrored,
    read_score,
    turned,
)
from metal.building.tasks import Answer
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Level, Rating, Scale
from metal.errors import DataError, UnknownName
from tests.conftest import HALLUCINATIONS, TASK_QUALITY

FLUENCY = Criterion("fluency", Scale("interval", (), 1, 5))
CRITERIA = {each.name: each for each in (TASK_QUALITY, HALLUCINATIONS)}
TASKS = {"t1": "o1", "t2": "o2", "t3": "o3"}
LANGUAGES = dict.fromkeys(TASKS.values(), "hi")
BOTH = ("task_quality", "hallucinations")
GIVEN = {
    "hi-1": Assigned("hi-1", "hi", dict.fromkeys(("t1", "t2"), BOTH)),
    "hi-2": Assigned("hi-2", "hi", dict.fromkeys(TASKS, BOTH)),
}
NONE = facts_from([])


def said(
    quality: str = "", result: str = "", task: str = "t1", rater: str = "hi-1", **more: str
) -> Answer:
    where = more.pop("where", f"{rater}.csv row 2")
    return Answer(
        task,
        rater,
        {"task_quality": quality, "hallucinations": result},
        more.get("comment", ""),
        where,
    )


def take(
    answers: Sequence[Answer], existing: pd.DataFrame = NONE, *, replace: bool = False
) -> CheckedAnswers:
    return check_answers(
        answers, TASKS, GIVEN, CRITERIA, existing, languages=LANGUAGES, replace=replace
    )


def rows(returned: CheckedAnswers) -> dict[tuple[str, str, str], tuple[float | None, str, str]]:
    """(output, criterion, rater) -> (score, reason, comment)."""
    result = {}
    for row in returned.facts.itertuples():
        key = (str(row.output), str(row.criterion), str(row.rater))
        assert key not in result
        result[key] = (
            None if pd.isna(row.score) else float(row.score),
            str(row.reason),
            str(row.comment),
        )
    return result


def refused(answers: Sequence[Answer], existing: pd.DataFrame = NONE) -> str:
    with pytest.raises((DataError, UnknownName)) as error:
        take(answers, existing)
    return str(error.value)


def test_ways_to_write_a_level() -> None:
    for text in ("2", "2.0", "2,0", " 2 ", "2 Good", "2  good", " good ", "GOOD", "２", "٢"):
        assert read_score(text, TASK_QUALITY, "f") == 2.0
    for text in ("", "  ", "\n\t"):
        assert read_score(text, TASK_QUALITY, "f") is None


@pytest.mark.parametrize(
    "text",
    [
        "3",
        "-1",
        "1.5",
        "2 Bad",
        "Goood",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "2, 1",
        "0_1",
        "?",
        "x" * 500,
    ],
)
def test_what_is_not_on_the_scale(text: str) -> None:
    with pytest.raises(DataError) as error:
        read_score(text, TASK_QUALITY, "f.csv row 7")
    assert str(error.value).startswith(
        f"f.csv row 7: {text[:40]!r} is not on the scale of task_quality (0 Bad, 1 M"
    )


@pytest.mark.parametrize(
    ("text", "score"),
    [("1", 1), ("5", 5), ("2.5", 2.5), ("2,5", 2.5), ("1,250", 1.25), ("1e0", 1), (" 4 ", 4)],
)
def test_a_range(text: str, score: float) -> None:
    assert read_score(text, FLUENCY, "f") == score


@pytest.mark.parametrize("text", ["0.99", "5.01", "nan", "inf", "good", "3/5", "1_0"])
def test_off_the_range(text: str) -> None:
    with pytest.raises(DataError, match=r"is not on the scale of fluency \(1 to 5\)"):
        read_score(text, FLUENCY, "f")


@pytest.mark.parametrize("scale", [Scale("interval"), Scale("interval", (), 0, 1000)])
def test_a_comma_that_could_mean_two_numbers(scale: Scale) -> None:
    with pytest.raises(DataError, match="could be two numbers"):
        read_score("1,000", Criterion("c", scale), "f")
    assert read_score("0,125", Criterion("c", scale), "f") == 0.125
    assert read_score("999,9", Criterion("c", scale), "f") == 999.9


def test_a_number_is_a_value_where_labels_are_numbers_too() -> None:
    """Forms give values back; a scale from 0 whose labels count from 1 must not move every
    score.
    """
    stars = Criterion(
        "stars", Scale("ordinal", tuple(Level(value, str(value + 1)) for value in range(3)))
    )
    assert [read_score(text, stars, "f") for text in ("0", "1", "2", "0 1", "1 2", "3")] == [
        0,
        1,
        2,
        0,
        1,
        2,
    ]


def test_a_blank_answer_of_nobody_is_refused_too() -> None:
    assert "no tasks were assigned" in refused([said(rater="someone")])


@pytest.mark.parametrize("rater", ["mturk:A1B2", "hi:2"])
def test_platforms_name_their_people(rater: str) -> None:
    returned = take([said("2", "0", rater=rater)])
    assert returned.raters == {rater: {"hi"}}
    assert rows(returned)["o1", "task_quality", rater] == (2.0, "", "")


def test_twice_the_same() -> None:
    returned = take([said("2", "0"), said("2.0", "Absent", where="copy.csv row 2")])
    assert len(rows(returned)) == 2
    assert returned.answered == {"hi-1": 1}


def test_twice_differently_names_both_places() -> None:
    message = refused([said("2", "0", where="a.csv row 2"), said("2", "1", where="b.csv row 5")])
    assert message.startswith(
        "b.csv row 5: hi-1 gives task t1 1 on hallucinations, and 0 in a.csv row 2"
    )
    assert "`replace=True`" in message


def test_with_replace_the_later_one_counts() -> None:
    first, second = said("2", "0", comment="first"), said("0", "0", comment="second")
    for order, score, comment in (
        ([first, second], 0.0, "second"),
        ([second, first], 2.0, "first"),
    ):
        result = rows(take(order, replace=True))
        assert result["o1", "task_quality", "hi-1"] == (score, "", comment)


@pytest.mark.parametrize("replace", [False, True])
def test_a_blank_takes_nothing_away(replace: bool) -> None:
    for order in (
        [said("2"), said("2", "1")],
        [said("2", "1"), said("2")],
        [said("2", "1"), said()],
    ):
        returned = take(order, replace=replace)
        assert {score for score, _, _ in rows(returned).values()} == {2.0, 1.0}
        assert not returned.partly["hi-1"]


def test_criteria_asked_in_two_files_come_together() -> None:
    each = Answer("t1", "hi-1", {"task_quality": "2"}, "", "a")
    other = Answer("t1", "hi-1", {"hallucinations": "1"}, "yes", "b")
    assert rows(take([each, other])) == {
        ("o1", "task_quality", "hi-1"): (2.0, "", "yes"),
        ("o1", "hallucinations", "hi-1"): (1.0, "", "yes"),
    }


def test_a_task_without_any_score_is_none() -> None:
    returned = take([said(), said(task="t2", comment="cannot be read")])
    assert len(returned.facts) == 0
    assert (returned.blank, returned.remarks, returned.answered) == (2, 1, {})
    assert returned.unanswered == {"hi-1": 2, "hi-2": 3}


def test_a_criterion_left_blank_is_a_rating_without_a_score() -> None:
    returned = take([said("2", comment="hm")])
    assert rows(returned)["o1", "hallucinations", "hi-1"] == (None, NO_ANSWER, "hm")
    assert returned.partly == {"hi-1": 1}
    assert returned.unanswered["hi-1"] == 1


def test_a_criterion_that_was_not_asked_is_no_missing_answer() -> None:
    given = {"hi-1": Assigned("hi-1", "hi", {"t1": ("task_quality",)})}
    for rater in ("hi-1", "hi:2"):
        returned = check_answers(
            [said("2", rater=rater)], TASKS, given, CRITERIA, NONE, languages=LANGUAGES
        )
        assert rows(returned) == {("o1", "task_quality", rater): (2.0, "", "")}
        assert not returned.partly[rater]


def test_open_is_what_was_asked_and_not_answered() -> None:
    given = {"hi-1": Assigned("hi-1", "hi", {"t1": ("task_quality",), "t2": BOTH, "gone": BOTH})}
    only_quality = [Answer(task, "hi-1", {"task_quality": "2"}, "", "a") for task in ("t1", "t2")]
    returned = check_answers(only_quality, TASKS, given, CRITERIA, NONE, languages=LANGUAGES)
    assert returned.unanswered == {"hi-1": 1}


EARLIER = facts_from(
    [
        Rating("o1", "task_quality", "hi-1", 1.0, "", "mine"),
        Rating("o1", "hallucinations", "hi-1", None, NO_ANSWER, "mine"),
        Rating("o1", "task_quality", "hi-2", 0.0, "", "theirs"),
        Rating("o1", "task_quality", "judge", 2.0, "", "because"),
        Rating("o1", "hallucinations", "judge", None, "refused", "no"),
    ]
)
BEFORE = rows(CheckedAnswers(EARLIER, {}))


def test_the_same_again_changes_nothing() -> None:
    returned = take([said("1", comment="mine")], EARLIER)
    assert rows(returned) == BEFORE
    assert (returned.same, returned.replaced) == (2, 0)
    assert returned.unanswered == {"hi-1": 1, "hi-2": 3}


def test_a_score_takes_the_place_of_no_answer() -> None:
    returned = take([said("1", "0")], EARLIER)
    assert rows(returned) == BEFORE | {("o1", "hallucinations", "hi-1"): (0.0, "", "mine")}
    assert (returned.same, returned.replaced) == (1, 0)


def test_another_score_is_refused_and_names_both() -> None:
    message = refused([said("2", where="late.csv row 3")], EARLIER)
    assert message.startswith(
        "late.csv row 3: hi-1 gave task t1 1 on task_quality in an earlier import, 2 here"
    )


def test_another_score_with_replace() -> None:
    returned = take([said("2", comment="new")], EARLIER, replace=True)
    assert rows(returned) == BEFORE | {
        ("o1", "task_quality", "hi-1"): (2.0, "", "new"),
        ("o1", "hallucinations", "hi-1"): (None, NO_ANSWER, "new"),
    }
    assert (returned.same, returned.replaced) == (1, 1)


def test_a_comment_comes_later_and_none_is_lost() -> None:
    silent = facts_from([Rating("o1", "task_quality", "hi-1", 1.0)])
    assert rows(take([said("1", "0", comment="later")], silent))["o1", "task_quality", "hi-1"] == (
        1.0,
        "",
        "later",
    )
    assert rows(take([said("1", comment="other")], EARLIER)) == BEFORE
    assert rows(take([said("2")], EARLIER, replace=True))["o1", "task_quality", "hi-1"] == (
        2.0,
        "",
        "mine",
    )


def table(
    *given: tuple[str, str, float | None, str], criterion: str = "task_quality"
) -> pd.DataFrame:
    """Ratings of (output, rater, score, comment)."""
    facts = facts_from(
        Rating(output, criterion, rater, score, "" if score is not None else "x", comment)
        for output, rater, score, comment in given
    )
    facts["language"] = "hi"
    return facts


def listed(ratings: pd.DataFrame) -> list[list[str]]:
    return ambiguous(ratings, CRITERIA).to_numpy().tolist()


def test_three_people_three_labels() -> None:
    ratings = table(
        ("o1", "a", 0, "why"), ("o1", "b", 2, ""), ("o1", "c", 1, "x"), ("o2", "a", 0, "")
    )
    assert listed(ratings) == [
        ["hi", "o1", "task_quality", "a: 0 Bad; b: 2 Good; c: 1 Medium", "a: why; c: x"]
    ]


ALL_DIFFERENT = ["r0: 0 Bad; r1: 1 Medium; r2: 2 Good"]


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        *((scores, []) for scores in ((0, 1), (0, 1, 1), (0, 1, None), (0, 1, 2, 2), (2, 2, 2))),
        ((0, 1, 2, None), ALL_DIFFERENT),  # a fourth who said nothing does not count
    ],
)
def test_whoever_agrees_with_somebody(scores: tuple[float | None, ...], labels: list[str]) -> None:
    assert [
        row[3]
        for row in listed(table(*(("o1", f"r{n}", score, "") for n, score in enumerate(scores))))
    ] == labels


def test_scales_without_levels_are_left_out() -> None:
    ratings = table(("o1", "a", 1, ""), ("o1", "b", 2, ""), ("o1", "c", 3, ""), criterion="fluency")
    assert ambiguous(ratings, {"fluency": FLUENCY}).empty
    assert list(ambiguous(table(), CRITERIA)) == [
        "language",
        "output",
        "criterion",
        "labels",
        "comments",
    ]


UNEVEN = Scale("ordinal", (Level(-2, "A"), Level(0, "same"), Level(1, "B"), Level(7, "B much")))
BETTER = Criterion("better", UNEVEN)
SHARE = Criterion("share", Scale("interval", (), 0.1, 0.3))


def answer(**scores: str) -> Answer:
    return Answer("t", "en-1", scores, "comment", "file row 1", 3.0)


def answer_of(scores: dict[str, str], *, output_first: bool) -> dict[str, str]:
    [result] = turned(
        [answer(**scores)], {"t": Pair(output_first, {"better": BETTER, "share": SHARE})}
    )
    assert (result.task, result.rater, result.comment, result.where, result.seconds) == (
        "t",
        "en-1",
        "comment",
        "file row 1",
        3.0,
    )
    return dict(result.scores)


def test_levels_change_places_with_their_opposites() -> None:
    #  shown   -2  0  1  7
    #  turned   7  1  0 -2
    assert [mirrored(value, UNEVEN) for value in UNEVEN.values] == [7, 1, 0, -2]
    assert [
        answer_of({"better": str(value)}, output_first=True)["better"] for value in (-2, 0, 1, 7)
    ] == [
        "7.0",
        "1.0",
        "0.0",
        "-2.0",
    ]
    assert answer_of({"better": "-2"}, output_first=False)["better"] == "-2.0"


def test_words_are_those_that_people_saw() -> None:
    assert answer_of({"better": "7 B much"}, output_first=True)["better"] == "-2.0"
    assert answer_of({"better": "same"}, output_first=True)["better"] == "1.0"
    with pytest.raises(DataError, match="file row 1: 'worse' is not on the scale of better"):
        answer_of({"better": "worse"}, output_first=True)


def test_blanks_other_criteria_and_answers_to_other_tasks_stay() -> None:
    assert answer_of({"better": " ", "length": "12"}, output_first=True) == {
        "better": " ",
        "length": "12",
    }
    [result] = turned([answer(better="7")], {"another": Pair(True, {"better": BETTER})})
    assert result.scores == {"better": "7"}


@given(st.floats(0.1, 0.3))
def test_a_range_is_turned_within_its_ends(score: float) -> None:
    back = mirrored(score, SHARE.scale)
    assert SHARE.scale.allows(back)
    assert mirrored(back, SHARE.scale) == pytest.approx(score, abs=1e-15)
    assert back == pytest.approx(0.4 - score)


@given(st.sampled_from(UNEVEN.values), st.booleans())
def test_whatever_the_order_the_same_opinion_is_the_same_score(
    opinion: float, output_first: bool
) -> None:
    """opinion: how much better the output is. Who sees the output first says the opposite of who
    sees it second.
    """
    shown = mirrored(opinion, UNEVEN) if output_first else opinion
    assert (
        float(answer_of({"better": f"{shown:g}"}, output_first=output_first)["better"]) == opinion
    )
