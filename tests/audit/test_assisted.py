"""People who saw a judge's answers before they rated do not count in its verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.cells import AuditCell, cells
from metal.auditing.disagreements import disagreements
from metal.auditing.paper_tables import distribution_rows
from metal.auditing.settings import AuditSettings
from metal.auditing.verdict import INFORMATIVE, UNDECIDED, verdict
from metal.data.dataset import Dataset, load_dataset, with_parts
from metal.data.people import who_saw
from metal.data.records import Rater
from metal.errors import DataError
from metal.questions.adjudicate.draw import Case
from tests.saying import tells

PEOPLE = ("anna", "ben", "carl")
JUDGES = {"gpt-4": "llm", "other": "llm"}


def table(seed: int = 0, *, scores: bool = False) -> pd.DataFrame:
    """Three people and two judges on 120 outputs; anna copies gpt-4 in two thirds of them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 120)

    def answers(right: float) -> Any:
        return np.where(rng.random(120) < right, truth, rng.integers(0, 3, 120))

    given = {name: answers(0.8) for name in (*PEOPLE, *JUDGES)}
    given["anna"] = np.where(rng.random(120) < 2 / 3, given["gpt-4"], given["anna"])
    frame = pd.DataFrame(given).rename_axis("item").reset_index()
    frame["item"] = frame["item"].map("i{:03d}".format)
    long = frame.melt("item", var_name="rater", value_name="score")
    if scores:
        long["score"] = 30.0 * long["score"] + rng.normal(0, 5, len(long)).round(3)
    return long


def folder_with(tmp_path: Path, assisted: dict[str, Any], *, scores: bool = False) -> Path:
    """A dataset folder whose people were assisted."""
    folder = tmp_path / "rated"
    metal.read(table(scores=scores), kinds=JUDGES, levels=_levels(scores)).save(folder, force=True)
    file = folder / "raters.jsonl"
    raters = [json.loads(line) for line in file.read_text().splitlines()]
    for rater in raters:
        if rater["rater"] in assisted:
            rater["assisted_by"] = assisted[rater["rater"]]
    file.write_text("".join(f"{json.dumps(rater)}\n" for rater in raters))
    return folder


def without(dataset: Dataset, *people: str) -> Dataset:
    """The dataset as if these people had not rated."""
    return with_parts(dataset, facts=dataset.ratings[~dataset.ratings["rater"].isin(people)])


def only_cell(dataset: Dataset) -> AuditCell:
    return next(cells(dataset, AuditSettings(), continuous=True))


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("assisted", "message"),
    [
        ({"anna": 3}, "assisted_by is 3"),
        ({"anna": ["gpt-4", 3]}, "assisted_by is ['gpt-4', 3]"),
        ({"anna": ""}, "assisted_by is ''"),
        ({"gpt-4": "other"}, "assisted_by of gpt-4 (LLM judge)"),
        ({"anna": "ben"}, "assisted_by of anna (person) names 'ben'"),
    ],
)
def test_bad_records_are_refused(tmp_path: Path, assisted: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=r"raters\.jsonl row") as refused:
        load_dataset(folder_with(tmp_path, assisted))
    assert message in str(refused.value)


def test_a_name_or_a_list_and_judges_of_runs_to_come(tmp_path: Path) -> None:
    dataset = load_dataset(folder_with(tmp_path, {"anna": "gpt-4", "ben": ["later", "other"]}))
    assert dataset.raters["anna"].assisted_by == ("gpt-4",)
    assert dataset.raters["ben"].assisted_by == ("later", "other")
    assert dataset.raters["carl"].assisted_by == ()
    cell = only_cell(dataset)
    assert cell.aided(["gpt-4"]) == ("anna",)
    assert cell.aided(["gpt-4", "other"]) == ("anna", "ben")


def test_a_repeat_and_a_jury_were_seen_with_their_judge(tmp_path: Path) -> None:
    dataset = load_dataset(folder_with(tmp_path, {"anna": "gpt-4"}))
    raters = dict(dataset.raters)
    raters |= {"again": Rater("again", "llm", "", {"repeats": "gpt-4"})}
    raters |= {"jury": Rater("jury", "llm", "", {"members": ["gpt-4", "other"]})}
    assert who_saw(raters, PEOPLE) == {name: {"anna"} for name in ("gpt-4", "again", "jury")}


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize("scores", [False, True])
def test_every_figure_is_as_if_they_had_not_rated(tmp_path: Path, scores: bool) -> None:
    folder = folder_with(tmp_path, {"anna": "gpt-4"}, scores=scores)
    dataset = load_dataset(folder)
    audited, fewer = metal.audit(dataset), metal.audit(without(dataset, "anna"))
    unlike = {"reason", "left_out", "signature", "p_adjusted"}
    tables = ["verdicts", *(["scores"] if scores else ["judges", "by_class", "confusion"])]
    for name in [*tables, *([] if scores else ["by_certainty"])]:
        rows, as_if = (
            run.tables[name].query("judge == 'gpt-4'").drop(columns=unlike, errors="ignore")
            for run in (audited, fewer)
        )
        assert len(rows)
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), as_if.reset_index(drop=True))
    # the other judge, and people among themselves, keep everybody
    every = metal.audit(metal.read(table(scores=scores), kinds=JUDGES, levels=_levels(scores)))
    for name, rows_of in (("verdicts", "judge == 'other'"), ("people", "people == 3")):
        rows, as_if = (
            run.tables[name].query(rows_of).drop(columns="signature").reset_index(drop=True)
            for run in (audited, every)
        )
        assert len(rows)
        pd.testing.assert_frame_equal(rows, as_if)


