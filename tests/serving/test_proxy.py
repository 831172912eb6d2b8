"""Under a path of a proxy, the pages of the owner, of raters and of boards never lead out of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.errors import UsageError
from metal.serving.board_worker import BoardWorker
from metal.serving.ledger import ServingLedger
from metal.serving.owner_pages import shown_link
from metal.serving.server import begin
from tests.saying import tells
from tests.serving.boards_at_work import dataset, outputs_of
from tests.serving.browsing import rate_task, wait_saved
from tests.serving.proxy import Proxy, proxy_of
from tests.serving.web import folder_with_demo

PREFIX = "/lab/metal"
REPORTS = ("/billboard", "/leaderboard")  # they have the bytes of the command's
# what a page leads to or loads; data is no address
ADDRESSES = """() => [...document.querySelectorAll("[href], [src], [action], form")]
  .filter((each) => !each.matches("a[download]"))
  .map((each) => each.matches("form") ? each.action : each.href || each.src)
  .filter((address) => !address.startsWith("data:"))"""
LINKS = """() => [...document.querySelectorAll("a[href]:not([download])")]
  .map((each) => each.href.split("#")[0])"""
QR = """() => [...document.querySelectorAll(".links li")].map((each) =>
  [each.querySelector("a").href, each.querySelector("img.qr").getAttribute("src")])"""


@dataclass
class Behind:
    """A server behind a proxy."""

    folder: Path
    proxy: Proxy
    ledger: ServingLedger
    owner: str

    @property
    def address(self) -> str:
        """Where visitors find it."""
        return f"{self.proxy.origin}{PREFIX}"

    def check(self, page: Any) -> None:
        """The page, what it leads to and its cookies are below the path."""
        addresses = {page.url, *page.evaluate(ADDRESSES)}
        assert [each for each in addresses if not each.startswith(f"{self.address}/")] == []
        assert all(each["path"].startswith(f"{PREFIX}/") for each in page.context.cookies())
        assert self.proxy.strayed == []

    def follow(self, page: Any) -> set[str]:
        """Open every page that can be reached by links from this one; return their paths."""
        left, visited = [page.url], set()
        while left:
            address = left.pop()
            if address in visited:
                continue
            visited.add(address)
            reply = page.request.get(address)
            assert reply.status == 200, address
            kind = reply.headers["content-type"]
            if kind.startswith("text/html") and not address.partition("?")[0].endswith(REPORTS):
                page.goto(address)
                self.check(page)
                left += page.evaluate(LINKS)
        return {each.removeprefix(self.address).partition("?")[0] for each in visited}

    def works(self) -> None:
        """The worker of boards does all there is to do."""
        worker = BoardWorker(self.ledger, Path())
        while worker.look():
            worker._rests.clear()


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Behind]:
    """The server, with a dataset to rate and one that can be a board."""
    monkeypatch.chdir(tmp_path)
    folder = folder_with_demo(tmp_path)
    dataset(folder / "news")
    served = begin(
        folder, host="127.0.0.1", port=0, database="", root_path=PREFIX, https=False, worker=False
    )
    own, _, secret = served.owner.rpartition(PREFIX)
    ledger = ServingLedger(folder)
    with proxy_of(PREFIX, int(own.rpartition(":")[2])) as proxy:
        yield Behind(folder, proxy, ledger, f"{proxy.origin}{PREFIX}{secret}")
    ledger.close()
    served.stop()


def links_shown(page: Any) -> list[str]:
    """The links of a page; each is in its QR code, too."""
    pairs = page.evaluate(QR)
    assert pairs
    assert [image for _, image in pairs] == [shown_link(link, "")["image"] for link, _ in pairs]
    return [link for link, _ in pairs]


@pytest.mark.slow
def test_studies_stay_below_the_path(behind: Behind, new_page: Any) -> None:
    owner = new_page()
    owner.goto(behind.owner)
    behind.check(owner)
    owner.select_option("[name=dataset]", "demo")
    owner.click("text=Choose what people rate")
    behind.check(owner)
    owner.fill("[name=consent]", "We keep your answers.")
    owner.click("text=Make the study")
    behind.check(owner)
    links = links_shown(owner)
    assert len(links) == 9
    owner.reload()
    assert owner.url == f"{behind.address}/owner/study/demo?again=1"
    owner.click("text=Make an open link")
    (joining,) = links_shown(owner)
    for button in ("Pause it", "Open it", "Ask them", "Change the consent"):
        owner.locator("details").evaluate_all("(all) => all.forEach((each) => (each.open = true))")
        owner.click(f"button:text-is('{button}')")
        assert owner.url == f"{behind.address}/owner/study/demo"
    assert {"/owner", "/owner/boards", "/owner/study/demo"} <= behind.follow(owner)
    with owner.expect_download() as downloading:
        owner.goto(f"{behind.address}/owner/study/demo")
        owner.click("text=as CSV")
    assert downloading.value.suggested_filename == "demo-consents.csv"

    rater = new_page()
    rater.goto(links[0])
    behind.check(rater)
    rater.click("button.primary")
    rater.wait_for_selector("body[data-ready]")
    assert rater.url == f"{behind.address}/study/demo"
    behind.check(rater)
    rater.click("#start")
    rater.wait_for_selector("#view-task:not([hidden])")
    rate_task(rater)
    wait_saved(rater)
    assert {"/study/demo", "/study/demo/mine"} <= behind.follow(rater)
    rater.goto(f"{behind.address}/study/demo/plain")
    for group in rater.locator("form:not([action]) fieldset").all():
        group.locator("input[type=radio]").first.check(force=True)
    rater.click("form:not([action]) button.primary")
    behind.check(rater)
    rater.goto(f"{behind.address}/study/demo/mine")
    assert rater.locator("ol li").count() == 2
    rater.check("[name=sure]")
    rater.click("form[action$='/withdraw'] button")
    behind.check(rater)

    newcomer, stranger = new_page(), new_page()
    newcomer.goto(joining)
    behind.check(newcomer)
    newcomer.check("input[value=en]")
    newcomer.click("button")
    behind.check(newcomer)
    name, code = (newcomer.locator(f"#{each}").inner_text() for each in ("name", "code"))
    newcomer.click("a.primary")
    behind.check(newcomer)
    stranger.goto(f"{behind.address}/study/demo")
    behind.check(stranger)
    stranger.fill("[name=name]", name)
    stranger.fill("[name=code]", code)
    stranger.click("button.primary")
    assert stranger.url == f"{behind.address}/study/demo"
    behind.check(stranger)


@pytest.mark.slow
def test_boards_stay_below_the_path(behind: Behind, new_page: Any) -> None:
    owner, team, reader = new_page(accept_downloads=True), new_page(), new_page()
    owner.goto(behind.owner)
    owner.goto(f"{behind.address}/owner/boards")
    behind.check(owner)
    owner.select_option("[name=dataset]", "news")
    owner.select_option("[name=readers]", "link")
    owner.click("text=Open the board")
    assert owner.url == f"{behind.address}/owner/board/news"
    behind.works()
    owner.click("text=Make the viewer’s link")
    behind.check(owner)
    viewer = owner.locator(".links a").inner_text()
    owner.fill("[name=team]", "A team")
    owner.click("text=Make its link")
    behind.check(owner)
    team.goto(owner.locator(".links a").inner_text())
    assert team.url == f"{behind.address}/boards/news"
    team.fill("[name=name]", "gen")
    file = {"name": "o.jsonl", "mimeType": "text/plain", "buffer": outputs_of("gen")}
    team.set_input_files("[name=file]", file)
    team.click("button:has-text('Submit')")
    assert team.url.startswith(f"{behind.address}/boards/news/submissions/")
    behind.check(team)
    owner.goto(f"{behind.address}/owner/board/news")
    if owner.locator("button:has-text('Accept')").count():
        owner.click("button:has-text('Accept')")
    behind.works()
    owner.goto(f"{behind.address}/owner/board/news")
    owner.click("button:has-text('Have people rate it')")
    assert owner.url.startswith(f"{behind.address}/owner/study/news")
    behind.check(owner)

    reader.goto(viewer)
    assert reader.url == f"{behind.address}/boards/news"
    behind.works()
    pages = behind.follow(reader)
    assert {"/boards/news", "/boards/news/api", "/boards/news/badge.svg"} <= pages
    team.goto(f"{behind.address}/boards/news")
    assert any("/submissions/" in each for each in behind.follow(team))
    reader.goto(f"{behind.address}/boards/news")
    with reader.expect_download() as downloading:
        reader.click("text=raters >> nth=-1")
    assert downloading.value.suggested_filename.startswith("news-")
    described = reader.request.get(f"{behind.address}/boards/news/api/openapi.json").json()
    assert described["servers"] == [{"url": f"{PREFIX}/boards/news"}]
    assert behind.proxy.strayed == []


def test_a_program_submits_through_the_proxy(
    behind: Behind, new_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = new_page()
    owner.goto(behind.owner)
    owner.goto(f"{behind.address}/owner/boards")
    owner.select_option("[name=dataset]", "news")
    owner.click("text=Open the board")
    owner.fill("[name=team]", "A team")
    owner.click("text=Make its link")
    monkeypatch.setenv("METAL_TOKEN", owner.locator(".links a").inner_text().rpartition("/")[2])
    file = behind.folder / "gen.jsonl"
    file.write_bytes(outputs_of("gen"))
    metal.submit_generator("news", file, name="gen", to=behind.address)
    owner.goto(f"{behind.address}/owner/board/news")
    assert "gen" in owner.locator("table", has_text="Team").inner_text()
    assert behind.proxy.strayed == []


@pytest.mark.parametrize("path", ["metal", "/a b", "//evil", "/a/../b", '/"x', "/a?b"])
def test_a_path_that_is_none_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError) as refused:
        metal.serve(tmp_path, root_path=path)
    assert tells(str(refused.value), "root_path", "/metal")
