"""Decimal commas: read where nothing else fits, else asked about; nothing that drops other answers
is proposed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.data.tables.cells import as_numbers
from metal.errors import DataError, UsageError
from tests.saying import tells


def table_of(answers: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {"id": [f"o{row}" for row in range(len(answers))], "rater": "A1", "score": answers}
    )


def scores_of(answers: list[Any], **options: Any) -> list[float]:
    scores: list[float] = (
        metal.read(table_of(answers), language="pl", **options).ratings["score"].tolist()
    )
    return scores


@pytest.mark.parametrize(
    ("answers", "scores"),
    [
        (["3,5", "4", "2"], [3.5, 4, 2]),
        (["3,50", "-0,125", "2"], [3.5, -0.125, 2]),  # not three digits in all of them
        (["3,5", "n/a", "unknown", "2"], [3.5, np.nan, np.nan, 2]),
        (["85,5%", "70%"], [85.5, 70]),
        (["%85", "%70,5"], [85, 70.5]),
        (["4,5/5", "3/5"], [4.5, 3]),
        (["4,5 Sterne", "1 Stern"], [4.5, 1]),
        (["1.234,5", "12"], [1234.5, 12]),
        (["1,234.5", "12"], [1234.5, 12]),
    ],
)
def test_decimal_commas_are_read_where_nothing_else_fits(
    answers: list[str], scores: list[float]
) -> None:
    np.testing.assert_array_equal(scores_of(answers), scores)


def test_a_decimal_comma_among_decimal_points_is_refused_with_both(tmp_path: Path) -> None:
    """`missing=3,5` was proposed, which drops every 3 and every 5."""
    table_of(["2", "4.0", "3,5", "5"]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError) as error:
        metal.read(tmp_path / "t.csv")
    assert tells(
        str(error.value),
        f"{tmp_path / 't.csv'} row 4:",
        "'3,5' and '4.0' of overall:",
        "same decimal mark",
    )


def test_one_decimal_comma_in_a_wide_table_is_read() -> None:
    frame = pd.DataFrame(
        {"id": [*"abc"], "A1": ["3,5", "4", "2"], "A2": ["3", "4", "1"], "gpt-4": ["3", "4", "2"]}
    )
    data = metal.read(frame)
    assert data.ratings["score"].tolist() == [3.5, 4, 2, 3, 4, 1, 3, 4, 2]
    assert "overall: decimal commas" in data.report


@pytest.mark.parametrize(
    ("answers", "mark", "scores"),
    [
        (["1,500", "2,250"], ",", [1.5, 2.25]),
        (["1,500", "2,250"], ".", [1500, 2250]),
        (["1.500", "3,5"], ",", [1500, 3.5]),
        (["1,500", "3.5"], ".", [1500, 3.5]),
        (["1.234.567,8", "3"], ",", [1234567.8, 3]),
    ],
)
def test_the_decimal_mark_is_what_the_user_says(
    answers: list[str], mark: str, scores: list[float]
) -> None:
    assert scores_of(answers, decimal=mark) == scores
    if len(answers[0]) < 6:
        with pytest.raises(DataError, match="decimal="):
            scores_of(answers)


def test_three_digits_after_each_comma_are_asked_about() -> None:
    with pytest.raises(
        DataError,
        match=r"'1,500' of overall.*decimal comma .*`decimal=','`.*`decimal='.'`",
    ):
        scores_of(["1,500", "2,250"])
    assert scores_of(["1,500", "2,250"], ranges="0-5") == [1.5, 2.25]
    assert scores_of(["1,500", "2,250"], ranges="0-5000") == [1500, 2250]


def test_a_number_against_the_mark_that_was_said_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"'4\.0' of overall has a decimal point, against `decimal=','`"
    ):
        scores_of(["3,5", "4.0"], decimal=",")
    with pytest.raises(
        DataError, match=r"'3,5' of overall has a decimal comma, against `decimal='.'`"
    ):
        scores_of(["3,5", "4.0"], decimal=".")
    with pytest.raises(UsageError, match=r"`decimal='x'`:.*a comma or a point"):
        scores_of(["3,5"], decimal="x")


def test_a_word_among_decimal_commas_is_what_is_named() -> None:
    with pytest.raises(
        DataError, match=r"row 2: score 'bad idea' among numbers .*`missing=\['bad idea'\]`"
    ):
        scores_of(["3,5", "4", "bad idea"])


def test_a_text_with_a_comma_as_missing_stands_in_quotes() -> None:
    with pytest.raises(DataError, match=r"""`missing=\['"left, early"'\]`"""):
        scores_of(["3", "4", "left, early"])
    np.testing.assert_array_equal(
        scores_of(["3", "4", "left, early"], missing='"left, early"'), [3, 4, np.nan]
    )
    np.testing.assert_array_equal(
        scores_of(["3", "-1", "3,5"], missing=["-1", '"3,5"']), [3, np.nan, np.nan]
    )


def test_missing_3_5_does_not_drop_every_3_and_every_5() -> None:
    with pytest.raises(UsageError, match=r"splits at commas: '3,5' is read as 3 and 5; in quotes"):
        scores_of(["3,5", "3", "5"], missing="3,5")
    np.testing.assert_array_equal(scores_of(["3", "5", "4"], missing="3,5"), [np.nan, np.nan, 4])


def test_confidence_with_decimal_commas_is_a_probability() -> None:
    frame = table_of(["1", "2"]).assign(confidence=["0,5", "1"])
    assert metal.read(frame).ratings["confidence"].tolist() == [0.5, 1]
    # two marks: neither is guessed
    assert as_numbers(pd.Series(["0,5", "x", "4.0"])).tolist() == [np.inf, np.inf, 4]
