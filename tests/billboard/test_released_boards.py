"""The two released boards give the published figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metal.auditing.check import lint as audit_lint
from metal.boards.board import Board
from metal.boards.cells import board_cells
from metal.boards.ensemble import board_ensemble
from metal.boards.lint import lint
from metal.boards.overrating import overrating_rows
from metal.boards.ranking import ceiling
from metal.data.dataset import Dataset
from metal.data.merge import merge
from metal.stats.correlation import kendall, pearson
from metal.stats.ensemble import ensemble_path, generator_moments, leave_one_out_correlation
from tests.billboard.conftest import CNNDM, ZHEN, one_cell, oracle, row
from tests.saying import tells

pytestmark = [pytest.mark.reference, pytest.mark.slow]  # 16,000 translations
CRITERIA = ("coherence", "consistency", "fluency", "relevance", "overall")
BOARDS = ("wmt20-zh-en", "cnndm")


@pytest.fixture(scope="session")
def both(zhen: Dataset, cnndm: Dataset) -> dict[str, tuple[Dataset, Any, str]]:
    return {"wmt20-zh-en": (zhen, ZHEN, "mqm"), "cnndm": (cnndm, CNNDM, "overall")}


@pytest.fixture(scope="session")
def boards(zhen_board: Board, cnndm_board: Board) -> dict[str, Board]:
    return {"wmt20-zh-en": zhen_board, "cnndm": cnndm_board}


@pytest.mark.parametrize("name", BOARDS)
def test_metrics_correlate_as_published(
    reference: Path, boards: dict[str, Board], name: str
) -> None:
    board, figures = boards[name], oracle(reference, "billboard.json")[name]
    for metric, figure in figures["pearson"].items():
        mine = row(board, "raters", rater=metric, criterion=board.main)
        printed = 5e-4 if metric == "TER" else 1e-4  # TER's figure has three decimals
        assert mine["pearson"] == pytest.approx(figure, abs=printed), metric
        assert (mine["outputs"], mine["asked"]) == (figures["joined_rows"], figures["joined_rows"])
        assert mine["generators"] == figures["generators_with_human_scores"]
    raters = board.tables["raters"]
    metrics = raters[
        (raters["criterion"] == board.main)
        & (raters["kind"] == "metric")
        & (raters["group"] == "metric")
    ]
    best, figure = figures["top_metric"]
    assert metrics.iloc[0]["rater"] == best
    assert metrics.iloc[0]["pearson"] == pytest.approx(figures["paper_top_metric_r"], abs=5e-3)


@pytest.mark.parametrize("name", BOARDS)
def test_the_ensemble_at_the_published_alpha(
    reference: Path, boards: dict[str, Board], name: str
) -> None:
    board, figures = boards[name], oracle(reference, "billboard.json")[name]["ensemble"]
    found = row(board, "ensembles", criterion=board.main)
    assert (found["alpha"], found["rule"]) == (figures["alpha"], "given")
    assert [found["alpha_low"], found["alpha_high"]] == pytest.approx(
        figures["alpha_interval_three_nonzero"], rel=1e-3
    )
    assert found["intercept"] == pytest.approx(figures["intercept"], abs=1e-3)
    assert found["pearson_unseen"] == pytest.approx(figures["logo_r"], abs=1e-3)
    assert found["pearson_unseen"] == pytest.approx(figures["paper_logo_r"], abs=5e-3 + 1e-9)
    assert found["pearson_in_sample"] == pytest.approx(figures["in_sample_r"], abs=1e-3)
    members = board.tables["ensemble_members"]
    members = members[members["criterion"] == board.main].set_index("member")["coefficient"]
    assert members.to_dict() == pytest.approx(figures["coef"], abs=1e-3)
    assert found["members"].split(", ") == list(figures["coef"])  # the heaviest first
    on_board = row(board, "raters", criterion=board.main, rater="ensemble (unseen)")
    assert on_board["pearson"] == pytest.approx(found["pearson_unseen"], abs=1e-12)
    assert np.isnan(on_board["system_pearson"])
    assert "another fit" in on_board["undefined"]


@pytest.mark.parametrize("name", BOARDS)
def test_the_released_ensemble_scores(both: dict[str, tuple[Dataset, Any, str]], name: str) -> None:
    """Of every output of every generator, those that people did not rate included."""
    dataset, settings, criterion = both[name]
    cell = one_cell(dataset, settings, criterion=criterion)
    released = cell.of("ensemble")
    assert len(cell.generators) == {"wmt20-zh-en": 19, "cnndm": 26}[name]
    assert not np.isnan(released).any()
    assert board_ensemble(cell, settings).scores == pytest.approx(released, abs=2e-3)


@pytest.mark.parametrize("name", BOARDS)
def test_generators_rank_as_released(
    reference: Path, both: dict[str, tuple[Dataset, Any, str]], boards: dict[str, Board], name: str
) -> None:
    dataset, board = both[name][0], boards[name]
    table = dataset.ratings[dataset.ratings["rater"] == "ensemble"]
    released: Any = (
        table.groupby("generator", observed=True)["score"].mean().sort_values(ascending=False)
    )
    mine = board.tables["generators"]
    mine = mine[(mine["criterion"] == board.main) & (mine["by"] == "ensemble of 3")]
    assert mine["generator"].tolist() == released.index.tolist()
    assert mine["score"].to_numpy() == pytest.approx(released.to_numpy(), abs=2e-3)
    machines = mine[~mine["generator"].str.startswith("Human")]
    assert (
        machines.iloc[0]["generator"] == oracle(reference, "billboard.json")[name]["top_generator"]
    )
    assert mine["human"].sum() == (name == "cnndm")


def test_the_best_single_rater_ranks_generators_too(boards: dict[str, Board]) -> None:
    """The released ensemble has seen these generators: it is no such rater."""
    for name, by in (
        ("wmt20-zh-en", {"people", "wmt20-comet-da", "ensemble of 3"}),
        ("cnndm", {"people", "gpt-4o", "wmt20-comet-da", "ensemble of 3"}),
    ):
        mine = boards[name].tables["generators"]
        assert set(mine.loc[mine["criterion"] == boards[name].main, "by"]) == by


def test_overrating_of_all_metrics(reference: Path, cnndm_board: Board) -> None:
    figures = oracle(reference, "billboard.json")["cnndm"]["overrating_beta0"]
    assert len(figures) == 16
    for metric, (value, half) in figures.items():
        mine = row(cnndm_board, "overrating", criterion="overall", rater=metric)
        assert mine["value"] == pytest.approx(value, abs=1e-4), metric
        assert [mine["low"], mine["high"]] == pytest.approx(
            [value - half, value + half], abs=2e-4
        ), metric
        assert (mine["outputs"], mine["sources"]) == (1800, 100)
    # it saw no human summary
    judge = row(cnndm_board, "overrating", criterion="overall", rater="gpt-4o")
    assert np.isnan(judge["value"])
    assert "no human output" in judge["undefined"]


def test_crowd_against_experts(reference: Path, cnndm_board: Board) -> None:
    figures = oracle(reference, "billboard.json")["cnndm"]["crowd_vs_expert_r"]
    for criterion in CRITERIA:
        crowd = row(cnndm_board, "raters", criterion=criterion, rater="crowd")
        assert crowd["pearson"] == pytest.approx(figures[criterion], abs=1e-3)
        assert (crowd["kind"], crowd["people"], crowd["outputs"]) == ("human", 5, figures["n"])


def test_identical_score_files_are_found(reference: Path, cnndm: Dataset, zhen: Dataset) -> None:
    ((first, second),) = oracle(reference, "billboard.json")["cnndm"]["identical_score_files"]
    metric = first.split("||")[1]
    generators = [first.split("||")[0], second.split("||")[0]]
    found = [
        problem.message for problem in audit_lint(cnndm) if problem.code == "identical-generators"
    ]
    assert [
        f"Score: {metric} gives {' and '.join(generators)} the same score on all 100 sources"
    ] == found
    copies = [problem.message for problem in audit_lint(zhen) if problem.code == "identical-raters"]
    assert copies == []  # chrF is chrF++'s copy for the generators that experts scored only


def test_a_copied_metric_shares_rank_figures_and_open_ranks(zhen_board: Board) -> None:
    one, other = (row(zhen_board, "raters", rater=name) for name in ("chrF", "chrFpp"))
    columns = ["rank_low", "rank_high", "pearson", "pearson_low", "pearson_high", "kendall"]
    columns += ["soft_pairwise_accuracy", "tie_epsilon"]
    assert one[columns].tolist() == other[columns].tolist()


# ---------------------------------------------------------------- one board of judges, crowd and
# metrics


def named(rater: str) -> str:
    return "crowd" if rater.startswith("turkers mean") else rater


def test_judges_crowd_and_metrics_on_one_board(reference: Path, cnndm_common: Board) -> None:
    figures = oracle(reference, "summeval_raters_vs_experts.json")
    figures = [
        one
        for one in figures
        if one["kind"] in ("llm", "metric", "crowd") and "panel" not in one["rater"]
    ]
    # workers are one rater here
    figures = [one for one in figures if not one["rater"].startswith("turker_")]
    assert sorted(one["kind"] for one in figures) == ["crowd"] + ["llm"] * 6 + ["metric"] * 16
    raters = cnndm_common.tables["raters"].set_index(["criterion", "rater"])
    for one in figures:
        for criterion in CRITERIA:
            mine = raters.loc[(criterion, named(one["rater"]))]
            where = f"{one['rater']} {criterion}"
            assert mine["outputs"] == mine["asked"] == one["n"] == 1600, where
            assert mine["pearson"] == pytest.approx(one[criterion], abs=1e-6), where
            assert mine["system_pearson"] == pytest.approx(one[f"{criterion}_sys"], abs=1e-5), where
            # The published mean of four criteria is one of single-precision numbers, which splits
            # tied pairs.
            allowed = 5e-3 if criterion == "overall" else 1e-5
            assert mine["kendall"] == pytest.approx(one[f"{criterion}_tau"], abs=allowed), where


def test_the_published_overall_tau_has_the_ties_of_single_precision(
    reference: Path, cnndm: Dataset
) -> None:
    settings = replace(CNNDM, common=True)
    parts = [one_cell(cnndm, settings, criterion=criterion) for criterion in CRITERIA]
    rated = parts[-1].rated
    single = np.mean(
        [part.human[rated].astype(np.float32) for part in parts[:-1]], axis=0, dtype=np.float32
    )
    for one in oracle(reference, "summeval_raters_vs_experts.json"):
        if one["kind"] == "metric":
            tau = kendall(parts[-1].of(one["rater"])[rated], single)
            assert tau == pytest.approx(one["overall_tau"], abs=1e-5), one["rater"]


def test_each_expert_against_the_others(reference: Path, cnndm: Dataset) -> None:
    """Three people's ratings stand one person after the other for each output."""
    figures = {one["rater"]: one for one in oracle(reference, "summeval_raters_vs_experts.json")}
    for criterion in CRITERIA:
        cell = one_cell(cnndm, replace(CNNDM, common=True), criterion=criterion)
        assert len(cell.alone) == 3 * 1600
        for person in range(3):
            mine = np.s_[person::3]
            published = figures[f"expert_{person} vs other two"][criterion]
            assert pearson(cell.alone[mine], cell.others[mine]) == pytest.approx(
                published, abs=1e-4
            )
        assert ceiling(cell).value == pytest.approx(pearson(cell.alone, cell.others))


