"""From the start page to a judge's raw reply, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from metal.app.server import View

WIDTHS = {"wide": 1400, "phone": 390}


@pytest.fixture
def opened(browser: Any, view: View) -> Iterator[Any]:
    """A function that opens a page of the app; the page must not complain about anything."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(path: str = "", width: int = 1400, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(view.address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def test_three_clicks_lead_to_the_raw_reply_of_the_largest_disagreement(opened: Any) -> None:
    page = opened()
    page.get_by_role("listitem").filter(has_text="Hindi").get_by_role("link", name="Hindi").click()
    page.get_by_label("Judge", exact=True).select_option("fake:blind")
    page.wait_for_url("**judge=fake*")
    page.locator("tbody tr").first.get_by_role("link").click()
    reply = page.locator("details.call[open] pre").first
    assert "score" in reply.inner_text()
    assert "User message" in page.locator("details.call[open]").first.inner_text()
    assert "hi-" in page.get_by_role("heading", level=1).inner_text()


def test_j_and_k_walk_through_the_disagreements(opened: Any) -> None:
    page = opened("answers/runs/audit?language=ar")
    page.locator("tbody tr").first.get_by_role("link").click()
    first = page.get_by_role("heading", level=1).inner_text()
    page.keyboard.press("j")
    page.wait_for_function("first => document.querySelector('h1').innerText !== first", arg=first)
    address = page.url
    page.keyboard.press("k")
    page.wait_for_function("first => document.querySelector('h1').innerText === first", arg=first)
    page.goto(address)  # an address lasts
    assert page.get_by_role("heading", level=1).inner_text() != first


def test_a_filter_works_without_script(opened: Any) -> None:
    page = opened("answers/runs/audit", java_script_enabled=False)
    page.get_by_label("Language").select_option("ar")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    assert {text.get_attribute("lang") for text in page.locator("tbody .clip").all()} == {"ar"}
    page.get_by_label("Where", exact=True).select_option("people")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    assert "language=ar" in page.url
    assert page.locator("tbody tr").count() > 0


def test_search_begins_with_a_slash_and_finds_judges_and_languages(opened: Any) -> None:
    page = opened()
    page.keyboard.press("/")
    page.keyboard.type("hindi fake:blind")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=**")
    assert page.locator(".folders > li").count() == 2
    page.get_by_role("searchbox").fill("zzz")
    page.keyboard.press("Enter")
    page.get_by_text("Nothing has all these words").wait_for()


def test_arabic_is_written_from_right_to_left(opened: Any) -> None:
    page = opened("answers/runs/audit?language=ar")
    page.locator("tbody tr").first.get_by_role("link").click()
    text = page.locator(".text[lang=ar]").first
    assert text.evaluate("node => getComputedStyle(node).direction") == "rtl"


def test_a_run_leads_on_to_its_answers(opened: Any) -> None:
    page = opened("run/runs/audit")
    page.wait_for_selector("body[data-ready]")
    page.locator("a.v").first.click()
    assert "/on/runs/audit?" in page.locator("#why a[href*='/on/']").last.get_attribute("href")
    page.get_by_role("link", name="Answers", exact=True).click()
    assert page.locator("tbody tr").count() > 0


PAGES = (
    "",
    "run/runs/judged",
    "answers/runs/audit?language=hi",
    "dataset/datasets/demo",
    "manage/runs/audit",
    "bin",
    "nothing",
)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_pages_are_fit_for_everybody(browser: Any, view: View, width: int, scheme: str) -> None:
    """No page is wider than the screen, and axe finds no fault."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    faults = []
    for path in [*PAGES, output_of(page, view)]:
        page.goto(view.address + path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        found = Axe().run(page).response["violations"]
        faults += [(path, fault["id"], fault["nodes"][0]["html"]) for fault in found]
        faults += [(path, "too wide", wide)] if wide > width else []
    context.close()
    assert faults == []


def output_of(page: Any, view: View) -> str:
    """The path of an output's page."""
    page.goto(f"{view.address}answers/runs/audit?language=ar")
    address = page.locator("tbody tr a").first.evaluate("node => node.href")
    return str(address).removeprefix(view.address)


@pytest.mark.slow
def test_in_a_notebooks_frame_every_page_opens(browser: Any, view: View) -> None:
    """A notebook is a page of this machine at another port."""
    with pages_at(view._repr_html_()) as port:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        for host in ("localhost", "127.0.0.1"):
            page.goto(f"http://{host}:{port}/")
            frame = page.frame_locator("iframe")
            frame.get_by_role("link", name="runs/audit", exact=True).click()
            frame.get_by_role("link", name="Answers", exact=True).first.click()
            frame.get_by_role("heading", name="Answers").wait_for()
            frame.locator("tbody tr").first.get_by_role("link").first.click()
            frame.get_by_role("link", name="METAL").click()
            frame.get_by_role("link", name="rename, bin runs/judged").click()
            frame.get_by_label("New name").fill("audit")
            frame.get_by_role("button", name="Rename").click()  # forms are sent from there, too
            frame.get_by_text("is there already").wait_for()
        page.close()


@contextmanager
def pages_at(html: str) -> Iterator[int]:
    """The port of a server whose every page is this HTML."""

    class OnePage(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>Notebook</title>{html}".encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), OnePage) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
