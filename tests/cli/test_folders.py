"""`metal ls` and `metal completion`."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

import metal
from metal.api.folders import is_listed
from metal.auditing.verdict import VERDICTS
from metal.data.dataset import save_dataset
from metal.data.files import bundled
from metal.errors import DataError, UsageError
from metal.questions.audit.answer import headline
from metal.raters.judges.journal import lock_run
from tests import DEMO
from tests.cli.test_commands import metal as typed
from tests.saying import tells


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, an audit of it, a judges' run that stopped, and a run whose run.toml is
    damaged.
    """
    folder = tmp_path_factory.mktemp("place")
    (folder / "datasets").mkdir()
    (folder / "datasets" / "demo").symlink_to(DEMO)
    metal.audit(DEMO, criteria="task_quality", resamples=100).save(folder / "runs" / "demo")
    metal.judge(
        DEMO,
        lambda source, output, criterion: 1,
        name="one",
        limit=5,
        out=folder / "runs" / "judges",
    )
    (folder / "runs" / "torn").mkdir()
    (folder / "runs" / "torn" / "run.toml").write_text("command =")
    return folder


def test_ls_tells_kind_size_date_and_answer(place: Path) -> None:
    dataset, torn, judges, audit = metal.ls(place)  # the latest run first
    card = (DEMO / "dataset.toml").stat().st_mtime
    assert dataset.date == f"{datetime.fromtimestamp(card):%Y-%m-%d}"
    demo = metal.read(DEMO)
    people = sum(rater.kind == "human" for rater in demo.raters.values())
    assert (dataset.kind, sorted(dataset.languages or ())) == ("dataset", list(demo.languages))
    counts = (
        f"{len(demo.sources)} sources, {len(demo.outputs)} outputs, {len(demo.ratings):,} ratings"
    )
    assert dataset.answer == f"{demo.card.title}; {counts}"
    assert (dataset.raters or {})["human"] == people
    assert (audit.kind, audit.answer) == (
        "audit",
        headline(metal.open_run(place / "runs" / "demo")),
    )
    assert (judges.kind, judges.raters) == ("judge", {"llm": 1})
    assert judges.answer.startswith("stopped: ")
    assert "torn/run.toml" in torn.answer
    assert torn.languages is torn.raters is None  # not known, which is not none
    with pytest.raises(UsageError, match="no such folder"):
        metal.ls(place / "nowhere")


