"""Files of METAL's that somebody changed, or that an accident did: one line with the place, never a
figure.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.boards.history import Entry
from metal.building.answers import Answer
from metal.building.store import history_files
from metal.data.dataset import load_dataset, with_ratings
from metal.data.files import bundled
from metal.errors import DataError, UsageError
from metal.questions.audit.result import Audit
from metal.questions.drift.store import WatchFile
from metal.questions.drift.watching import Key

KEYS: list[Key] = [("judge", "j", language, "c") for language in ("en", "hi")]
LEAST = dict.fromkeys(KEYS, 0.7)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of eight outputs that two people and a judge rated."""
    raters = ("A1", "A2", "gpt-4")
    rows = [
        {"id": f"o{number}", "rater": rater, "score": number % 3}
        for number in range(8)
        for rater in raters
    ]
    metal.read(pd.DataFrame(rows), language="en").save(tmp_path / "mine")
    return tmp_path / "mine"


def add_line(path: Path, line: str) -> None:
    path.write_text(f"{path.read_text(encoding='utf-8').rstrip()}\n{line}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ('[generators]\nx = "text"', r"generator x is 'text'"),
        ('generators = "text"', r"generators is 'text'"),
        ("sample = 3", "sample is 3"),
    ],
)
def test_a_generator_that_is_no_table(folder: Path, lines: str, problem: str) -> None:
    card = folder / "dataset.toml"
    card.write_text(
        f"{lines}\n{card.read_text()}"
        if "=" in lines.split("\n")[0]
        else f"{card.read_text()}\n{lines}\n"
    )
    with pytest.raises(DataError, match=rf"dataset\.toml: {problem}"):
        load_dataset(folder)


def test_lists_for_outputs(folder: Path) -> None:
    table = pd.read_parquet(folder / "ratings.parquet")
    table["output"] = [["o1", "o2"]] * len(table)
    table.to_parquet(folder / "ratings.parquet")
    with pytest.raises(DataError, match=r"ratings\.parquet: output is of type list"):
        load_dataset(folder)


def test_bytes_in_a_table_of_a_run(folder: Path) -> None:
    metal.audit(folder, resamples=100).save(folder.parent / "audit")
    path = folder.parent / "audit" / "tables" / "judges.parquet"
    pd.read_parquet(path).assign(kappa=b"\xff").to_parquet(path)
    with pytest.raises(DataError, match=r"judges\.parquet: kappa holds bytes"):
        Audit.read(folder.parent / "audit")


def test_a_run_of_judges_that_lost_its_ratings(folder: Path) -> None:
    judged = folder.parent / "judged"
    metal.judge(folder, "majority", out=judged)
    metal.audit(folder, judged, resamples=100)
    pd.read_parquet(judged / "ratings.parquet").iloc[:3].to_parquet(judged / "ratings.parquet")
    with pytest.raises(DataError, match=r"ratings\.parquet: 3 ratings.*8"):
        metal.audit(folder, judged, resamples=100)


def test_a_table_of_a_run_that_is_about_something_else(tmp_path: Path) -> None:
    place = tmp_path / "audit"
    metal.audit(bundled("datasets/demo"), criteria="task_quality", resamples=100).save(place)
    page = (place / "report.html").read_bytes()
    path = place / "tables" / "together.parquet"
    pd.read_parquet(path).assign(criterion="x").to_parquet(path)
    with pytest.raises(DataError, match=r"audit:.*Run `metal audit` again"):
        metal.report(place)
    assert (place / "report.html").read_bytes() == page
    assert "cannot be read: " in next(
        entry.answer for entry in metal.ls(tmp_path) if entry.kind == "audit"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"about": {"direction": "../x"}}, "about"),
        ({"name": "E\x1b[31m"}, "name"),
        ({"by": "\x07"}, "by"),
        ({"at": "<script>"}, "at"),
    ],
)
def test_a_boards_history_with_what_no_board_writes(change: dict[str, Any], problem: str) -> None:
    line = {
        "version": 1,
        "at": "2026-01-01",
        "what": "metric",
        "digest": "0123456789abcdef",
        "name": "m",
    }
    assert Entry.of(line | {"about": {"direction": "lower"}}, "history.jsonl row 1").name == "m"
    with pytest.raises(DataError, match=rf"history\.jsonl row 1: {problem} "):
        Entry.of(line | change, "history.jsonl row 1")


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        ({"range": ["2026-99-99"]}, "range is"),
        ({"range": [True, 1]}, "range is"),
        ({"range": "0 to 1"}, "range is"),
        ({"direction": "../x"}, "direction is"),
    ],
)
def test_a_rater_whose_scale_is_none(folder: Path, about: dict[str, Any], problem: str) -> None:
    add_line(
        folder / "raters.jsonl", json.dumps({"rater": "m", "kind": "metric", "group": "m"} | about)
    )
    with pytest.raises(DataError, match=rf"raters\.jsonl row 4: {problem}"):
        load_dataset(folder)


