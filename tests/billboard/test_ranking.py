"""Raters ranked by agreement with people, and generators by their mean score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metal.boards import ranking as module
from metal.boards.board import FITTED, billboard
from metal.boards.cells import BoardRater
from metal.boards.generators import generator_rows, resampled_means
from metal.boards.ranking import (
    WITH_INTERVAL,
    agreements,
    ceiling,
    ranking,
)
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset, with_parts
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Rater, Scale
from metal.errors import Undefined, UsageError
from metal.stats.bootstrap import SourceBootstrap, percentile_interval
from metal.stats.correlation import pearson, system_pearson
from metal.stats.significance import holm
from tests.billboard.conftest import QUALITY, QUICK, made, one_cell, row, world
from tests.saying import tells

FOUR = ("g0", "g1", "g2", "g3")
FIGURES = [
    "pearson",
    "spearman",
    "kendall",
    "system_pearson",
    "pairwise_accuracy",
    "tie_epsilon",
    "coverage",
]
ALL_FIGURES = [
    *FIGURES,
    "pearson_low",
    "pearson_high",
    "system_pearson_low",
    "soft_pairwise_accuracy",
]


def ranked(dataset: Dataset, chosen: BoardSettings = QUICK) -> pd.DataFrame:
    """A rater a row, without the ensemble."""
    table = billboard(dataset, chosen).tables["raters"]
    return table[table["group"] != "ensemble"].set_index("rater")


def test_figures_by_hand() -> None:
    people = [1, 2, 3, 4, 5, 9]
    dataset = made(
        {"quality": {"A1": people, "judge": [2, 2, 1, 4, 5, None], "best": people}},
        ("g0", "g1", "g2"),
    )
    table = ranked(dataset)
    judge = table.loc["judge"]
    assert judge["pearson"] == pytest.approx(np.corrcoef([1, 2, 3, 4, 5], [2, 2, 1, 4, 5])[0, 1])
    assert judge["spearman"] == pytest.approx(
        np.corrcoef([1, 2, 3, 4, 5], [2.5, 2.5, 1, 4, 5])[0, 1]
    )
    assert judge["kendall"] == pytest.approx((7 - 2) / np.sqrt(9 * 10))
    # Means of g0: (1 + 4) / 2 by people, (2 + 4) / 2 by the judge; g2 counts where the judge scored
    # it.
    assert judge["system_pearson"] == pytest.approx(np.corrcoef([2.5, 3.5, 3], [3, 3.5, 1])[0, 1])
    # Pairs on s0: (g0, g1) people 1 < 2, judge a tie; (g0, g2) and (g1, g2) wrong; on s1 (g0, g1)
    # right.
    assert judge["pairwise_accuracy_without_ties"] == pytest.approx((0 + 1) / 2)
    assert judge["pairs"] == 4
    assert (judge["outputs"], judge["asked"], judge["sources"], judge["generators"]) == (5, 6, 2, 3)
    assert judge["coverage"] == pytest.approx(5 / 6)
    best = table.loc["best"]
    assert best[["pearson", "spearman", "kendall", "pairwise_accuracy"]].tolist() == pytest.approx(
        [1, 1, 1, 1]
    )
    assert [best["rank"], judge["rank"]] == [1, 2]


def test_a_constant_rater_is_undefined_never_zero() -> None:
    dataset = made({"quality": {"A1": [1, 2, 3, 5], "judge": [1, 2, 4, 3], "flat": [3, 3, 3, 3]}})
    flat = ranked(dataset).loc["flat"]
    for figure in ("pearson", "spearman", "kendall", "system_pearson", "soft_pairwise_accuracy"):
        assert pd.isna(flat[figure])
        assert f"{figure}: " in flat["undefined"]
    assert "pearson: constant scores" in flat["undefined"]
    assert pd.isna(flat["pearson_low"])
    assert pd.isna(flat["rank"])
    assert flat[["rank_low", "rank_high"]].isna().all()
    assert flat["outputs"] == 4
    everybody = ranked(made({"quality": {"A1": [1, 2, 3, 5], "flat": [3, 3, 3, 3]}}))
    assert pd.isna(everybody.loc["flat", "rank_low"])


def test_a_rater_of_one_source_among_many_has_no_interval() -> None:
    """Resamples that hold its source all say the same: an interval of no width would say that r is
    certain.
    """
    people = [1, 2, 3, 5, 4, 2, 1, 3, 5, 5, 4, 1]
    one: list[float | None] = [1, 2, 4, 3, *[None] * 8]
    table = ranked(
        made(
            {"quality": {"A1": people, "judge": [1, 2, 4, 3, 3, 3, 2, 2, 4, 5, 1, 1], "one": one}},
            FOUR,
        )
    )
    for figure in WITH_INTERVAL[:-1]:
        assert table.loc["judge", f"{figure}_low"] < table.loc["judge", f"{figure}_high"]
        assert pd.isna(table.loc["one", f"{figure}_low"])


def test_what_a_thousand_outputs_cost() -> None:
    other = replace(QUALITY, name="other")
    paid = {"judge": Rater("judge", "llm", about={"dollars_per_thousand": 1.5})}
    scores = {"A1": [1.0, 2, 3, 4], "judge": [1.0, 2, 4, 3], "free": [2.0, 1, 4, 3]}
    board = billboard(
        made({"quality": scores, "other": scores}, criteria=[QUALITY, other], raters=paid), QUICK
    )
    costs = board.tables["raters"].set_index(["criterion", "rater"])["cost_per_thousand"]
    assert costs["quality", "judge"] == 1.5
    assert costs["overall", "judge"] == 3
    assert pd.isna(costs["overall", "free"])


def test_equal_raters_share_their_open_ranks() -> None:
    scores = world()
    near: Any = scores["score"]["near"]
    scores["score"] |= {"copy": near, "stretched": [3 * one + 1 for one in near]}
    # without an ensemble
    table = ranked(made(scores, FOUR), replace(QUICK, permutations=1000, nonzero=9))
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    assert (
        len(table.loc[["near", "copy", "stretched"], ["rank_low", "rank_high"]].drop_duplicates())
        == 1
    )
    assert table.loc["near", "rank_low"] == 1
    assert table.loc["near", "rank_high"] < table.loc["far", "rank_low"]
    copies = table.loc[["copy", "near"], ALL_FIGURES]
    assert copies.iloc[0].tolist() == copies.iloc[1].tolist()


def test_every_pair_is_compared_once() -> None:
    board = billboard(made(world(), FOUR), QUICK)
    pairs = board.tables["comparisons"]
    raters = board.tables["raters"]["rater"].tolist()
    assert list(zip(pairs["first"], pairs["second"], strict=True)) == [
        (first, second) for at, first in enumerate(raters) for second in raters[at + 1 :]
    ]
    both = pairs.set_index(["first", "second"])
    assert both.loc[("near", "far"), "p"] < 1e-5  # beyond what so few permutations can say
    assert both["p"].between(0, 1).all()
    np.testing.assert_allclose(both["p_adjusted"], holm(both["p"]))


def test_within_a_generator() -> None:
    scores = {"A1": [1, 9, 2, 8, 3, 7], "judge": [1, 1, 2, 2, 3, 3]}
    board = billboard(made({"quality": scores}), QUICK)
    assert row(board, "within_generators", generator="g0", rater="judge")[
        "pearson"
    ] == pytest.approx(1)
    assert row(board, "within_generators", generator="g1", rater="judge")[
        "pearson"
    ] == pytest.approx(-1)
    assert row(board, "within_generators", generator="g1", rater="judge")["outputs"] == 3
    half = made(
        {"quality": {"A1": [1, 9, 2, 8], "judge": [1, None, 2, None], "other": [1, 2, 2, 1]}}
    )
    found = row(billboard(half, QUICK), "within_generators", generator="g1", rater="judge")
    assert pd.isna(found["pearson"])
    assert found["undefined"] == "pearson: fewer than two pairs"


def test_what_a_person_reaches() -> None:
    two = made({"quality": {"A1": [1, 2, 3, 4], "A2": [1, 2, 4, 3], "judge": [1, 2, 3, 4]}})
    alone, others = [1, 1, 2, 2, 3, 4, 4, 3], [1, 1, 2, 2, 4, 3, 3, 4]
    assert ceiling(one_cell(two)).value == pytest.approx(np.corrcoef(alone, others)[0, 1])
    single = billboard(made({"quality": {"A1": [1, 2, 3, 4], "judge": [1, 2, 3, 4]}}), QUICK)
    found = row(single, "people")
    assert pd.isna(found["one_against_others"])
    assert found["undefined"] == "one_against_others: fewer than two pairs"


# ---------------------------------------------------------------- properties


def shuffled(dataset: Dataset, seed: int, renamed: dict[str, str] | None = None) -> Dataset:
    """The same dataset with its ratings and outputs in another order, and raters renamed."""
    rng = np.random.default_rng(seed)
    names = renamed or {}
    facts = dataset.ratings[["output", "criterion", "rater", "score", "reason", "comment"]].astype(
        object
    )
    facts = facts.iloc[rng.permutation(len(facts))].reset_index(drop=True)
    facts["rater"] = facts["rater"].map(lambda name: names.get(name, name))
    outputs = list(dataset.outputs.values())
    raters = [
        replace(rater, rater=names.get(rater.rater, rater.rater))
        for rater in dataset.raters.values()
    ]
    outputs = [outputs[at] for at in rng.permutation(len(outputs))]
    raters = [raters[at] for at in rng.permutation(len(raters))]
    return with_parts(dataset, outputs=outputs, raters=raters, facts=tidy_facts(facts))


def assert_same(one: pd.DataFrame, other: pd.DataFrame, columns: list[str]) -> None:
    left, right = one[columns].astype(float), other.loc[one.index, columns].astype(float)
    pd.testing.assert_frame_equal(left, right, rtol=1e-9, atol=1e-9)


@settings(max_examples=5)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_files_does_not_matter(seed: int) -> None:
    dataset = made(world(20, 3, seed % 7), ("g0", "g1", "g2"))
    assert_same(
        ranked(dataset),
        ranked(shuffled(dataset, seed)),
        [*ALL_FIGURES, "rank", "rank_low", "rank_high"],
    )


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000))
def test_names_of_raters_do_not_matter(seed: int) -> None:
    dataset = made(world(20, 3, seed % 7), ("g0", "g1", "g2"))
    names = {"near": "zz", "middling": "aa", "A1": "Zoe"}
    other = ranked(shuffled(dataset, seed, names)).rename(
        index={new: old for old, new in names.items()}
    )
    assert_same(ranked(dataset), other, [*ALL_FIGURES, "rank", "rank_low", "rank_high"])


@settings(max_examples=4)
@given(kept=st.sets(st.sampled_from(["near", "middling", "far", "noise"]), min_size=1))
def test_a_raters_figures_do_not_depend_on_the_others(kept: set[str]) -> None:
    dataset = made(world(20, 3), ("g0", "g1", "g2"))
    some = (
        billboard(dataset, replace(QUICK, raters=tuple(sorted(kept))))
        .tables["raters"]
        .set_index("rater")
    )
    assert_same(some[some["group"] != "ensemble"], ranked(dataset), ALL_FIGURES)


@settings(max_examples=5)
@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100), seed=st.integers(0, 50))
def test_an_affine_change_changes_no_correlation(scale: float, shift: float, seed: int) -> None:
    scores = world(15, 3, seed)
    near: Any = scores["score"]["near"]
    scores["score"]["changed"] = [scale * one + shift for one in near]
    table = ranked(made(scores, ("g0", "g1", "g2")))
    columns = ["pearson", "spearman", "kendall", "system_pearson", "pearson_low", "pearson_high"]
    assert table.loc["changed", columns].tolist() == pytest.approx(
        table.loc["near", columns].tolist(), abs=1e-7
    )


def test_the_direction_of_a_criterion_mirrors() -> None:
    scores = world(20, 3)
    scores["quality"]["judge"] = [round(one) for one in scores["quality"]["A1"]]  # type: ignore[arg-type]
    down = replace(QUALITY, direction="lower")
    upward, downward = (
        ranked(made(scores, ("g0", "g1", "g2"), criteria=[one])) for one in (QUALITY, down)
    )
    columns = ["pearson", "spearman", "kendall", "system_pearson"]
    # People and judge are turned round together; a metric stays as it is.
    assert downward.loc["judge", columns].tolist() == pytest.approx(
        upward.loc["judge", columns].tolist()
    )
    assert downward.loc["near", columns].tolist() == pytest.approx(
        (-upward.loc["near", columns]).tolist()
    )
    assert downward.loc["near", "pearson_low"] == pytest.approx(-upward.loc["near", "pearson_high"])
    turned = Criterion("quality", Scale("interval", (), -100, 0), direction="lower")
    negated = {name: [-one for one in row] for name, row in scores["quality"].items()}  # type: ignore[operator]
    mirrored = ranked(made({**scores, "quality": negated}, ("g0", "g1", "g2"), criteria=[turned]))
    assert_same(upward, mirrored, [*ALL_FIGURES, "rank", "rank_low", "rank_high"])


def test_intervals_cover() -> None:
    """Outputs of a source are alike; whole sources are drawn, so that the interval knows."""
    rng = np.random.default_rng(8)
    bootstrap = SourceBootstrap(400)
    sources, generators, r = 30, 4, 0.5
    source = np.repeat(np.arange(sources), generators)
    covered = 0
    for _ in range(200):
        people, rater = (
            np.repeat(rng.normal(size=sources), generators) + rng.normal(size=len(source))
            for _ in range(2)
        )
        scores = (r * people + np.sqrt(1 - r**2) * rater)[None]
        found = agreements(scores, people, source, 0 * source, bootstrap)[0].instance
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= r <= found.high
    assert 0.88 <= covered / 200 <= 0.99


def test_no_rater_on_a_cell() -> None:
    """People rated Hindi, the judge Swahili only."""
    dataset = made(
        {"quality": {"A1": [1, 2, 3, 4], "judge": [None, None, 2, 1]}},
        language=["hi", "hi", "sw", "sw"],
    )
    board = billboard(dataset, QUICK)
    assert set(board.tables["raters"]["language"]) == {"", "sw"}
    generators = board.tables["generators"]
    assert set(generators.loc[generators["language"] == "hi", "by"]) == {"people"}
    assert set(board.tables["people"]["language"]) == {"", "hi", "sw"}


def test_a_rater_that_was_added_by_hand() -> None:
    cell = one_cell(made({"quality": {"A1": [1, 2, 3, 4], "judge": [1, 2, 3, 4]}}))
    more = cell.with_rater(BoardRater("mine", "metric", ""), np.array([4.0, 3, 2, 1]))
    found = ranking(more, SourceBootstrap(100), 100)
    assert [one["rater"] for one in found.rows] == ["judge", "mine"]
    assert found.rows[1]["pearson"] == pytest.approx(-1)


BOOTSTRAP = SourceBootstrap(100)
NAN = float("nan")


def test_means_over_sources_best_first() -> None:
    places = [("s0", "a"), ("s0", "a"), ("s0", "b"), ("s1", "a"), ("s1", "b"), ("s1", "c")]
    cell = one_cell(
        made(
            {"quality": {"A1": [1, 3, 5, 4, 7, None], "judge": [1, 2, 3, 4, 5, 6]}}, outputs=places
        )
    )
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100, ("b",))
    assert [(row["rank"], row["generator"], row["score"], row["sources"]) for row in rows] == [
        (1, "b", 6, 2),
        (2, "a", 3, 2),  # on s0 the mean of two outputs
    ]
    assert [row["human"] for row in rows] == [True, False]
    assert rows[1]["score_low"] >= 2
    assert rows[1]["score_high"] <= 4
    by_judge = generator_rows(cell, "judge", cell.of("judge"), BOOTSTRAP, 100)
    assert [(row["generator"], row["sources"]) for row in by_judge] == [
        ("c", 1),
        ("b", 2),
        ("a", 2),
    ]
    assert generator_rows(cell, "nobody", np.full(6, NAN), BOOTSTRAP, 100) == []


def test_open_ranks_follow_tests() -> None:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(60, 1)) + np.array([3, 3, 1.5, 0]) + rng.normal(0, 0.5, (60, 4))
    quality[:, 1] = quality[:, 0]  # two generators with equal scores
    scores: list[float | None] = quality.ravel().tolist()
    cell = one_cell(made({"score": {"A1": scores, "m": scores}}, ("g0", "g1", "g2", "g3")))
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 1000)
    spans = [(row["generator"], row["rank_low"], row["rank_high"]) for row in rows]
    assert spans == [("g0", 1, 2), ("g1", 1, 2), ("g2", 3, 3), ("g3", 4, 4)]
    assert all(row["score_low"] <= row["score"] <= row["score_high"] for row in rows)


def test_without_a_common_source_nobody_is_told_apart() -> None:
    places = [("s0", "a"), ("s1", "b"), ("s2", "a"), ("s3", "b")]
    cell = one_cell(made({"quality": {"A1": [1, 2, 3, 4], "judge": [1, 2, 3, 5]}}, outputs=places))
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    spans = [(row["generator"], row["score"], row["rank_low"], row["rank_high"]) for row in rows]
    assert spans == [("b", 3, 1, 2), ("a", 2, 1, 2)]


def test_equal_generators_share_their_rank() -> None:
    cell = one_cell(
        made(
            {"quality": {"A1": [3, 3, 1, 4, 4, 9], "judge": [1, 2, 3, 4, 5, 6]}}, ("g0", "g1", "g2")
        )
    )
    rows = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    assert [(row["rank"], row["generator"]) for row in rows] == [(1, "g2"), (2, "g0"), (2, "g1")]


def test_of_one_source_there_is_no_interval() -> None:
    """Every resample of one source is that source: an interval of no width would say that the mean
    is certain.
    """
    places = [("s0", "a"), ("s0", "b"), ("s1", "a"), ("s2", "a")]
    cell = one_cell(made({"quality": {"A1": [1, 3, 5, 4], "judge": [1, 2, 3, 4]}}, outputs=places))
    rows = {
        row["generator"]: row for row in generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    }
    assert rows["a"]["score_low"] < rows["a"]["score_high"]
    assert (rows["b"]["score_low"], rows["b"]["score_high"]) == (None, None)


def test_one_generator() -> None:
    cell = one_cell(made({"quality": {"A1": [1, 2, 3], "judge": [1, 2, 3]}}, ("g0",)))
    (only,) = generator_rows(cell, "people", cell.human, BOOTSTRAP, 100)
    assert (only["rank"], only["rank_low"], only["rank_high"], only["score"]) == (1, 1, 1, 2)


def test_a_mean_is_over_as_many_sources_as_were_drawn() -> None:
    """Of many sources blocks are drawn, the last of which is smaller: equal scores have an interval
    without width.
    """
    table = np.full((2, 20_401), 50.0)  # blocks of 5, and one of 1
    assert resampled_means(table, SourceBootstrap(200, 0)) == pytest.approx(50.0, rel=1e-12)


def test_by_whom_the_board_ranks() -> None:
    """By people; by the best rater; by the best that scored every generator; by the ensemble, our
    own.
    """
    scores = world()
    unrated = [None if at % 4 == 3 else one for at, one in enumerate(scores["quality"]["A1"])]
    scores["quality"] = {"A1": unrated, "judge": unrated}  # the judge saw what people saw
    scores["score"]["released"] = scores["score"]["ensemble"] = scores["score"]["near"]
    known = {
        "released": Rater("released", "metric", "ensemble"),
        "ensemble": Rater("ensemble", "metric", "ensemble"),
    }
    board = billboard(
        made(scores, ("g0", "g1", "g2", "g3"), raters=known), replace(QUICK, nonzero=2)
    )
    table = board.tables["generators"]
    assert table.drop_duplicates("by")["by"].tolist() == [
        "people",
        "judge",
        "near",
        "ensemble of 2",
    ]
    assert table.groupby("by")["generator"].agg(len).to_dict() == {
        "people": 3,
        "judge": 3,
        "near": 4,
        "ensemble of 2": 4,
    }
    ranked = table["rank"].notna()
    # it was fitted to these outputs: no ranks, and why
    assert (table["by"][ranked] != "ensemble of 2").all()
    assert not table["rank_low"][~ranked].notna().any()
    assert set(table["undefined"][~ranked]) == {FITTED}
    ours = table[table["by"] == "ensemble of 2"]["score"].mean()
    # on people's scale, 0 to 100
    assert ours == pytest.approx(np.nanmean(np.array(unrated, dtype=float)), abs=5)


def test_a_panel_is_no_person_and_a_generator_without_scores_is_named() -> None:
    quality = {"THumB": [2, 1, None] * 4, "judge": [1, 2, None] * 4}
    board = billboard(
        made(
            {"quality": quality},
            ("g0", "g1", "g2"),
            raters={"THumB": Rater("THumB", "human", "", {"panel": True})},
            extra={"left_out": ["4 outputs by Human that people rated are not here"]},
        ),
        QUICK,
    )
    # what a merge lost
    assert "4 outputs by Human that people rated are not here" in board.warnings
    assert board.tables["people"].loc[0, ["people", "panels"]].tolist() == [0, 1]
    (unranked,) = (line for line in board.warnings if "no rank" in line)
    assert tells(unranked, "g2: no rank")
    assert tells(unranked, "references,", "no source has")


@pytest.mark.parametrize("name", ["people", "ensemble (unseen)", "ensemble of 3"])
def test_no_rater_passes_for_the_people_or_the_ensemble(name: str) -> None:
    """A metric called `people` had its own ranking of the generators shown as theirs."""
    scores = world()
    scores["score"][name] = scores["score"]["near"]
    with pytest.raises(UsageError, match="rename it"):
        billboard(made(scores, ("g0", "g1", "g2", "g3")), QUICK)


SEEDED = SourceBootstrap(100, 3)


def gapped(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores, people, sources and generators: gaps, constant raters, generators that wrote of some
    sources only.
    """
    rng = np.random.default_rng(seed)
    sources, generators = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    source, generator = (
        axis.ravel() for axis in np.meshgrid(np.arange(sources) * 5, np.arange(generators))
    )
    kept = (rng.random(len(source)) < rng.choice([0.6, 1.0])) | (source == 0)
    source, generator = source[kept], generator[kept]
    order = rng.permutation(len(source))
    human = np.round(rng.normal(size=len(source)), 1) + 40
    scores = np.round(human + rng.normal(size=(4, len(source))), 1)
    scores[1][generator == 0] = 0.1
    scores[2] = 0.7
    scores[3][rng.random(len(source)) < 0.3] = np.nan
    return scores[:, order], human[order], source[order], generator[order]


