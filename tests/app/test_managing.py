"""Runs are renamed, moved to the bin and brought back, and compared."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from metal.app.managing import checked_name
from metal.app.server import View
from metal.errors import UsageError
from tests.app.shop import DEMO
from tests.app.test_guard import asked
from tests.saying import tells


@pytest.fixture
def own(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[View]:
    """The app on a copy of the shelf."""
    folder = tmp_path / "shelf"
    shutil.copytree(shelf, folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view = View.begin(folder, 0)
    yield view
    view.stop()


def posted(view: View, path: str, **fields: str) -> tuple[int, str, dict[str, str]]:
    """What a form of the app gets."""
    body = urlencode(fields).encode()
    return asked(view, path, "POST", body, content_type="application/x-www-form-urlencoded")


def test_a_run_is_renamed(own: View) -> None:
    runs = own.folder / "runs"
    before = (runs / "audit" / "run.toml").read_bytes()
    assert posted(own, "rename/runs/audit", name="first try")[0] == 303
    assert (runs / "first try" / "run.toml").read_bytes() == before
    assert asked(own, "run/runs/first%20try")[0] == 200
    assert asked(own, "run/runs/audit")[0] == 404


@pytest.mark.parametrize("kind", ["audit", "judged"])
def test_every_link_of_a_name_with_signs_leads_somewhere(own: View, kind: str) -> None:
    at = posted(own, f"rename/runs/{kind}", name="try #1 50%41")[2]["location"]
    assert at.endswith("/manage/runs/try%20%231%2050%2541")
    assert asked(own, "manage/runs/try%20%231%2050%2541")[0] == 200
    status, text, headers = asked(own, "run/runs/try%20%231%2050%2541")
    if status == 303:
        assert headers["location"].endswith("/answers/runs/try%20%231%2050%2541")
    else:
        assert "/answers/runs/try%20%231%2050%2541" in text
        assert "runs/try #1" not in text


@pytest.mark.parametrize(
    "name", ["", "..", ".hidden", "a/b", "a\\b", "-x", "x" * 101, "a\u202eb", "a\nb"]
)
def test_what_cannot_be_a_name_is_refused(own: View, name: str) -> None:
    with pytest.raises(UsageError):
        checked_name(name)
    assert posted(own, "rename/runs/audit", name=name)[0] == 400
    assert (own.folder / "runs" / "audit").is_dir()


def test_a_name_that_is_taken_is_refused(own: View) -> None:
    status, text, _ = posted(own, "rename/runs/audit", name="judged")
    assert status == 400
    assert "is there already" in text


def test_the_bin_gives_back_what_it_took(own: View) -> None:
    audit = own.folder / "runs" / "audit"
    before = {path.name: path.read_bytes() for path in audit.iterdir() if path.is_file()}
    assert posted(own, "to-bin/runs/audit")[0] == 303
    assert not audit.exists()
    assert "runs/audit" not in asked(own)[1]
    assert "runs/audit" in asked(own, "bin")[1]
    assert posted(own, "restore/runs/audit")[0] == 303
    after = {path.name: path.read_bytes() for path in audit.iterdir() if path.is_file()}
    assert after == before


def test_the_bin_says_where_it_is_wherever_the_app_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(DEMO, tmp_path / ".bin" / "datasets" / "demo")
    monkeypatch.chdir(tmp_path)
    here = View.begin(Path(), 0)
    text = asked(here, "bin")[1]
    here.stop()
    assert str(tmp_path.resolve() / ".bin") in text


def test_nothing_outside_the_folder_is_moved(own: View) -> None:
    for path in ("to-bin/../state", "to-bin/datasets", "restore/../x", "rename/-"):
        assert posted(own, path, name="x")[0] in (400, 403, 404)
    assert (own.folder / "datasets" / "demo").is_dir()


def test_who_names_a_run_is_said_before_it_is_moved(view: View) -> None:
    text = asked(view, "manage/datasets/demo")[1]
    assert "runs/audit" in text
    assert "runs/judged" in asked(view, "manage/runs/judged")[1]


def test_two_runs_are_compared(own: View) -> None:
    status, text, _ = asked(own, "compare?run=runs/judged&run=runs/audit")
    assert status == 200
    assert "fake:blind" in text


@pytest.mark.parametrize("ticked", [[], ["runs/audit"], ["runs/audit", "runs/judged", "x"]])
def test_two_have_to_be_ticked_and_can_be_there(own: View, ticked: list[str]) -> None:
    status, text, _ = asked(own, "compare?" + urlencode({"run": ticked}, doseq=True))
    assert status == 200
    assert tells(text, "Tick exactly two")
    assert ('value="runs/audit" checked' in text) == ("runs/audit" in ticked)
    assert 'value="runs/judged"' in text
    assert "datasets/demo" not in text


def test_a_run_whose_command_is_starting_stays(own: View) -> None:
    jobs = own._state.jobs
    job = jobs.start(["judge", "--resume=runs/judged", "--yes"])
    job.process.send_signal(signal.SIGSTOP)  # before it has locked the run
    for path in ("to-bin/runs/judged", "rename/runs/judged"):
        status, text, _ = posted(own, path, name="other")
        assert status == 400
        assert tells(text, "--resume=runs/judged", "at work")
    assert jobs.at_work_on(own.folder / "runs" / "audit") is None
    job.process.kill()
    job.process.wait()
    assert posted(own, "to-bin/runs/judged")[0] == 303


def test_the_dataset_of_a_command_at_work_stays(own: View) -> None:
    jobs = own._state.jobs
    job = jobs.start(["audit", "--out=runs/new", "--", "datasets/demo"])
    job.process.send_signal(signal.SIGSTOP)
    assert posted(own, "to-bin/datasets/demo")[0] == 400
    job.process.kill()


def test_what_changes_something_is_never_a_link(own: View) -> None:
    for path in ("rename/runs/audit", "to-bin/runs/audit", "restore/runs/audit"):
        assert asked(own, path)[0] == 405
