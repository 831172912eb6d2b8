"""What a user meets who mistypes a verb, a file, a language or a format: the one that was meant."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from metal.data.missing import nearest_path
from tests.cli.runs import InProcess
from tests.saying import tells

RATINGS = [
    f"text {number},English,{number % 3 + 1},{number % 2 + 1},{number % 3 + 1}"
    for number in range(12)
]
WIDE = "\n".join(["text,language,rater_1,rater_2,gpt_4o", *RATINGS, ""])


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> InProcess:
    """`metal` in a folder with the table wide.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["metal"])
    (tmp_path / "wide.csv").write_text(WIDE, encoding="utf-8")
    return InProcess(tmp_path, capsys)


@pytest.mark.parametrize(
    ("word", "verb"),
    [
        ("adit", "audit"),
        ("chek", "check"),
        ("judg", "judge"),
        ("Audit", "audit"),
        ("list", "ls"),
    ],
)
def test_a_mistyped_verb_names_the_one_that_was_meant(
    typed: InProcess, word: str, verb: str
) -> None:
    assert f"Did you mean '{verb}'" in typed.refused(word, "wide.csv")


def test_a_word_that_is_like_no_verb_gets_no_suggestion(typed: InProcess) -> None:
    assert typed.refused("zzz") == "No such command 'zzz'."


def test_a_table_in_the_place_of_a_verb_is_to_be_audited(typed: InProcess) -> None:
    assert "did you mean `metal audit wide.csv --json`?" in typed.refused("wide.csv", "--json")
    assert "did you mean `metal audit wide.csv`?" in typed.refused("wdie.csv")
    assert "did you mean `metal audit other.xlsx`?" in typed.refused("other.xlsx")


def test_a_dataset_in_the_place_of_a_verb_gets_the_verb_that_fits(typed: InProcess) -> None:
    typed("import", "wide.csv", "--out", "datasets/mine")
    typed("import", "wide.csv", "--kinds", "gpt_4o=human", "--out", "people")
    typed("import", "wide.csv", "--kinds", "*=llm", "--out", "scored")
    assert "did you mean `metal audit datasets/mine`?" in typed.refused("datasets/mine")
    assert "did you mean `metal judge people --judge openai:gpt-4o`?" in typed.refused("people")
    assert "did you mean `metal check scored`?" in typed.refused("scored")


def test_a_run_in_the_place_of_a_verb_gets_the_verb_that_fits(typed: InProcess) -> None:
    typed("audit", "wide.csv", "--out", "runs/audited")
    typed("import", "wide.csv", "--out", "mine")
    typed("judge", "mine", "--judge", "random", "--out", "runs/asked")
    assert "did you mean `metal report runs/audited --open`?" in typed.refused("runs/audited")
    assert "did you mean `metal audit mine runs/asked`?" in typed.refused("runs/asked")


def test_a_mistyped_file_names_the_one_that_is_there(typed: InProcess) -> None:
    typed("import", "wide.csv", "--out", "datasets/mine")
    assert typed.refused("audit", "wdie.csv").endswith(
        "wdie.csv: no such file or folder; did you mean 'wide.csv'?"
    )
    assert "did you mean 'datasets/mine'?" in typed.refused("audit", "datsets/mien")
    assert "did you mean 'datasets/mine'?" in typed.refused("audit", "mine")
    assert "did you mean 'datasets/mine'?" in typed.refused(
        "annotate", "export", "datasets/mina", "--to", "html"
    )
    assert "did you mean" not in typed.refused("audit", "nope.csv")
    typed("audit", "wide.csv", "--out", "runs/wide")
    assert "; did you mean 'runs/wide'?" in typed.refused("audit", "rusn/wide")


@pytest.mark.parametrize("verb", [["audit"], ["judge", "-j", "majority"]], ids=["audit", "judge"])
def test_a_dataset_of_the_documents_in_a_fresh_environment_is_copied_first(
    typed: InProcess, verb: list[str]
) -> None:
    said = typed.refused(*verb, "datasets/demo")
    what, _, command = said.partition(", so copy it first: ")
    assert what.endswith("datasets/demo: no such file or folder; it comes with METAL")
    subprocess.run(command, shell=True, check=True)
    typed(*verb, "datasets/demo", "-c", "task_quality", "-l", "en")
    assert "comes with METAL" not in typed.refused(*verb, "datasets/nope")


