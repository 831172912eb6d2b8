"""`metal billboard apply`, and how `metal billboard` and its verbs are told apart."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest

from metal.boards.store import kept_settings, open_board, stored_ensembles
from metal.cli import metal as command
from tests.cli.small_board import LENGTH, QUICK_OPTIONS, Commands, reference_of, texts_of
from tests.saying import tells

FITTED = ("--members", "metric", "--nonzero", "3", "-c", "fluency", *QUICK_OPTIONS)


@pytest.fixture(scope="module")
def fitted_board(board_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `small`, an ensemble of all metrics that can be run, and `length`; the others
    are not in it.
    """
    folder = tmp_path_factory.mktemp("fitted")
    shutil.copytree(board_template, folder / "small")
    (folder / "length.py").write_text(LENGTH, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        command.main(
            ["submit", "metric", "small", "length.py", "--name", "length"], standalone_mode=False
        )
        raters = ["--raters", "chrf,rouge-1,ter"]
        command.main(
            ["billboard", "small", "--out", "run", *FITTED, *raters], standalone_mode=False
        )
    return folder


@pytest.fixture
def fitted(small: Commands, fitted_board: Path) -> Commands:
    """`metal` in a copy of that folder."""
    shutil.rmtree(small.board)
    shutil.copytree(fitted_board, small.folder, dirs_exist_ok=True)
    return small


def ensemble(small: Commands, place: int = -1) -> dict[str, Any]:
    found = [one for one in stored_ensembles(small.board) if "+language.all+" in one["ensemble"]]
    return dict(found[place])


def applied(small: Commands, *arguments: object) -> dict[str, float | str]:
    """The score of each output, or the reason why there is none."""
    small.capture.readouterr()
    command.main(["billboard", "apply", *map(str, arguments)], standalone_mode=False)
    rows = list(csv.DictReader(io.StringIO(small.capture.readouterr().out)))
    return {row["output"]: float(row["score"]) if row["score"] else row["reason"] for row in rows}


def by_hand(small: Commands, record: dict[str, Any]) -> dict[str, float]:
    """intercept + sum of coefficient (score - mean) / spread, over the outputs of the board."""
    scores = {one["rater"]: small.scores(one["rater"]) for one in record["members"]}
    return {
        output: record["intercept"]
        + sum(
            one["coefficient"] * (float(scores[one["rater"]][output]) - one["mean"]) / one["spread"]
            for one in record["members"]
        )
        for output in open_board(small.board).dataset.outputs
    }


@pytest.mark.slow
def test_the_same_data_give_the_same_version_and_more_metrics_the_next(fitted: Commands) -> None:
    first = ensemble(fitted)
    base, version, _ = re.fullmatch(r"(.*)\.(\d+)(\+data\..*)", first["ensemble"]).groups()  # type: ignore[union-attr]
    assert {one["rater"] for one in first["members"]} == {"chrf", "rouge-1", "ter"}
    fitted(
        "billboard",
        "small",
        "--out",
        "again",
        *FITTED,
        "--raters",
        "chrf,rouge-1,ter",
        "--seed",
        "3",
    )
    assert ensemble(fitted) == first
    fitted(
        "billboard",
        "small",
        "--out",
        "more",
        *FITTED,
        "--raters",
        "chrf,rouge-1,ter,length",
        "--nonzero",
        "4",
    )
    second = ensemble(fitted)
    assert second["ensemble"] == f"{base}.{int(version) + 1}+data.{second['data']}"
    assert len(second["members"]) == 4
    wanted = by_hand(fitted, first)
    assert applied(fitted, first["ensemble"], "small", "--board", "small") == pytest.approx(
        wanted, abs=1e-9
    )
    wanted = by_hand(fitted, second)
    assert applied(fitted, second["ensemble"], "small", "--board", "small") == pytest.approx(
        wanted, abs=1e-9
    )


def test_a_part_of_a_signature(fitted: Commands) -> None:
    fitted(
        "billboard",
        "small",
        "--out",
        "more",
        *FITTED,
        "--raters",
        "chrf,rouge-1,ter,length",
        "--nonzero",
        "4",
    )
    path = fitted.board / "board" / "ensembles.jsonl"
    record = ensemble(fitted, 0)
    tenth = record | {
        "ensemble": record["ensemble"].replace("version.1", "version.10"),
        "intercept": 1000.0,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(tenth) + "\n")
    table = applied(fitted, "language.all+version.1", "small", "--board", "small")
    assert table == pytest.approx(by_hand(fitted, record), abs=1e-9)
    assert (
        min(
            float(one)
            for one in applied(fitted, "version.10", "small", "--board", "small").values()
        )
        > 100
    )
    said = fitted.refused("billboard", "apply", "language.all", "small", "--board", "small")
    assert "give one in full" in said


def test_ensembles_of_two_boards_with_one_name(fitted: Commands) -> None:
    Path("datasets").mkdir()
    shutil.copytree("small", "datasets/a")
    shutil.copytree("small", "datasets/b")
    name = ensemble(fitted)["ensemble"]
    wanted = by_hand(fitted, ensemble(fitted))
    assert applied(fitted, name, "small") == pytest.approx(wanted, abs=1e-9)  # they are one
    path = Path("datasets/b/board/ensembles.jsonl")
    path.write_text(
        path.read_text(encoding="utf-8").replace('"intercept": ', '"intercept": 1'),
        encoding="utf-8",
    )
    assert "several boards" in fitted.refused("billboard", "apply", name, "small")
    assert applied(fitted, name, "small", "--board", "datasets/a") == pytest.approx(
        wanted, abs=1e-9
    )
    shutil.rmtree("datasets")
    shutil.rmtree("run")
    assert "runs/: no ensembles" in fitted.refused("billboard", "apply", name, "small")


def test_texts_and_runs_get_the_scores_that_the_board_gives(fitted: Commands) -> None:
    """A metric of which lower is better (ter) is negated by `metal score` as it is on the board."""
    record = ensemble(fitted)
    wanted = by_hand(fitted, record)
    near = {
        output.removesuffix("/near"): score
        for output, score in wanted.items()
        if output.endswith("/near")
    }
    dataset = open_board(fitted.board).dataset
    texts = {one.source: one.text for one in dataset.outputs.values() if one.generator == "near"}
    found = applied(
        fitted, record["ensemble"], fitted.write_outputs("near.csv", texts), "--board", "small"
    )
    assert found == pytest.approx(
        {f"{source}/near": score for source, score in near.items()}, abs=1e-9
    )

    frame = pd.DataFrame([one.__dict__ for one in dataset.outputs.values()])[
        ["output", "source", "generator", "text"]
    ]
    frame["rater"], frame["score"], frame["language"] = (
        "me",
        1,
        [one.language for one in dataset.outputs.values()],
    )
    frame["source"] = frame["source"].astype(str)
    frame.to_parquet("plain.parquet")
    fitted("import", "table", "plain.parquet", "--out", "plain")
    lines = [
        json.loads(line)
        for line in Path("plain/sources.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    lines = [line | {"references": [reference_of(line["source"])]} for line in lines]
    Path("plain/sources.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    fitted("score", "plain", "--metric", "chrf,rouge-1,ter", "--out", "scores")
    assert applied(fitted, record["ensemble"], "scores", "--board", "run") == pytest.approx(
        wanted, abs=1e-9
    )
    assert not Path("plain/board").exists()


def test_outputs_that_joined_are_outputs_of_the_board(fitted: Commands) -> None:
    fitted.generator("new")
    record = ensemble(fitted)
    found = applied(fitted, record["ensemble"], "small", "--board", "small")
    assert found == pytest.approx(by_hand(fitted, record), abs=1e-9)
    assert len(found) == 70
    texts = fitted.write_outputs("new.csv", texts_of("new"))
    alone = applied(fitted, record["ensemble"], texts, "--board", "small")
    assert alone == pytest.approx(
        {name: score for name, score in found.items() if name.endswith("/new")}, abs=1e-9
    )


def test_tables_of_scores(fitted: Commands) -> None:
    record = ensemble(fitted)
    name = record["ensemble"]
    rows = [
        {" output ": "=cmd()", "chrf": "50", "rouge-1": "0.5", "ter": "-20", "more": "x"},
        {" output ": "007", "chrf": "", "rouge-1": "NA", "ter": "-20", "more": "x"},
        {" output ": "@x", "chrf": "nan", "rouge-1": "0.5", "ter": "-2e1", "more": "x"},
    ]
    pd.DataFrame(rows).to_csv("t.csv", index=False)
    given = {"chrf": 50, "rouge-1": 0.5, "ter": -20}
    score = record["intercept"] + sum(
        one["coefficient"] * (given[one["rater"]] - one["mean"]) / one["spread"]
        for one in record["members"]
    )
    order = [one["rater"] for one in record["members"]]
    both = ", ".join(one for one in order if one != "ter")
    found = applied(fitted, name, "t.csv", "--board", "small")
    assert found == {  # cells that a spreadsheet would run are guarded
        "'=cmd()": pytest.approx(score, abs=1e-9),
        "007": f"no score of {both}",
        "'@x": "no score of chrf",
    }
    into = ("billboard", "apply", name, "t.csv", "--board", "small", "--out", "o.csv")
    assert f"3 outputs, mean {score:.4g}; 2 no score; written to o.csv" in fitted(*into)
    assert "o.csv exists" in fitted.refused(*into)
    pd.DataFrame(rows[1:]).to_csv("t.csv", index=False)
    assert "2 outputs; 2 no score" in fitted(*into, "--force")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("output,chrf,ter\na,1,2\n", "no scores of rouge-1 (columns found: output,"),
        ("output,chrf,ter,rouge-1\na,1,x,2\n", "t.csv row 2: ter is 'x'"),
        ("output,chrf,ter,rouge-1\na,1,2,3\nb,inf,2,3\n", "t.csv row 3: chrf is 'inf'"),
        ("output,chrf,ter,rouge-1\n,1,2,3\n", "t.csv row 2: output is empty"),
        ("a,b\n1,2\n", "(columns found: a, b)"),
        ("source,text\nnone,x\n", "1 extra source ('none')"),
        ("", "the file is empty"),
    ],
)
def test_tables_with_faults_write_nothing(fitted: Commands, table: str, said: str) -> None:
    Path("t.csv").write_text(table, encoding="utf-8")
    name = ensemble(fitted)["ensemble"]
    assert said in fitted.refused(
        "billboard", "apply", name, "t.csv", "--board", "small", "--out", "o.csv"
    )
    assert not [path.name for path in fitted.folder.iterdir() if "o.csv" in path.name]


def test_texts_need_a_board_and_metrics_that_can_be_run(fitted: Commands) -> None:
    path = fitted.write_outputs("new.csv", texts_of("new"))
    name = ensemble(fitted)["ensemble"]
    assert "--board DATASET" in fitted.refused("billboard", "apply", name, path, "--board", "run")
    fitted(
        "billboard", "small", "--out", "two", *FITTED, "--raters", "chrf,comet", "--nonzero", "2"
    )
    other = ensemble(fitted)["ensemble"]
    said = fitted.refused("billboard", "apply", other, path, "--board", "small")
    assert tells(said, "comet cannot be run", "not recorded")


def test_a_run_without_the_scores(fitted: Commands) -> None:
    fitted("score", "small", "--metric", "rouge-2", "--out", "scores")
    name = ensemble(fitted)["ensemble"]
    assert "no scores of" in fitted.refused(
        "billboard", "apply", name, "scores", "--board", "small"
    )
    rows = [f"000/near,score,{rater},1,," for rater in ("chrf", "chrf", "ter", "rouge-1")]
    Path("twice").mkdir()
    text = "\n".join(["output,criterion,rater,score,reason,comment", *rows]) + "\n"
    Path("twice/ratings.csv").write_text(text, encoding="utf-8")
    assert "two scores of '000/near' by 'chrf'" in fitted.refused(
        "billboard", "apply", name, "twice", "--board", "small"
    )


def test_damaged_ensembles(fitted: Commands) -> None:
    record = ensemble(fitted)
    member = record["members"][0]
    for wrong in (
        {},
        [],
        record | {"members": []},
        record | {"members": {}},
        record | {"members": [member | {"spread": "x"}]},
        record | {"members": [member | {"mean": math.nan}]},
        record | {"members": ["chrf"]},
        record | {"intercept": None},
        record | {"ensemble": 5},
        record | {"ensemble": "no version"},
        record | {"ensemble": "x+version.one"},
    ):
        (fitted.folder / "run" / "ensembles.json").write_text(json.dumps([wrong]), encoding="utf-8")
        said = fitted.refused("billboard", "apply", "version.1", "small", "--board", "run")
        assert tells(said, "run/ensembles.json:", "not an ensemble"), wrong
    path = fitted.board / "board" / "ensembles.jsonl"
    path.write_text(
        '{"ensemble": "x+version.1"}\n' + path.read_text(encoding="utf-8"), encoding="utf-8"
    )
    for arguments in (
        ("apply", "version.1", "small", "--board", "small"),
        ("small", "--out", "b", *QUICK_OPTIONS),
    ):
        said = fitted.refused("billboard", *arguments)
        assert tells(said, "small/board/ensembles.jsonl row 1:", "not an ensemble")
    assert not Path("b").exists()


def test_a_dataset_named_like_a_verb(small: Commands) -> None:
    shutil.move("small", "apply")
    shutil.copytree("apply", "--json")
    assert small("billboard", "./apply", "--out", "a", *QUICK_OPTIONS)
    assert small("billboard", "--bootstrap", "100", "--permutations", "100", "--out", "b", "apply")
    assert small("billboard", *QUICK_OPTIONS, "--out", "c", "--", "--json")
    assert "Missing argument" in small.refused("billboard", "apply")


def test_help_and_wrong_words(small: Commands) -> None:
    for arguments in (["--help"], ["-h"]):
        said = small("billboard", *arguments)
        assert "Usage: metal billboard [OPTIONS] DATASET" in said
        assert "--reference" in said
        assert "the board's versions" in said
    assert "SIGNATURE OUTPUTS" in small("billboard", "apply", "--help")
    assert "no such file or folder" in small.refused("billboard", "crowds")
    assert "No such option" in small.refused("billboard", "--no-such", "small")
    assert small.refused("billboard", "small", "--by", "colour")


def test_no_arguments(small: Commands) -> None:
    """As other groups: help, or a message of what is missing; never a traceback."""
    try:
        said = small("billboard")
    except click.exceptions.NoArgsIsHelpError as error:
        said = " ".join(error.format_message().split())
    assert "Usage: metal billboard [OPTIONS] DATASET" in said


def test_json_is_json(small: Commands) -> None:
    found = small.json("billboard", "small", "--out", "a", *QUICK_OPTIONS)
    assert found["version"] == 1
    assert {row["rater"] for row in found["raters"]} >= {"chrf", "comet", "rouge-l"}
    json.loads(Path("a/ensembles.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    (entry,) = small.json("billboard", "history", "small")
    assert (entry["version"], entry["what"]) == (1, "data")


def test_what_the_board_is_told_is_kept_but_not_for_the_past(small: Commands) -> None:
    small("billboard", "small", "--out", "a", "--reference", "rater=A1", *QUICK_OPTIONS)
    small("billboard", "small", "--out", "b", "--at", "1", *QUICK_OPTIONS)
    assert kept_settings(small.board, 1).reference == "rater=A1"
    small("billboard", "small", "--out", "a", *QUICK_OPTIONS)  # a run of the same data is replaced
