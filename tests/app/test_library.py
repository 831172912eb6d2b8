"""What was read of a folder is never shown after the folder has changed."""

from __future__ import annotations

import os
from pathlib import Path

import metal
from metal.app.library import Library, changed
from metal.app.server import View
from metal.data.run_toml import read_run_toml
from tests.app.test_guard import asked
from tests.app.test_managing import own as own
from tests.saying import tells


def test_a_file_of_the_same_size_and_time_is_another_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "tables").mkdir(parents=True)
    for file in ("run.toml", "tables/verdicts.csv"):
        path = run / file
        path.write_text("a = 1\n")
        before, state = changed(run), path.stat()
        new = tmp_path / "new"
        new.write_text("a = 2\n")
        os.utime(new, ns=(state.st_atime_ns, state.st_mtime_ns))
        new.replace(path)
        folder = path.parent.stat()
        os.utime(path.parent, ns=(folder.st_atime_ns, state.st_mtime_ns))
        assert changed(run) != before


def test_a_lock_and_a_growing_journal_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("")
    before = changed(tmp_path)
    for file in (".lock", ".worker", "journal.jsonl"):
        (tmp_path / file).write_text("x")
    assert changed(tmp_path) == before
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    assert changed(tmp_path) != before


def test_a_run_that_is_replaced_at_once_shows_its_new_figures(own: View) -> None:
    assert "fake:blind" in asked(own, "run/runs/audit")[1]
    metal.audit(
        own.folder / "datasets" / "demo", languages="hi", resamples=100, criteria="task_quality"
    ).save(own.folder / "runs" / "audit", force=True)
    text = asked(own, "run/runs/audit")[1]
    assert "fake:blind" not in text
    assert "constructed:good" in text
    assert tells(asked(own)[1], "Not listed", "runs/audit.replaced")


def test_a_dataset_that_is_changed_shows_its_new_texts(own: View) -> None:
    """The page of a judges' run has texts and people's scores of its dataset."""
    dataset = own.folder / "datasets" / "demo"
    settings = own.folder / "runs" / "judged" / "run.toml"
    named = read_run_toml(settings.parent)["settings"]["dataset"]
    settings.write_text(settings.read_text().replace(str(named), "datasets/demo"))
    output = next(name for name in metal.read(dataset).outputs if name.startswith("hi-"))
    page = f"output/runs/judged?output={output}"
    assert "A new text" not in asked(own, page)[1]
    lines = (dataset / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    text = metal.read(dataset).outputs[output].text
    new = [line.replace(text[:20], f"A new text {text[:20]}") for line in lines]
    (dataset / "outputs.jsonl").write_text("\n".join(new) + "\n", encoding="utf-8")
    assert "A new text" in asked(own, page)[1]


def test_the_datasets_of_the_runs_in_an_audit_are_looked_at(tmp_path: Path) -> None:
    for folder, text in {
        "data": "",
        "judged": 'command = "judge"\n[settings]\ndataset = "data"\n',
        "audit": 'command = "audit"\n[[datasets]]\npath = "data"\nmore = ["judged", "gone"]\n',
        "torn": "[[",
    }.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ("run.toml" if text else "dataset.toml")).write_text(text)
    library = Library(tmp_path)
    read: list[int] = []

    def opened() -> int:
        return library.opened(tmp_path / "audit", "x", lambda: read.append(1) or len(read))

    assert (opened(), opened()) == (1, 1)
    (tmp_path / "data" / "outputs.jsonl").write_text("{}")
    assert (opened(), opened()) == (2, 2)
    (tmp_path / "judged" / "ratings.parquet").write_text("")
    assert opened() == 3
    assert library.opened(tmp_path / "torn", "x", lambda: 5) == 5
