"""Who is overrated: planted preferences are found, and what cannot be said is said so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.boards.board import Board, billboard
from metal.boards.overrating import families, human_generators
from metal.data.dataset import Dataset
from metal.data.records import Rater
from metal.errors import UnknownName
from tests.billboard.conftest import QUICK, made, row
from tests.saying import tells

GENERATORS = ("gpt", "llama", "person")
MARKED = {
    "generators": {
        "person": {"kind": "human"},
        "gpt": {"family": "openai"},
        "llama": {"family": "meta"},
    }
}


def biased(machines: float = 0.0, own: float = 0.0, sources: int = 150, **options: Any) -> Dataset:
    """A judge that follows people, adds `machines` for every machine and `own` for gpt."""
    rng = np.random.default_rng(7)
    human = 50 + np.repeat(rng.normal(0, 5, sources), 3) + rng.normal(0, 5, 3 * sources)
    judge = human + rng.normal(0, 3, 3 * sources) + np.tile([machines + own, machines, 0], sources)
    family = {"judge": Rater("judge", "llm", "", {"family": "openai"})}
    scores: dict[str, Any] = {
        "A1": human.tolist(),
        "judge": judge.tolist(),
        "plain": human.tolist(),
    }
    return made({"quality": scores}, GENERATORS, raters=family, **({"extra": MARKED} | options))


def standard(board_of: Dataset, added: float) -> float:
    """`added` in standard deviations of the judge."""
    table = board_of.ratings
    return added / float(table.loc[table["rater"] == "judge", "score"].std())


def only(board: Board, table: str, rater: str = "judge") -> Any:
    return row(board, table, rater=rater)


def test_a_planted_overrating_of_machines_is_found() -> None:
    dataset = biased(machines=4)
    found = only(billboard(dataset, QUICK), "overrating")
    assert found["low"] < standard(dataset, 4) < found["high"]
    assert found["high"] - found["low"] < 0.3
    assert found["human_generators"] == "person"
    none = only(billboard(biased(), QUICK), "overrating")
    assert none["low"] < 0 < none["high"]
    # people's own scores leave nothing to vary
    exact = only(billboard(dataset, QUICK), "overrating", "plain")
    assert pd.isna(exact["value"])
    assert exact["undefined"].startswith("value: ")


def test_a_planted_self_preference_is_found() -> None:
    dataset = biased(own=4)
    board = billboard(dataset, QUICK)
    found = only(board, "self_preference")
    assert found["family"] == "openai"
    assert found["low"] < standard(dataset, 4) < found["high"]
    assert found["low"] > 0.2
    assert board.tables["self_preference"]["rater"].tolist() == ["judge"]  # `plain` is of no family


def test_families_as_named_come_before_those_of_the_dataset() -> None:
    dataset = biased(own=4)
    settings = replace(QUICK, families={"gpt": "other", "person": "openai"})
    assert families(dataset, settings) == {"gpt": "other", "llama": "meta", "person": "openai"}
    assert only(billboard(dataset, settings), "self_preference")["value"] < 0
    nobody = replace(QUICK, families={"gpt": "other"})
    assert billboard(dataset, nobody).tables["self_preference"].empty
    with pytest.raises(UnknownName, match="generator 'gtp' is not known; did you mean 'gpt'"):
        billboard(dataset, replace(QUICK, families={"gtp": "openai"}))


def test_human_generators_as_marked_or_named() -> None:
    dataset = biased(
        extra={"generators": {"person": {"kind": "human"}, "absent": {"kind": "human"}}}
    )
    assert human_generators(dataset, QUICK) == ("person",)
    assert human_generators(dataset, replace(QUICK, human_generators=("gpt",))) == ("gpt", "person")
    with pytest.raises(UnknownName, match="generator 'Person' is not known; did you mean 'person'"):
        billboard(dataset, replace(QUICK, human_generators=("Person",)))


@pytest.mark.parametrize("odd", [{}, {"generators": "a text"}, {"generators": {"person": "human"}}])
def test_without_human_writing_there_are_no_rows(odd: dict[str, Any]) -> None:
    board = billboard(biased(extra=odd), QUICK)
    assert board.tables["overrating"].empty
    assert "value" in board.tables["overrating"]


def test_human_writing_that_was_not_rated() -> None:
    nobody: list[float | None] = [3, 4, None, 5, 7, None, 1, 2, None]
    judge: list[float | None] = [3, 5, 9, 5, 6, 9, 2, 2, 9]
    dataset = made({"quality": {"A1": nobody, "judge": judge}}, GENERATORS, extra=MARKED)
    assert billboard(dataset, QUICK).tables["overrating"].empty
    rated: list[float | None] = [3, 4, 5, 5, 7, 6, 1, 2, 2]
    unseen: list[float | None] = [3, 5, None, 5, 6, None, 2, 2, None]
    board = billboard(
        made({"quality": {"A1": rated, "judge": unseen}}, GENERATORS, extra=MARKED), QUICK
    )
    found = only(board, "overrating")
    assert pd.isna(found["value"])
    assert tells(found["undefined"], "value:", "no human output", "people rated")
    assert found["outputs"] == 6


def test_what_the_model_cannot_say() -> None:
    rated: list[float | None] = [3, 4, 5, 5, 7, 6, 1, 2, 2]
    flat = only(
        billboard(
            made({"quality": {"A1": rated, "judge": [1] * 9}}, GENERATORS, extra=MARKED), QUICK
        ),
        "overrating",
    )
    assert pd.isna(flat["value"])
    assert flat["undefined"] == "value: constant scores"
    one = made({"quality": {"A1": [3, 4, 5], "judge": [1, 2, 5]}}, GENERATORS, extra=MARKED)
    assert only(billboard(one, QUICK), "overrating")["undefined"] == "value: fewer than two sources"