def plain(compute: object, *sides: np.ndarray) -> float:
    try:
        return float(compute(*sides))  # type: ignore[operator]
    except Undefined:
        return float("nan")


def value(figure: object) -> float:
    found = figure.value  # type: ignore[attr-defined]
    return float("nan") if found is None else found


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_figures_are_the_plain_ones(seed: int) -> None:
    scores, human, source, generator = gapped(seed)
    for mine, found in zip(
        scores, agreements(scores, human, source, generator, SEEDED), strict=True
    ):
        assert value(found.instance) == pytest.approx(plain(pearson, mine, human), nan_ok=True)
        assert value(found.system) == pytest.approx(
            plain(system_pearson, mine, human, generator), nan_ok=True
        )
        for code, within in enumerate(found.within):
            here = generator == code
            assert value(within) == pytest.approx(
                plain(pearson, mine[here], human[here]), nan_ok=True
            )
            assert within.n == (~np.isnan(mine[here])).sum()
            assert within.value is not None or within.reason


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_intervals_are_those_of_resamples_written_out(seed: int) -> None:
    scores, human, source, generator = gapped(seed)
    weights = {}
    for mine, found in zip(
        scores, agreements(scores, human, source, generator, SEEDED), strict=True
    ):
        for code, figure in enumerate((found.instance, *found.within), -1):
            here = (generator == code) | (code < 0)
            names, place = np.unique(source[here], return_inverse=True)
            weights[len(names)] = np.concatenate(list(SEEDED.source_weights(len(names)))).astype(
                int
            )
            drawn = []
            for counts in weights[len(names)]:
                items = np.repeat(np.flatnonzero(here), counts[place])
                drawn.append(plain(pearson, mine[items], human[items]))
            if figure.low is not None:
                assert (figure.low, figure.high) == pytest.approx(
                    percentile_interval(np.array(drawn)), abs=1e-9
                )
            elif figure.value is not None:
                assert (
                    len(np.unique(source[here & ~np.isnan(mine)])) < 2
                    or percentile_interval(np.array(drawn)) is None
                )


def test_raters_in_several_parts_are_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = agreements(*gapped(1), SEEDED)
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    assert agreements(*gapped(1), SEEDED) == whole
