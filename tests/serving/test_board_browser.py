"""Boards in a real browser: readers, teams and the owner, by keyboard, on a phone, in the dark, and
without script.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.shop import check_looks
from tests.serving.boards_at_work import (
    HIDDEN,
    LENGTH,
    BoardAtWork,
    board_at_work,
    outputs_of,
    scores_of,
)
from tests.serving.browsing import ON, SIZES, press, tab_to
from tests.serving.conftest import KINDS

ARABIC_TEAM, ARABIC_NAME, ARABIC_WORDS = "فريق الواحة", "مولِّد الواحة", "يكتب ملخصات (قصيرة)."
UNREACHABLE = """() => [...document.querySelectorAll(".scroll, pre")].filter((each) =>
  each.tabIndex < 0 || (each.matches(".scroll") && !each.getAttribute("aria-label"))).length"""


class Opened:
    """A server with a board that has two versions, and links for its readers.

    link: of a viewer.
    """

    def __init__(self, work: BoardAtWork) -> None:
        self.work, self.address = work, work.served.address
        work.opens(readers="link", programs="on")
        work.works()
        team = work.team("first team")
        content = {"kind": "metric-scores", "name": "mine"}
        file = {"file": scores_of(work.folder)}
        assert team.post("/boards/news/api/submissions", data=content, files=file).is_success
        work.works()
        page = work.does("viewer").text
        found = re.search(r'<a href="([^"]+/with/[^"]+)"', page)
        assert found
        self.link = found[1]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Opened]]:
    """opened(kind): the server on a database of that kind, one for a file."""
    before = Path.cwd()
    servers: dict[str, Any] = {}
    boards: dict[str, Opened] = {}

    def opening(database: str) -> Opened:
        kind = KINDS[bool(database)]
        if kind not in boards:
            root = tmp_path_factory.mktemp(kind)
            os.chdir(root)  # as the worker's process does
            servers[kind] = board_at_work(root, database)
            boards[kind] = Opened(servers[kind].__enter__())
        os.chdir(boards[kind].work.root)
        return boards[kind]

    yield opening
    os.chdir(before)
    for server in servers.values():
        server.__exit__(None, None, None)


@pytest.fixture
def board(opened: Callable[[str], Opened], database: str) -> Opened:
    """The board, on SQLite and on PostgreSQL."""
    return opened(database)


@pytest.fixture
def sqlite_board(opened: Callable[[str], Opened]) -> Opened:
    """The board on SQLite."""
    return opened("")


def check_page(page: Any, width: int) -> None:
    """The page looks right, and what scrolls in it can be reached and has a name."""
    assert page.evaluate(UNREACHABLE) == 0
    check_looks(page, width)


# ---------------------------------------------------------------- looks


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=("desk", "phone"))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_a_board_is_clean(
    sqlite_board: Opened, new_page: Any, size: tuple[int, int], scheme: str
) -> None:
    page = new_page(*size, color_scheme=scheme)
    work = sqlite_board.work
    team = f"{ARABIC_TEAM} {scheme} {size[0]}"
    name = f"{ARABIC_NAME} {scheme} {size[0]}"
    page.goto(work.link(team))
    check_page(page, size[0])
    page.fill("[name=name]", name)
    page.fill("[name=description]", ARABIC_WORDS)
    file = {"name": "o.jsonl", "mimeType": "text/plain", "buffer": outputs_of("gen", 11)}
    page.set_input_files("[name=file]", file)
    page.click("button:has-text('Submit')")
    page.wait_for_selector("[role=alert]")  # a source is missing
    check_page(page, size[0])
    fields = ("[name=name]", "[name=description]")
    assert [page.input_value(each) for each in fields] == [name, ARABIC_WORDS]  # only the file goes
    page.set_input_files("[name=file]", {**file, "buffer": outputs_of("gen")})
    page.click("button:has-text('Submit')")
    page.wait_for_selector(".state")
    assert page.locator("[dir=auto]", has_text=ARABIC_WORDS).evaluate(
        "(each) => getComputedStyle(each).direction"
    ) == "rtl"  # fmt: skip
    check_page(page, size[0])
    work.works()
    for path in ("", "?at=1", "/api"):
        page.goto(f"{sqlite_board.address}/boards/news{path}")
        check_page(page, size[0])
    owner = new_page(*size, color_scheme=scheme)
    owner.goto(work.served.owner)
    for path in ("/owner/boards", "/owner/board/news"):
        owner.goto(f"{sqlite_board.address}{path}")
        check_page(owner, size[0])
    owner.fill("[name=team] >> nth=-1", f"{team} again")
    owner.click("text=Make its link")
    owner.wait_for_selector(".links")
    check_page(owner, size[0])
    stranger = new_page(*size, color_scheme=scheme)
    stranger.goto(f"{sqlite_board.address}/boards/news")
    check_page(stranger, size[0])


# ---------------------------------------------------------------- readers


@ON
def test_a_reader_looks_at_a_board_by_keyboard(
    board: Opened, new_page: Any, size: tuple[int, int]
) -> None:
    page = new_page(*size, accept_downloads=True)
    assert page.goto(f"{board.address}/boards/news").status == 404  # private to who has the link
    page.goto(board.link)
    assert page.url == f"{board.address}/boards/news"
    newest = page.locator("h1").inner_text()
    assert "near" in page.locator("table", has_text="Raters by agreement").inner_text()
    tab_to(page, "Raters by agreement with people")  # a table that scrolls
    tab_to(page, "Version")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('[name=at]').value === '1'")
    press(page, "BUTTON Show it")
    assert page.url.endswith("?at=1")
    board.work.works()
    page.wait_for_selector("h1:has-text('version 1')")
    assert page.locator("tr", has_text="mine").count() == 0
    tab_to(page, "A raters")
    with page.expect_download() as downloading:
        page.keyboard.press("Enter")
    assert downloading.value.suggested_filename == "news-raters.csv"
    rows = list(csv.DictReader(downloading.value.path().read_text(encoding="utf-8").splitlines()))
    assert {"near", "far", "judge"} <= {row["rater"] for row in rows}
    press(page, "The newest version")
    assert page.locator("h1").inner_text() == newest
    press(page, "badge")
    assert "<svg" in page.content()
    assert "version" in page.locator("title").text_content()
    page.go_back()
    press(page, "The whole billboard")
    assert page.locator("h1").count() == 1
    assert not [each for each in HIDDEN if each in page.content()]


def test_who_may_read_a_board_is_the_owners_choice(board: Opened, new_page: Any) -> None:
    """By keyboard, on the owner's page."""
    owner, reader = new_page(), new_page()
    owner.goto(board.work.served.owner)
    for readers, code in (("everybody", 200), ("only me", 404), ("who has", 404)):
        owner.goto(f"{board.address}/owner/board/news")
        tab_to(owner, "Who may read it")
        owner.keyboard.type(readers)
        press(owner, "BUTTON Change the rules")
        assert reader.goto(f"{board.address}/boards/news").status == code
    reader.goto(board.link)
    assert "news" in reader.locator("h1").inner_text()


