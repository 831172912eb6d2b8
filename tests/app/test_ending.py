"""`metal view` as a process of its own: how it begins, and what it leaves when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from starlette.testclient import TestClient

from metal.app.jobs import HELD, PREFIX, Jobs, clear_left_over
from metal.app.server import app_of
from metal.data.escaping import environment, source
from metal.data.run_summary import is_running
from tests.app.shop import DEMO, until
from tests.llm_server import LlmServer
from tests.saying import tells


class Started:
    """`metal view` in a folder, with a folder of its own for private files."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.folder, self.temporary = folder, folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self.output = folder / "output.txt"
        own = {"TMPDIR": str(self.temporary), "XDG_STATE_HOME": str(folder / "state")}
        plain = {key: value for key, value in os.environ.items() if key != "SSH_CONNECTION"}
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "metal", "view", ".", *options],
                cwd=folder, stdout=file, stderr=subprocess.STDOUT,
                env={**plain, **own, **environment},
            )  # fmt: skip
        until(lambda: "Ctrl-C" in self.says or self.process.poll() is not None)

    @property
    def says(self) -> str:
        return self.output.read_text(encoding="utf-8")

    @property
    def address(self) -> str:
        return self.says.split()[0]

    @property
    def private(self) -> list[Path]:
        return list(self.temporary.glob(f"{PREFIX}*"))

    def post(self, page: str) -> None:
        urlopen(Request(self.address + page, b"", method="POST"), timeout=60).close()

    def end(self, how: int) -> int:
        self.process.send_signal(how)
        return self.process.wait(60)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[Started] = []

    def begin(*options: str, **environment: str) -> Started:
        started.append(Started(tmp_path, *(options or ("--no-open",)), **environment))
        return started[-1]

    yield begin
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_in_good_order(start: Any, how: int) -> None:
    app = start()
    assert len(app.private) == 1
    assert app.end(how) == 0
    assert app.private == []
    assert "Traceback" not in app.says


def test_the_command_line_of_the_browser_does_not_have_the_token(
    start: Any, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nprintf %s "$1" > new && mv new opened\n')
    browser.chmod(0o700)
    app = start("--open", BROWSER=f"{browser} %s")
    until((tmp_path / "opened").exists)
    address = (tmp_path / "opened").read_text()
    assert app.address.split("/")[3] not in address
    with urlopen(address, timeout=60) as page:
        assert page.url == app.address


@pytest.mark.slow
def test_a_judge_that_it_started_stops_as_by_ctrl_c(start: Any, tmp_path: Path) -> None:
    with LlmServer(latency_ms=200) as server:
        (tmp_path / "datasets").mkdir()
        (tmp_path / "datasets" / "demo").symlink_to(DEMO)
        judge = [sys.executable, "-m", "metal", "judge", "datasets/demo", "--yes", "--limit", "1"]
        judge += ["-j", "openai-compatible:m", "--base-url", server.openai_url, "-p", "simple"]
        key = {"OPENAI_COMPATIBLE_API_KEY": "sk-x"}
        subprocess.run(
            [*judge, "--concurrency", "1", "--out", "runs/j"],
            cwd=tmp_path, check=True, env={**os.environ, **key}, capture_output=True,
        )  # fmt: skip
        app = start(**key)
        app.post("live-resume/runs/j")
        until(lambda: is_running(tmp_path / "runs" / "j"))
        assert app.end(signal.SIGTERM) == 0
        until(lambda: not is_running(tmp_path / "runs" / "j"))
    assert app.private == []
    assert tells(app.says, "Interrupted", "metal judge --resume=runs/j", "metal ls")


@pytest.mark.slow
def test_what_a_killed_one_left_is_deleted_at_the_next_start(start: Any) -> None:
    killed = start()
    (left,) = killed.private
    (left / "uploads").mkdir()
    (left / "uploads" / "texts.csv").write_text("private")
    assert killed.end(signal.SIGKILL) == -signal.SIGKILL
    assert left.is_dir()
    first, second = start(), start()
    assert left not in first.private
    assert len(first.private) == 2  # of the two at work
    for app in (first, second):
        app.end(signal.SIGTERM)
    assert first.private == []


def test_only_folders_of_apps_that_ended_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    at_work = Jobs(tmp_path)
    for name in ("being-made", "ended", "strange"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
    (tmp_path / f"{PREFIX}ended" / HELD).write_text("")
    (tmp_path / f"{PREFIX}strange" / HELD).mkdir()
    (tmp_path / f"{PREFIX}file").write_text("")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / HELD).write_text("")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "target")
    monkeypatch.setattr("os.getuid", lambda: 12345)
    clear_left_over(tmp_path)
    assert (tmp_path / f"{PREFIX}ended").is_dir()  # another user's
    monkeypatch.undo()
    clear_left_over(tmp_path)
    left = {path.name.removeprefix(PREFIX) for path in tmp_path.glob(f"{PREFIX}*")}
    assert left == {"being-made", "strange", "file", "link", at_work.folder.name[len(PREFIX) :]}
    assert (tmp_path / "target").is_dir()
    at_work.close()
    assert not at_work.folder.exists()


def test_on_a_remote_machine_it_says_how_to_see_the_page(start: Any) -> None:
    app = start(SSH_CONNECTION="10.0.0.1 50000 10.0.0.2 22", USER="me", LOGNAME="me")
    port = app.address.split(":")[2].split("/")[0]
    assert tells(app.says, f"ssh -N -L {port}:127.0.0.1:{port} me@")


def test_templates_of_a_later_version_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an upgrade, they would not fit the code that is at work."""
    package = tmp_path / "upgraded_package"
    (package / "templates").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "templates" / "page.html").write_text("{{ old }}")
    monkeypatch.syspath_prepend(tmp_path)
    pages = environment("upgraded_package", str)
    (package / "templates" / "page.html").write_text("{{ new }} and more")
    assert pages.get_template("page.html").render(old="as before") == "as before"
    assert source(pages, "page.html") == "{{ old }}"


def test_after_an_upgrade_an_error_says_to_start_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(tmp_path)
    monkeypatch.setattr(app.state.library, "folders", lambda: 1 / 0)
    client = TestClient(app, raise_server_exceptions=False)
    assert tells(client.get("/").text, "ZeroDivisionError")
    app.state.began = 0.0
    answer = client.get("/")
    assert answer.status_code == 500
    assert tells(answer.text, "changed on the disk", "start it again")
    app.state.jobs.close()
