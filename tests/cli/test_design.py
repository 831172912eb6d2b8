"""`metal design` and `metal report` of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from metal.data.dataset import save_dataset
from metal.errors import DataError
from metal.questions.design.run import measured_seconds
from tests.cli.small_board import Commands
from tests.planning.studies import BINARY, LIKERT, study
from tests.saying import tells

NAMES = ("costs", "curves", "designs", "needs", "populations", "raters")
QUICK = (
    "--rounds",
    "100",
    "--power",
    "0.3",
    "--width",
    "0.3",
    "--margin",
    "0.3",
    "--keep",
    "0.3",
    "-v",
)


@pytest.fixture
def metal(commands: Commands) -> Commands:
    """`metal` in a folder with the datasets `many` and `one` (person)."""
    save_dataset(
        study(sources=16, languages=("hi", "ta"), criteria={"fluency": LIKERT, "seen": BINARY}),
        Path("many"),
    )
    save_dataset(study(sources=10, people=("A",)), Path("one"))
    return commands


def test_it_prints_and_writes_what_it_found(metal: Commands) -> None:
    said = metal(
        "design", "many", "-l", "hi", "--pay", "0.1", "--seconds", "60", "--out", "run", *QUICK
    )
    for words in (
        "at one budget",
        "populations of raters",
        "by people per item",
        "found like a person",
        "informative or better",
        "narrower than 0.3",
        "for all of these",
        "$6.00 an hour, below $15.",
        "Hindi: 16 different inputs",
        "cannot show well",
        "Written to run",
    ):
        assert words in said
    tables = sorted(file.name for file in Path("run/tables").iterdir())
    assert tables == [f"{name}.{ending}" for name in NAMES for ending in ("csv", "json", "parquet")]
    needs = pd.read_csv("run/tables/needs.csv")
    assert (needs["items_needed"].isna() == needs["undefined"].notna()).all()
    assert "Report: run/report.html" in metal("report", "run")


def test_verdicts_are_simulated_on_request(metal: Commands) -> None:
    first = metal("design", "many", "-l", "hi", "-c", "seen", "--out", "first", *QUICK)
    assert tells(first, "`--thorough`", "80% interval")
    assert (
        "±" not in first.partition("found like a person")[2].partition("What a language needs")[0]
    )
    simulated = metal(
        "design", "many", "-l", "hi", "-c", "seen", "--thorough", "--out", "simulated", *QUICK
    )
    assert tells(simulated, "Monte Carlo error", "80% interval")
    assert not len(pd.read_parquet("first/tables/curves.parquet"))
    assert len(pd.read_parquet("simulated/tables/curves.parquet"))


def test_a_study_of_version_0_1_opens(metal: Commands) -> None:
    """Its verdicts have the old word, its numbers no interval, and its settings do not say how they
    were found.
    """
    metal("design", "many", "-l", "hi", "-c", "seen", "--thorough", "--out", "run", *QUICK)
    for name in ("needs", "curves", "costs"):
        file = Path(f"run/tables/{name}.parquet")
        rows = pd.read_parquet(file).drop(columns=["items_low", "items_high"], errors="ignore")
        rows["question"] = rows["question"].replace("like a person", "as good as a person")
        rows.to_parquet(file)
    settings = Path("run/run.toml")
    settings.write_text(settings.read_text().replace("thorough = true\n", ""))
    assert "Report: run/report.html" in metal("report", "run")
    page = Path("run/report.html").read_text()
    assert "power of 30%" in page
    assert tells(page, "multiple of the existing")
    assert "as good as a person" not in page


def test_lines_fit_a_terminal(metal: Commands) -> None:
    options = ("--out", "run", "-l", "hi", "-c", "seen", "--pay", "0.1", "--seconds", "60", *QUICK)
    lines = metal.printed("design", "many", *options).splitlines()
    long = [line for line in lines if len(line) > 80]
    assert [line.split(":")[0] for line in long] == ["Signature"]


def test_json(metal: Commands) -> None:
    whole = metal.json("design", "one", "--out", "run", *QUICK)
    assert set(whole) == {"headline", "signature", "run", "warnings", *NAMES}
    multi = [row for row in whole["designs"] if row["labelling"] == "multilabelling"]
    assert {row["sd"] for row in multi} == {None}


def test_seconds_that_forms_measured(metal: Commands) -> None:
    folder = Path("one/annotation")
    folder.mkdir()
    answers = [{"seconds": 30}, {"seconds": 90.0}, {"scores": {}}, {"seconds": 600}]
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    assert measured_seconds(Path("one")) == 90.0
    said = metal("design", "one", "--pay", "0.5", "--out", "run", *QUICK)
    assert "$20.00 an hour" in said
    assert tells(said, "one label", "nothing to combine")
    (folder / "answers.jsonl").write_text('{"seconds": 30}\n{"seconds": "long"}\n')
    with pytest.raises(DataError, match=r"answers\.jsonl row 2: seconds 'long'\. Write a number"):
        measured_seconds(Path("one"))
    assert measured_seconds(Path("many")) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--width", "0"), "'--width': 0.0 is not in the range 0<x<1"),
        (("--power", "1"), "'--power': 1.0 is not in the range 0<x<1"),
        (("-k", "1,two"), "are not whole numbers"),
        (("-k", "0"), "--raters 0: use a whole"),
        (("--pay", "0"), "'--pay': 0.0 is not in the range x>0"),
        (("--test-share", "1"), "--test-share 1: use 0 to below 1"),
        (("--by", "day"), r"--by day: not every person.*raters\.jsonl"),
        (("--rounds", "3"), "'--rounds': 3 is not in the range x>=100"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    metal: Commands, options: tuple[str, ...], message: str
) -> None:
    assert re.search(message, metal.refused("design", "many", "--out", "run", *options))
    assert not Path("run").exists()
