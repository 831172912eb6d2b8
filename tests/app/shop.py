"""A folder with a dataset, a model's server, judges as processes, and the app on the folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metal.app.server import View
from tests.app.test_guard import asked
from tests.llm_server import LlmServer
from tests.report.checks import ALIKE

DEMO = Path(__file__).parents[2] / "datasets" / "demo"
KEY = "sk-never-to-be-seen-0123456789"
SIZES = (1400, 390)


class Shop:
    """A folder with the demo, a model's server, and judges that are started as processes."""

    def __init__(self, folder: Path, server: LlmServer, view: View) -> None:
        self.folder, self.server, self.view = folder, server, view
        self.run = folder / "runs" / "j"
        self.processes: list[subprocess.Popen[bytes]] = []

    def judge(self, *more: str) -> subprocess.Popen[bytes]:
        """Start `metal judge` as somebody would in a terminal."""
        command = [sys.executable, "-m", "metal", "judge", "datasets/demo", "--yes", "-p", "simple"]
        command += ["-j", "openai-compatible:m", "--base-url", self.server.openai_url]
        command += ["-l", "hi", "-c", "task_quality", "--out", "runs/j", *more]
        process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENAI_COMPATIBLE_API_KEY": KEY},
        )  # fmt: skip
        self.processes.append(process)
        return process

    def page(self, path: str = "live/runs/j", **options: Any) -> str:
        return asked(self.view, path, **options)[1]


def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds."""
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never held")


def listened(page: Any) -> list[str]:
    """What a page complains of from now on; a browser asks for an icon that is not there."""
    complaints: list[str] = []

    def hear(message: Any) -> None:
        if "favicon" not in str(getattr(message, "location", "")):
            complaints.append(str(getattr(message, "text", message)))

    page.on("console", hear)
    page.on("pageerror", hear)
    return complaints


def check_looks(page: Any, width: int) -> None:
    """The page is not wider than the screen, and axe finds nothing."""
    from axe_playwright_python.sync_playwright import Axe

    page.wait_for_load_state()  # a page on its way has no document yet
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(ALIKE)
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
