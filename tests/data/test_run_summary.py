"""The summary of a run in its run.toml: it says what the run's files say, or nothing."""

from __future__ import annotations

import math
import os
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import tomli_w

import metal
from metal.api.folders import Folder
from metal.data.files import bundled
from metal.data.run_summary import RunSummary, read_summary, write_summary
from metal.data.run_toml import read_run_toml
from metal.show.pages import headline
from tests.saying import tells

DEMO = bundled("datasets/demo")
MARK = b"\n[summary]\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that are written in different ways: with a page, of judges that ended or stopped, of
    metrics.
    """
    folder = tmp_path_factory.mktemp("saved")
    metal.audit(DEMO, criteria="task_quality", resamples=100).save(folder / "audit")
    metal.monitor(DEMO).save(folder / "monitor")

    def judge(source: str, output: str, criterion: str) -> int:
        return 1

    metal.judge(DEMO, judge, name="one", criteria="task_quality", out=folder / "judged")
    metal.judge(DEMO, judge, name="one", limit=5, out=folder / "stopped")
    metal.score(DEMO, "compression", out=folder / "scored")
    return folder


@pytest.fixture
def audit(saved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved / "audit", tmp_path / "audit")


def listed(run: Path) -> Folder:
    """What `metal.ls` says of a run."""
    return {Path(entry.path).name: entry for entry in metal.ls(run.parent)}[run.name]


def head(run: Path) -> bytes:
    """run.toml as it was before runs had a summary."""
    return (run / "run.toml").read_bytes().rpartition(MARK)[0]


def reword(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


@pytest.mark.parametrize("name", ["audit", "monitor", "judged", "stopped", "scored"])
def test_a_summary_says_what_the_files_say(saved: Path, tmp_path: Path, name: str) -> None:
    run = shutil.copytree(saved / name, tmp_path / name)
    assert read_summary(run)
    quick = listed(run)
    (run / "run.toml").write_bytes(head(run))
    assert read_summary(run) is None
    full = listed(run)
    of_scores = {"answer": quick.answer} if name == "scored" else {}  # without their number
    same = {"cost": quick.cost, "date": quick.date, "changed": quick.changed} | of_scores
    assert replace(full, **same) == quick


def test_the_verdicts_of_an_audit_are_counted(saved: Path) -> None:
    table = metal.open_run(saved / "audit").verdicts
    entry = listed(saved / "audit")
    assert entry.verdicts == dict(Counter(table["verdict"]))
    assert entry.by_language == {
        language: dict(Counter(rows["verdict"])) for language, rows in table.groupby("language")
    }
    assert listed(saved / "judged").verdicts is None


def test_the_same_run_has_the_same_bytes(saved: Path, audit: Path) -> None:
    metal.audit(DEMO, criteria="task_quality", resamples=100).save(audit.with_name("again"))
    metal.report(audit)
    for other in (audit, audit.with_name("again")):
        for name in ("run.toml", "report.html"):
            assert (other / name).read_bytes() == (saved / "audit" / name).read_bytes()


def test_a_run_that_is_opened_has_no_summary(saved: Path, audit: Path) -> None:
    opened = metal.open_run(audit)
    assert "summary" not in opened.manifest
    opened.save(audit.with_name("again"))
    assert read_run_toml(audit.with_name("again")) == read_run_toml(saved / "audit")
    assert read_summary(audit.with_name("again"))


def change_a_verdict(run: Path) -> None:
    path = run / "tables" / "verdicts.parquet"
    table = pd.read_parquet(path)
    table.loc[table.index[:3], "verdict"] = "undecided"
    table.to_parquet(path, index=False)


def add_a_rater(run: Path) -> None:
    with (run / "raters.jsonl").open("a") as file:
        file.write('{"rater": "late", "kind": "metric", "group": "late"}\n')


def rename_a_criterion(run: Path) -> None:
    reword(run / "run.toml", b'label = "Task quality"', b'label = "Success"')


def add_a_table(run: Path) -> None:
    shutil.copy(run / "tables" / "people.parquet", run / "tables" / "own.parquet")


@pytest.mark.parametrize("change", [change_a_verdict, add_a_rater, rename_a_criterion, add_a_table])
@pytest.mark.parametrize("times", ["now", "before"])
def test_a_run_that_was_changed_is_read_again(
    audit: Path, change: Callable[[Path], None], times: str
) -> None:
    change(audit)
    if times == "before":  # copied from elsewhere with its times
        for path in audit.rglob("*"):
            os.utime(path, (1, 1))
    assert read_summary(audit) is None
    truth = listed(audit)
    assert truth.state == "finished"
    metal.report(audit)
    assert read_summary(audit)
    assert replace(listed(audit), date=truth.date, changed=truth.changed) == truth


def test_a_changed_file_of_the_same_size_counts_as_changed(audit: Path) -> None:
    warnings = audit / "raters.jsonl"
    content = warnings.read_bytes()
    warnings.write_bytes(content.replace(b'"human"', b'"llm"  ', 1))
    assert len(warnings.read_bytes()) == len(content)
    assert read_summary(audit) is None
    warnings.write_bytes(content)
    assert read_summary(audit)


def test_a_copy_has_the_summary(audit: Path) -> None:
    copy = audit.with_name("copy")
    shutil.copytree(audit, copy, copy_function=shutil.copyfile)
    os.utime(copy / "run.toml", (1, 1))  # all other files are newer
    assert read_summary(copy) == read_summary(audit) is not None


def test_a_report_keeps_what_somebody_wrote_into_run_toml(audit: Path) -> None:
    path = audit / "run.toml"
    before = b"# mine\n" + head(audit)
    path.write_bytes(before)
    metal.report(audit)
    assert head(audit) == before
    assert read_summary(audit)
    path.write_bytes(path.read_bytes() + b"\n[mine]\nx = 1\n")
    content = path.read_bytes()
    metal.report(audit)
    assert path.read_bytes() == content
    assert read_summary(audit) is None
    assert read_run_toml(audit)["mine"] == {"x": 1}
    path.write_bytes(b"summary = 5\n" + before)
    metal.report(audit)
    assert path.read_bytes() == b"summary = 5\n" + before


def rewrite(run: Path, **changes: object) -> None:
    """Change fields of the summary in a run.toml, whose other text stays as it is."""
    before, _, text = (run / "run.toml").read_bytes().rpartition(MARK)
    table = tomllib.loads(text.decode().replace("[summary.", "[")) | changes
    text = tomli_w.dumps({"summary": table}).encode()
    (run / "run.toml").write_bytes(before + b"\n" + text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", 5),
        ("state", "great"),
        ("languages", "en"),
        ("languages", [1]),
        ("headline", []),
        ("raters", {"human": -1}),
        ("raters", {"human": True}),
        ("raters", []),
        ("cells", {"undecided": 3}),
        ("cells", {"undecided": {"en": 1.5}}),
        ("cost", math.nan),
        ("cost", math.inf),
        ("cost", -1),
        ("ratings", 1e9),
        ("other", 1),
        ("of", 5),
        ("of", {}),
    ],
)
def test_a_summary_as_metal_does_not_write_it_is_ignored(
    audit: Path, field: str, value: object
) -> None:
    rewrite(audit, cost=2)
    assert read_summary(audit)
    rewrite(audit, **{field: value})
    assert read_summary(audit) is None
    assert listed(audit).answer == headline(metal.open_run(audit))


@pytest.mark.parametrize("text", [b"[[[", b"a = " + b"[" * 5000, b"\xff", b"kind = 1\nkind = 2"])
def test_a_summary_that_is_no_toml_is_ignored(audit: Path, text: bytes) -> None:
    (audit / "run.toml").write_bytes(head(audit) + MARK + text)
    assert read_summary(audit) is None
    assert tells(listed(audit).answer, "run.toml", "not")


def test_only_files_of_the_run_are_looked_at(audit: Path) -> None:
    secret = audit.with_name("secret.txt")
    secret.write_text("secret")
    _, _, text = (audit / "run.toml").read_bytes().rpartition(MARK)
    of = tomllib.loads(text.decode().replace("[summary.", "["))["of"]
    rewrite(audit, of=of | {"files": [*of["files"], "../secret.txt"]})
    before = read_summary(audit)
    secret.write_text("another secret")
    assert read_summary(audit) == before


def test_a_pipe_in_place_of_a_file_is_not_waited_for(audit: Path) -> None:
    (audit / "raters.jsonl").unlink()
    os.mkfifo(audit / "raters.jsonl")
    assert read_summary(audit) is None


def test_what_a_summary_does_not_know_is_none_and_zero_is_zero(audit: Path) -> None:
    for summary in (
        RunSummary("judge", "begun"),
        RunSummary("judge", "stopped", cost=0.0, ratings=0, languages=(), raters={}, cells={}),
    ):
        (audit / "run.toml").write_bytes(head(audit))
        write_summary(audit, summary)
        assert read_summary(audit) == summary
