"""Judge or crowd: figures against SciPy and by hand, areas of disagreement, answers, equal
panels.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, pearsonr

from metal.boards.cells import ScaleEnds
from metal.boards.crowd import PLENTY, TABLES, Crowd, crowd, equal_panels
from metal.boards.crowd_rows import CEILING, GRID, OVERRATED, UNDERRATED, area_of, gridded
from metal.boards.settings import BoardSettings, CrowdSettings
from metal.data import formats
from metal.data.dataset import Dataset
from metal.data.records import Criterion, Level
from metal.data.records import Scale as People
from metal.errors import UsageError
from tests.billboard.boards import QUALITY, board
from tests.saying import tells

EXPERT = BoardSettings(reference="group=expert", resamples=200, permutations=200)
RNG = np.random.default_rng(3)
TRUTH = [int(score) for score in RNG.integers(0, 3, 60)]
NOISE = [int(score) for score in RNG.integers(0, 3, 60)]
OTHER_NOISE = [int(score) for score in RNG.integers(0, 3, 60)]
NEAR = [score if place % 6 else (score + 1) % 3 for place, score in enumerate(TRUTH)]
ALSO_NEAR = [score if place % 5 else (score + 1) % 3 for place, score in enumerate(TRUTH)]


def answer(answers: dict[str, list[int]], settings: BoardSettings = EXPERT) -> tuple[str, str]:
    """The answer on one criterion in one language, and its sentence."""
    row = crowd(board({"en": {"quality": answers}}), settings).tables["crowd_answers"].iloc[0]
    return str(row["answer"]), str(row["sentence"])


def raters(found: Crowd, **only: str) -> pd.DataFrame:
    table = found.tables["crowd_raters"]
    for column, value in only.items():
        table = table[table[column] == value]
    return table.set_index("rater")


@pytest.mark.parametrize(
    ("scale", "share", "bottom", "top"),
    [
        (ScaleEnds(0, 2), 1 / 3, [0, 1 / 3, 2 / 3], [4 / 3, 5 / 3, 2]),  # edges belong to the areas
        (ScaleEnds(0, 1), 1 / 3, [0, 1 / 3], [2 / 3, 1]),
        (ScaleEnds(1, 5), 1 / 3, [1, 2, 7 / 3], [11 / 3, 4, 5]),
        (ScaleEnds(1, 5), 0.01, [1], [5]),
        (ScaleEnds(-25, 0), 0.2, [-25, -20], [-5, 0]),
    ],
)
def test_the_areas_of_a_scale(
    scale: ScaleEnds, share: float, bottom: list[float], top: list[float]
) -> None:
    assert scale.low is not None
    assert scale.high is not None
    values = np.unique([*bottom, *top, (scale.low + scale.high) / 2, np.nan])
    low, high = np.meshgrid(values, values)
    found = area_of(high.ravel(), low.ravel(), scale, share)
    for name, people, scores in ((UNDERRATED, top, bottom), (OVERRATED, bottom, top)):
        inside = found[name].reshape(high.shape)
        assert sorted(set(high[inside])) == pytest.approx(sorted(people))
        assert sorted(set(low[inside])) == pytest.approx(sorted(scores))
        assert inside.sum() == len(people) * len(scores)
    assert not (found[UNDERRATED] & found[OVERRATED]).any()


def test_no_areas_without_ends() -> None:
    assert area_of(np.array([1.0]), np.array([9.0]), ScaleEnds(None, None), 0.3) == {}


def test_figures_are_those_of_scipy() -> None:
    crowd_scores = {"C1": [0, 2, 1, 1, 2, 0], "C2": [1, 2, None, 0, 2, 1]}
    experts = {"E1": [0, 1, 2, 0, 2, 2], "E2": [0, 2, 2, 1, 2, 1]}
    answers = {
        "quality": experts | crowd_scores | {"j": [0, 0, 0, None, 2, 2]},
        "score": {"m": [3, 1, 4, 1, 5, 9]},
    }
    found = crowd(board({"en": answers}), replace(EXPERT, raters=("crowd", "j", "m")))
    rows = raters(found)
    people = np.array([0, 1.5, 2, 0.5, 2, 1.5])
    mean = np.array([0.5, 2, 1, 0.5, 2, 0.5])
    assert rows.loc["crowd", "pearson"] == pytest.approx(pearsonr(mean, people).statistic)
    assert rows.loc["crowd", "kendall"] == pytest.approx(kendalltau(mean, people).statistic)
    assert rows.loc["crowd", "bias"] == pytest.approx(np.mean(mean - people))
    assert (
        rows.loc["crowd", "bias_low"] <= rows.loc["crowd", "bias"] <= rows.loc["crowd", "bias_high"]
    )
    given = [0, 1, 2, 4, 5]
    judge = np.array([0, 0, 0, 2, 2.0])
    assert rows.loc["j", "outputs"] == 5
    assert rows.loc["j", "pearson"] == pytest.approx(pearsonr(judge, people[given]).statistic)
    assert rows.loc["j", "bias"] == pytest.approx(np.mean(judge - people[given]))
    # 0 where people say 1.5 and 2
    assert (rows.loc["j", UNDERRATED], rows.loc["j", OVERRATED]) == (2, 0)
    assert rows.loc["j", f"{UNDERRATED}_share"] == pytest.approx(2 / 5)
    assert rows.loc["m", ["bias", UNDERRATED, f"{OVERRATED}_share"]].isna().all()
    assert tells(rows.loc["m", "undefined"], "bias:", "people's scale")
    assert rows.loc["crowd", "people"] == 2
    one = np.concatenate([experts["E1"], experts["E2"]])
    other = np.concatenate([experts["E2"], experts["E1"]])
    assert rows.loc[CEILING, "pearson"] == pytest.approx(pearsonr(one, other).statistic)
    assert rows.loc[CEILING, "kind"] == "ceiling"
    assert "system_pearson: " in rows.loc[CEILING, "undefined"]
    for name, columns in TABLES.items():
        assert tuple(found.tables[name].columns[: len(columns)]) == columns


def test_metrics_only_when_named() -> None:
    answers = {"quality": {"E1": TRUTH, "C1": NOISE, "j": NEAR}, "score": {"m": NEAR}}
    assert list(raters(crowd(board({"en": answers}), EXPERT)).index) == ["j", "crowd", CEILING]
    with pytest.raises(UsageError, match="name metrics in `raters`"):
        crowd(board({"en": {"quality": {"E1": TRUTH}, "score": {"m": NEAR}}}), EXPERT)
    settings = replace(EXPERT, raters=("m",))
    found = crowd(board({"en": answers}), settings)
    assert found.tables["crowd_answers"]["answer"].tolist() == ["metric only"]
    assert found.tables["crowd_examples"].empty


@pytest.mark.parametrize(
    ("worker", "judge", "said", "words"),
    [
        (NOISE, NEAR, "judge", "^Judge: j 0.* better .*expert. than crowd"),
        (NOISE, NEAR, "judge", "crowd cannot .* not above 0[.]"),
        (NEAR, NOISE, "crowd", "^Crowd: crowd 0[.]"),
        (ALSO_NEAR, NEAR, "undecided", "may be chance .p 0[.]"),
        (
            NOISE,
            OTHER_NOISE,
            "neither",
            "^Neither .*expert.: no agreement .*, j ",
        ),
    ],
)
def test_who_agrees_better(worker: list[int], judge: list[int], said: str, words: str) -> None:
    result, sentence = answer({"E1": TRUTH, "C1": worker, "j": judge})
    assert result == said
    assert re.search(words, sentence)


def test_no_p_is_said_to_be_below_what_its_test_can_give() -> None:
    """40 comparisons, each at its smallest, 2/16384: at most 0.0049 when corrected. Three: at most
    0.0004.
    """
    judges = {f"j{number}": 3 * NEAR for number in range(40)}
    people = {"E1": 3 * TRUTH, "C1": 3 * NOISE}
    assert ", p ≤0.005 (Holm)." in answer({**people, **judges})[1]
    assert (
        ", p <0.001 (Holm)." in answer({**people, "j": 3 * NEAR, "k": 3 * NEAR, "l": 3 * NEAR})[1]
    )
    assert "≤" not in answer({"E1": TRUTH, "C1": ALSO_NEAR, "j": NEAR})[1]


def test_one_side_and_no_side() -> None:
    assert answer({"E1": TRUTH, "j": NEAR})[0] == "judge only"
    said, sentence = answer({"E1": TRUTH, "C1": NEAR})
    assert said == "crowd only"
    assert sentence.startswith("No judge to compare with: crowd 0.")
    said, sentence = answer({"E1": TRUTH, "j": [1] * 60, "C1": [2] * 60})
    assert said == "unknown"
    assert tells(sentence, "no correlation")


def test_the_ceiling_is_in_the_sentence() -> None:
    sentence = answer({"E1": TRUTH, "E2": TRUTH, "C1": NOISE, "j": NEAR})[1]
    assert sentence.endswith("reaches 1.00.")


def test_families_of_comparisons() -> None:
    # Per language 2 comparisons, so 4 to a criterion; all languages together are apart.
    answers = {"quality": {"E1": 3 * TRUTH, "C1": 3 * NOISE, "j": 3 * NEAR, "k": 3 * NEAR}}
    found = crowd(board({"en": answers, "sw": answers}), EXPERT)
    pairs = found.tables["crowd_comparisons"]
    assert pairs.groupby("language")["p"].count().to_dict() == {"": 2, "en": 2, "sw": 2}
    # two-sided; more permutations than were asked for
    smallest = 2 / 2 ** (PLENTY * 4).bit_length()
    assert pairs["at_most"].all()
    assert pairs["p"].tolist() == pytest.approx([smallest] * 6)
    assert pairs.loc[pairs["language"] == "", "p_adjusted"].tolist() == pytest.approx(
        [2 * smallest] * 2
    )
    assert pairs.loc[pairs["language"] != "", "p_adjusted"].tolist() == pytest.approx(
        [4 * smallest] * 4
    )
    assert set(pairs["better"]) == {"j", "k"}


def test_scores_of_which_lower_is_better_keep_their_sides() -> None:
    errors = Criterion("errors", QUALITY.scale, "lower")
    # the crowd sees errors in the first where the expert sees none
    answers = {"E1": [0, 0, 2, 2], "C1": [2, 0, 1, 2]}
    found = crowd(board({"en": {"errors": answers}}, (errors,)), EXPERT)
    row = raters(found).loc["crowd"]
    assert (row[UNDERRATED], row[OVERRATED]) == (1, 0)
    assert row["bias"] == pytest.approx(-0.25)


def test_examples_are_drawn_by_the_seed_with_what_was_said() -> None:
    answers = {"E1": [2] * 30 + [0] * 10, "C1": [0] * 30 + [2] * 10, "j": [2] * 30 + [0] * 10}
    comments = {
        ("en0/a", "quality", "E1"): "clear",
        ("en0/a", "quality", "C1"): "=dull",
        ("en0/a", "quality", "j"): "x",
    }
    dataset = board({"en": {"quality": answers}}, comments=comments)
    found = crowd(dataset, EXPERT, CrowdSettings(examples=4)).tables["crowd_examples"]
    assert found.groupby(["rater", "area"]).size().to_dict() == {
        ("crowd", OVERRATED): 4,
        ("crowd", UNDERRATED): 4,
    }
    again = crowd(dataset, EXPERT, CrowdSettings(examples=4)).tables["crowd_examples"]
    pd.testing.assert_frame_equal(found, again)
    assert (found.loc[found["area"] == UNDERRATED, ["people", "score"]] == [2, 0]).all(axis=None)
    other = crowd(dataset, replace(EXPERT, seed=1), CrowdSettings(examples=4)).tables[
        "crowd_examples"
    ]
    assert found["output"].tolist() != other["output"].tolist()
    whole = (
        crowd(dataset, EXPERT, CrowdSettings(examples=100))
        .tables["crowd_examples"]
        .set_index("output")
    )
    assert len(whole) == 40
    first = whole.loc["en0/a"]
    assert (first["people_comments"], first["rater_comments"]) == ("E1: clear", "C1: =dull")
    assert (first["source_text"], first["output_text"]) == ("source 0", "text 0")
    assert whole.loc["en1/a", "people_comments"] == ""


def test_dots_hold_every_output_once() -> None:
    found = crowd(
        board({"en": {"quality": {"E1": TRUTH, "C1": NOISE, "j": [*NEAR[:-1], None]}}}), EXPERT
    )
    dots = found.tables["crowd_dots"]
    assert dots.groupby("rater")["outputs"].sum().to_dict() == {"crowd": 60, "j": 59}
    there = sum(x == 0 and y == 2 for x, y in zip(NOISE, TRUTH, strict=True))
    assert dots.set_index(["rater", "score", "people"]).loc[("crowd", 0, 2), "outputs"] == there


def test_many_scores_go_on_a_grid() -> None:
    values = np.linspace(0.03, 1.9, 200)
    moved = gridded(values, (0.0, 2.0))
    assert len(np.unique(moved)) <= GRID + 1
    assert np.abs(moved - values).max() <= 2 / GRID / 2 + 1e-12
    assert gridded(np.array([0.0, 0.7]), (0.0, 2.0)).tolist() == [0.0, 0.7]
    # beyond the scale: on its own range
    assert gridded(values, (0.5, 1.0)).min() == pytest.approx(0.03)


def two_criteria() -> Dataset:
    style = Criterion("style", People("ordinal", (Level(0, "no"), Level(1, "yes"))))
    one = {f"C{n}": [n % 2] * 40 for n in range(5)} | {"E1": [0, 1] * 20, "E2": [1, 1] * 20}
    return board({"en": {"quality": one, "style": one}}, (QUALITY, style))


def test_equal_panels_count_as_many_workers_as_experts() -> None:
    dataset = two_criteria()
    thin, notes = equal_panels(dataset, ("E1", "E2"), 0)
    table = thin.ratings.astype({"rater": str, "output": str, "criterion": str})
    crowd_rows = table[table["rater"].str.startswith("C")]
    assert notes == ()
    assert crowd_rows.groupby(["output", "criterion"]).size().unique().tolist() == [2]
    workers = crowd_rows.groupby(["output", "criterion"])["rater"].agg(tuple).unstack()
    assert (workers["quality"] == workers["style"]).all()  # the same workers on all criteria
    assert len(set(workers["quality"])) > 5  # and others on another output
    assert (table["rater"].str.startswith("E")).sum() == 160
    again, _ = equal_panels(dataset, ("E1", "E2"), 0)
    pd.testing.assert_frame_equal(thin.ratings, again.ratings)
    other, _ = equal_panels(dataset, ("E1", "E2"), 1)
    assert not other.ratings["rater"].equals(thin.ratings["rater"])


def test_equal_panels_with_too_few_workers() -> None:
    dataset = board(
        {
            "en": {
                "quality": {
                    "E1": [0, 1, 2, 1],
                    "E2": [0, 1, 2, 2],
                    "C1": [0, 2, 2, 1],
                    "C2": [None] * 4,
                }
            }
        }
    )
    found = crowd(dataset, EXPERT, CrowdSettings(equal_panels=True))
    assert len(found.notes) == 1
    assert tells(found.notes, "equal panels", "4 cases")
    assert raters(found).loc["crowd", "outputs"] == 4
    assert found.signature != crowd(dataset, EXPERT).signature


@pytest.mark.parametrize(("area", "examples"), [(0.0, 5), (0.5, 5), (0.3, -1)])
def test_settings_that_make_no_sense(area: float, examples: int) -> None:
    with pytest.raises(UsageError):
        CrowdSettings(area, examples)


@pytest.mark.reference
def test_the_released_crowd_against_experts(reference: Path) -> None:
    dataset = formats.read("thumb", reference / "thumb", {}).assemble(reference)
    expected = json.loads((reference / "oracle/billboard.json").read_text())["cnndm"][
        "crowd_vs_expert_r"
    ]
    found = crowd(dataset, EXPERT)
    rows = raters(found).loc["crowd"].set_index("criterion")
    assert rows["outputs"].unique().tolist() == [expected.pop("n")]
    for criterion, r in expected.items():
        assert rows.loc[criterion, "pearson"] == pytest.approx(r, abs=1e-3)
    equal = crowd(dataset, EXPERT, CrowdSettings(equal_panels=True))
    moved = raters(equal).loc["crowd"].set_index("criterion")["pearson"]
    assert ((moved - rows["pearson"]).abs() < 0.05).all()
    assert (moved != rows["pearson"]).all()
