"""`metal report` as a user meets it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_commands import DEMO, metal, words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a judges' run and an audit of two of the demo's languages."""
    runs = tmp_path_factory.mktemp("report")
    metal("judge", DEMO, "--judge", "lexical", "--out", "judges", cwd=runs)
    options = "--out audit --resamples 100 -l ar,en -c task_quality"
    metal("audit", DEMO, "judges", *options.split(), cwd=runs)
    return runs


def test_audit_writes_it_and_report_writes_it_again(folder: Path) -> None:
    page = folder / "audit" / "report.html"
    before = page.read_bytes()
    page.write_text("something else")
    done = metal("report", "audit", cwd=folder)
    assert done.stdout == "Report: audit/report.html\n"
    assert page.read_bytes() == before
    assert not list((folder / "audit").glob(".*"))


def test_a_run_can_be_moved(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(folder / "audit", target_is_directory=True)
    metal("report", "elsewhere", cwd=tmp_path)


def test_figures_and_tables_for_papers(folder: Path) -> None:
    done = metal("report", "audit", "--figures", "paper/figures", "--latex", "paper/tables", cwd=folder)
    figures = sorted((folder / "paper" / "figures").iterdir())
    names = {file.stem for file in figures}
    kinds = ("quality", "classes", "dots", "f1_kappa", "cases")
    assert names == {f"{kind}_task_quality" for kind in kinds}
    assert len(figures) == 3 * len(names)
    starts = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    for file in figures:
        assert file.read_bytes().startswith(starts[file.suffix])
        assert file.stat().st_size > 2000
    assert {file.name for file in (folder / "paper" / "tables").iterdir()} >= {"table_3.tex", "table_6.tex"}
    assert "5 charts in paper/figures, each as SVG, PDF and PNG" in words(done.stdout)


def test_open_hands_the_page_to_a_browser(folder: Path, tmp_path: Path) -> None:
    opener = tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "metal", "report", str(folder / "audit"), "--open"],
        env=os.environ | {"BROWSER": f"{opener} %s", "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "opened").read_text().strip() == (folder / "audit" / "report.html").resolve().as_uri()


def test_without_the_extra_nothing_is_written(folder: Path) -> None:
    code = "import sys; sys.modules['vl_convert'] = None; from metal.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "report", "audit", "--figures", "none"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert done.returncode == 2
    assert "pip install 'metal-eval[figures]'" in done.stderr
    assert not (folder / "none").exists()


def reword(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def retype(path: Path, column: str) -> None:
    """A column of x in place of what it was."""
    table = pq.read_table(path)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, pa.array(["x"] * table.num_rows)), path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: (run / "run.toml").unlink(), "run.toml is missing (make one with `metal audit`)"),
        (lambda run: (run / "run.toml").write_text("= 1"), "not TOML"),
        (lambda run: (run / "run.toml").write_text('command = "audit"\n'), "no 'criteria'. Run `metal audit` again"),
        (lambda run: (run / "tables" / "judges.parquet").unlink(), "the file is missing. Run `metal audit` again"),
        (lambda run: (run / "tables" / "people.parquet").write_text("x"), "not readable as Parquet"),
        (
            lambda run: shutil.copy(run / "tables" / "verdicts.parquet", run / "tables" / "people.parquet"),
            "no column 'against_all_f1'. Run `metal audit` again",
        ),
        (lambda run: (run / "raters.jsonl").unlink(), "raters.jsonl: the file is missing. Run `metal audit` again"),
        (lambda run: (run / "raters.jsonl").write_text(""), "'lexical' of the tables is not in raters.jsonl"),
        (lambda run: (run / "warnings.txt").unlink(), "warnings.txt: the file is missing"),
        (lambda run: (run / "warnings.txt").write_bytes(b"\xff"), "warnings.txt: not UTF-8"),
        (lambda run: (run / "run.toml").write_text(""), "run.toml names no command"),
        (lambda run: reword(run / "run.toml", "task_quality]", "other]"), "criterion 'task_quality' of the tables"),
        (lambda run: retype(run / "disagreements.parquet", "ratings"), "not the columns of disagreements"),
        (lambda run: retype(run / "tables" / "verdicts.parquet", "verdict"), "verdict 'x' of the tables"),
    ],
)
def test_a_spoiled_run_is_told_from_a_good_one(folder: Path, tmp_path: Path, spoil: object, message: str) -> None:
    shutil.copytree(folder / "audit", tmp_path / "run")
    before = (tmp_path / "run" / "report.html").read_bytes()
    spoil(tmp_path / "run")  # type: ignore[operator]
    assert message in words(metal("report", "run", cwd=tmp_path, expect=2).stderr)
    assert (tmp_path / "run" / "report.html").read_bytes() == before


def test_what_is_no_audit(folder: Path) -> None:
    assert "no such run folder" in metal("report", "nowhere", cwd=folder, expect=2).stderr
    assert "a run of `metal judge`" in metal("report", "judges", cwd=folder, expect=2).stderr
    (folder / "a-file").write_text("")
    assert metal("report", "audit", "--figures", "a-file", cwd=folder, expect=2).stderr.startswith("metal: a-file")
