"""run.toml: a part of another type is an error of one line, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.data.run_toml import named_by, read_run_toml
from metal.errors import DataError


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("datasets = [5]", r"datasets\[0\] is 5"),
        ("datasets = 5", "datasets is 5"),
        ("datasets = [{path = 1}]", r"datasets\[0\]\.path is 1"),
        ("command = []", r"command is \[\]"),
        ("settings = 'x'", "settings is 'x'"),
        ("settings.state.ratings = 'x'", r"settings\.state\.ratings is 'x'"),
        ("settings.prices = 'x'", "settings.prices is 'x'"),
        ("settings.rounds = []", r"settings\.rounds is \[\]"),
        ("settings.seed = true", r"settings\.seed is True"),
        ("settings.judges = ['a', 5]", r"settings\.judges\[1\] is 5"),
        ("settings.delta = 'x'", "settings.delta is 'x'"),
        ("settings.seed = -1", "settings.seed is -1"),
    ],
)
def test_a_part_of_another_type_is_refused_with_its_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(DataError, match=rf"run\.toml: {problem}\. Restore"):
        read_run_toml(tmp_path)


def test_a_part_that_is_not_there_is_empty_and_a_setting_that_is_looked_up_is_missed(
    tmp_path: Path,
) -> None:
    assert read_run_toml(tmp_path)["command"] == ""
    (tmp_path / "run.toml").write_text("other = 1\nsettings.margin = 1\n[[datasets]]\npath = 'x'\n")
    about = read_run_toml(tmp_path)
    assert (about["criteria"], about["other"], about["settings"]["margin"]) == ({}, 1, 1)
    with pytest.raises(DataError, match="no 'rounds' in settings"):
        about["settings"]["rounds"]
    with pytest.raises(DataError, match="no 'identity' in datasets"):
        about["datasets"][0]["identity"]


def test_what_a_run_names_is_looked_for_around_the_run_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, here = tmp_path / "project" / "datasets" / "x", tmp_path / "here" / "datasets" / "x"
    near.mkdir(parents=True)
    here.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    run = tmp_path / "project" / "runs" / "study" / "audit"
    assert named_by(run, "datasets/x") == near
    assert named_by(tmp_path / "elsewhere" / "audit", "datasets/x").resolve() == here
    assert named_by(run, str(here)) == here
    assert named_by(run, "datasets/y") == Path("datasets/y")
