"""Which outputs are disagreements, by how much, and that nothing said about them is lost."""

from __future__ import annotations

from typing import Any

import pytest

from metal.auditing.cells import cells
from metal.auditing.disagreements import SCHEMA, disagreements
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Scale
from tests.conftest import HALLUCINATIONS, MakeDataset

# item:                0  1  2  3  4  5
SCORES = {
    "en": {
        "A1": [2, 0, 0, 1, None, 1],
        "A2": [2, 0, 1, 1, 1, 1],
        "A3": [2, 1, 2, 1, 1, 1],
        "j1": [2, 2, 0, 0, 0, None],
        "j2": [2, 0, 1, 1, 0, 1],
    }
}


def disagreeing(dataset: Dataset, **settings: Any) -> list[dict[str, Any]]:
    chosen = AuditSettings(**settings)
    return disagreements(list(cells(dataset, chosen, continuous=True)), dataset).to_pylist()


def test_worked_by_hand(make_dataset: MakeDataset) -> None:
    # item 0: all say 2. item 1: people 0 (0, 0, 1), j1 two away. item 2: people the mean of 0, 1,
    # 2, which is 1;
    # j1 one away. item 3: people 1, j1 one away. item 4: two people only. item 5: all agree, j1
    # does not answer.
    rows = disagreeing(make_dataset(SCORES))
    assert [row["output"] for row in rows] == ["en-1/g0", "en-2/g0", "en-3/g0"]
    assert [row["case"] for row in rows] == ["some agree", "none agree", "all agree"]
    assert [row["people"] for row in rows] == [0, 1, 1]
    assert [row["people_range"] for row in rows] == [1, 2, 0]
    assert [row["judge_difference"] for row in rows] == [2, 1, 1]
    assert [row["judges_differing"] for row in rows] == [["j1"], ["j1"], ["j1"]]
    assert [row["source_text"] for row in rows] == ["text 1", "text 2", "text 3"]
    assert [row["output_text"] for row in rows] == ["summary 1", "summary 2", "summary 3"]
    assert [
        (rating["rater"], rating["score"], rating["label"]) for rating in rows[0]["ratings"]
    ] == [
        ("A1", 0, "Bad"),
        ("A2", 0, "Bad"),
        ("A3", 1, "Medium"),
        ("j1", 2, "Good"),
        ("j2", 0, "Bad"),
    ]


def test_with_two_people_an_item_may_have_no_class(make_dataset: MakeDataset) -> None:
    dataset = make_dataset({"en": {"A1": [0, 1], "A2": [1, 1], "j1": [2, None]}})
    rows = disagreeing(dataset)
    # (0 + 1) / 2 is no class: nothing to differ from. The second is agreed upon, and silence is no
    # disagreement.
    assert [(row["output"], row["people"], row["judge_difference"]) for row in rows] == [
        ("en-0/g0", None, None)
    ]
    assert rows[0]["judges_differing"] == []
    assert rows[0]["ratings"][2]["score"] == 2


def test_an_unanswered_question_stands_with_its_reason(make_dataset: MakeDataset) -> None:
    rows = disagreeing(make_dataset({"en": {"A1": [0], "A2": [1], "A3": [1], "j1": [None]}}))
    assert rows[0]["ratings"][3] == {
        "rater": "j1",
        "kind": "llm",
        "score": None,
        "label": "",
        "reason": "refused",
        "comment": "",
    }


def test_nominal_classes_are_one_apart(make_dataset: MakeDataset) -> None:
    rows = disagreeing(
        make_dataset(
            {"hi": {"A1": [0, 1], "A2": [0, 1], "A3": [1, 1], "j1": [1, 0]}}, HALLUCINATIONS
        )
    )
    assert [(row["people_range"], row["judge_difference"]) for row in rows] == [(1, 1), (0, 1)]


def test_scores_without_classes_stand_beside_the_mean(make_dataset: MakeDataset) -> None:
    # Means: 20; 33.33; 70; 5. j1 is 10 away, then on the mean of three equal scores, then silent.
    people = {"A1": [10, 30, 70, 5], "A2": [20, 30, 70, 5], "A3": [30, 40, 70, 5]}
    direct = Criterion("direct", Scale("interval"))
    rows = disagreeing(
        make_dataset({"en": people | {"j1": [30, 34, 70, None], "j2": [20, 30, 70, 0]}}, direct)
    )
    assert [row["output"] for row in rows] == ["en-0/g0", "en-1/g0", "en-3/g0"]
    assert [row["case"] for row in rows] == ["none agree", "some agree", "all agree"]
    assert [row["people"] for row in rows] == pytest.approx([20, 100 / 3, 5])
    assert [row["people_range"] for row in rows] == [20, 10, 0]
    assert [row["judge_difference"] for row in rows] == pytest.approx([10, 10 / 3, 5])
    assert [row["judges_differing"] for row in rows] == [["j1"], ["j1", "j2"], ["j2"]]
    assert {rating["label"] for row in rows for rating in row["ratings"]} == {""}


def test_only_those_compared_are_shown(make_dataset: MakeDataset) -> None:
    rows = disagreeing(make_dataset(SCORES), judges=("j2",))
    assert {rating["rater"] for row in rows for rating in row["ratings"]} == {
        "A1",
        "A2",
        "A3",
        "j2",
    }


def test_languages_keep_apart_and_nothing_is_a_table_too(make_dataset: MakeDataset) -> None:
    both = make_dataset(
        {"en": {"A1": [0], "A2": [1], "A3": [1]}, "hi": {"A1": [0], "A2": [0], "A3": [1]}}
    )
    assert [(row["language"], row["people"]) for row in disagreeing(both)] == [("en", 1), ("hi", 0)]
    agreed = make_dataset({"en": {"A1": [0], "A2": [0], "j1": [0]}})
    empty = disagreements(list(cells(agreed, AuditSettings())), agreed)
    assert empty.num_rows == 0
    assert empty.schema.equals(SCHEMA)
