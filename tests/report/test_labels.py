"""`metal design labels` and `metal sample labels`: how many labels, and which."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.errors import DataError, UnknownName, UsageError
from metal.questions.design.labels.answer import headline
from metal.questions.design.labels.compute import Pilot
from metal.questions.design.labels.page import answer
from metal.stats.significance import t_quantile
from tests import DEMO
from tests.report.checks import Visiting, check_saved
from tests.saying import tells


def rated(
    labelled: int = 60, rho: float = 0.9, sources: int = 300, languages: tuple[str, ...] = ("en",)
) -> pd.DataFrame:
    """Scores of 0 to 100 by two people on the first sources, in no order, and by a lenient judge on
    all.
    """
    rng, rows = np.random.default_rng(3), []
    for language in languages:
        quality = np.clip(50 + 18 * rng.normal(size=sources), 0, 100)
        noise = 18 * math.sqrt(1 / rho**2 - 1) * rng.normal(size=sources)
        for place in range(sources):
            where = {"source": f"{language}{place}", "generator": "g<b>", "language": language}
            judge = float(np.clip(quality[place] + noise[place] + 8, 0, 100))
            rows.append({**where, "rater": "gpt-4", "score": round(judge, 1)})
            if place < labelled:
                rows += [
                    {**where, "rater": f"A{person}", "score": round(quality[place], 1)}
                    for person in (1, 2)
                ]
    return pd.DataFrame(rows)


def read(frame: pd.DataFrame) -> metal.Dataset:
    return metal.read(frame, ranges={"*": "0-100"})


def test_sizes_by_hand() -> None:
    """sd .2, rho .8, a label 1 USD, the judge .01 a source: label sqrt(.01 x .36 / .64) = .075 of
    the sources.

    The variance of n labels is .04 / n (1 - .64 (1 - .075)) = .04 / n x .408.
    """
    pilot = Pilot(0.2, 0.85, 0.8, 500, 1.0, 0.01)
    assert pilot.share == pytest.approx(0.075)
    assert pilot.variance(100) == pytest.approx(0.0004 * 0.408)
    assert pilot.pays  # .64 is above 4 x .01 / 1.01^2 = .039
    assert not Pilot(0.2, 0.3, 0.19, 500, 1.0, 0.01).pays
    needed = pilot.labels_for(0.02)
    for labels, enough in ((needed, True), (needed - 1, False)):
        half = t_quantile(0.975, labels - 2) * math.sqrt(0.04 / labels * 0.408)
        assert (half <= 0.02) == enough
    assert pilot.alone().labels_for(0.02) > 2 * needed
    paid = Pilot(0.2, 0.85, 0.8, 500, 1.0, 0.0)  # 100 of 500: .04 / 100 x (1 - .64 x .8)
    assert paid.variance(100) == pytest.approx(0.0004 * 0.488)


@pytest.mark.slow
def test_the_plan_holds(tmp_path: Path, visit: Visiting) -> None:
    made = metal.design_labels(read(rated(rho=0.9)), half_width=0.04)
    (row,) = made.tables["labels"].to_dict("records")
    assert row["rho"] == pytest.approx(0.9, abs=0.05)
    low = math.tanh(math.atanh(row["rho"]) - 0.8416 / math.sqrt(60 - 3))
    assert row["rho_low"] == pytest.approx(low, abs=1e-4)
    assert row["saved_at_most"] == pytest.approx(1 / (1 - row["rho"] ** 2))
    assert row["pays"]
    assert 20 <= row["labels"] < 0.6 * row["labels_alone"]
    assert row["half_width"] <= 0.04
    assert "labels with" in check_saved(visit, made, tmp_path / "run", "overview", "methods")


def test_a_judge_that_does_not_pay() -> None:
    frame = rated()
    frame.loc[frame["rater"] == "gpt-4", "score"] = 70.0
    plan = metal.design_labels(read(frame), half_width=0.04)
    (row,) = plan.tables["labels"].to_dict("records")
    assert not row["pays"]
    assert row["labels"] == row["labels_alone"]
    assert "does not pay" in plan.report()


def test_a_budget_goes_where_labels_vary_most() -> None:
    frame = rated(languages=("en", "hi"), rho=0.9)
    calm = frame["language"] == "hi"
    frame.loc[calm, "score"] = 50 + (frame.loc[calm, "score"] - 50) / 3
    plan = metal.design_labels(read(frame), budget=100.0, pay=0.25, fee=0.0, judge_price=0.001)
    table = plan.tables["labels"].set_index("language")
    assert table.loc["en", "labels"] == pytest.approx(3 * table.loc["hi", "labels"], rel=0.15)
    assert 95 < table["usd"].sum() <= 100
    assert (table["sources"] > table["labels"]).all()


def test_languages_that_cannot_be_planned_are_counted() -> None:
    frame = rated(languages=("en", "hi", "ta"), rho=0.9)
    calm = frame["language"] != "en"
    frame.loc[calm, "score"] = 50 + (frame.loc[calm, "score"] - 50) / 3
    plan = metal.design_labels(read(frame), half_width=0.007)
    assert headline(plan).startswith(
        "Means on ratings in 2 of 3 languages within 0.007 of the scale take "
    )
    assert any(note.endswith("there are 300 sources (English)") for note in answer(plan).notes)


def test_what_cannot_be_planned_says_why() -> None:
    (why,) = metal.design_labels(read(rated(labelled=6))).tables["labels"]["undefined"]
    assert tells(why, "6 sources", "10 needed")
    (why,) = metal.design_labels(read(rated(rho=0.9)), half_width=0.005).tables["labels"][
        "undefined"
    ]
    assert tells(why, "without a judge", "there are 300 sources")
    for options, words in (
        ({"half_width": 0.7}, "above 0 and below 0.5"),
        ({"budget": 10.0}, "need `pay`"),
        ({"budget": -1.0}, "above 0"),
    ):
        with pytest.raises(UsageError, match=words):
            metal.design_labels(read(rated()), **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no human raters"):
        metal.design_labels(read(rated(labelled=0)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset with two languages."""
    frame = rated(languages=("en", "hi"), sources=100, labelled=0)
    read(frame.assign(text="Words.")).save(tmp_path / "data")
    return tmp_path / "data"


