"""The app on a folder with the demo, an audit of it and a judge's run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

import metal
from metal.app.server import View
from tests.app.shop import DEMO, Shop
from tests.browser import browser as browser
from tests.llm_server import LlmServer


@pytest.fixture(scope="session", autouse=True)
def untouched() -> Iterator[None]:
    """The app's tests change nothing in the datasets that come with METAL."""
    digests = digests_of(DEMO)
    yield
    assert digests_of(DEMO) == digests


def digests_of(folder: Path) -> dict[Path, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo, a run of a judge, and an audit of both."""
    folder = tmp_path_factory.mktemp("shelf")
    source = Path(__file__).parents[2] / "datasets" / "demo"
    shutil.copytree(source, folder / "datasets" / "demo")
    judged = folder / "runs" / "judged"
    metal.judge(
        folder / "datasets" / "demo", "fake:blind", prompt="simple", languages="hi,ar", out=judged
    )
    audit = metal.audit(folder / "datasets" / "demo", judged, languages="hi,ar", resamples=100)
    audit.save(folder / "runs" / "audit")
    return folder


@pytest.fixture(scope="session")
def view(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """The app at work on the shelf."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        view = View.begin(shelf, 0)
    yield view
    view.stop()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "shop"
    shutil.copytree(DEMO, folder / "datasets" / "demo")
    with LlmServer() as server:
        view = View.begin(folder, 0)
        shop = Shop(folder, server, view)
        yield shop
        view.stop()
        for process in shop.processes:
            process.kill()
            process.wait()
