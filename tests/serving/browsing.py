"""A server whose people rate in real browsers, and what they do there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

import metal
from metal.serving import tables
from metal.serving.ledger import ServingLedger
from metal.serving.server import Served, begin
from tests.serving.conftest import KINDS
from tests.serving.web import folder_with_demo

SIZES = ((1400, 900), (390, 844))
PATIENCE = 600  # seconds, within which workers come to everything, however busy the machine is
ON = pytest.mark.parametrize(
    ("database", "size"), [*zip(KINDS, SIZES, strict=True)], indirect=["database"],
    ids=("sqlite-desk", "postgresql-phone"),
)  # fmt: skip
MOST_TABS = 80
FOCUSED = """() => {
  const each = document.activeElement;
  if (each === document.body) return "";
  const label = each.labels && each.labels[0] ? each.labels[0].textContent : each.textContent;
  return [each.tagName, each.getAttribute("aria-label") || label].join(" ");
}"""


class Site:
    """A server with a study in three languages, and a link for each visit."""

    def __init__(self, folder: Path, database: str = "") -> None:
        self.folder, self.database = folder_with_demo(folder), database
        self.served = self.begin(0)
        self.links: dict[str, list[str]] = {}

    def begin(self, port: int) -> Served:
        """Start the server."""
        return begin(
            self.folder, host="127.0.0.1", port=port, database=self.database, root_path="",
            https=False, worker=False,
        )  # fmt: skip

    def study(self, **options: Any) -> None:
        """Make the study `demo`."""
        _, links = metal.study_new(
            self.folder / "demo", folder=self.folder, database=self.database, **options
        )
        for name, path in links:
            self.links.setdefault(name[:2], []).append(path)

    def link(self, language: str) -> str:
        """A link that nobody used."""
        return self.served.address + self.links[language].pop()

    def ledger(self) -> ServingLedger:
        """The ledger, as another process sees it; the caller closes it."""
        return ServingLedger(self.folder, self.database)

    def answers(self) -> int:
        """How many whole answers the ledger has."""
        ledger = self.ledger()
        whole = select(func.count()).select_from(tables.answers).where(tables.answers.c.whole)
        number = ledger.reads(lambda connection: connection.scalar(whole) or 0)
        ledger.close()
        return number


def start(page: Any, address: str) -> None:
    """Open a link, and go to the first task."""
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.click("#start")
    page.wait_for_selector("#view-task:not([hidden])")


def rate_task(page: Any, key: str = "1") -> None:
    """Answer every question of the task by a digit key, and go on."""
    for _ in page.query_selector_all("fieldset"):
        page.keyboard.press(key)
    page.keyboard.press("n")


def wait_saved(page: Any) -> None:
    """Wait until nothing is left to send."""
    page.wait_for_function("() => !waiting().length && !left.length && !sending")


def go_on(page: Any) -> None:
    """Ask for more tasks, when all are saved."""
    wait_saved(page)
    assert page.locator("[role=alert]:visible").count() == 0
    page.wait_for_selector("#more:not([hidden])")
    with page.expect_navigation():
        page.click("#more button")
    page.wait_for_selector("body[data-ready]")
    page.click("#start")
    page.wait_for_selector("#view-task:not([hidden])")


def open_board(owner: Any, address: str) -> str:
    """The owner opens the board to everybody, and makes a team; returns the team's token."""
    owner.goto(f"{address}/owner/boards")
    owner.select_option("[name=dataset]", "news")
    owner.select_option("[name=readers]", "public")
    owner.uncheck("[name=moderated]")
    owner.click("text=Open the board")
    owner.wait_for_selector("h2:has-text('Teams')")
    owner.fill("[name=team]", "A team")
    owner.click("text=Make its link")
    return str(owner.locator(".links a").inner_text()).rpartition("/")[2]


def tab_to(page: Any, named: str) -> None:
    """Go on with the Tab key to what has this name; fails if it cannot be reached."""
    passed = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(FOCUSED))
        if named in passed[-1]:
            return
    raise AssertionError(f"{named!r} is not among {passed}")


def press(page: Any, named: str, key: str = "Enter") -> None:
    """Go to a button or link by Tab, press a key, and wait for the page that comes."""
    tab_to(page, named)
    with page.expect_navigation():
        page.keyboard.press(key)
