"""`metal report` as a user meets it, on the runs of an audit and of a board."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.forks import Metal, by_itself, environment
from tests.cli.runs import reword
from tests.cli.test_commands import DEMO, metal, words
from tests.report.board.boards import dataset, written
from tests.saying import tells


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a judges' run and an audit of two of the demo's languages."""
    runs = tmp_path_factory.mktemp("report")
    metal("judge", DEMO, "--judge", "lexical", "--out", "judges", cwd=runs)
    options = "--out audit --resamples 100 -l ar,en -c task_quality"
    metal("audit", DEMO, "judges", *options.split(), cwd=runs)
    return runs


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(dataset(human="g3"), tmp_path_factory.mktemp("board") / "run")


@pytest.fixture
def here(processes: Metal, tmp_path: Path, board: Path) -> Metal:
    """`metal` in a folder with the run."""
    shutil.copytree(board, tmp_path / "run")
    return processes.at(tmp_path, environment(tmp_path))


def test_audit_writes_it_and_report_writes_it_again(folder: Path) -> None:
    page = folder / "audit" / "report.html"
    before = page.read_bytes()
    page.write_text("something else")
    done = metal("report", "audit", cwd=folder)
    assert done.out == "Report: audit/report.html\n"
    assert page.read_bytes() == before
    assert not list((folder / "audit").glob(".*"))


