"""Nouns check themselves; language codes; text in a CSV does not run in a spreadsheet."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from metal.data.escaping import guard
from metal.data.languages import check_language, find_language, is_language, language_name
from metal.data.records import Criterion, Estimate, Level, Output, Rater, Rating, Scale, Source
from metal.errors import DataError

BAD, GOOD = Level(0, "Bad"), Level(1, "Good")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Scale("ordinal"), "without levels"),
        (lambda: Scale("ordinal", (BAD,)), "only one level"),
        (lambda: Scale("ordinal", (GOOD, BAD)), "do not rise"),
        (lambda: Scale("nominal", (BAD, Level(0, "Other"))), "different"),
        (lambda: Scale("nominal", (BAD, Level(1, "Bad"))), "different"),
        (lambda: Scale("nominal", (BAD, Level(math.inf, "x"))), "finite"),
        (lambda: Scale("cardinal", (BAD, GOOD)), "nominal, ordinal, interval"),  # type: ignore[arg-type]
        (lambda: Criterion("c", Scale("interval"), "up"), "higher"),  # type: ignore[arg-type]
        (lambda: Criterion(" ", Scale("interval")), "name is empty"),
        (lambda: Source("", "en"), "name is empty"),
        (lambda: Output("o", "s", "", "en"), "generator"),
        (lambda: Rater("r", "robot"), "human, llm, metric, baseline"),  # type: ignore[arg-type]
        (lambda: Rating("o", "c", "r", None), "say why"),
        (lambda: Rating("o", "c", "r", math.nan), "say why"),
        (lambda: Estimate(None), "say why"),
        (lambda: Estimate(math.nan), "undefined"),
    ],
)
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()  # type: ignore[operator]


def test_a_nominal_scale_may_stand_in_any_order() -> None:
    assert Scale("nominal", (GOOD, BAD)).values == (1, 0)


def test_scale_in_words() -> None:
    assert Scale("ordinal", (BAD, GOOD)).describe() == "0 Bad, 1 Good"
    assert Scale("ordinal", (Level(1, "1"), Level(2, "2"))).describe() == "1, 2"
    assert Scale("interval").describe() == "any number"


def test_the_share_of_a_scale_is_one_where_it_is_best() -> None:
    likert = Criterion("quality", Scale("ordinal", tuple(Level(value, f"l{value}") for value in range(1, 6))))
    assert [likert.share(float(score)) for score in range(1, 6)] == [0, 0.25, 0.5, 0.75, 1]
    absent = Criterion("h", Scale("nominal", (Level(1, "Present"), Level(0, "Absent"))), "lower")
    assert [absent.share(0.0), absent.share(1.0)] == [1, 0]
    assert list(likert.share(np.array([1.0, 5.0]))) == [0, 1]
    assert Criterion("points", Scale("interval", low=0, high=100)).share(25.0) == 0.25
    assert math.isnan(Criterion("any", Scale("interval")).share(25.0))
    assert math.isnan(
        Criterion("colour", Scale("nominal", tuple(Level(value, str(value)) for value in range(3)))).share(1.0)
    )


@pytest.mark.parametrize("code", ["en", "sw", "zh-Hant", "zh-en", "pt-BR", "sr-Latn"])
def test_codes(code: str) -> None:
    assert is_language(code)
    assert language_name(code) != ""


def test_names() -> None:
    assert language_name("hi") == "Hindi"
    assert language_name("zh-en") == "Chinese to English"
    assert find_language("Swahili") == "sw"
    assert find_language("klingonese") is None


@pytest.mark.parametrize(
    ("wrong", "message"), [("hindi", "'hi'"), ("english", "'en'"), ("xx-yy-zz", "BCP-47"), ("", "BCP-47")]
)
def test_wrong_codes_are_answered_with_the_right_one(wrong: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_language(wrong, "outputs.jsonl row 3")


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_guarded(text: str) -> None:
    assert guard(pd.DataFrame({"a": [text]}))["a"][0] == f"'{text}"


@pytest.mark.parametrize("text", ["-", "-0.5", "+3", "plain", "", "a=b"])
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert guard(pd.DataFrame({"a": [text]}))["a"][0] == text


def test_numbers_stay_numbers() -> None:
    table = pd.DataFrame({"a": [-1.5, None], "b": [1, 2]})
    pd.testing.assert_frame_equal(guard(table), table)