# ---------------------------------------------------------------- published tables


PUBLISHED = {  # Table 11: all three, then without COMET, COMET-QE and the third
    "wmt20-zh-en": (0.61, {"wmt20-comet-da": 0.61, "wmt20-comet-qe-da": 0.57, "BLEURT": 0.61}),
    "cnndm": (0.29, {"wmt20-comet-da": 0.23, "wmt20-comet-qe-da": 0.31, "BERTScore": 0.31}),
}


@pytest.mark.parametrize("name", BOARDS)
def test_published_correlations_lie_within_the_interval_of_alpha(
    both: dict[str, tuple[Dataset, Any, str]], name: str
) -> None:
    """Three coefficients are an interval of alphas; over it the correlation moves, and the
    published ones are in it.
    """
    dataset, settings, criterion = both[name]
    cell = one_cell(dataset, settings, criterion=criterion)
    names = [rater.name for rater in cell.raters if rater.group == "metric"]
    rated = cell.rated
    whole, without = PUBLISHED[name]
    for left_out, published in {"": whole, **without}.items():
        metrics = np.stack(
            [cell.of(metric)[rated] for metric in names if metric != left_out], axis=1
        )
        offset, slope = (100, 4) if name == "wmt20-zh-en" else (0, 20)
        moments = generator_moments(
            metrics, offset + slope * cell.human[rated], cell.generator[rated]
        )
        ((low, high),) = ensemble_path(moments).intervals_with(3)[:1]
        reached = leave_one_out_correlation(moments, np.linspace(low + 1e-6, high - 1e-6, 41))
        assert reached.min() - 5e-3 <= published <= reached.max() + 5e-3, (
            left_out,
            reached.min(),
            reached.max(),
        )


