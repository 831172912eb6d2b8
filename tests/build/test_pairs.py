"""Scores of pairs, turned to the output's side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.building.answers import Pair, mirrored, turned
from metal.building.tasks import Answer
from metal.data.records import Criterion, Level, Scale
from metal.errors import DataError

UNEVEN = Scale("ordinal", (Level(-2, "A"), Level(0, "same"), Level(1, "B"), Level(7, "B much")))
BETTER = Criterion("better", UNEVEN)
SHARE = Criterion("share", Scale("interval", (), 0.1, 0.3))


def answer(**scores: str) -> Answer:
    return Answer("t", "en-1", scores, "comment", "file row 1", 3.0)


def said(scores: dict[str, str], *, output_first: bool) -> dict[str, str]:
    [result] = turned([answer(**scores)], {"t": Pair(output_first, {"better": BETTER, "share": SHARE})})
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
    assert [said({"better": str(value)}, output_first=True)["better"] for value in (-2, 0, 1, 7)] == [
        "7.0",
        "1.0",
        "0.0",
        "-2.0",
    ]
    assert said({"better": "-2"}, output_first=False)["better"] == "-2.0"


def test_words_are_those_that_people_saw() -> None:
    assert said({"better": "7 B much"}, output_first=True)["better"] == "-2.0"
    assert said({"better": "same"}, output_first=True)["better"] == "1.0"
    with pytest.raises(DataError, match="file row 1: 'worse' is not on the scale of better"):
        said({"better": "worse"}, output_first=True)


def test_blanks_and_other_criteria_stay() -> None:
    assert said({"better": " ", "length": "12"}, output_first=True) == {"better": " ", "length": "12"}


def test_answers_to_other_tasks_stay() -> None:
    [result] = turned([answer(better="7")], {"another": Pair(True, {"better": BETTER})})
    assert result.scores == {"better": "7"}


@given(st.floats(0.1, 0.3))
def test_a_range_is_turned_within_its_ends(score: float) -> None:
    back = mirrored(score, SHARE.scale)
    assert SHARE.scale.allows(back)
    assert mirrored(back, SHARE.scale) == pytest.approx(score, abs=1e-15)
    assert back == pytest.approx(0.4 - score)


@given(st.sampled_from(UNEVEN.values), st.booleans())
def test_whatever_the_order_the_same_opinion_is_the_same_score(opinion: float, output_first: bool) -> None:
    """opinion: how much better the output is. Who sees the output first says the opposite of who sees it second."""
    shown = mirrored(opinion, UNEVEN) if output_first else opinion
    assert float(said({"better": f"{shown:g}"}, output_first=output_first)["better"]) == opinion