def test_equal_probabilities(folder: Path) -> None:
    drawn = metal.sample_labels(folder, labels=25)
    assert (
        drawn.table[["sources", "drawn", "probability"]].to_numpy().tolist()
        == [[100, 25, 0.25]] * 2
    )
    records = [json.loads(line) for line in drawn.file.read_text().splitlines()]
    assert len({record["source"] for record in records}) == 50
    assert {record["probability"] for record in records} == {0.25}
    first = {record["source"] for record in records}
    metal.sample_labels(folder, labels=40)
    assert first < {json.loads(line)["source"] for line in drawn.file.read_text().splitlines()}
    before = drawn.file.read_bytes()
    with pytest.raises(UsageError, match="keep `seed`"):
        metal.sample_labels(folder, labels=30)
    with pytest.raises(UsageError, match="earlier sources"):
        metal.sample_labels(folder, labels=40, seed=1)
    assert drawn.file.read_bytes() == before
    metal.sample_labels(folder, labels=60, languages="hi")
    languages = [json.loads(line)["language"] for line in drawn.file.read_text().splitlines()]
    assert [languages.count(code) for code in ("en", "hi")] == [40, 60]
    (warning,) = metal.sample_labels(folder, labels=100_000).warnings
    assert re.fullmatch(r"fewer than 100,000 .* all are drawn: .* \d+", warning)


def test_rare_scores_are_drawn_more_often_and_count_less(folder: Path) -> None:
    drawn = metal.sample_labels(folder, labels=40, judge="gpt-4", languages="en")
    assert drawn.table["drawn"].tolist() == [8] * 5
    ends = drawn.table[["judge_from", "judge_to"]].to_numpy().ravel()
    assert (np.diff(ends) >= 0).all()
    chosen = {
        entry["source"]: entry["probability"]
        for entry in map(json.loads, drawn.file.read_text().splitlines())
    }
    frame = rated(languages=("en", "hi"), sources=100, labelled=100)
    people = frame[frame["rater"] != "gpt-4"]
    data = metal.read(folder)
    kept = people[people["source"].isin([*list(chosen)[:-2], "en99"])]
    both = pd.concat([frame[frame["rater"] == "gpt-4"], kept]).assign(text="Words.")
    read(both).save(folder, force=True)
    assert data.languages == ("en", "hi")
    metal.sample_labels(folder, labels=40, judge="gpt-4", languages="en", force=True)
    made = metal.correct(folder, languages="en")
    (row,) = made.tables["corrected"].to_dict("records")
    truth = people[people["language"] == "en"]["score"].mean() / 100
    assert row["corrected_low"] <= truth <= row["corrected_high"]
    assert made.manifest["settings"]["labelled"] == "drawn"
    assert any("2 of 40 drawn sources" in warning for warning in made.warnings)
    assert "drawn@" in made.signature


def test_only_drawn_sources_are_handed_out(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(DEMO, folder)
    with pytest.raises(UsageError, match="no drawn sources"):
        metal.annotate_export(folder, to="csv", drawn=True, out=tmp_path / "none")
    metal.sample_labels(folder, labels=2, languages=("en", "hi"))
    made = metal.annotate_export(folder, to="csv", drawn=True, raters=1, out=tmp_path / "sheets")
    drawn = {
        json.loads(line)["source"]
        for line in (folder / "annotation" / "drawn.jsonl").read_text().splitlines()
    }
    outputs = {
        output.output for output in metal.read(folder).outputs.values() if output.source in drawn
    }
    handed = {task.output for assignment in made.assignments for task in assignment.tasks}
    assert len(drawn) == 4
    assert handed
    assert handed <= outputs
    assert {metal.read(folder).outputs[output].source for output in handed} == drawn
    with pytest.raises(UsageError, match="both choose sources"):
        metal.annotate_export(folder, to="csv", drawn=True, sample=3, out=tmp_path / "both")


def test_what_cannot_be_drawn_says_why(folder: Path) -> None:
    with pytest.raises(UnknownName, match="gpt-5"):
        metal.sample_labels(folder, labels=10, judge="gpt-5")
    with pytest.raises(UsageError, match=r"`labels` 0:.*1 or more"):
        metal.sample_labels(folder, labels=0)
    drawn = metal.sample_labels(folder, labels=10)
    drawn.file.write_text(drawn.file.read_text().replace("0.1", "1.5"))
    with pytest.raises(DataError, match=r"probability 1\.5"):
        metal.correct(folder)