def _levels(scores: bool) -> str:
    return "" if scores else "0=bad,1=so,2=good"


def test_differences_between_judges_leave_out_who_saw_either(tmp_path: Path) -> None:
    dataset = load_dataset(folder_with(tmp_path, {"anna": "gpt-4", "ben": "gpt-4"}))
    audited, fewer = metal.audit(dataset), metal.audit(without(dataset, "anna", "ben"))
    columns = ["items", "difference", "difference_low", "difference_high", "p"]
    pd.testing.assert_frame_equal(
        audited.tables["differences"][columns], fewer.tables["differences"][columns]
    )


def test_counts_and_disagreements_are_beside_the_others(tmp_path: Path) -> None:
    dataset = load_dataset(folder_with(tmp_path, {"anna": "gpt-4"}))
    cell, fewer = only_cell(dataset), only_cell(without(dataset, "anna"))
    rows = pd.DataFrame(distribution_rows(cell)).query("rater == 'gpt-4' and case == 'all items'")
    as_if = pd.DataFrame(distribution_rows(fewer)).query("rater == 'gpt-4' and case == 'all items'")
    assert rows["compared"].tolist() == as_if["compared"].tolist()
    assert rows["compared_people"].tolist() == as_if["compared_people"].tolist()
    differing = disagreements([cell], dataset)["judges_differing"].to_pylist()
    truth, answers = fewer.truth, cell.by_judge("gpt-4")
    wrong = int(((truth >= 0) & (truth != answers)).sum())
    assert sum("gpt-4" in judges for judges in differing) == wrong


def test_adjudication_asks_beside_the_others(tmp_path: Path) -> None:
    dataset = load_dataset(folder_with(tmp_path, {"anna": "gpt-4"}))
    case = Case(only_cell(dataset))
    assert case.beside("gpt-4").people.shape[1] == 2
    assert case.beside("other").people.shape[1] == 3


# ---------------------------------------------------------------- in words


def test_the_reason_and_a_warning_name_and_count_them(tmp_path: Path) -> None:
    audited = metal.audit(folder_with(tmp_path, {"anna": "gpt-4"}))
    verdicts = audited.verdicts.set_index("judge")
    assert tells(
        str(verdicts.loc["gpt-4", "reason"]), "leaving out anna, who saw its answers", "120"
    )
    assert verdicts["left_out"].to_dict() == {"gpt-4": "anna", "other": ""}
    assert "verdicts on gpt-4 leave out anna, who saw its answers" in audited.warnings
    assert "who saw its answers" in audited._repr_html_()


def test_with_one_person_left_it_is_at_best_informative(tmp_path: Path) -> None:
    dataset = load_dataset(folder_with(tmp_path, {"anna": "gpt-4", "ben": "gpt-4"}))
    decided = verdict(only_cell(dataset), "gpt-4")
    assert decided.verdict == INFORMATIVE
    assert tells(decided.reason, "one person per item", "anna and ben, who saw its answers")


@pytest.mark.parametrize("scores", [False, True])
def test_with_nobody_left_it_is_undecided(tmp_path: Path, scores: bool) -> None:
    folder = folder_with(tmp_path, dict.fromkeys(PEOPLE, "gpt-4"), scores=scores)
    audited = metal.audit(folder)
    row = audited.verdicts.set_index("judge").loc["gpt-4"]
    assert row["verdict"] == UNDECIDED
    assert tells(row["reason"], "nobody", "compare it with", "360 ratings")
    assert audited._repr_html_()


def test_a_name_that_is_nearly_a_judge_is_asked_about(tmp_path: Path) -> None:
    audited = metal.audit(folder_with(tmp_path, {"anna": "gpt4"}))
    assert any("gpt4, which is no judge here" in line for line in audited.warnings)


def test_other_libraries_find_the_same_figures(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, {"anna": "gpt-4"})
    metal.audit(folder).save(tmp_path / "run")
    summary = metal.verify(tmp_path / "run").tables["summary"]
    assert summary["equal"].sum() > 20
    assert summary["differ"].sum() == 0


# ---------------------------------------------------------------- where it is not known


def test_the_audit_asks_who_looks_as_if(tmp_path: Path) -> None:
    of_folder = metal.audit(folder_with(tmp_path, {})).warnings
    assert tells(
        of_folder, "did anna see gpt-4's answers", '"assisted_by": "gpt-4"', "raters.jsonl"
    )
    of_table = metal.audit(table(), kinds=JUDGES, levels=_levels(scores=False)).warnings
    assert tells(of_table, "did anna see gpt-4's answers", "`metal import`", '"assisted_by"')
    assert sum("before rating?" in line for line in of_table) == 1


def test_who_is_known_to_have_seen_them_is_not_asked(tmp_path: Path) -> None:
    audited = metal.audit(folder_with(tmp_path, {"anna": "gpt-4"}))
    assert not any("before rating?" in line for line in audited.warnings)
