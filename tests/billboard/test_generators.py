"""Generators ranked by people, by raters and by the ensemble."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metal.boards.board import billboard
from metal.boards.ranking import generator_rows, resampled_means
from metal.data.records import Rater
from metal.errors import UsageError
from metal.stats.bootstrap import SourceBootstrap
from tests.billboard.conftest import QUICK, made, one_cell, world

BOOTSTRAP = SourceBootstrap(100)
NAN = float("nan")


def test_means_over_sources_best_first() -> None:
    places = [("s0", "a"), ("s0", "a"), ("s0", "b"), ("s1", "a"), ("s1", "b"), ("s1", "c")]
    cell = one_cell(made({"quality": {"A1": [1, 3, 5, 4, 7, None], "judge": [1, 2, 3, 4, 5, 6]}}, outputs=places))
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100, ("b",))
    assert [(row["rank"], row["generator"], row["score"], row["sources"]) for row in rows] == [
        (1, "b", 6, 2),
        (2, "a", 3, 2),  # on s0 the mean of two outputs
    ]
    assert [row["human"] for row in rows] == [True, False]
    assert rows[1]["score_low"] >= 2
    assert rows[1]["score_high"] <= 4
    by_judge = generator_rows(cell, "judge", cell.of("judge"), BOOTSTRAP, 100)
    assert [(row["generator"], row["sources"]) for row in by_judge] == [("c", 1), ("b", 2), ("a", 2)]
    assert generator_rows(cell, "nobody", np.full(6, NAN), BOOTSTRAP, 100) == []


def test_clusters_follow_ranks_and_the_best_is_in_the_first() -> None:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(60, 1)) + np.array([3, 3, 1.5, 0]) + rng.normal(0, 0.5, (60, 4))
    quality[:, 1] = quality[:, 0]  # two generators with equal scores
    scores: list[float | None] = quality.ravel().tolist()
    cell = one_cell(made({"score": {"A1": scores, "m": scores}}, ("g0", "g1", "g2", "g3")))
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 1000)
    assert [(row["generator"], row["cluster"]) for row in rows] == [("g0", 1), ("g1", 1), ("g2", 2), ("g3", 3)]
    assert all(row["score_low"] <= row["score"] <= row["score_high"] for row in rows)


def test_without_a_common_source_there_are_no_clusters() -> None:
    places = [("s0", "a"), ("s1", "b"), ("s2", "a"), ("s3", "b")]
    cell = one_cell(made({"quality": {"A1": [1, 2, 3, 4], "judge": [1, 2, 3, 5]}}, outputs=places))
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    assert [(row["generator"], row["score"], row["cluster"]) for row in rows] == [("b", 3, None), ("a", 2, None)]


def test_equal_generators_share_their_rank() -> None:
    cell = one_cell(made({"quality": {"A1": [3, 3, 1, 4, 4, 9], "judge": [1, 2, 3, 4, 5, 6]}}, ("g0", "g1", "g2")))
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    assert [(row["rank"], row["generator"]) for row in rows] == [(1, "g2"), (2, "g0"), (2, "g1")]


def test_of_one_source_there_is_no_interval() -> None:
    """Every resample of one source is that source: an interval of no width would say that the mean is certain."""
    places = [("s0", "a"), ("s0", "b"), ("s1", "a"), ("s2", "a")]
    cell = one_cell(made({"quality": {"A1": [1, 3, 5, 4], "judge": [1, 2, 3, 4]}}, outputs=places))
    rows = {row["generator"]: row for row in generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)}
    assert rows["a"]["score_low"] < rows["a"]["score_high"]
    assert (rows["b"]["score_low"], rows["b"]["score_high"]) == (None, None)


def test_one_generator() -> None:
    cell = one_cell(made({"quality": {"A1": [1, 2, 3], "judge": [1, 2, 3]}}, ("g0",)))
    (only,) = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    assert (only["rank"], only["cluster"], only["score"]) == (1, 1, 2)


def test_a_mean_is_over_as_many_sources_as_were_drawn() -> None:
    """Of many sources blocks are drawn, the last of which is smaller: equal scores have an interval without width."""
    table = np.full((2, 20_401), 50.0)  # blocks of 5, and one of 1
    assert resampled_means(table, SourceBootstrap(200, 0)) == pytest.approx(50.0, rel=1e-12)


def test_by_whom_the_board_ranks() -> None:
    """By people; by the best rater; by the best that scored every generator; by the ensemble, our own."""
    scores = world()
    unrated = [None if at % 4 == 3 else one for at, one in enumerate(scores["quality"]["A1"])]
    scores["quality"] = {"A1": unrated, "judge": unrated}  # the judge saw what people saw
    scores["score"]["released"] = scores["score"]["ensemble"] = scores["score"]["near"]
    known = {"released": Rater("released", "metric", "ensemble"), "ensemble": Rater("ensemble", "metric", "ensemble")}
    board = billboard(made(scores, ("g0", "g1", "g2", "g3"), raters=known), replace(QUICK, nonzero=2))
    table = board.tables["generators"]
    assert table.drop_duplicates("by")["by"].tolist() == ["people", "judge", "near", "ensemble of 2"]
    assert table.groupby("by")["generator"].agg(len).to_dict() == {
        "people": 3,
        "judge": 3,
        "near": 4,
        "ensemble of 2": 4,
    }
    ours = table[table["by"] == "ensemble of 2"]["score"].mean()
    assert ours == pytest.approx(np.nanmean(np.array(unrated, dtype=float)), abs=5)  # on people's scale, 0 to 100


@pytest.mark.parametrize("name", ["people", "ensemble (unseen)", "ensemble of 3"])
def test_no_rater_passes_for_the_people_or_the_ensemble(name: str) -> None:
    """A metric called `people` had its own ranking of the generators shown as theirs."""
    scores = world()
    scores["score"][name] = scores["score"]["near"]
    with pytest.raises(UsageError, match="rename it"):
        billboard(made(scores, ("g0", "g1", "g2", "g3")), QUICK)