def test_the_nearest_name_has_the_same_ending_where_two_are_as_near(tmp_path: Path) -> None:
    for name in ("ratings.csv", "ratings.xlsx", "other.csv"):
        (tmp_path / name).touch()
    assert nearest_path(tmp_path / "ratngs.xlsx") == tmp_path / "ratings.xlsx"
    assert nearest_path(tmp_path / "ratngs.csv") == tmp_path / "ratings.csv"
    assert nearest_path(tmp_path / "ratings.tsv") == tmp_path / "ratings.csv"
    assert nearest_path(tmp_path / "none") is None


def test_a_misspelt_language_names_the_one_that_was_meant(typed: InProcess) -> None:
    Path("spelt.csv").write_text(WIDE.replace("English", "Enlgish"), encoding="utf-8")
    meant = "Did you mean 'en' (English)?"
    assert "spelt.csv row 2: language 'Enlgish' is not known. " + meant in typed.refused(
        "audit", "spelt.csv"
    )
    refused = typed.refused("import", "wide.csv", "--language", "Enlgish", "--out", "mine")
    assert refused == f"`language`: language 'Enlgish' is not known. {meant}"
    asked = typed.refused("audit", "wide.csv", "--languages", "Enlgish")
    assert asked == "language 'Enlgish' is not known; did you mean 'en' (English)?"
    named = typed.refused("audit", "wide.csv", "--languages", "English")
    assert named == "language 'English' is not known; did you mean 'en' (English)?"
    assert typed.refused("audit", "wide.csv", "--languages", "de").endswith("; known: en (English)")


def test_import_csv_says_that_tables_need_no_format(typed: InProcess) -> None:
    for words in (
        ["csv", "wide.csv"],
        ["wide.csv", "csv"],
        ["Excel", "wide.csv"],
        ["wide.csv", "wide.csv"],
    ):
        message = typed.refused("import", *words, "--out", "mine")
        assert tells(message, "is not known", "path of one table")


def test_a_table_where_a_folder_is_wanted_is_not_called_missing(typed: InProcess) -> None:
    assert typed.refused("report", "wide.csv").startswith(
        "wide.csv: a file, not a run folder (make one with"
    )
    assert typed.refused("annotate", "export", "wide.csv", "--to", "html").startswith(
        "wide.csv: a file, not a dataset"
    )
    assert "metal import wide.csv" in typed.refused("check", "wide.csv", "wide.csv")


def test_data_in_the_place_of_a_groups_command_name_the_commands(typed: InProcess) -> None:
    assert typed.refused("probe", "wide.csv").endswith(
        "'wide.csv'; write one of: metal probe plan, metal probe report, metal probe run"
    )
    assert "Did you mean 'report'?" in typed.refused("probe", "reprt")


def test_a_mistyped_command_in_the_place_of_a_gate_is_named(typed: InProcess) -> None:
    assert "initt: no such file or folder. Did you mean" in typed.refused("gate", "initt", "a", "b")


def test_help_and_version_are_options(typed: InProcess) -> None:
    assert "Did you mean '--help'?" in typed.refused("help")
    assert "Did you mean '--version'?" in typed.refused("version")


def test_a_mistyped_file_of_answers_names_the_one_that_is_there(typed: InProcess) -> None:
    typed("import", "wide.csv", "--out", "mine")
    (typed.folder / "ratings.csv").write_text("task,rater\n", encoding="utf-8")
    assert "ratngs.csv: no such file; did you mean 'ratings.csv'?" in typed.refused(
        "annotate", "import", "mine", "ratngs.csv"
    )
    assert "mine: a folder, not a file" in typed.refused("annotate", "import", "mine", "mine")
    refused = typed.refused("import", "mqm-errors", os.devnull)
    assert tells(refused, "a pipe or a device", "not a file")
