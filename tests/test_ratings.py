"""The checks of the ratings table look at all rows at once, and name the row that a look at each would have found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.data import ratings
from metal.data.ratings import NOT_ASKED, UNANSWERED, code_matrix, join, names_in, tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale
from metal.errors import DataError

LEVELS = Scale("ordinal", (Level(0, "no"), Level(0.1, "little"), Level(3, "yes")))
SCALES = (LEVELS, Scale("interval", (), 1, 5), Scale("interval"))
SCORES = st.sampled_from([0.0, -0.0, 0.1, 0.1 + 1e-12, 1.0, 2.5, 3.0, 5.0, 5.000001, -1.0, float("inf"), float("-inf")])


@given(st.sampled_from(SCALES), st.lists(SCORES, min_size=1, max_size=12))
def test_scores_off_the_scale_are_those_that_the_scale_does_not_allow(scale: Scale, scores: list[float]) -> None:
    assert ratings._off_scale(np.array(scores), scale).tolist() == [not scale.allows(score) for score in scores]


@given(st.lists(st.integers(0, 8), max_size=12), st.sampled_from([1, 10**12]))
def test_a_rating_given_twice_is_found_among_near_and_far_keys(keys: list[int], apart: int) -> None:
    assert ratings._any_twice(np.array(keys, dtype=np.int64) * apart) == (len(set(keys)) < len(keys))


def facts(**changed: list[object]) -> pd.DataFrame:
    columns: dict[str, list[object]] = {
        "output": ["o1", "o2", "o1", "o2"],
        "criterion": ["c"] * 4,
        "rater": ["A", "A", "B", "B"],
        "score": [0, 3, 0.1, 3],
        "reason": ["", "", "", ""],
    }
    return tidy_facts(pd.DataFrame(columns | changed))


def joined(table: pd.DataFrame) -> pd.DataFrame:
    return join(
        table,
        criteria={"c": Criterion("c", LEVELS)},
        outputs={name: Output(name, f"s{name}", "g", "hi") for name in ("o1", "o2")},
        raters={name: Rater(name, "human") for name in ("A", "B")},
        where=Path("ratings.csv"),
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"score": [0, 3, 2, 7]}, "row 4: score 2 is not on the scale of c (0 no, 0.1 little, 3 yes; 2 such rows)"),
        ({"score": [0, None, 0, 3]}, "row 3: no score and no reason (1 such row)"),
        (
            {"output": ["o1", "o2", "o1", "o1"]},
            "row 5: rater 'B' rates output 'o1' on c a second time (first in row 4;",
        ),
        ({"output": ["o1", "o2", "o9", "o9"]}, "row 4: output 'o9' does not exist (2 such rows)"),
    ],
)
def test_the_row_that_is_wrong_is_named(changed: dict[str, list[object]], message: str) -> None:
    with pytest.raises(DataError) as raised:
        joined(facts(**changed))
    assert message in str(raised.value)


def test_names_that_do_not_occur_are_no_categories() -> None:
    wide = pd.Series(pd.Categorical(["o2", "o1"], categories=["o3", "o2", "o1"]))
    table = tidy_facts(facts().head(2).assign(output=wide))
    assert table["output"].cat.categories.tolist() == ["o2", "o1"]
    assert table["output"].tolist() == ["o2", "o1"]
    assert names_in(wide)[0] == ["o1", "o2"]
    assert names_in(wide)[1].tolist() == [1, 0]


def test_a_code_matrix_knows_where_each_rating_stands() -> None:
    table = joined(facts(score=[0, 3, None, 3], reason=["", "", "cut off", ""]))
    rows = table.iloc[[3, 0, 2]]
    matrix = code_matrix(rows, Criterion("c", LEVELS))
    assert matrix.codes.tolist() == [[0, UNANSWERED], [NOT_ASKED, 2]]
    assert matrix.places.tolist() == [[1, 2], [-1, 0]]


def test_comments_of_any_kind_become_text() -> None:
    for comments in ([None, "é", float("nan"), ""], pd.array([None, "é", None, ""], dtype="str")):
        assert tidy_facts(facts().assign(comment=comments))["comment"].tolist() == ["", "é", "", ""]
