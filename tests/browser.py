"""A real headless Chromium to look at pages with: fixtures for the conftest.py of folders that need
them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.needed import found_or_not

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
    """Where Chromium is. Fails or skips the test if there is none."""
    paths = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    message = "no Chromium found (Debian: apt install chromium)"
    return found_or_not(next(filter(None, paths), None), "chromium", message)


# while it runs, no other test of the process can have an event loop of its own
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, one for a file."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield started
        started.close()


Pages = dict[str, list[Any]]


@pytest.fixture(scope="module")
def pages(browser: Any) -> Iterator[Pages | None]:
    """Pages whose visit is over, by the options of their context: to go on in one costs a third of
    a new one.
    """
    kept: Pages = {}
    yield kept
    for waiting in kept.values():
        for page in waiting:
            page.context.close()


class Visit:
    """A page opened with nothing of earlier visits to be seen, with everything it said and asked
    for.

    pages: those that wait for a visit; None for a context of its own, closed at the end. folded:
    leave what is for the paper folded, as readers find it.
    """

    def __init__(
        self,
        browser: Any,
        path: Path,
        address: str = "",
        *,
        pages: Pages | None = None,
        folded: bool = False,
        viewport: dict[str, int] | None = None,
        color_scheme: str = "light",
        **options: Any,
    ) -> None:
        self.waiting = None if pages is None else pages.setdefault(repr(options), [])
        if self.waiting:
            self.page = self.waiting.pop()
        else:
            self.page = browser.new_context(accept_downloads=True, **options).new_page()
        self.context = self.page.context
        self.context.set_default_timeout(120_000)
        self.page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        self.page.emulate_media(media="null", color_scheme=color_scheme)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.listeners = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "dialog": lambda dialog: (
                self.said.append(f"dialog {dialog.message}"),
                dialog.dismiss(),
            ),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self.listeners.items():
            self.page.on(event, listener)
        self.page.goto(path.resolve().as_uri() + address)
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("body[data-ready]")
            if not folded:
                self.page.evaluate(
                    "document.querySelectorAll('details.fold').forEach((fold) => (fold.open ="
                    " true))"
                )

    def over(self) -> None:
        """The page waits for the next visit, or is closed."""
        if self.waiting is None:
            self.context.close()
            return
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)
        self.page.goto("about:blank")
        self.waiting.append(self.page)


@pytest.fixture
def visit(browser: Any, pages: Pages | None) -> Iterator[Callable[..., Visit]]:
    """visit(path, "#address", color_scheme="dark", ...): the page, opened and ready."""
    open_visits: list[Visit] = []

    def go(path: Path, address: str = "", **options: Any) -> Visit:
        open_visits.append(Visit(browser, path, address, pages=pages, **options))
        return open_visits[-1]

    yield go
    for visit in open_visits:
        visit.over()
