"""The app's pages as files: links, what is kept from others, texts left out, and in a browser."""

from __future__ import annotations

import base64
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner

import metal
from metal.api.answer_table import DIFFERS, Choice
from metal.api.answers import of_audit, rows_of
from metal.app import bundling
from metal.app.bundling import address_of, file_names
from metal.app.server import View
from metal.app.sharing import Sharing
from metal.cli import metal as command
from metal.data.dataset import save_dataset
from metal.data.text import slug
from metal.errors import UsageError
from tests.app.test_guard import asked
from tests.saying import tells

MARK = "Zweifelsohne"


@pytest.fixture(scope="module")
def site(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> metal.Bundle:
    return metal.view_bundle(shelf, out=tmp_path_factory.mktemp("public") / "a site")


def everything(folder: Path) -> str:
    """All files of a bundle, with the data that scripts unpack."""
    parts = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            parts.append(text)
            for packed in re.findall(r'id="texts">([^<]+)<', text):
                parts.append(zlib.decompress(base64.b64decode(packed), -15).decode())
    return "\n".join(parts)


def links(page: Path) -> list[str]:
    found = re.findall(r'(?:href|src|action)="([^"]*)"', page.read_text(encoding="utf-8"))
    return [unescape(link) for link in found]


def test_every_link_leads_to_a_file_of_the_bundle(site: metal.Bundle) -> None:
    pages = [*site.index.parent.rglob("*.html")]
    assert len(pages) == site.pages > 50
    for page in pages:
        for link in links(page):
            parts = urlsplit(link)
            if not parts.path or link == "data:,":
                continue
            assert not parts.scheme, (page, link)
            target = (page.parent / unquote(parts.path)).resolve()
            assert target.is_file(), (page, link)
            assert target.is_relative_to(site.index.parent.resolve())


def test_the_index_leads_to_an_output_in_three_clicks(site: metal.Bundle) -> None:
    at = site.index
    for name in ("runs-audit/index.html", "answers.html", "/hi-"):
        at = next(at.parent / unquote(link) for link in links(at) if name in f"/{link}")
    text = at.read_text(encoding="utf-8")
    assert "User message" in text
    assert "Reason given" in text
    assert site.outputs > 30


def test_nothing_is_offered_that_needs_a_server(site: metal.Bundle) -> None:
    for page in site.index.parent.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if "disagreements" not in text:  # an audit's own page has a form for its script
            assert "<form" not in text
        assert "rename, bin" not in text
        assert 'class="button"' not in text
        assert ">Go on from here" not in text
        assert "Content-Security-Policy" in text


def test_no_path_server_or_key_is_in_a_bundle(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / "annabel"
    root = home / "work"
    shutil.copytree(shelf, root)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SOME_API_KEY", "sk-verysecret123")
    raters = root / "runs" / "audit" / "raters.jsonl"
    server = "http://10.1.2.3:8000/v1"
    raters.write_text(
        raters.read_text().replace('"model"', f'"base_url": "{server}", "model"'), encoding="utf-8"
    )
    run_toml = root / "runs" / "audit" / "run.toml"
    run_toml.write_text(run_toml.read_text().replace(str(shelf), str(root)), encoding="utf-8")
    journal = root / "runs" / "judged" / "journal.jsonl"
    journal.write_text(journal.read_text().replace("judgment", f"sk-verysecret123 {server}"))
    site = metal.view_bundle(root, out=tmp_path / "site")
    assert not site.left_out
    text = everything(tmp_path / "site")
    for secret in (str(tmp_path), str(shelf), "annabel", "10.1.2.3", "sk-verysecret"):
        assert secret not in text
    assert "datasets/demo" in text


def test_a_page_says_truly_where_all_disagreements_are(
    site: metal.Bundle, shelf: Path, view: View
) -> None:
    bundled = (site.index.parent / "runs-audit" / "index.html").read_text(encoding="utf-8")
    assert not list(site.index.parent.rglob("*.parquet"))
    assert tells(bundled, "disagreements.parquet", "folder of this run", "not part of this site")
    shown = asked(view, "run/runs/audit")[1]
    assert tells(shown, "disagreements.parquet", "in the folder of this run.")
    own = (shelf / "runs" / "audit" / "report.html").read_text(encoding="utf-8")
    assert tells(own, "disagreements.parquet", "beside this page")
    for page in (bundled, shown):
        assert "beside this page" not in page.casefold()


def test_sharing_replaces_whole_paths_only(tmp_path: Path) -> None:
    sharing = Sharing(False, {"/home/ann": "~", "/home/ann/a & b": "."})
    assert sharing.text("cd /home/ann/x") == "cd ~/x"
    assert sharing.text("/home/ann/a & b/runs and /home/ann/a &amp; b.") == "runs and .."
    assert sharing.text("/home/anna https://x.org/home/ann") == "/home/anna https://x.org/home/ann"
    more = sharing.also_of({"settings": {"dataset": "/data/news/set", "base_url": "http://a/v1"}})
    assert more.text("metal audit /data/news/set; http://a/v1") == "metal audit set; SERVER"


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose texts, comments, messages and replies all have a word of their own."""
    root = tmp_path_factory.mktemp("marked")
    rows = [
        "language,source,output,text,source_text,title,reference,criterion,rater,kind,score,comment"
    ]
    for number in range(8):
        for rater, kind, score in (("Ann", "human", 1), ("Bo", "human", 1), ("gpt", "llm", 2)):
            comment = f"{MARK} said {number}"
            rows.append(
                f"sw,s{number},o{number},{MARK} output {number},{MARK} source {number},{MARK},"
                f"{MARK} reference {number},quality,"
                f"{rater},{kind},{score if number % 2 else 1},{comment}"
            )
    (root / "table.csv").write_text("\n".join(rows), encoding="utf-8")
    save_dataset(metal.read(root / "table.csv"), root / "datasets" / "set")
    data, judged = root / "datasets" / "set", root / "runs" / "judged"
    metal.judge(data, "fake:blind", out=judged, prompt="simple")
    metal.audit(data, judged, resamples=100).save(root / "runs" / "audit")
    return root


def test_hidden_texts_are_nowhere(marked: Path, tmp_path: Path) -> None:
    shown = metal.view_bundle(marked, out=tmp_path / "shown")
    hidden = metal.view_bundle(marked, out=tmp_path / "hidden", hide_texts=True)
    in_full = everything(tmp_path / "shown")
    assert in_full.count(MARK) > 50
    assert f"{MARK} reference" in in_full
    text = everything(tmp_path / "hidden")
    assert MARK not in text
    assert "User message" not in text
    assert "o1" in text
    assert "gpt" in text
    assert hidden.pages == shown.pages
    assert tells(hidden.notes, "left out of all pages")


def test_a_damaged_run_is_left_out_and_named(shelf: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(shelf, root)
    (root / "runs" / "audit" / "disagreements.parquet").write_bytes(b"nothing")
    site = metal.view_bundle(root, out=tmp_path / "site")
    assert set(site.left_out) == {"runs/audit"}
    index = site.index.read_text(encoding="utf-8")
    assert "What is not here" in index
    assert 'href="runs-audit' not in index
    assert not (tmp_path / "site" / "runs-audit").exists()
    assert "runs-judged" in index


def test_what_is_too_much_is_counted(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundling, "FIRST_ROWS", 5)
    site = metal.view_bundle(shelf, out=tmp_path / "site", outputs=1)
    assert tells(site.notes, "listed without a page", "At most 1", "language")
    assert tells(site.index.read_text(encoding="utf-8"), "At most 1 of each language")
    listed = (tmp_path / "site" / "runs-audit" / "answers.html").read_text(encoding="utf-8")
    rows = re.findall('<th scope="row".*?</th>', listed, re.DOTALL)
    linked = [link for row in rows for link in re.findall('/outputs/([^"]+).html"', row)]
    assert 5 <= len(rows) <= 5 + len(linked)
    assert {*map(unquote, linked)} == outputs_of(site, "runs-audit")
    assert "more are not listed here" in listed


def outputs_of(site: metal.Bundle, run: str) -> set[str]:
    return {path.stem for path in (site.index.parent / run / "outputs").iterdir()}


@pytest.mark.slow
def test_the_largest_differences_of_each_cell_have_a_page(shelf: Path, tmp_path: Path) -> None:
    answers = of_audit(shelf / "runs" / "audit")
    wanted = set()
    for language in answers.languages:
        for criterion in answers.criteria:
            chosen = answers.chosen(Choice(language, criterion, kind=DIFFERS))
            wanted |= {*chosen["output"].astype(str).head(2)}
    site = metal.view_bundle(shelf, out=tmp_path / "site", outputs=2)
    assert outputs_of(site, "runs-audit") == {*map(slug, wanted)}
    assert len(wanted) > 5
    every = metal.view_bundle(shelf, out=tmp_path / "every", outputs=0)
    assert not any("without a page" in note for note in every.notes)
    assert outputs_of(site, "runs-audit") < outputs_of(every, "runs-audit")
    words = ["view", "bundle", str(shelf), "--out", str(tmp_path / "other"), "--outputs", "-1"]
    assert CliRunner().invoke(command, words).exit_code == 2


def test_an_audit_is_read_once_for_all_its_pages(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[list[int]] = []

    def counted(audit: Path, numbers: list[int]) -> list[dict[str, Any]]:
        read.append(numbers)
        return rows_of(audit, numbers)

    monkeypatch.setattr(bundling, "rows_of", counted)
    whole = metal.view_bundle(shelf, out=tmp_path / "whole")
    assert len(read) == 1
    monkeypatch.setattr(bundling, "AT_ONCE", 7)
    parts = metal.view_bundle(shelf, out=tmp_path / "parts")
    assert len(read) > 3
    assert all(numbers == sorted(numbers) for numbers in read)
    assert everything(whole.index.parent) == everything(parts.index.parent)


def test_a_bundle_is_replaced_only_if_asked_and_kept(shelf: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    metal.view_bundle(shelf / "datasets", out=out)
    with pytest.raises(UsageError, match="exists"):
        metal.view_bundle(shelf / "datasets", out=out)
    metal.view_bundle(shelf / "datasets", out=out, force=True, hide_texts=True)
    assert (tmp_path / "site.replaced" / "index.html").is_file()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"x")
    with pytest.raises(UsageError, match="not replaced"):
        metal.view_bundle(shelf / "datasets", out=tmp_path / "photos", force=True)


def test_a_bundle_is_no_part_of_what_it_shows(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        metal.view_bundle(shelf, out=shelf / "runs" / "audit" / "site")
    assert tells(str(refused.value), "runs/audit", "dataset or run", "another `out`")
    with pytest.raises(UsageError):
        metal.view_bundle(shelf, out=shelf)
    root = tmp_path / "root"
    shutil.copytree(shelf / "datasets", root / "datasets")
    first = metal.view_bundle(root, out=root / "runs" / "site")
    again = metal.view_bundle(root, out=root / "runs" / "site", force=True)
    assert first.pages == again.pages == 2


def test_two_bundles_have_the_same_bytes(shelf: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        metal.view_bundle(shelf / "datasets", out=tmp_path / name)
    assert everything(tmp_path / "one") == everything(tmp_path / "two")


def test_killed_while_it_writes_it_leaves_nothing_half_written(shelf: Path, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, metal\n"
        "def kill(done, total):\n"
        "    if done: os.kill(os.getpid(), signal.SIGKILL)\n"
        "metal.view_bundle(sys.argv[1], out=sys.argv[2], progress=kill)\n"
    )
    out = tmp_path / "site"
    done = subprocess.run([sys.executable, "-c", script, str(shelf), str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    metal.view_bundle(shelf / "datasets", out=out)


def test_the_command_line(shelf: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        command, ["view", "bundle", str(shelf / "datasets"), "--out", str(tmp_path / "site")]
    )
    assert done.exit_code == 0, done.output
    assert tells(done.output, "site/index.html", "2 pages")
    words = ["view", "bundle", "nowhere", "--out", str(tmp_path / "other")]
    assert isinstance(CliRunner().invoke(command, words).exception, UsageError)


def test_what_a_page_leaves_in_memory_goes_before_the_end(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "mimalloc")  # what somebody chose stays
    before = gc.get_threshold()
    try:
        gc.set_threshold(1_000_000, 20, 20)  # as the command line has it
        words = ["view", "bundle", str(shelf / "datasets"), "--out", str(tmp_path / "site")]
        assert CliRunner().invoke(command, words).exit_code == 0
        assert gc.get_threshold()[0] < 100_000
        assert os.environ["ARROW_DEFAULT_MEMORY_POOL"] == "mimalloc"
    finally:
        gc.set_threshold(*before)


def test_file_names_differ_where_capitals_do_not_count() -> None:
    names = file_names(["a/b", "A.B", "a-b-3", "a?b", "../..", "é", "a-b-2"])
    assert len({name.casefold() for name in names.values()}) == 7
    assert all(re.fullmatch(r"[\w-]+", name, re.ASCII) for name in names.values())


def test_an_address_is_what_it_is_about() -> None:
    assert address_of("/output/runs/a%20b?kind=differs&output=x%2Fy&of=c") == (
        "/output/runs/a b",
        "x/y",
    )
    assert address_of("/answers/r?language=hi&kind=differs") == ("/answers/r", "hi")
    assert address_of("/?page=2") == ("/", "")


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def served(site: metal.Bundle) -> Iterator[str]:
    """The address of the bundle below a path of a web server."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    handler = partial(Quiet, directory=str(site.index.parent.parent))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/a%20site/"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["file", "http"])
def address(request: pytest.FixtureRequest, site: metal.Bundle, served: str) -> str:
    return served if request.param == "http" else site.index.parent.as_uri() + "/"


PAGES = (
    "index.html",
    "datasets-demo/index.html",
    "runs-audit/index.html",
    "runs-audit/answers.html",
    "runs-audit/answers-hi.html",
    "runs-judged/answers.html",
)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
def test_pages_are_accessible_and_say_nothing(browser: Any, address: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    for name in PAGES:
        page.goto(f"{address}{name}")
        look(page, Axe(), name)
    page.goto(f"{address}runs-audit/answers.html")
    page.locator(".list tbody a").first.click()
    page.wait_for_selector(".texts")
    look(page, Axe(), "output")
    assert said == []
    assert all(url.startswith((address, "data:")) for url in requested)
    page.close()


def look(page: Any, axe: Any, name: str) -> None:
    """The style is there, the page is not wider than the screen, and axe finds nothing."""
    rule = "getComputedStyle(document.querySelector('.brand')).marginTop"
    assert page.evaluate(rule) != "16px", name
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    results = axe.run(page, options={"preload": False})
    assert results.violations_count == 0, f"{name}: {results.generate_report()}"


def test_the_index_is_searched(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}index.html")
    page.keyboard.press("/")
    page.keyboard.type("hindi AUDIT")
    assert page.locator(".folders>li:visible").count() == 1
    assert page.locator("output").inner_text() == "1 of 3"
    page.reload()
    assert page.locator(".folders>li:visible").count() == 1
    page.locator("#q").fill("nothing of the kind")
    assert page.locator(".folders>li:visible").count() == 0
    page.locator("#q").fill("")
    assert page.locator(".folders>li:visible").count() == 3
    page.close()


@pytest.mark.slow
def test_from_the_index_to_the_next_output_by_keys(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}index.html")
    page.get_by_role("link", name="runs/audit", exact=True).click()
    page.get_by_role("link", name="Answers").click()
    page.get_by_role("link", name="Hindi").click()
    page.locator(".list tbody a").first.click()
    page.wait_for_selector(".beside-texts")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != first)
    page.keyboard.press("k")
    page.wait_for_url(first)
    assert page.locator("details.call pre").first.is_visible()
    page.close()


def test_without_script_the_pages_can_be_read(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}index.html")
    assert page.locator(".folders>li:visible").count() == 3
    assert not page.locator("#q").is_visible()
    context.close()
