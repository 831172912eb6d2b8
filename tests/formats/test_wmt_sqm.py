"""SQM of WMT 2020: with a header and without, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import metal
from metal.data.formats import recognize
from metal.errors import DataError
from tests.saying import tells

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tscore"
ROWS = ["A\td\t1\t1\tr1\teins\tone\t6", "A\td\t1\t1\tr2\teins\tone\t4.0"]
ROWS += ['Human-A.0\td\t2\t2\tr1\tzwei "\ttwo\t0', ROWS[0]]


def write(folder: Path, name: str, *rows: str) -> Path:
    path = folder / name
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "name, rows, group",
    [
        ("psqm_newstest2020_deen.tsv", [HEADER, *ROWS], "expert"),
        ("csqm_newstest2020_deen.tsv", ROWS, "crowd"),
    ],
)
def test_scores_are_read(name: str, rows: list[str], group: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, *rows)
    assert recognize(path) == "wmt-sqm"
    dataset = metal.read(path)
    assert dataset.ratings["score"].tolist() == [6, 4, 0]
    assert dataset.languages == ("de-en",)
    assert dataset.criteria["sqm"].scale.ends == (0, 6)
    assert {rater.group for rater in dataset.raters.values()} == {group}
    assert dataset.sources["2"].text == 'zwei "'
    assert dataset.extra["generators"] == {"Human-A.0": {"kind": "human"}}
    assert tells(dataset.report, "the file's name says de-en")
    assert tells(dataset.report, "1 row left out", "had scored the output")


def test_another_table_with_these_columns_is_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "scores_deen.tsv", HEADER, *ROWS)
    assert recognize(path) == ""
    assert metal.read(path, format="wmt-sqm").raters["r1"].group == ""


@pytest.mark.parametrize(
    "row, problem",
    [
        ("A\td\t1\t3\tr1\teins\tone\t7", "row 2: score '7'"),
        ("A\td\t1\t3\tr1\teins\tone\tgood", "row 2: score 'good'"),
        ("A\td\t1\t3\tr1\teins\tone", "row 2: 7 fields"),
    ],
)
def test_broken_rows_are_named(row: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=problem):
        metal.read(write(tmp_path, "psqm_deen.tsv", HEADER, row))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "psqm_deen.tsv", HEADER.replace("rater", "who"), ROWS[0])
    with pytest.raises(DataError, match="row 1: no column 'rater'"):
        metal.read(path)