def test_ls_counts_one_output_in_the_singular(tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text("id,text,language,human_a,gpt-4o\no1,a text,en,1,2\n")
    save_dataset(metal.read(table), tmp_path / "datasets" / "one")
    (listed,) = metal.ls(tmp_path)
    assert listed.answer == "1 source, 1 output, 2 ratings"


def test_ls_says_what_judges_rated(tmp_path: Path) -> None:
    metal.judge(
        DEMO,
        lambda source, output, criterion: 1,
        name="one",
        criteria="task_quality",
        out=tmp_path / "judged",
    )
    (run,) = metal.ls(tmp_path)
    assert run.answer == f"{len(metal.read(DEMO).outputs)} ratings of demo by one"


def test_a_run_is_no_dataset_and_says_which_it_is_of(place: Path) -> None:
    folder = place / "runs" / "demo"
    with pytest.raises(DataError) as refused:
        metal.read(folder)
    assert tells(
        str(refused.value), f"{folder}: ", "run of `metal audit`", "no dataset", f"Give {DEMO}"
    )


def test_ls_finds_what_a_folder_of_any_name_holds_but_nothing_inside_a_run(
    place: Path, tmp_path: Path
) -> None:
    shutil.copytree(place / "runs" / "demo", tmp_path / "metal-demo" / "mlqe")
    shutil.copytree(place / "runs" / "demo", tmp_path / "metal-demo" / "mlqe" / "again")
    shutil.copytree(place / "runs" / "demo", tmp_path / "deep" / "er" / "still")
    assert [entry.path for entry in metal.ls(tmp_path)] == [str(tmp_path / "metal-demo" / "mlqe")]
    assert [entry.path for entry in metal.ls(tmp_path / "metal-demo")] == [
        str(tmp_path / "metal-demo" / "mlqe")
    ]


def test_ls_finds_the_runs_of_the_demo_in_a_folder_of_runs(place: Path, tmp_path: Path) -> None:
    """As after `make demo`, which writes runs/demo/mlqe and runs/demo/demo."""
    for run in ("mlqe", "demo"):
        shutil.copytree(place / "runs" / "demo", tmp_path / "runs" / "demo" / run)
    shutil.copytree(place / "runs" / "demo", tmp_path / "runs" / "demo" / "mlqe" / "inside")
    names = [Path(entry.path).relative_to(tmp_path).as_posix() for entry in metal.ls(tmp_path)]
    assert sorted(names) == ["runs/demo/demo", "runs/demo/mlqe"]
    for run, listed in (("runs/demo/mlqe", True), ("runs/a/b/c", False), ("a/b", True), ("", True)):
        assert is_listed(tmp_path / run, tmp_path) is listed
    assert not is_listed(tmp_path, tmp_path / "runs")


def test_ls_lists_no_replaced_versions_and_says_that_they_are_kept(
    place: Path, tmp_path: Path
) -> None:
    for run in ("runs/a", "runs/a.replaced", "b.replaced/inside"):
        shutil.copytree(place / "runs" / "demo", tmp_path / run)
    (tmp_path / "notes.replaced").mkdir()
    assert [entry.name for entry in metal.ls(tmp_path)] == ["a"]
    out = typed("ls", cwd=tmp_path).out
    assert tells(out, "Not listed", "1 ", "runs/a.replaced")
    assert "Not listed" not in typed("ls", "runs/a", cwd=tmp_path).out
    assert [entry.name for entry in metal.ls(tmp_path / "runs" / "a.replaced")] == ["a.replaced"]


def test_ls_has_the_latest_first_and_no_hidden_folders(place: Path, tmp_path: Path) -> None:
    for number, name in enumerate(["b", "c", "a", ".hidden"]):
        run = shutil.copytree(place / "runs" / "judges", tmp_path / "runs" / name)
        for path in run.iterdir():
            os.utime(path, (1000 + number, 1000 + number))
    assert [entry.name for entry in metal.ls(tmp_path)] == ["a", "c", "b"]
    (tmp_path / "runs" / "b" / "journal.jsonl").touch()  # its judges answer now
    latest = metal.ls(tmp_path)[0]
    assert latest.name == "b"
    assert latest.changed > "2026" > metal.ls(tmp_path)[1].changed


def test_ls_says_which_run_is_at_work(place: Path, tmp_path: Path) -> None:
    run = shutil.copytree(place / "runs" / "judges", tmp_path / "judges")
    with lock_run(run):
        (entry,) = metal.ls(tmp_path)
        assert (entry.state, entry.answer) == ("running", "at work now")
        assert tells(typed("ls", cwd=tmp_path).out, "judges", "judge", "running")
    (entry,) = metal.ls(tmp_path)
    assert (entry.state, entry.kind) == ("stopped", "judge")


def test_ls_says_how_to_continue_a_run_that_was_killed(place: Path, tmp_path: Path) -> None:
    run = shutil.copytree(place / "runs" / "judges", tmp_path / "judges")
    text = (run / "run.toml").read_text()
    begin, end = text.index("[settings.state]"), text.index("[libraries]")
    (run / "run.toml").write_text(text[:begin] + text[end:])  # it is written at the end
    (entry,) = metal.ls(tmp_path)
    assert entry.state == "stopped"
    assert tells(entry.answer, "before its end", "metal.judge(resume=", str(run))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("dataset.toml", "languages = 5"),
        ("dataset.toml", "title = 5"),
        ("dataset.toml", "counts = 5"),
        ("dataset.toml", "counts = { outputs = 'x' }"),
        ("dataset.toml", "]"),
        ("run.toml", "command = 5"),
        ("run.toml", "command = 'adjudicate plan'"),
        ("run.toml", "command = 'judge'\nsettings.state = 5"),
        ("run.toml", "command = 'judge'\n[[datasets]]\npath = 5"),
        ("run.toml", "command = 'audit'"),
    ],
)
def test_ls_says_of_a_damaged_folder_what_is_wrong_and_lists_the_others(
    place: Path, tmp_path: Path, file: str, text: str
) -> None:
    shutil.copytree(place / "runs" / "judges", tmp_path / "judges")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / file).write_text(text)
    entries = {entry.name: entry for entry in metal.ls(tmp_path)}
    assert entries["judges"].state == "stopped"
    assert entries["damaged"].state == "damaged"
    assert tells(entries["damaged"].answer, "cannot be read")
    assert tells(typed("ls", cwd=tmp_path).out, "damaged")


