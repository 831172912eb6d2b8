"""`metal billboard` as a user meets it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Output, Rater, Rating, Source
from tests.cli.test_commands import metal, words
from tests.conftest import TASK_QUALITY
from tests.saying import tells


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset in two languages: three people, a metric that follows them, one that does
    not, a judge.
    """
    made = tmp_path_factory.mktemp("billboard")
    sources = [Source(f"{code}{at}", code) for code in ("hi", "sw") for at in range(12)]
    outputs = [
        Output(f"{s.source}/{g}", s.source, g, s.language) for s in sources for g in ("a", "b", "c")
    ]
    ratings = []
    for at, output in enumerate(outputs):
        quality = (at * 7 + at // 5) % 3
        ratings += [
            Rating(output.output, "task_quality", f"A{k}", (quality + (at + k == 9)) % 3)
            for k in range(3)
        ]
        ratings += [
            Rating(output.output, "task_quality", "gpt-x", quality if at % 4 else 2 - quality)
        ]
        ratings += [
            Rating(output.output, "score", "follows", quality + math.sin(at) / 3),
            Rating(output.output, "score", "wanders", math.sin(5 * at)),
            Rating(output.output, "score", "constant", 1.0),
        ]
    raters = [Rater(f"A{k}", "human", "native") for k in range(3)] + [Rater("gpt-x", "llm", "gpt")]
    raters += [Rater(name, "metric", "metric") for name in ("follows", "wanders", "constant")]
    dataset = assemble(
        Card("small"), [TASK_QUALITY, METRIC_SCORE], sources, outputs, raters, facts_from(ratings)
    )
    save_dataset(dataset, made / "small")
    return made


def board(folder: Path, *arguments: str) -> str:
    return metal(
        "billboard",
        "small",
        "--bootstrap",
        "200",
        "--permutations",
        "200",
        "-v",
        *arguments,
        cwd=folder,
    ).out


def test_raters_are_ranked_and_what_is_undefined_is_said(folder: Path) -> None:
    said = board(folder, "--out", "ranked")
    lines = said.splitlines()
    assert all(
        len(line) <= 80 for line in lines if not line.startswith(("Signature", "Written", "Report"))
    )
    places = [
        next(at for at, line in enumerate(lines) if name in line)
        for name in ("follows", "gpt-x", "wanders")
    ]
    assert places == sorted(places)
    assert "– r with people, rho, tau: constant scores (constant)" in words(said)
    assert "reaches r 0.9" in words(said)
    table = pd.read_csv(folder / "ranked" / "tables" / "raters.csv", keep_default_na=False)
    assert set(table["language"]) == {"", "hi", "sw"}
    assert set(table.loc[table["rater"] == "constant", "pearson"]) == {""}
    # more than one language: shown without being asked
    assert "r by language: task_quality" in said


@pytest.mark.slow
def test_an_audits_run_folder_is_taken_for_the_runs_it_added(folder: Path) -> None:
    metal("judge", "small", "--judge", "random,majority", "--out", "baselines", cwd=folder)
    metal("audit", "small", "baselines", "--out", "audited", "--bootstrap", "100", cwd=folder)
    said = json.loads(board(folder, "audited", "--out", "with-audit", "--json"))
    raters = {row["rater"]: row for row in said["raters"] if row["language"] == ""}
    assert {"random", "majority", "gpt-x", "follows"} <= set(raters)
    # with two languages, `majority` says in each what is most frequent in the other
    assert raters["random"]["kind"] == "baseline"
    alone = metal("audit", "small", "--out", "alone", "--bootstrap", "100", cwd=folder)
    assert alone.code == 0
    assert "random" not in board(folder, "alone", "--out", "with-none")


def test_slices_can_be_asked_for(folder: Path) -> None:
    said = board(folder, "--by", "generator", "--by", "criterion", "--out", "sliced", "-l", "hi")
    assert tells(said, "r within each generator:", "task_quality")
    assert "By criterion: there is only one." in said
    assert "r by language" not in said  # one language


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reference", "group=nobody"], "group of people 'nobody' is not known; did you mean"),
        (["--family", "a"], "--families 'a': write NAME=VALUE"),
        (["--members", "robot"], "--members 'robot': use one of"),
        (["--at", "7"], "has versions 1 to 1"),
        (["--alpha", "-1"], "'--alpha': -1.0 is not in the range x>0"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(folder: Path, arguments: list[str], message: str) -> None:
    done = metal("billboard", "small", "--out", "never", *arguments, cwd=folder, expect=2)
    assert message.partition(" did you")[0] in words(done.err)
    assert not (folder / "never").exists()


def test_what_can_be_scored_stands_a_line_each(tmp_path: Path) -> None:
    lines = metal("billboard", "apply", "--help", cwd=tmp_path).out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("    a ")] == [
        "table",
        "folder",
        "table",
    ]
