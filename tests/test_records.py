"""Nouns check themselves."""

from __future__ import annotations

import math

import pytest

from metal.errors import DataError
from metal.records import Criterion, Estimate, Judge, Level, Output, Rater, Rating, Scale, Source

BAD, GOOD = Level(0, "Bad"), Level(1, "Good")


@pytest.mark.parametrize(
    ("build", "said"),
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
def test_refusals(build: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        build()  # type: ignore[operator]


def test_a_nominal_scale_may_stand_in_any_order() -> None:
    assert Scale("nominal", (GOOD, BAD)).values == (1, 0)


def test_judge_names() -> None:
    judge = Judge("gpt-4", "detailed", {"temperature": 0})
    assert judge.name == "gpt-4/detailed"
    assert judge.rater().about == {"model": "gpt-4", "prompt": "detailed", "settings": {"temperature": 0}}


def test_scale_in_words() -> None:
    assert Scale("ordinal", (BAD, GOOD)).describe() == "0 Bad, 1 Good"
    assert Scale("ordinal", (Level(1, "1"), Level(2, "2"))).describe() == "1, 2"
    assert Scale("interval").describe() == "any number"
