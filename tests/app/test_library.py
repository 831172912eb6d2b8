"""What was read of a folder is never shown after the folder has changed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import metal
from metal.app.library import Kept, Library, changed
from metal.app.server import View
from metal.data.files import LARGEST_TOML
from metal.data.run_toml import read_run_toml
from tests.app.test_guard import asked
from tests.app.test_managing import own as own
from tests.app.test_managing import posted
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

    def counted() -> int:
        read.append(1)
        return len(read)

    def opened() -> int:
        return library.opened(tmp_path / "audit", "x", counted)

    assert (opened(), opened()) == (1, 1)
    (tmp_path / "data" / "outputs.jsonl").write_text("{}")
    assert (opened(), opened()) == (2, 2)
    (tmp_path / "judged" / "ratings.parquet").write_text("")
    assert opened() == 3
    assert library.opened(tmp_path / "torn", "x", lambda: 5) == 5


PAGES = (
    *("", "run/runs/audit", "answers/runs/audit", "answers/runs/judged", "dataset/datasets/demo"),
    *("judge/datasets/demo", "manage/runs/audit", "bin", "import", "on/runs/audit"),
    *("compare?run=runs/audit&run=runs/judged", "live/runs/judged"),
)
FORMS = (
    *("rename/runs/audit", "to-bin/runs/audit", "audit/datasets/demo", "live-resume/runs/judged"),
    *("people/datasets/demo", "judge/datasets/demo", "restore/runs/audit"),
)


def refusals(view: View) -> None:
    for path in PAGES:
        status, text, _ = asked(view, path)
        assert status in (200, 303, 400, 403, 404), (path, text)
    for path in FORMS:
        status, text, _ = posted(view, path, name="x", to="html", raters="2", judge="fake:blind")
        assert status in (200, 303, 400, 403, 404), (path, text)


def test_a_folder_that_goes_and_comes_back_is_said_to_be_gone(own: View) -> None:
    for path in PAGES:
        asked(own, path)
    elsewhere = own.folder.with_name("elsewhere")
    own.folder.rename(elsewhere)
    refusals(own)
    assert tells(asked(own)[1], str(own.folder), "no such folder")
    own.folder.write_text("a file")
    refusals(own)
    own.folder.unlink()
    elsewhere.rename(own.folder)
    assert asked(own, "run/runs/audit")[0] == 200


def test_a_run_that_is_damaged_says_how_and_is_read_when_it_is_whole(own: View) -> None:
    file = own.folder / "runs" / "judged" / "run.toml"
    content = file.read_text(encoding="utf-8")
    file.write_text("command = ")
    asked(own)
    status, text, _ = asked(own, "run/runs/judged")
    assert status == 400
    assert tells(text, "runs/judged", "cannot be read", "run.toml")
    file.write_text(content, encoding="utf-8")
    assert asked(own, "run/runs/judged")[0] == 303


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (PermissionError(13, "Permission denied", "/x/run"), 403, ("/x/run", "permission denied")),
        (OSError(errno.EROFS, "Read-only file system", "/x"), 403, ("/x", "Nothing was changed")),
        (OSError(errno.ENOSPC, "No space left on device"), 507, ("no space left", "Make room")),
        (FileNotFoundError(2, "No such file", "/x/gone"), 404, ("/x/gone", "not there any more")),
        (OSError("strange"), 500, ("defect", "OSError")),
    ],
)
def test_what_the_disk_does_not_allow_is_said(
    own: View, error: OSError, status: int, says: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, target: Path) -> None:
        raise error

    monkeypatch.setattr(Path, "rename", refused)
    answer = posted(own, "rename/runs/audit", name="other")
    assert answer[0] == status
    assert tells(answer[1], *says)
    assert (own.folder / "runs" / "audit" / "run.toml").is_file()


def test_room_is_made_before_something_new_is_read() -> None:
    kept = Kept(2)
    held = [kept.get(key, lambda: len(kept._values)) for key in range(4)]
    assert held == [0, 1, 1, 1]


def test_a_card_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "large"
    run.mkdir(parents=True)
    (run / "run.toml").write_text(f'command = "audit"\nx = "{"a" * LARGEST_TOML}"\n')
    (listed,) = metal.ls(tmp_path)
    assert listed.state == "damaged"
    assert tells(listed.answer, "cannot be read", "larger than 10 MB", "Restore the file")
