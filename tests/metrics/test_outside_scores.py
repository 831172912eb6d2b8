"""Scores computed elsewhere: every fault of a table is found, with counts and names."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from metal.errors import DataError, UsageError
from metal.raters.metrics.dataset_scores import Scores, Table, outside_scores, rater
from tests.conftest import TASK_QUALITY

IDS = ("007", "b", "雨", "d", "e")


@pytest.fixture
def made() -> Dataset:
    outputs = [Output(name, "s", f"g{number}", "en") for number, name in enumerate(IDS)]
    return assemble(Card("made"), [TASK_QUALITY], [Source("s", "en")], outputs, [], facts_from([]))


def read(made: Dataset, lower: bool = False, **columns: list[Any]) -> tuple[Scores, list[str]]:
    table = Table(Path("comet.csv"), pd.DataFrame(columns), 2)
    new = rater("comet", "1", "lower" if lower else "higher", negated=lower)
    return outside_scores(table, made, new, list(made.outputs.values()))


def test_by_output(made: Dataset) -> None:
    scores, lacking = read(made, Output=["雨", "007", "b"], score=["0.5", "", "-1e1"], more=["x", "y", "z"])
    assert scores.outputs == ["雨", "007", "b"]
    assert scores.facts["score"].tolist()[::2] == [0.5, -10.0]
    assert math.isnan(scores.facts["score"][1])
    assert list(scores.facts["reason"]) == ["", "no score in comet.csv", ""]
    assert lacking == ["d", "e"]


def test_by_source_and_generator_and_lower_is_better(made: Dataset) -> None:
    scores, lacking = read(made, True, source=["s", "s"], generator=["g4", "g0"], score=[2.5, 0.0])
    assert dict(zip(scores.outputs, scores.facts["score"], strict=True)) == {"e": -2.5, "007": 0.0}
    assert str(scores.facts["score"][1]) == "0.0"
    assert len(lacking) == 3


@pytest.mark.parametrize("cell", ["", "NaN", "nan", "NA", "None", None, math.nan])
def test_no_score(made: Dataset, cell: object) -> None:
    scores, _ = read(made, output=["b"], score=[cell])
    assert list(scores.facts["reason"]) == ["no score in comet.csv"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"output": ["b", "x", "y", "z", "w"], "score": [1] * 5}, "4 outputs ('x', 'y', 'z', ...) not in the dataset"),
        ({"output": ["7"], "score": [1]}, "did you mean '007'"),
        ({"output": ["b", "d", "b", "b"], "score": [1] * 4}, "comet.csv: 1 output ('b') more than once"),
        ({"output": ["b", "x", "b"], "score": [1] * 3}, "1 output ('x') not in the dataset"),
        ({"output": ["b", "x", "b"], "score": [1] * 3}, "; 1 output ('b') more than once"),
        ({"output": [None, "b"], "score": [1] * 2}, "1 output ('') not in the dataset"),
        ({"source": ["s"], "generator": ["g9"], "score": [1]}, "('s by g9') not in the dataset; did you mean 's by g"),
        ({"source": ["s"] * 2, "generator": ["g1"] * 2, "score": [1, 2]}, "('s by g1') more than once"),
        ({"output": ["b", "d"], "score": ["1", "high"]}, "comet.csv row 3: score 'high' is not a finite number"),
        ({"output": ["b"], "score": ["inf"]}, "score 'inf' is not a finite number"),
        ({"output": ["b"], "scores": [1]}, "no scores of outputs (columns found: output, scores)"),
        ({"source": ["s"], "score": [1]}, "or source, generator and score"),
        ({"output": [], "score": []}, "no rows below the header"),
    ],
)
def test_faults(made: Dataset, columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(DataError) as fault:
        read(made, **columns)
    assert message in str(fault.value)
    assert "\n" not in str(fault.value)


def test_two_outputs_of_one_source_and_generator() -> None:
    outputs = [Output(name, "s", "g", "en") for name in "ab"]
    made = assemble(Card("made"), [TASK_QUALITY], [Source("s", "en")], outputs, [], facts_from([]))
    with pytest.raises(UsageError, match="2 outputs of source 's' by 'g'; name outputs in a column `output`"):
        read(made, source=["s"], generator=["g"], score=[1])
