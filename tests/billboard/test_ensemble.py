"""The board's ensemble: how it is fitted, what is stored of it, and its scores of other outputs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.boards.board import billboard
from metal.boards.cells import ScaleEnds
from metal.boards.ensemble import board_ensemble, people_target
from metal.boards.ensemble_records import apply_ensemble, find_ensemble, members, read_ensemble
from metal.data.records import Rater
from metal.errors import DataError, Undefined, UnknownName, UsageError
from tests.billboard.conftest import QUICK, made, one_cell, row, world
from tests.saying import tells

TWO = replace(QUICK, nonzero=2)


@pytest.mark.parametrize(
    ("ends", "target"),
    [
        ((1, 5), (0, 20)),
        ((-25, 0), (100, 4)),
        ((0, 1), (0, 100)),
        ((-1, 0), (100, 100)),
        ((-5, -1), (125, 25)),
        ((-10, 10), (50, 5)),
        ((None, None), (0, 1)),
    ],
)
def test_peoples_scores_go_from_0_to_100(
    ends: tuple[float | None, float | None], target: tuple[float, float]
) -> None:
    found = people_target(ScaleEnds(*ends))
    assert found == target
    assert not np.signbit(found[0])  # shown as 0, not as -0
    if ends[1] is not None:
        assert found[0] + found[1] * ends[1] == 100


def test_the_best_metrics_are_its_members() -> None:
    dataset = made(world(), ("g0", "g1", "g2", "g3"))
    cell = one_cell(dataset)
    found = board_ensemble(cell, TWO)
    assert tuple(found.members) == ("near", "middling")
    assert set(found.candidates) == {"near", "middling", "far", "noise"}
    assert (found.rows, found.generators) == (160, 4)
    (low, high), *_ = found.intervals
    assert low < found.alpha < high
    assert 0.8 < found.left_out < found.in_sample < 1
    # A score is what the published formula says, for all outputs.
    place = [found.candidates.index(name) for name in found.members]
    scores = found.ensemble.intercept + sum(
        found.ensemble.coefficients[at]
        * (cell.of(found.candidates[at]) - found.ensemble.mean[at])
        / found.ensemble.spread[at]
        for at in place
    )
    assert found.scores == pytest.approx(scores)
    assert [one.member for one in found.ablation] == ["near", "middling"]
    for one in found.ablation:
        assert one.member not in one.members
        assert len(one.members) == 2
        assert one.correlation < found.left_out


def test_predictions_of_unseen_generators_have_not_seen_them() -> None:
    """A generator whose people's scores change does not change its own predictions."""
    scores = world()
    before = board_ensemble(
        one_cell(made(scores, ("g0", "g1", "g2", "g3"))), replace(TWO, alpha=1.0)
    )
    people: Any = scores["quality"]
    changed = {
        person: [0 if at % 4 == 2 else one for at, one in enumerate(row)]
        for person, row in people.items()
    }
    cell = one_cell(made({**scores, "quality": changed}, ("g0", "g1", "g2", "g3")))
    after = board_ensemble(cell, replace(TWO, alpha=1.0))
    mine = cell.generator == 2
    assert after.unseen[mine] == pytest.approx(before.unseen[mine], abs=1e-9)
    assert np.abs(after.unseen[~mine] - before.unseen[~mine]).min() > 1e-3


def test_fewer_metrics_than_wanted() -> None:
    scores = world()
    scores["score"] = {name: scores["score"][name] for name in ("near", "far")}
    board = billboard(made(scores, ("g0", "g1", "g2", "g3")), QUICK)
    (warning,) = board.warnings
    assert tells(
        warning,
        "quality in English: ",
        "no ensemble",
        "3 metrics wanted",
        "2 metrics to choose from",
        "fewer with `nonzero`",
    )
    assert board.tables["ensembles"].empty
    assert list(board.tables["ensemble_members"].columns[:3]) == [
        "language",
        "criterion",
        "ensemble",
    ]
    assert board.ensembles == {}


def test_no_metric_at_all() -> None:
    board = billboard(made({"quality": {"A1": [10, 20, 30, 50], "judge": [1, 3, 2, 4]}}), QUICK)
    wanted = "no ensemble (3 metrics wanted, but 0 metrics to choose from)"
    assert any(wanted in said for said in board.warnings)
    assert board.tables["raters"]["rater"].tolist() == ["judge"]


def test_one_generator() -> None:
    scores = {
        "quality": {"A1": [1.0, 2, 3, 4, 6]},
        "score": {"m": [1.0, 3, 2, 4, 5], "n": [2.0, 1, 4, 3, 5]},
    }
    with pytest.raises(Undefined, match="than two generators"):
        board_ensemble(one_cell(made(scores, ("g0",))), TWO)


def test_a_constant_metric_is_never_chosen() -> None:
    scores = world()
    scores["score"]["constant"] = [0.1] * 160
    found = board_ensemble(
        one_cell(made(scores, ("g0", "g1", "g2", "g3"))), replace(QUICK, nonzero=4)
    )
    assert "constant" in found.candidates
    assert "constant" not in found.members
    assert len(found.members) == 4


def test_a_metric_that_scored_little_is_no_candidate() -> None:
    scores = world()
    scores["score"]["sparse"] = [
        one if at % 2 else None for at, one in enumerate(scores["score"]["near"])
    ]
    scores["score"]["nearly"] = [
        None if at < 8 else one for at, one in enumerate(scores["score"]["far"])
    ]
    board = billboard(made(scores, ("g0", "g1", "g2", "g3")), TWO)
    said = ("quality in English: sparse scored 50%", "not a candidate")
    assert tells(board.warnings, *said)
    assert not any("nearly scored" in one for one in board.warnings)
    found = row(board, "ensembles")
    assert (found["candidates"], found["outputs"]) == (5, 152)  # rows that all five scored
    assert row(board, "raters", rater="ensemble (unseen)")["outputs"] == 152