@pytest.mark.parametrize("group", [[[1]], {"a": 1}, True])
def test_a_rater_whose_group_is_no_text(folder: Path, group: object) -> None:
    add_line(folder / "raters.jsonl", json.dumps({"rater": "m", "kind": "llm", "group": group}))
    with pytest.raises(DataError, match=r"raters\.jsonl row 4: group is .*text in quotes"):
        load_dataset(folder)


@pytest.mark.parametrize("score", ["NaN", "true", "2", "null", "[1]"])
def test_an_answer_that_nobody_gave(tmp_path: Path, score: str) -> None:
    given = Answer("t1", "A1", {"fluency": "2"}, where="a.csv row 2")
    files = history_files(tmp_path, [given], "2026-01-01", {})
    (tmp_path / "annotation").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    path = tmp_path / "annotation" / "answers.jsonl"
    path.write_text(path.read_text().replace('"fluency": "2"', f'"fluency": {score}'))
    with pytest.raises(DataError, match=r"answers\.jsonl row 1: the score on fluency is"):
        history_files(tmp_path, [given], "2026-01-02", {})


@pytest.mark.parametrize(
    ("criterion", "problem"),
    [
        ('measure = "interval"\nof_source = "2026-99-99"', "of_source"),
        ('levels = [{ value = "<script>", label = "a" }, { value = 1, label = "b" }]', "levels"),
    ],
)
def test_a_criterion_of_a_run_that_was_not_asked(
    folder: Path, criterion: str, problem: str
) -> None:
    metal.judge(folder, "majority", out=folder.parent / "run")
    add_line(folder.parent / "run" / "run.toml", f"[criteria.other]\n{criterion}")
    with pytest.raises(DataError, match=rf"run\.toml: criterion other: {problem}"):
        with_ratings(load_dataset(folder), folder.parent / "run")


# ---------------------------------------------------------------- a watch


def watched(path: Path) -> tuple[WatchFile, list[str]]:
    """A watch of one batch, and the lines of its file."""
    watch = WatchFile(path, 0.05, LEAST, 2)
    watch.take(
        "0123456789abcdef",
        [(KEYS[number % 2], f"o{number}", number % 3 / 2) for number in range(9)],
    )
    return watch, path.read_text(encoding="utf-8").splitlines()


def test_a_batch_counts_once_whatever_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    watch, lines = watched(path)
    changed = lines[2].replace('"value": 0.5', '"value": 0.0')
    assert changed != lines[2]
    for spoiled in (
        [*lines[:3], lines[2], *lines[3:]],  # doubled
        [*lines, lines[-1]],
        [*lines[:2], changed, *lines[3:]],
        [*lines[:2], *lines[3:]],  # taken out
        [*lines[:2], lines[3], lines[2], *lines[4:]],
    ):
        path.write_text("\n".join(spoiled) + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"watch\.jsonl line \d+: does not"):
            WatchFile(path, 0.05, LEAST, 2)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert WatchFile(path, 0.05, LEAST, 2).streams == watch.streams


@pytest.mark.parametrize(
    "change",
    [{"batch": ""}, {"source": " "}, {"source": 3}, {"value": 2}, {"value": True}, {"key": True}],
)
def test_a_line_that_is_no_step(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "watch.jsonl"
    _, lines = watched(path)
    path.write_text(
        "\n".join([*lines, json.dumps(json.loads(lines[-1]) | change)]) + "\n", encoding="utf-8"
    )
    with pytest.raises(DataError, match="line 11: not a step of a watch"):
        WatchFile(path, 0.05, LEAST, 2)


def test_a_file_of_the_earlier_rule_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "watch.jsonl"
    head = {"watch": 1, "alpha": 0.05, "least": [[list(key), 0.7] for key in KEYS]}
    path.write_text(json.dumps(head) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"an earlier METAL.*another `state`"):
        WatchFile(path, 0.05, LEAST, 2)
    assert json.loads(path.read_text(encoding="utf-8")) == head