# ---------------------------------------------------------------- teams, and the owner


@pytest.mark.slow
@ON
def test_a_team_submits_and_the_owner_decides_by_keyboard(
    board: Opened, new_page: Any, size: tuple[int, int]
) -> None:
    owner, team = new_page(*size), new_page(*size)
    group = f"team {size[0]}"
    owner.goto(board.work.served.owner)
    owner.goto(f"{board.address}/owner/board/news")
    tab_to(owner, "I accept each submission first")
    if not owner.locator("[name=moderated]").is_checked():
        owner.keyboard.press("Space")
    press(owner, "BUTTON Change the rules")
    tab_to(owner, "Name of a team")
    owner.keyboard.type(group)
    with owner.expect_navigation():
        owner.keyboard.press("Enter")
    team.goto(owner.locator(".links a").inner_text())

    submitted, uploads = [], []
    team.on("filechooser", lambda chooser: chooser.set_files(uploads.pop()))
    for kind, name, content in (
        ("Generator", f"gen-{size[0]}", outputs_of("gen")),
        ("Metric: program", f"long-{size[0]}", LENGTH.encode()),
        ("Metric: scores", f"unwanted-{size[0]}", scores_of(board.work.folder)),
    ):
        team.goto(f"{board.address}/boards/news")
        tab_to(team, "What it is")
        team.keyboard.type(kind)
        tab_to(team, "Name on the board")
        team.keyboard.type(name)
        tab_to(team, "File")
        uploads.append({"name": "f", "mimeType": "text/plain", "buffer": content})
        team.keyboard.press("Enter")
        team.wait_for_function("() => document.querySelector('[name=file]').files.length === 1")
        tab_to(team, "Description")
        team.keyboard.type("What it does.")
        press(team, "BUTTON Submit")
        assert "waits for the board’s owner" in team.locator(".state").inner_text()
        submitted.append(team.url)

    for what, name in (("Accept", "gen"), ("Accept", "long"), ("Refuse", "unwanted")):
        owner.goto(f"{board.address}/owner/board/news")
        press(owner, f"BUTTON {what} {name}-{size[0]}")
    team.goto(submitted[0])
    assert "waits for a worker" in team.locator(".state").inner_text()
    board.work.works()
    team.wait_for_selector(".state:has-text('It is on the board')")  # without loading it again
    team.goto(submitted[1])
    assert "on the board" in team.locator(".state").inner_text()
    assert "scored" in team.locator("main ul").inner_text()  # its log
    team.goto(submitted[2])
    assert "refused" in team.locator(".state").inner_text()
    press(team, "A The board")
    rows = team.locator("table", has_text="What your team submitted").inner_text()
    assert [rows.count(state) for state in ("joined", "refused")] == [2, 1]
    raters = team.locator("table", has_text="Raters by agreement").inner_text()
    assert f"long-{size[0]}" in raters
    stranger = new_page(*size)
    stranger.goto(board.link)
    assert stranger.goto(submitted[0]).status == 404  # its team's alone

    owner.goto(f"{board.address}/owner/board/news")
    press(owner, f"BUTTON Withdraw long-{size[0]}")
    board.work.works()
    team.goto(f"{board.address}/boards/news")
    assert f"long-{size[0]}" not in team.locator("table", has_text="Raters by").inner_text()
    assert "withdrawn" in team.locator("table", has_text="When (UTC)").inner_text()
    owner.goto(f"{board.address}/owner/board/news")
    press(owner, f"BUTTON Have people rate it gen-{size[0]}")
    assert "/owner/study/" in owner.url
    owner.goto(f"{board.address}/owner/board/news")
    press(owner, f"BUTTON End its links of {group}")
    assert team.goto(f"{board.address}/boards/news").status == 404