def test_a_released_ensemble_is_no_member() -> None:
    scores = world()
    scores["score"]["old"] = scores["quality"]["A1"]
    dataset = made(
        scores, ("g0", "g1", "g2", "g3"), raters={"old": Rater("old", "metric", "ensemble")}
    )
    assert "old" not in board_ensemble(one_cell(dataset), TWO).candidates


def test_other_kinds_of_members() -> None:
    scores = world()
    scores["quality"]["judge"] = [float(round(one)) for one in scores["quality"]["A1"]]  # type: ignore[arg-type]
    scores["quality"]["A3"] = scores["quality"]["A2"]
    dataset = made(scores, ("g0", "g1", "g2", "g3"), raters={"A3": Rater("A3", "human", "crowd")})
    settings = replace(TWO, reference="expert", members=("metric", "llm", "human"))
    board = billboard(dataset, settings)
    (record,) = board.ensembles.values()
    assert {member["rater"] for member in record["members"]} == {"judge", "crowd"}
    assert {member["signature"] for member in record["members"]} == {""}


def test_an_alpha_that_leaves_no_member() -> None:
    board = billboard(made(world(), ("g0", "g1", "g2", "g3")), replace(TWO, alpha=1e6))
    (warning,) = board.warnings
    assert tells(
        warning, "quality in English: ", "no ensemble", "alpha 1e+06", "no metric", "nonzero"
    )


def test_alpha_by_rule_or_as_given() -> None:
    cell = one_cell(made(world(), ("g0", "g1", "g2", "g3")))
    low, high = board_ensemble(cell, TWO).intervals[0]
    assert board_ensemble(cell, replace(TWO, rule="middle")).alpha == pytest.approx(
        np.sqrt(low * high)
    )
    given = board_ensemble(cell, replace(TWO, alpha=low / 2))
    assert given.alpha == low / 2
    assert given.intervals[0] == (low, high)
    assert len(given.members) > 2


def test_what_is_stored_scores_other_outputs() -> None:
    about = {"signature": "chrF|nrefs:1", "negated": True}
    dataset = made(
        world(), ("g0", "g1", "g2", "g3"), raters={"near": Rater("near", "metric", "", about)}
    )
    board = billboard(dataset, TWO)
    ((name, record),) = board.ensembles.items()
    assert name == record["ensemble"] == f"ensemble.made+refs.none+version.1+data.{record['data']}"
    assert [
        (member["rater"], member["signature"], member["negated"]) for member in record["members"]
    ] == [
        ("near", "chrF|nrefs:1", True),
        ("middling", "", False),
    ]
    cell = one_cell(dataset)
    scores = record["intercept"] + sum(
        member["coefficient"] * (cell.of(member["rater"]) - member["mean"]) / member["spread"]
        for member in record["members"]
    )
    assert scores == pytest.approx(board_ensemble(cell, TWO).scores)


def record(name: str = "e+version.1", **more: Any) -> dict[str, Any]:
    listed = [
        {"rater": "a", "coefficient": 2.0, "mean": 1.0, "spread": 4.0, "signature": ""},
        {"rater": "b", "coefficient": -1.0, "mean": 0.0, "spread": 0.5, "signature": ""},
    ]
    return {"ensemble": name, "intercept": 10.0, "members": listed} | more


def test_by_hand() -> None:
    scores = pd.DataFrame(
        {"b": [1.0, math.nan, 1.0], "output": ["x", 7, "z"], "a": [5.0, math.nan, math.nan]}
    )
    found = apply_ensemble(record(), scores)
    assert found["output"].tolist() == ["x", "7", "z"]
    assert found["score"][0] == 10 + 2 * (5 - 1) / 4 - 1 / 0.5
    assert found["score"].isna().tolist() == [False, True, True]
    assert found["reason"].tolist() == ["", "no score of a, b", "no score of a"]
    assert members(record()) == ["a", "b"]
    assert apply_ensemble(record(), scores[:0]).empty


def test_a_member_without_a_column() -> None:
    with pytest.raises(
        DataError, match=r"ensemble e\+version.1: no scores of b \(columns found: output, a\)"
    ):
        apply_ensemble(record(), pd.DataFrame({"output": ["x"], "a": [1.0]}))


def test_found_by_name_or_part() -> None:
    known = [record("e.x+version.1"), record("e.x+version.12"), record("e.y+version.2")]
    assert find_ensemble("e.x+version.1", known) is known[0]
    assert find_ensemble("x+version.1", known) is known[0]
    assert find_ensemble("y", known) is known[2]
    assert find_ensemble("version.2", known) is known[2]
    for part in ("", "e.x", "version"):
        with pytest.raises(UsageError, match="matches several"):
            find_ensemble(part, known)
    with pytest.raises(UnknownName, match="did you mean"):
        find_ensemble("e.x+version.3", known)
    assert (
        find_ensemble("e.x+version.1", [*known, record("e.x+version.1", long="another run")])
        is known[0]
    )
    with pytest.raises(UsageError, match="several boards"):
        find_ensemble("e.x+version.1", [*known, record("e.x+version.1", intercept=0.0)])


@pytest.mark.parametrize(
    "wrong", [None, 5, "x", [], {}, {"intercept": []}, {"members": 5}, {"members": [{}]}]
)
def test_what_is_no_ensemble(wrong: Any) -> None:
    assert read_ensemble(record(), "here") == record()
    broken = record() | wrong if isinstance(wrong, dict) and wrong else wrong
    with pytest.raises(DataError, match="here: not an ensemble"):
        read_ensemble(broken, "here")
