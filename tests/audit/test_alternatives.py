"""Answers of people that have others beside them: which of them counts, and where."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.api.annotate import annotate_export, annotate_import
from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Card, Dataset, assemble, load_dataset, save_dataset
from metal.data.ratings import ALSO, facts_from, facts_in
from metal.data.records import Output, Rater, Rating, Source
from metal.errors import DataError, UsageError
from tests.cli.filling import filled
from tests.conftest import TASK_QUALITY, MakeDataset
from tests.saying import tells

BAD, MEDIUM, GOOD = range(3)


def dataset_of(rows: list[dict[str, tuple[int, str]]]) -> Dataset:
    """rows: rater -> (score, also) of each output; people are called A..."""
    sources = [Source(f"s{number}", "en", "text") for number in range(len(rows))]
    outputs = [Output(f"o{number}", f"s{number}", "g", "en", "x") for number in range(len(rows))]
    names = sorted({rater for row in rows for rater in row})
    raters = [Rater(name, "human" if name.startswith("A") else "llm") for name in names]
    ratings = [
        Rating(f"o{number}", TASK_QUALITY.name, rater, score, also=also)
        for number, row in enumerate(rows)
        for rater, (score, also) in row.items()
    ]
    return assemble(Card("mine"), [TASK_QUALITY], sources, outputs, raters, facts_from(ratings))


def cell_of(rows: list[dict[str, tuple[int, str]]]) -> AuditCell:
    [cell] = cells(dataset_of(rows), AuditSettings())
    return cell


def test_the_answer_is_what_most_others_gave_of_the_set() -> None:
    cell = cell_of(
        [
            {"A1": (GOOD, "1"), "A2": (MEDIUM, ""), "A3": (MEDIUM, ""), "j": (GOOD, "")},
            {"A1": (GOOD, "1"), "A2": (MEDIUM, ""), "A3": (BAD, ""), "j": (GOOD, "")},
            {"A1": (GOOD, "1"), "A2": (MEDIUM, ""), "A3": (GOOD, ""), "j": (MEDIUM, "")},
            {"A1": (GOOD, "1"), "A2": (BAD, ""), "A3": (BAD, ""), "j": (MEDIUM, "")},
            {"A1": (GOOD, "0|1"), "A2": (BAD, ""), "A3": (BAD, ""), "j": (MEDIUM, "")},
        ]
    )
    assert cell.by_people[:, 0].tolist() == [MEDIUM, MEDIUM, GOOD, GOOD, BAD]
    # the judge is one of the others: equal numbers leave the own answer, as in row 1
    seen = cell.seen_by("j")
    assert seen.by_people[:, 0].tolist() == [MEDIUM, GOOD, MEDIUM, MEDIUM, BAD]
    assert seen.by_judge("j").tolist() == [GOOD, GOOD, MEDIUM, MEDIUM, MEDIUM]
    assert (seen.by_people[:, 1:] == cell.by_people[:, 1:]).all()


def worlds(seed: int = 0) -> tuple[Dataset, Dataset]:
    """Two people and a judge that choose Medium or Good at random where both would do; with and
    without the people saying so.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(120):
        both, truth = rng.random() < 0.5, int(rng.integers(0, 3))
        row = {}
        for rater in ("A1", "A2", "j"):
            own = int(rng.choice([MEDIUM, GOOD])) if both else truth
            other = str(GOOD if own == MEDIUM else MEDIUM)
            row[rater] = (own, other if both and rater != "j" else "")
        rows.append(row)
    stripped = [{rater: (own, "") for rater, (own, _) in row.items()} for row in rows]
    return dataset_of(rows), dataset_of(stripped)


def test_agreement_counts_an_answer_inside_the_set() -> None:
    said, unsaid = (metal.audit(world, resamples=100) for world in worlds())
    alpha = [run.tables["people"]["alpha"].item() for run in (said, unsaid)]
    assert alpha[0] > 0.95 > 0.8 > alpha[1]
    of_judge = [run.verdicts.set_index("judge").loc["j"] for run in (said, unsaid)]
    assert [row["verdict"] for row in of_judge] == ["like a person"] * 2
    assert of_judge[0]["above_constant"] > of_judge[1]["above_constant"] + 0.1


