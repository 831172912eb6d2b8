"""`metal report` on a board's run folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metal.data.dataset import save_dataset
from tests.cli.forks import Metal, environment
from tests.cli.test_commands import words
from tests.report.board.boards import dataset, written


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(dataset(human="g3"), tmp_path_factory.mktemp("board") / "run")


@pytest.fixture
def here(processes: Metal, tmp_path: Path, board: Path) -> Metal:
    """`metal` in a folder with the run."""
    shutil.copytree(board, tmp_path / "run")
    return processes.at(tmp_path, environment(tmp_path))


def test_the_page_is_made_again(here: Metal, board: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "report.html").write_text("something else")
    assert here("report", "run").out == "Report: run/report.html\n"
    assert (tmp_path / "run" / "report.html").read_bytes() == (board / "report.html").read_bytes()


def test_billboard_writes_it(here: Metal, tmp_path: Path) -> None:
    save_dataset(dataset(sources=6), tmp_path / "data")
    few = ("--resamples", "100", "--permutations", "100")
    done = here("billboard", "data", "--out", "made", *few)
    assert "Report: made/report.html" in done.said
    before = (tmp_path / "made" / "report.html").read_bytes()
    here("report", "made")
    assert (tmp_path / "made" / "report.html").read_bytes() == before
    here("billboard", "data", "--out", "made", "--force", *few)
    assert (tmp_path / "made" / "report.html").read_bytes() == before


def test_figures_and_tables_for_papers(here: Metal, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    done = here("report", "run", "--figures", "figures", "--latex", "tables")
    names = {file.stem for file in (tmp_path / "figures").iterdir()}
    charts = ("raters_pearson", "raters_system_pearson", "generators_ranks", "generators_people")
    assert names == {*charts, "ensemble_ablation", "overrating", "self_preference", "crowd"}
    assert "8 charts in figures" in words(done.out)
    latex = {file.name for file in (tmp_path / "tables").iterdir()}
    assert latex >= {"raters.tex", "generators.tex", "members.tex", "map_within.tex", "overrating.tex", "history.tex"}


def reword(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda run: (run / "history.jsonl").unlink(),
            "history.jsonl: the file is missing. Run `metal billboard` again",
        ),
        (lambda run: (run / "history.jsonl").write_text('{"a": 1}\n'), "not a line of a board's history"),
        (lambda run: (run / "ensembles.json").unlink(), "ensembles.json: the file is missing"),
        (lambda run: (run / "ensembles.json").write_text("[1]"), "not a list of ensembles"),
        (lambda run: (run / "ensembles.json").write_text("[["), "not JSON"),
        (
            lambda run: shutil.copy(run / "tables" / "people.parquet", run / "tables" / "raters.parquet"),
            "no column 'asked'. Run `metal billboard` again",
        ),
        (
            lambda run: reword(run / "run.toml", 'main = "fluency"', 'main = "x"'),
            "'x' of run.toml is not in the tables",
        ),
        (lambda run: reword(run / "run.toml", "[board]", "[bored]"), "no table [board]"),
        (lambda run: reword(run / "run.toml", "[criteria.fluency]", "[criteria.other]"), "'fluency' of the tables"),
    ],
)
def test_a_spoiled_run_is_told_in_one_line(
    here: Metal, tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    before = (tmp_path / "run" / "report.html").read_bytes()
    spoil(tmp_path / "run")
    assert message in words(here("report", "run", expect=2).err)
    assert (tmp_path / "run" / "report.html").read_bytes() == before


def test_a_run_of_another_command(here: Metal, tmp_path: Path) -> None:
    (tmp_path / "run" / "run.toml").write_text('command = "score"\n')
    message = "a run of `metal score`; a report is made from a run of `metal audit`, `billboard`"
    assert message in words(here("report", "run", expect=2).err)


def test_the_ensembles_of_the_page_are_those_of_the_file(board: Path) -> None:
    html = (board / "report.html").read_text(encoding="utf-8")
    for ensemble in json.loads((board / "ensembles.json").read_text(encoding="utf-8")):
        assert ensemble["ensemble"] in html
