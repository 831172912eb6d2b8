"""The whole board: settings, tables, warnings, signatures; boards of a few outputs with gaps and
odd scales.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.boards.board import TABLES, Board, billboard
from metal.boards.ensemble import board_ensemble
from metal.boards.ensemble_records import ensemble_base, ensemble_signature
from metal.boards.settings import BoardSettings, signature
from metal.data.dataset import Dataset
from metal.data.records import METRIC_SCORE, Criterion, Level, Rater, Scale, Source
from metal.errors import UsageError
from tests.billboard.conftest import QUALITY, QUICK, Scores, made, one_cell, world
from tests.saying import tells


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"resamples": 99}, "`resamples` 99: use a whole number, 100 or more"),
        ({"permutations": 99}, "`permutations` 99: use a whole number, 100 or more"),
        ({"nonzero": 0}, "`nonzero` 0: use a whole number from 1 to 50"),
        ({"alpha": 0.0}, "`alpha` 0: use a number above 0"),
        ({"alpha": float("nan")}, "`alpha` nan"),
        ({"rule": "largest"}, "`rule` 'largest': use one of smallest, middle"),
        ({"seed": -1}, "`seed` -1: use a whole number, 0 or more"),
        (
            {"members": ("metric", "people")},
            "`members` 'people': use one of",
        ),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        BoardSettings(**wrong)
    assert said in str(raised.value)


def test_as_plain_values() -> None:
    plain = BoardSettings().to_dict()
    assert plain == {
        "reference": "",
        "common": False,
        "expected": False,
        "exact": False,
        "members": ["metric"],
        "nonzero": 3,
        "rule": "smallest",
        "resamples": 2000,
        "permutations": 1000,
        "seed": 0,
        "version": 1,
        "exclude_noisy": "",
    }
    chosen = BoardSettings(reference="expert", raters=("a", "b"), alpha=2.3, families={"g": "f"})
    plain = chosen.to_dict()
    assert (plain["raters"], plain["alpha"], plain["families"]) == (["a", "b"], 2.3, {"g": "f"})
    assert (
        BoardSettings(**{key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()})
        == chosen
    )


FOUR = ("g0", "g1", "g2", "g3")


def two_languages() -> Any:
    scores = world()
    places = [(f"s{at // 4}", FOUR[at % 4]) for at in range(160)]
    return made(scores, outputs=places, language=["hi"] * 80 + ["sw"] * 80)


def test_every_table_is_there_with_its_columns() -> None:
    for dataset in (
        made(world(), FOUR),
        made({"quality": {"A1": [1, 2, 3, 4], "judge": [1, 2, 4, 3]}}),
    ):
        board = billboard(dataset, QUICK)
        assert set(board.tables) >= set(TABLES)
        for name, columns in TABLES.items():
            assert list(board.tables[name].columns[: len(columns)]) == list(columns), name
            assert "signature" in board.tables[name]


def test_a_board_a_language_and_progress() -> None:
    seen: list[tuple[int, int]] = []
    board = billboard(
        two_languages(), QUICK, progress=lambda done, whole: seen.append((done, whole))
    )
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    raters = board.tables["raters"]
    assert raters.drop_duplicates("language")["language"].tolist() == ["", "hi", "sw"]
    asked = raters[raters["rater"] == "near"].set_index("language")["asked"]
    assert asked.to_dict() == {"": 160, "hi": 80, "sw": 80}
    assert [name.split("+data.")[0] for name in board.ensembles] == [
        f"ensemble.made+refs.none+language.{language}+version.1" for language in ("all", "hi", "sw")
    ]
    assert (board.main, board.people) == ("quality", ("A1", "A2"))


def test_a_rater_that_met_nothing_people_rated_is_named() -> None:
    dataset = made(
        {"quality": {"A1": [1, 2, None, None], "lost": [None, None, 3, 4], "judge": [2, 1, 3, 4]}}
    )
    board = billboard(dataset, QUICK)
    assert tells(board.warnings, "lost scored no output")
    assert board.raters == ("judge",)


def test_a_rater_of_one_criterion_is_missing_from_the_overall_ranking_and_named() -> None:
    scores: dict[str, Scores] = {"A1": [1, 2, 3, 4], "judge": [2, 1, 3, 4]}
    criteria = (QUALITY, replace(QUALITY, name="style"))
    board = billboard(
        made({"quality": scores | {"half": [1, 2, 4, 3]}, "style": scores}, criteria=criteria),
        QUICK,
    )
    assert board.main == "overall"
    (warning,) = [each for each in board.warnings if "the first ranking" in each]
    assert tells(warning, "half", "ranked on quality only")


def test_raters_that_were_not_asked_for_are_no_problem() -> None:
    board = billboard(made(world(), FOUR), replace(QUICK, raters=("near", "far"), nonzero=1))
    assert board.warnings == ()
    assert set(board.raters) == {"near", "far", "ensemble (unseen)"}


def test_people_of_several_groups_together() -> None:
    raters = {"A1": Rater("A1", "human", "expert"), "A2": Rater("A2", "human")}
    dataset = made(
        {"quality": {"A1": [1, 2, 3, 4], "A2": [1, 2, 3, 5], "judge": [1, 2, 3, 4]}}, raters=raters
    )
    said, _ = billboard(dataset, QUICK).warnings
    assert tells(said, "of several groups ((none), expert)", "`reference=")
    assert not any(
        "several" in one for one in billboard(dataset, replace(QUICK, reference="expert")).warnings
    )


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
        {"exact": True},
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


def test_floats_are_compared_as_they_are_where_asked() -> None:
    """0.1 + 0.2 is a float above 0.3: people tie these outputs, unless floats are compared."""
    people, metric = [0.1 + 0.2, 0.3, 1.0, 0.0, 1.0, 2.0], [1.0, 1.0, 3.0, 0.0, 1.0, 2.0]
    data = made({"quality": {"A1": people}, METRIC_SCORE.name: {"m": metric}}, ("a", "b", "c"))
    accuracy = {}
    for exact in (False, True):
        board = billboard(data, replace(QUICK, exact=exact))
        accuracy[exact] = board.tables["raters"]["pairwise_accuracy"].iloc[0]
        effect = "no ties (`exact`)" if exact else "are ties; `exact`"
        assert tells(board.warnings, "1 pair", "-25.200000000000003", effect)
    assert accuracy == {False: pytest.approx(1.0), True: pytest.approx(5 / 6)}
    plain = billboard(made(world(), FOUR), QUICK)
    assert not tells(plain.warnings, "rounding")


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
    sources = {
        name: Source(name, "en", references=("x",) * (at + 1))
        for at, name in enumerate(dataset.sources)
    }
    few = replace(dataset, sources=dict(list(sources.items())[:2]))
    assert ensemble_base(few, found) == "ensemble.a%2Bb|c+refs.AB"
    assert ensemble_base(replace(dataset, sources=sources), found) == "ensemble.a%2Bb|c+refs.40"


def test_an_ensembles_name_says_criterion_and_language_where_the_dataset_has_several() -> None:
    """Whatever is asked for: the ensemble of one criterion must not pass for a later version of
    another's.
    """
    dataset = made(world(), FOUR)
    found = board_ensemble(one_cell(dataset), QUICK)
    more = replace(dataset, criteria={**dataset.criteria, "other": replace(QUALITY, name="other")})
    assert ensemble_base(more, found).endswith("+criterion.quality")
    assert "criterion" not in ensemble_base(more, replace(found, criterion="overall"))
    first = next(iter(dataset.outputs.values()))
    both = replace(
        dataset, outputs={**dataset.outputs, "sw": replace(first, output="sw", language="sw")}
    )
    assert ensemble_base(both, found).endswith("+language.en")
    assert ensemble_base(both, replace(found, language="")).endswith("+language.all")


def test_a_judge_of_one_criterion(tmp_path: Path) -> None:
    """It has no overall score: the board is of the criterion that it rated, and can be written and
    read.
    """
    rated = [float(at % 7) for at in range(40)]
    scores: dict[str, Any] = {
        "quality": {"A1": rated, "judge": rated[::-1]},
        "fluency": {"A1": rated[::-1]},
    }
    dataset = made(scores, FOUR, criteria=(QUALITY, replace(QUALITY, name="fluency")))
    board = metal.billboard(dataset, resamples=100, permutations=100)
    board.save(tmp_path / "board")
    assert metal.open_run(tmp_path / "board").main == board.main == "quality"
    assert len([line for line in board.warnings if "no judge or metric" in line]) == 1
    assert tells(board.warnings, "fluency in English, overall in English: no judge or metric")
    with pytest.raises(UsageError, match="scored fluency: nothing to rank"):
        billboard(dataset, replace(QUICK, criteria=("fluency",)))


def test_an_ensemble_that_came_with_the_data_has_no_rank() -> None:
    """It was fitted to what it is compared with: its r stands, last and beside the ranking."""
    people = {"A1": [float(at % 9) for at in range(40)]}
    metrics = {"near": [float((at + at // 20) % 9) for at in range(40)], "theirs": people["A1"]}
    dataset = made(
        {"quality": people, "score": metrics},
        raters={"theirs": Rater("theirs", "metric", "ensemble")},
    )
    board = billboard(dataset, QUICK)
    rows = board.tables["raters"].set_index("rater")
    assert rows.index.tolist() == ["near", "theirs"]
    assert rows.loc["theirs", "pearson"] == pytest.approx(1)
    assert rows["rank"].tolist()[0] == 1
    assert rows.loc["theirs", ["rank", "rank_low", "rank_high"]].isna().all()
    assert "have been fitted" in rows.loc["theirs", "undefined"]
    assert board.tables["comparisons"].empty


def test_versions_of_an_ensemble() -> None:
    dataset = made(world(), FOUR)
    first = billboard(dataset, QUICK)
    ((name, record),) = first.ensembles.items()
    assert list(billboard(dataset, QUICK, stored=[record]).ensembles) == [name]  # it scores alike
    (second,) = billboard(dataset, replace(QUICK, nonzero=2), stored=[record]).ensembles.values()
    assert second["ensemble"] == f"ensemble.made+refs.none+version.2+data.{record['data']}"
    assert re.fullmatch(r"ensemble\.made\+refs\.none\+version\.1\+data\.[0-9a-f]{8}", name)
    again = billboard(dataset, QUICK, stored=[second, record])
    assert list(again.ensembles) == [name]
    assert ensemble_signature("ensemble.other+refs.A", second, [record, second]).startswith(
        "ensemble.other+refs.A+version.1+data."
    )
    moved = replace(dataset, ratings=dataset.ratings.assign(score=dataset.ratings["score"] + 1e-3))
    (other,) = billboard(moved, QUICK, stored=[record]).ensembles.values()
    assert (other["data"] != record["data"], "+version.2+" in other["ensemble"]) == (True, True)


def test_criteria_of_two_scales_together() -> None:
    other = replace(QUALITY, name="other")
    scores = world()
    dataset = made({**scores, "other": scores["quality"]}, FOUR, criteria=[QUALITY, other])
    board = billboard(dataset, replace(QUICK, nonzero=1))
    assert board.main == "overall"
    assert [name.split("+data.")[0] for name in board.ensembles if "criterion" not in name] == [
        "ensemble.made+refs.none+version.1"
    ]
    assert len(board.ensembles) == 3
    assert board.tables["people"].set_index("criterion")["criteria"].to_dict() == {
        "quality": 1,
        "other": 1,
        "overall": 2,
    }


CRITERIA = (
    Criterion("three", Scale("ordinal", tuple(Level(n, str(n)) for n in range(3)))),
    Criterion("faulty", Scale("nominal", (Level(0, "no"), Level(1, "yes"))), direction="lower"),
    Criterion("free", Scale("interval", (), -1e6, 1e6)),
)
RATERS = {"A1": Rater("A1", "human", "x"), "A3": Rater("A3", "human", "y")}


def column(rng: np.random.Generator, criterion: Criterion, length: int) -> list[float | None]:
    """Scores of which some, most, or all may be missing, sometimes all the same."""
    if criterion.scale.levels:
        values = rng.choice(criterion.scale.values, length)
    else:
        values = rng.normal(size=length) * 10.0 ** rng.integers(-3, 5)
    if rng.random() < 0.15:
        values[:] = values[0]
    missing = rng.random(length) < rng.choice([0, 0.3, 0.9, 1], p=[0.5, 0.3, 0.15, 0.05])
    return [None if gone else float(value) for gone, value in zip(missing, values, strict=True)]


def odd(rng: np.random.Generator) -> Dataset:
    length, generators, sources = (int(rng.integers(1, most)) for most in (30, 5, 8))
    places = [(f"s{rng.integers(sources)}", f"g{rng.integers(generators)}") for _ in range(length)]
    used = [one for one in CRITERIA if rng.random() < 0.6] or [CRITERIA[0]]
    scores: dict[str, Any] = {
        one.name: {name: column(rng, one, length) for name in ("A1", "A2", "A3", "j1", "j2")}
        for one in used
    }
    scores["score"] = {
        f"m{at}": column(rng, METRIC_SCORE, length) for at in range(int(rng.integers(1, 6)))
    }
    tongue = {source: str(rng.choice(["en", "hi"])) for source, _ in places}
    return made(
        scores,
        outputs=places,
        language=[tongue[source] for source, _ in places],
        criteria=used,
        raters=RATERS,
    )


def reasons_given(board: Board) -> None:
    for name in ("raters", "within_generators"):
        table = board.tables[name]
        for figure in (
            "pearson",
            "kendall",
            "system_pearson",
            "soft_pairwise_accuracy",
            "pairwise_accuracy",
        ):
            if figure in table:
                unsaid = table[figure].isna() & ~table["undefined"].str.contains(f"{figure}: ")
                assert not unsaid.any(), (name, figure)


@pytest.mark.parametrize("seed", range(30))
def test_a_board_or_a_message(seed: int) -> None:
    rng = np.random.default_rng(seed)
    settings: BoardSettings = replace(
        QUICK,
        nonzero=int(rng.integers(1, 4)),
        common=bool(rng.random() < 0.2),
        reference=str(rng.choice(["", "x"])),
        alpha=0.5 if rng.random() < 0.3 else None,
        members=("metric", "llm", "human") if rng.random() < 0.5 else ("metric",),
    )
    dataset = odd(rng)
    said = ""
    try:
        board = billboard(dataset, settings)
    except UsageError as error:
        said = str(error)
    if said:
        assert "rated nothing" in said or "`common`" in said
        return
    reasons_given(board)
    ranks = (
        board.tables["raters"]
        .groupby(["language", "criterion"])["rank"]
        .agg(lambda one: one.dropna().tolist())
    )
    assert all(rank == list(range(1, len(rank) + 1)) for rank in ranks)
