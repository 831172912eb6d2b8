"""What is said where people hardly confirm each other's labels."""

from __future__ import annotations

import math
from typing import Any

import pytest

from metal.questions.audit.confirmed import doubt_of

ROW = {"confirmed": 0.9, "confirmed_bad": 0.9, "bad_items": 60.0, "items": 300}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"verdict": "like a person"}, ""),
        (
            {"verdict": "informative", "confirmed_bad": 0.4},
            "these people confirm 40% [30%, 51%] of each other's 'Bad': such labels cannot show who"
            " is right",
        ),
        # Wilson's limits of .55 at 9 items: (.55 + .15 -+ .31) / 1.30
        (
            {"verdict": "like a person", "confirmed_bad": 0.55, "bad_items": 9.0},
            "these people confirm 55% [30%, 78%] of each other's 'Bad': it is open whether such"
            " labels can show who is right",
        ),
        ({"verdict": "informative", "confirmed_bad": 0.55, "bad_items": 9.0}, ""),
        ({"verdict": "like a person", "confirmed_bad": math.nan, "bad_items": 2.0}, ""),
        (
            {"verdict": "informative", "confirmed": 0.6},
            "these people confirm 60% [55%, 65%] of each other's ratings: such labels cannot show"
            " who is right",
        ),
    ],
)
def test_labels_that_people_hardly_confirm(more: dict[str, Any], says: str) -> None:
    assert doubt_of(ROW | more, "Bad") == says


def test_a_run_that_did_not_count_the_bad_end_has_no_limits() -> None:
    row = {name: value for name, value in ROW.items() if name != "bad_items"}
    row |= {"verdict": "informative", "confirmed_bad": 0.4}
    assert doubt_of(row, "Bad").startswith("these people confirm 40% of each other's 'Bad': such")
