"""A real headless Chromium to look at pages with: fixtures for the conftest.py of folders that need them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--disable-gpu",
)


def chromium() -> str:
    """Where Chromium is. In CI it must be there."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    if os.environ.get("CI"):
        pytest.fail("no Chromium found")
    pytest.skip("no Chromium found (Debian: apt install chromium)")


@pytest.fixture(scope="module")  # while it runs, no other test of the process can have an event loop of its own
def browser() -> Iterator[Any]:
    """A headless Chromium, one for a file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield started
        started.close()


class Visit:
    """A page opened in a fresh context, with everything it said and asked for.

    folded: leave what is for the paper folded, as readers find it.
    """

    def __init__(self, browser: Any, path: Path, address: str = "", *, folded: bool = False, **options: Any) -> None:
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.resolve().as_uri() + address)
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("body[data-ready]")
            if not folded:
                self.page.evaluate("document.querySelectorAll('details.fold').forEach((fold) => (fold.open = true))")


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """visit(path, "#address", color_scheme="dark", ...): the page, opened and ready."""
    open_visits: list[Visit] = []

    def go(path: Path, address: str = "", **options: Any) -> Visit:
        open_visits.append(Visit(browser, path, address, **options))
        return open_visits[-1]

    yield go
    for one in open_visits:
        one.context.close()