def test_no_set_changes_nothing(make_dataset: MakeDataset) -> None:
    [cell] = cells(make_dataset({"en": {"A1": [0, 1], "A2": [0, 2], "j": [1, 1]}}), AuditSettings())
    assert cell.alternatives is None
    assert cell.seen_by("j") is cell


def test_a_set_without_an_answer_is_left_out() -> None:
    dataset = dataset_of([{"A1": (GOOD, "1"), "A2": (BAD, "")}])
    ratings = dataset.ratings.assign(score=[math.nan, 0.0])
    [cell] = cells(replace(dataset, ratings=ratings), AuditSettings())
    assert cell.by_people.tolist() == [[-1, BAD]]


def test_a_set_is_kept_on_disk_and_checked(tmp_path: Path) -> None:
    dataset = dataset_of([{"A1": (GOOD, "1"), "A2": (BAD, "")}])
    save_dataset(dataset, tmp_path / "d")
    again = load_dataset(tmp_path / "d")
    assert again.ratings[ALSO].tolist() == ["1", ""]
    assert again.digest == dataset.digest
    facts = again.ratings.loc[:, facts_in(again.ratings)]
    (tmp_path / "d" / "ratings.parquet").unlink()
    for name, write in (("csv", facts.to_csv), ("jsonl", None)):
        path = tmp_path / "d" / f"ratings.{name}"
        if write:
            write(path, index=False)
        else:
            facts.to_json(path, orient="records", lines=True)
        assert load_dataset(tmp_path / "d").digest == dataset.digest
        path.unlink()
    facts.assign(also=["7", ""]).to_csv(tmp_path / "d" / "ratings.csv", index=False)
    with pytest.raises(DataError) as refused:
        load_dataset(tmp_path / "d")
    assert tells(str(refused.value), "row 2", "'7'", "task_quality", "0|2")


def test_a_form_asks_what_else_would_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bare = dataset_of([{"A1": (GOOD, "")}, {"A1": (BAD, "")}])
    save_dataset(replace(bare, ratings=bare.ratings.iloc[:0], raters={}), tmp_path / "mine")
    handed_out = annotate_export(tmp_path / "mine", to="csv", raters=1, also=True, out="out")
    own = {"task_quality": "Good", "task_quality_also": "Medium"}
    files = filled("csv", handed_out.out, tmp_path / "back", lambda rater, task: own)
    for same in (0, 2):
        report = annotate_import(tmp_path / "mine", files)
        assert report.answers.same == same
        ratings = load_dataset(tmp_path / "mine").ratings
        assert ratings["score"].tolist() == [GOOD, GOOD]
        assert ratings[ALSO].tolist() == ["1", "1"]
    assert not report.answers.unanswered
    with pytest.raises(UsageError, match="single outputs"):
        annotate_export(tmp_path / "mine", template="summarization", also=True, add_criteria=True)
    plain = annotate_export(tmp_path / "mine", to="csv", raters=1, out="plain")
    assert "task_quality_also" not in pd.read_csv(next(plain.out.glob("*.csv"))).columns


def test_a_table_may_say_what_else_would_do(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["id,annotator,rating,also", "a,A1,Good,bad|Medium|Medium", "a,A2,Medium,", "b,A1,Bad,1"]
    path.write_text("\n".join([*rows, "b,A2,Bad,"]), encoding="utf-8")
    levels = {"overall": {0: "Bad", 1: "Medium", 2: "Good"}}
    ratings = metal.read(path, levels=levels).ratings
    also = dict(
        zip(zip(ratings["output"], ratings["rater"], strict=True), ratings["also"], strict=True)
    )
    assert also == {("a", "A1"): "0|1", ("a", "A2"): "", ("b", "A1"): "1", ("b", "A2"): ""}
    exported = tmp_path / "out.csv"
    metal.export(path, to="csv", out=exported, levels=levels)
    again = metal.read(exported, levels=levels).ratings
    assert [*again["also"]] == [*ratings["also"]]
    path.write_text("\n".join([*rows, "b,A2,Bad,Awful"]), encoding="utf-8")
    with pytest.raises(DataError) as error:
        metal.read(path, levels=levels)
    assert tells(str(error.value), "row 5", "'Awful' is not a level")