@pytest.mark.parametrize("size", SIZES, ids=("desk", "phone"))
def test_without_script_a_board_is_read_submitted_to_and_looked_after(
    sqlite_board: Opened, new_page: Any, size: tuple[int, int]
) -> None:
    board, name = sqlite_board, f"plain-{size[0]}"
    owner, team = (new_page(*size, java_script_enabled=False) for _ in range(2))
    owner.goto(board.work.served.owner)
    owner.goto(f"{board.address}/owner/board/news")
    owner.fill("[name=team] >> nth=-1", name)
    owner.click("text=Make its link")
    team.goto(owner.locator(".links a").inner_text())
    team.fill("[name=name]", name)
    file = {"name": "o.jsonl", "mimeType": "text/plain", "buffer": outputs_of(name)}
    team.set_input_files("[name=file]", file)
    team.click("button:has-text('Submit')")
    assert "It waits" in team.locator(".state").inner_text()
    owner.goto(f"{board.address}/owner/board/news")
    accept = owner.locator("tr", has_text=name).locator("button", has_text="Accept")
    if accept.count():
        accept.click()
    board.work.works()
    team.reload()
    assert "It is on the board" in team.locator(".state").inner_text()
    team.click("text=The board >> nth=-1")
    team.fill("[name=at]", "1")
    team.click("text=Show it")
    board.work.works()
    team.reload()
    assert "version 1" in team.locator("h1").inner_text()
    assert team.evaluate("document.documentElement.scrollWidth") <= size[0]