def test_a_run_can_be_moved(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(folder / "audit", target_is_directory=True)
    metal("report", "elsewhere", cwd=tmp_path)


def test_figures_and_tables_for_papers(folder: Path) -> None:
    done = metal(
        "report", "audit", "--figures", "paper/figures", "--latex", "paper/tables", cwd=folder
    )
    figures = sorted((folder / "paper" / "figures").iterdir())
    names = {file.stem for file in figures}
    kinds = ("quality", "classes", "dots", "f1_kappa", "cases")
    assert names == {f"{kind}_task_quality" for kind in kinds}
    assert len(figures) == 3 * len(names)
    starts = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    for file in figures:
        assert file.read_bytes().startswith(starts[file.suffix])
        assert file.stat().st_size > 2000
    assert {file.name for file in (folder / "paper" / "tables").iterdir()} >= {
        "table_3.tex",
        "table_6.tex",
    }
    assert tells(words(done.out), "5 charts", "paper/figures", "SVG, PDF and PNG")


def test_open_hands_the_page_to_a_browser(folder: Path, tmp_path: Path) -> None:
    opener = tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    env = environment(tmp_path, BROWSER=f"{opener} %s")
    done = by_itself("report", folder / "audit", "--open", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert (tmp_path / "opened").read_text().strip() == (
        folder / "audit" / "report.html"
    ).resolve().as_uri()


def test_without_the_extra_nothing_is_written(folder: Path) -> None:
    hide = "import sys; sys.modules['vl_convert'] = None"
    done = by_itself(
        "report", "audit", "--figures", "none", cwd=folder, env=environment(folder), first=hide
    )
    assert done.code == 2
    assert "pip install 'metal-eval[figures]'" in done.err
    assert not (folder / "none").exists()


def test_figures_and_tables_of_a_board(here: Metal, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    done = here("report", "run", "--figures", "figures", "--latex", "tables")
    names = {file.stem for file in (tmp_path / "figures").iterdir()}
    charts = ("raters_pearson", "raters_system_pearson", "generators_ranks", "generators_people")
    assert names == {*charts, "ensemble_ablation", "overrating", "self_preference", "crowd"}
    assert "8 charts in figures" in words(done.out)
    latex = {file.name for file in (tmp_path / "tables").iterdir()}
    assert latex >= {
        "raters.tex",
        "generators.tex",
        "members.tex",
        "map_within.tex",
        "overrating.tex",
        "history.tex",
    }


def retype(path: Path, column: str) -> None:
    """A column of x in place of what it was."""
    table = pq.read_table(path)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, pa.array(["x"] * table.num_rows)), path)


Spoil = Callable[[Path], object]
AUDIT_SPOILT = [
    (lambda run: (run / "run.toml").unlink(), "(make one with `metal audit`)"),
    (lambda run: (run / "run.toml").write_text("= 1"), "not TOML"),
    (
        lambda run: (run / "run.toml").write_text('command = "audit"\n'),
        "no 'criteria'. Run `metal audit`",
    ),
    (
        lambda run: reword(run / "run.toml", "[criteria.task_quality]", "[criteria]\nx = 5\n[y]"),
        "criterion x: 5",
    ),
    (
        lambda run: (run / "tables" / "judges.parquet").unlink(),
        "the file is missing. Run `metal audit` again",
    ),
    (lambda run: (run / "tables" / "people.parquet").write_text("x"), "not readable as Parquet"),
    (
        lambda run: shutil.copy(
            run / "tables" / "verdicts.parquet", run / "tables" / "people.parquet"
        ),
        "no column 'against_all_f1'. Run `metal audit` again",
    ),
    (
        lambda run: (run / "raters.jsonl").unlink(),
        "the file is missing. Run `metal audit`",
    ),
    (
        lambda run: (run / "raters.jsonl").write_text(""),
        "'lexical' of the tables",
    ),
    (lambda run: (run / "warnings.txt").unlink(), "warnings.txt: the file is"),
    (lambda run: (run / "warnings.txt").write_bytes(b"\xff"), "warnings.txt: not UTF-8"),
    (lambda run: (run / "run.toml").write_text(""), "run.toml names no"),
    (
        lambda run: reword(run / "run.toml", "task_quality]", "other]"),
        "criterion 'task_quality' of the tables",
    ),
    (
        lambda run: retype(run / "disagreements.parquet", "ratings"),
        "columns of disagreements",
    ),
    (
        lambda run: retype(run / "tables" / "verdicts.parquet", "verdict"),
        "verdict 'x' of the tables",
    ),
]
BOARD_SPOILT = [
    (
        lambda run: (run / "history.jsonl").unlink(),
        "history.jsonl: the file is",
    ),
    (
        lambda run: (run / "history.jsonl").write_text('{"a": 1}\n'),
        "a board's history",
    ),
    (lambda run: (run / "ensembles.json").unlink(), "ensembles.json: the file"),
    (lambda run: (run / "ensembles.json").write_text("[1]"), "a list of ensembles"),
    (lambda run: (run / "ensembles.json").write_text("[["), "not JSON"),
    (
        lambda run: shutil.copy(
            run / "tables" / "people.parquet", run / "tables" / "raters.parquet"
        ),
        "no column 'asked'. Run `metal billboard`",
    ),
    (
        lambda run: reword(run / "run.toml", 'main = "fluency"', 'main = "x"'),
        "'x' of run.toml",
    ),
    (lambda run: reword(run / "run.toml", "[board]", "[bored]"), "no table [board]"),
    (
        lambda run: reword(run / "run.toml", "people = [", "persons = ["),
        "no 'people' in the table",
    ),
    (
        lambda run: reword(run / "run.toml", "[criteria.fluency]", "[criteria.other]"),
        "'fluency' of the tables",
    ),
]


@pytest.mark.parametrize(
    ("kind", "spoil", "message"),
    [*(("audit", *case) for case in AUDIT_SPOILT), *(("board", *case) for case in BOARD_SPOILT)],
)
def test_a_spoiled_run_is_told_in_one_line(
    processes: Metal,
    folder: Path,
    board: Path,
    tmp_path: Path,
    kind: str,
    spoil: Spoil,
    message: str,
) -> None:
    shutil.copytree(folder / "audit" if kind == "audit" else board, tmp_path / "run")
    before = (tmp_path / "run" / "report.html").read_bytes()
    spoil(tmp_path / "run")
    assert message in words(
        processes.at(tmp_path, environment(tmp_path))("report", "run", expect=2).err
    )
    assert (tmp_path / "run" / "report.html").read_bytes() == before


def test_what_is_no_audit(folder: Path) -> None:
    assert "no such run folder" in metal("report", "nowhere", cwd=folder, expect=2).err
    assert "a run of `metal judge`" in metal("report", "judges", cwd=folder, expect=2).err
    (folder / "a-file").write_text("")
    assert metal("report", "audit", "--figures", "a-file", cwd=folder, expect=2).err.startswith(
        "metal: a-file"
    )
