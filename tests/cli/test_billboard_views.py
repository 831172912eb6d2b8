"""`crowd` and `references` as a user meets them: 80 columns, JSON, CSV, pictures, and what cannot
be done.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner, Result

from metal.cli import metal
from metal.cli.board_views import crowd, references
from metal.cli.flags import in_flags
from metal.data.dataset import save_dataset
from metal.errors import MetalError, UsageError
from tests.billboard.boards import board
from tests.cli.test_commands import words
from tests.saying import tells

HOSTILE = "crowd\x1b[31m"
SCORES = [0, 1, 2, 1, 0, 2, 2, 0, 1, 2, 1, 0, 2, 0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    answers = {
        "quality": {
            "E1": SCORES,
            "E2": SCORES[::-1],
            "C1": [2 - one for one in SCORES],
            "judge": SCORES,
        },
        "score": {"m": [one + n / 9 for n, one in enumerate(SCORES)]},
    }
    made = board(
        {"en": answers, "sw": answers},
        references=[["text one", "text 3", "source"]],
        texts=[f"=text {n} {HOSTILE}" for n in range(14)],
        comments={("en0/a", "quality", "C1"): "=dull\x1b[2J"},
    )
    save_dataset(made, tmp_path / "board")
    return tmp_path


def run(command: click.Command, *arguments: object) -> Result:
    done = CliRunner().invoke(metal, ["billboard", str(command.name), *map(str, arguments)])
    if done.exception and not isinstance(done.exception, MetalError | SystemExit):
        raise done.exception
    return done


FAST = ("--reference", "group=expert", "--bootstrap", "100", "--permutations", "100")


def test_crowd_in_a_terminal(folder: Path) -> None:
    done = run(crowd, folder / "board", *FAST)
    assert done.stdout.startswith("Judge: judge ")
    assert "Against the people (expert): quality, all languages\n" in done.stdout
    assert "With -v also: 2 more" in done.stdout
    done = run(crowd, folder / "board", *FAST, "-v")
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in lines if not line.startswith("Signature")) <= 80
    for language in ("all languages", "English", "Swahili"):
        assert f"Against the people (expert): quality, {language}\n" in done.stdout
    assert "one person against" in done.stdout
    overview = done.stdout.partition("Judge or crowd?")[2].splitlines()
    assert overview[1].split() == ["all", "languages", "English", "Swahili"]
    assert overview[3].split()[0] == "quality"
    assert len(overview[3].split()) == 4
    assert "No crowd" not in done.stdout
    assert "crowd low, people high (quality)" in done.stdout
    assert not list(folder.glob("*.csv"))


def test_metrics_alone_have_no_bias(folder: Path) -> None:
    done = run(
        crowd,
        folder / "board",
        *FAST,
        "--raters",
        "m",
        "--languages",
        "en",
        "--figures",
        folder / "pictures",
    )
    *_, row = (line.split() for line in done.stdout.splitlines() if line.startswith("m "))
    assert row == ["m", "–", "–", "–", "14"]
    assert "No crowd to compare with: m " in words(done.stdout)
    assert "Error" not in done.stderr
    ElementTree.fromstring((folder / "pictures/crowd_quality_en.svg").read_text(encoding="utf-8"))


def test_crowd_as_json_and_files(folder: Path) -> None:
    files = ("--out", folder / "tables", "--figures", folder / "pictures")
    done = run(
        crowd,
        folder / "board",
        *FAST,
        *files,
        "--raters",
        "crowd,judge,m",
        "--languages",
        "en",
        "--json",
    )
    found = json.loads(done.stdout)
    assert found["people"] == ["E1", "E2"]
    assert [row["rater"] for row in found["crowd_raters"]] == [
        "judge",
        "m",
        "crowd",
        "one against the others",
    ]
    assert found["crowd_raters"][1]["bias"] is None
    assert len(found["crowd_comparisons"]) == 2
    assert {path.name for path in (folder / "tables").iterdir()} == {
        f"crowd_{name}.csv" for name in ("raters", "answers", "comparisons", "examples", "dots")
    }
    with (folder / "tables/crowd_examples.csv").open(encoding="utf-8", newline="") as file:
        assert all(row["output_text"].startswith("'=text") for row in csv.DictReader(file))
    (picture,) = (folder / "pictures").iterdir()
    assert picture.name == "crowd_quality_en.svg"
    ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    again = run(crowd, folder / "board", *FAST, "--out", folder / "tables")
    assert isinstance(again.exception, UsageError)
    assert run(crowd, folder / "board", *FAST, "--out", folder / "tables", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--reference", "expert", "--raters", "crowds"),
            "rater 'crowds' is not known; did you mean 'crowd'?",
        ),
        (
            ("--reference", "group=experts"),
            "group of people 'experts' is not known; did you mean 'expert'?",
        ),
        (("--out", "board"), "board is a dataset; it is not replaced. Give another --out"),
    ],
)
def test_crowd_that_cannot_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(folder)
    assert problem in in_flags(str(run(crowd, "board", *arguments).exception), crowd, metal)


def test_references_in_a_terminal(folder: Path) -> None:
    done = run(
        references, folder / "board", "--reference", "expert", "-m", "rouge-1,chrf", "--beside", "m"
    )
    assert done.stdout.startswith("rouge-1: r with people −")
    assert "English" not in done.stdout
    done = run(
        references,
        folder / "board",
        "--reference",
        "expert",
        "-m",
        "rouge-1,chrf",
        "--beside",
        "m",
        "-v",
    )
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith("Signature")) <= 80
    assert tells(done.stdout, "quality, English: agreement", "people (expert)")
    assert "from 1 to 3 references; never above m." in words(done.stdout)


def test_one_draw_has_no_spread(folder: Path) -> None:
    done = run(
        references,
        folder / "board",
        "--reference",
        "expert",
        "-m",
        "rouge-1,copy-rate",
        "--draws",
        1,
        "-v",
    )
    rows = [row.split() for row in done.stdout.splitlines() if row.endswith(" 14")]
    assert {row[-2] for row in rows} == {"–"}
    assert "copy-rate" in done.stdout
    line = run(
        references, folder / "board", "--reference", "expert", "-m", "compression", "-l", "en"
    )
    assert re.search(r"^compression +any ", line.stdout, re.MULTILINE)


def test_references_as_json_and_files(folder: Path) -> None:
    given = (folder / "board", "--reference", "expert", "-m", "rouge-1", "-l", "sw", "--most", 2)
    found = json.loads(run(references, *given, "--json", "--out", folder / "r.csv").stdout)
    assert [row["references"] for row in found["references"]] == [1, 2]
    assert found["seconds"] >= 0
    with (folder / "r.csv").open(encoding="utf-8", newline="") as file:
        assert [row["references"] for row in csv.DictReader(file)] == ["1", "2"]
    assert isinstance(run(references, *given, "--out", folder / "r.csv").exception, UsageError)
    assert run(references, *given, "--out", folder / "all").exit_code == 0
    assert {path.name for path in (folder / "all").iterdir()} == {
        "references.csv",
        "references_quality_sw.svg",
    }
    ElementTree.fromstring((folder / "all/references_quality_sw.svg").read_text(encoding="utf-8"))
