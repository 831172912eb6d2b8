"""Nouns check themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

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