@pytest.mark.parametrize("name", BOARDS)
def test_our_rule_takes_the_low_end(both: dict[str, tuple[Dataset, Any, str]], name: str) -> None:
    dataset, settings, criterion = both[name]
    found = board_ensemble(
        one_cell(dataset, settings, criterion=criterion), replace(settings, alpha=None)
    )
    (low, high), *_ = found.intervals
    assert found.alpha == pytest.approx(low + (high - low) / 1000)
    assert len(found.members) == 3


# ---------------------------------------------------------------- joins off by one


def test_a_join_off_by_one_is_reported(zhen_apart: tuple[Dataset, Dataset], zhen: Dataset) -> None:
    shifted, _ = merge(*zhen_apart, counted_from=0)
    (said,) = (
        problem for problem in lint(shifted, board_cells(shifted, ZHEN)) if "off by one" in problem
    )
    assert tells(said, "MQM in Chinese to English:", "off by one")
    assert "wmt20-comet-da" in said
    assert not any("off by one" in problem for problem in lint(zhen, board_cells(zhen, ZHEN)))


def test_what_the_right_boards_report(zhen_board: Board, cnndm_board: Board) -> None:
    assert len(zhen_board.warnings) == len(cnndm_board.warnings) == 2
    left_out, alike = zhen_board.warnings
    assert tells(left_out, "4,000 outputs", "mqm-zh-en", "Human-A.0 (2,000), Human-B.0 (2,000)")
    assert tells(alike, "chrF and chrFpp", "same score", "all 16,000 outputs")
    assert tells(cnndm_board.warnings[0], "every criterion:", "(see coverage); `common`")
    assert tells(cnndm_board.warnings[1], "wmt20-comet-da", "BanditSum and NEUSUM", "same score")


def test_no_human_translation_was_scored(zhen: Dataset) -> None:
    assert overrating_rows(one_cell(zhen, ZHEN), ()) == []
