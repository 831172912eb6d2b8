"""The whole board: tables, warnings, signatures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from metal.boards.board import TABLES, billboard
from metal.boards.ensemble import board_ensemble
from metal.boards.ensemble_records import ensemble_base, ensemble_signature
from metal.boards.settings import BoardSettings, signature
from metal.data.records import Rater, Source
from tests.billboard.conftest import QUALITY, QUICK, made, one_cell, world

FOUR = ("g0", "g1", "g2", "g3")


def two_languages() -> Any:
    scores = world()
    places = [(f"s{at // 4}", FOUR[at % 4]) for at in range(160)]
    return made(scores, outputs=places, language=["hi"] * 80 + ["sw"] * 80)


def test_every_table_is_there_with_its_columns() -> None:
    for dataset in (made(world(), FOUR), made({"quality": {"A1": [1, 2, 3, 4], "judge": [1, 2, 4, 3]}})):
        board = billboard(dataset, QUICK)
        assert set(board.tables) >= set(TABLES)
        for name, columns in TABLES.items():
            assert list(board.tables[name].columns[: len(columns)]) == list(columns), name
            assert "signature" in board.tables[name]


def test_a_board_a_language_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    board = billboard(two_languages(), QUICK, progress=lambda done, whole: seen.append((done, whole)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    raters = board.tables["raters"]
    assert raters.drop_duplicates("language")["language"].tolist() == ["", "hi", "sw"]
    asked = raters[raters["rater"] == "near"].set_index("language")["asked"]
    assert asked.to_dict() == {"": 160, "hi": 80, "sw": 80}
    assert list(board.ensembles) == [
        f"ensemble.made+refs.none+language.{language}+version.1" for language in ("all", "hi", "sw")
    ]
    assert (board.main, board.people) == ("quality", ("A1", "A2"))


def test_a_rater_that_met_nothing_people_rated_is_named() -> None:
    dataset = made({"quality": {"A1": [1, 2, None, None], "lost": [None, None, 3, 4], "judge": [2, 1, 3, 4]}})
    board = billboard(dataset, QUICK)
    assert "lost scored no output and criterion that the people rated; it is not on the board" in board.warnings
    assert board.raters == ("judge",)


def test_raters_that_were_not_asked_for_are_no_problem() -> None:
    board = billboard(made(world(), FOUR), replace(QUICK, raters=("near", "far"), nonzero=1))
    assert board.warnings == ()
    assert set(board.raters) == {"near", "far", "ensemble (unseen)"}


def test_people_of_several_groups_together() -> None:
    raters = {"A1": Rater("A1", "human", "expert"), "A2": Rater("A2", "human")}
    dataset = made({"quality": {"A1": [1, 2, 3, 4], "A2": [1, 2, 3, 5], "judge": [1, 2, 3, 4]}}, raters=raters)
    (said, _) = billboard(dataset, QUICK).warnings
    assert said.startswith("people of several groups ((none), expert) are the reference together; `reference=")
    assert not any("several" in one for one in billboard(dataset, replace(QUICK, reference="expert")).warnings)


def test_the_same_request_gives_the_same_board() -> None:
    dataset = made(world(), FOUR)
    one, other = billboard(dataset, QUICK), billboard(dataset, QUICK)
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, other.tables[name])
    assert one.signature == other.signature


@pytest.mark.parametrize(
    "changed",
    [
        {"reference": "expert"},
        {"raters": ("near",)},
        {"common": True},
        {"members": ("llm",)},
        {"nonzero": 2},
        {"alpha": 1.5},
        {"rule": "middle"},
        {"human_generators": ("g0",)},
        {"families": {"g0": "f"}},
        {"resamples": 200},
        {"permutations": 200},
        {"seed": 1},
        {"version": 2},
        {"languages": ("hi", "sw")},
    ],
)
def test_every_setting_that_moves_a_figure_is_in_its_signature(changed: dict[str, Any]) -> None:
    plain = signature("d@1", BoardSettings(), lang="all", crit="q")
    assert signature("d@1", BoardSettings(**changed), lang="all", crit="q") != plain


def test_signatures_of_figures_differ() -> None:
    board = billboard(two_languages(), QUICK)
    for name in ("raters", "overrating", "people", "ensembles"):
        signatures = board.tables[name]["signature"]
        assert signatures.is_unique, name
    first = board.tables["raters"]["signature"].iloc[0]
    assert "|stat:raters|" in first
    assert "|n:160|" in first
    assert "lang:hi" in board.tables["raters"]["signature"].iloc[-6]


def test_figures_of_all_languages_depend_on_which_were_chosen() -> None:
    chosen = BoardSettings(languages=("hi", "sw"))
    assert "langs:hi+sw" in signature("d@1", chosen, lang="all")
    assert "langs" not in signature("d@1", chosen, lang="hi")


def test_an_ensembles_name() -> None:
    dataset = made(world(), FOUR, name="a+b|c")
    found = board_ensemble(one_cell(dataset), QUICK)
    assert ensemble_base(dataset, found) == "ensemble.a%2Bb|c+refs.none"
    sources = {name: Source(name, "en", references=("x",) * (at + 1)) for at, name in enumerate(dataset.sources)}
    few = replace(dataset, sources=dict(list(sources.items())[:2]))
    assert ensemble_base(few, found) == "ensemble.a%2Bb|c+refs.AB"
    assert ensemble_base(replace(dataset, sources=sources), found) == "ensemble.a%2Bb|c+refs.40"


def test_an_ensembles_name_says_criterion_and_language_where_the_dataset_has_several() -> None:
    """Whatever is asked for: the ensemble of one criterion must not pass for a later version of another's."""
    dataset = made(world(), FOUR)
    found = board_ensemble(one_cell(dataset), QUICK)
    more = replace(dataset, criteria={**dataset.criteria, "other": replace(QUALITY, name="other")})
    assert ensemble_base(more, found).endswith("+criterion.quality")
    assert "criterion" not in ensemble_base(more, replace(found, criterion="overall"))
    first = next(iter(dataset.outputs.values()))
    both = replace(dataset, outputs={**dataset.outputs, "sw": replace(first, output="sw", language="sw")})
    assert ensemble_base(both, found).endswith("+language.en")
    assert ensemble_base(both, replace(found, language="")).endswith("+language.all")


def test_versions_of_an_ensemble() -> None:
    dataset = made(world(), FOUR)
    first = billboard(dataset, QUICK)
    ((name, record),) = first.ensembles.items()
    assert list(billboard(dataset, QUICK, stored=[record]).ensembles) == [name]  # it scores alike
    (second,) = billboard(dataset, replace(QUICK, nonzero=2), stored=[record]).ensembles.values()
    assert second["ensemble"] == "ensemble.made+refs.none+version.2"
    again = billboard(dataset, QUICK, stored=[second, record])
    assert list(again.ensembles) == [name]
    assert ensemble_signature("ensemble.other+refs.A", second, [record, second]) == "ensemble.other+refs.A+version.1"


def test_criteria_of_two_scales_together() -> None:
    other = replace(QUALITY, name="other")
    scores = world()
    dataset = made({**scores, "other": scores["quality"]}, FOUR, criteria=[QUALITY, other])
    board = billboard(dataset, replace(QUICK, nonzero=1))
    assert board.main == "overall"
    assert [name for name in board.ensembles if "criterion" not in name] == ["ensemble.made+refs.none+version.1"]
    assert len(board.ensembles) == 3
    assert board.tables["people"].set_index("criterion")["criteria"].to_dict() == {
        "quality": 1,
        "other": 1,
        "overall": 2,
    }