def test_ls_reads_small_files_only(place: Path, tmp_path: Path) -> None:
    """Of runs with a summary nothing but run.toml, however many ratings and tables they have."""
    for number in range(5):
        for run in ("demo", "judges"):
            shutil.copytree(place / "runs" / run, tmp_path / "runs" / f"{run}-{number}")
            for path in (tmp_path / "runs" / f"{run}-{number}").rglob("*.*"):
                os.utime(path)
            os.utime(tmp_path / "runs" / f"{run}-{number}" / "run.toml")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "demo").symlink_to(DEMO)
    code = """
        import collections, os, sys
        import metal
        opened = collections.Counter()
        def watch(event, arguments):
            if event == "open" and isinstance(arguments[0], str):
                opened[arguments[0]] += not arguments[0].endswith((".py", ".pyc"))
        sys.addaudithook(watch)
        assert len(metal.ls(".")) == 11
        print(sorted(+opened))
        print({"pandas", "pyarrow", "numpy", "asyncio"} & sys.modules.keys())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    opened, heavy = done.stdout.splitlines()
    names = {Path(name).name for name in ast.literal_eval(opened) if name.startswith("runs/")}
    assert names == {"run.toml", ".lock"}
    names = {Path(name).name for name in ast.literal_eval(opened) if name.startswith("datasets/")}
    assert names == {"dataset.toml", "raters.jsonl"}
    assert heavy == "set()"


def test_ls_prints_verdicts_and_the_start_of_a_headline(tmp_path: Path) -> None:
    audit = metal.audit(bundled("datasets/demo"), languages="en", resamples=100)
    audit.save(tmp_path / "demo")
    out = typed("ls", cwd=tmp_path).out
    counts = Counter(audit.verdicts["verdict"])
    assert len(counts) > 1
    assert tells(
        out, "Verdicts: ", *(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
    )
    assert max(map(len, out.splitlines())) <= 80
    (entry,) = metal.ls(tmp_path)
    assert tells(out, entry.answer[:40])
    assert not tells(out, entry.answer)


def test_ls_prints_and_gives_json(place: Path) -> None:
    lines = typed("ls", cwd=place).out.splitlines()
    assert lines[0].startswith("datasets/demo  dataset ")
    assert tells(" ".join(lines), "continue: `metal judge", "--resume runs/judges`")
    rows = json.loads(typed("ls", "--json", cwd=place).out)
    assert [row["kind"] for row in rows] == ["dataset", "run", "judge", "audit"]
    assert typed("ls", "datasets", cwd=place).out.startswith("datasets/demo")
    (place / "empty").mkdir()
    assert "metal init" in typed("ls", "empty", cwd=place).out


def test_ls_of_datasets_loads_no_ratings(place: Path) -> None:
    code = (
        "import sys, metal; assert metal.ls('datasets'); print({'pandas', 'pyarrow'} &"
        " sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("shell", "mark"), [("zsh", "#compdef metal"), ("fish", "complete --no-files --command metal")]
)
def test_completion_is_printed(shell: str, mark: str, tmp_path: Path) -> None:
    assert mark in typed("completion", shell, cwd=tmp_path).out


def test_completion_works_in_bash(tmp_path: Path) -> None:
    program = tmp_path / "metal"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m metal "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(metal completion bash)"
        complete -p metal
        COMP_WORDS=(metal annotate ex); COMP_CWORD=2; _metal_completion metal; echo "${COMPREPLY[@]}"
        COMP_WORDS=(metal audit --kee); COMP_CWORD=2; COMPREPLY=(); _metal_completion metal; echo "${COMPREPLY[@]}"
    """  # noqa: E501
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _metal_completion metal",
        "export",
        "--keep",
    ]
