"""The whole page: the same from the same tables, small, harmless, and at home in a browser."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.runs.board_run import BoardRun
from metal.show.pages import page
from tests.report.board.boards import dataset, written

SIZES = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
LANGUAGES = ("", "ar", "bn", "de", "en", "fr", "hi", "ja", "sw", "tr", "zh")
HOSTILE = (
    "<script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 2">',
    "\u062d\u0643\u0645 \u202e\u0645",
    "x" * 200,
    "=HYPERLINK(1)",
)
Visiting = Callable[..., Any]


@pytest.fixture(scope="module")
def hostile_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every name attacks."""
    made = dataset(
        languages=("ar", "en"),
        criteria=("</script><script>window.pwned = 3</script>", "{{ 7 * 7 }}"),
        metrics=HOSTILE,
        judges=("' autofocus onfocus='window.pwned=4",),
        generators=("<b>g</b>", "\u0645\u0648\u0644\u062f \u2066", "y" * 200, "]]><!--"),
        human="<b>g</b>",
        title="<svg onload=window.pwned=5>",
    )
    return written(made, tmp_path_factory.mktemp("hostile") / "run")


def large(run: BoardRun) -> BoardRun:
    """The run with tables of 30 raters, 26 generators, 6 criteria and 10 languages."""
    rng = np.random.default_rng(0)
    raters = [f"quite-a-long-name-of-a-rater-{n}" for n in range(30)]
    criteria = ["overall", *(f"criterion {n}" for n in range(5))]
    axes = {"language": LANGUAGES, "criterion": criteria}
    tables = dict(run.tables)

    def product(table: str, **more: Any) -> None:
        index = pd.MultiIndex.from_product([*axes.values(), *more.values()], names=[*axes, *more])
        frame = index.to_frame(index=False)
        like = run.tables[table]
        rows = like.iloc[np.arange(len(frame)) % len(like)].reset_index(drop=True).assign(**frame)
        numbers = rows.select_dtypes("float").columns
        tables[table] = rows.assign(**{name: rng.random(len(rows)) for name in numbers})

    product("raters", rater=raters)
    product("overrating", rater=raters)
    product("self_preference", rater=raters)
    product("generators", by=["people", "a", "b", "ensemble"], generator=[f"generator {n}" for n in range(26)])
    product("within_generators", generator=[f"generator {n}" for n in range(26)], rater=raters)
    product("comparisons", first=raters, second=raters)
    product("ensembles")
    product("ensemble_members", member=raters[:3])
    product("people")
    tables["raters"] = tables["raters"].assign(rank=np.arange(len(tables["raters"])) % 30 + 1, cluster=1)
    known = {name: replace(run.criteria["fluency"], name=name) for name in criteria}
    return replace(run, tables=tables, criteria=known)


def unpacked(html: str) -> dict[str, Any]:
    blob = html.split('id="texts">')[1].split("<")[0]
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(blob), -15))
    return found


def test_equal_runs_give_equal_pages(rich_board: Path, tmp_path: Path) -> None:
    made = dataset(languages=("ar", "en", "hi"), criteria=("fluency", "adequacy"), human="g3")
    again = written(made, tmp_path / "run")
    assert (again / "report.html").read_bytes() == (rich_board / "report.html").read_bytes()
    assert page(BoardRun.read(rich_board)).encode() == (rich_board / "report.html").read_bytes()


def test_a_large_board_fits_and_says_what_it_leaves_out(rich_board: Path) -> None:
    run = large(BoardRun.read(rich_board))
    html = page(run)
    assert len(html.encode()) < 1_500_000
    assert "rankings are left out to keep this page small; all are in <code>tables/raters.csv</code>" in html
    assert "CSV: <code>tables/within_generators.csv</code>" in html
    assert set(unpacked(html)["csv"]) < set(run.tables)


def test_csv_on_the_page_is_the_files_bytes(rich_board: Path) -> None:
    csv = unpacked((rich_board / "report.html").read_text(encoding="utf-8"))["csv"]
    only_files = {"crowd_comparisons", "crowd_examples"}  # what the page is not drawn from
    assert set(csv) == {file.stem for file in (rich_board / "tables").glob("*.csv")} - only_files
    for name, content in csv.items():
        assert content.encode() == (rich_board / "tables" / f"{name}.csv").read_bytes()


def test_hostile_names_are_text(hostile_board: Path) -> None:
    html = (hostile_board / "report.html").read_text(encoding="utf-8")
    assert html.count("<script") == 2
    assert "window.pwned = 1</script>" not in html
    assert "<img" not in html
    assert "onload=window" not in re.sub("&lt;svg onload=window", "", html)
    outside = re.sub("\u2068[^\u2068\u2069]*\u2069", "", html)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", outside)


def test_nothing_runs(hostile_board: Path, visit: Visiting) -> None:
    seen = visit(hostile_board / "report.html", viewport={"width": 390, "height": 900})
    assert seen.said == []
    assert seen.page.evaluate("window.pwned") is None
    assert seen.page.locator("main img, main b:not(figcaption b), main [onfocus], main script").count() == 0
    for choice in seen.page.locator("details").all():
        choice.evaluate("node => node.open = true")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_opens_quietly_and_fits(rich_board: Path, visit: Visiting, width: int, scheme: str) -> None:
    seen = visit(rich_board / "report.html", viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert seen.said == []
    assert seen.requests == [(rich_board / "report.html").resolve().as_uri()]
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    for section in ("overview", "raters", "maps", "generators", "ensemble", "overrating", "history", "methods"):
        assert seen.page.locator(f"#{section} h2").is_visible()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_axe_finds_nothing(rich_board: Path, visit: Visiting, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    look = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page_ = visit(rich_board / "report.html", bypass_csp=True, **look).page
    for choice in page_.locator("details").all():
        choice.evaluate("node => node.open = true")
    found = Axe().run(page_).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_a_bare_board_is_a_whole_page(bare_board: Path, visit: Visiting) -> None:
    seen = visit(bare_board / "report.html")
    assert seen.said == []
    assert "No ensemble was fitted" in seen.page.inner_text("#ensemble")
    assert "cannot be asked" in seen.page.inner_text("#overrating")
    assert "This board has no history" in seen.page.inner_text("#history")
    assert seen.page.locator("#maps").count() == 1  # two generators


def test_downloads_and_signatures(rich_board: Path, visit: Visiting) -> None:
    page_ = visit(rich_board / "report.html", permissions=["clipboard-read", "clipboard-write"]).page
    with page_.expect_download() as download:
        page_.locator("#table-raters button.csv").click()
    assert Path(download.value.path()).read_bytes() == (rich_board / "tables" / "raters.csv").read_bytes()
    page_.locator("#ensemble dd button.copy").last.click()
    assert page_.evaluate("navigator.clipboard.readText()").startswith("metal billboard apply ensemble.made+")


def test_choices_open_by_keyboard_and_stay_without_script(rich_board: Path, visit: Visiting) -> None:
    page_ = visit(rich_board / "report.html").page
    choice = page_.locator("#raters details.choice").first
    assert not choice.locator("table").is_visible()
    choice.locator("summary").first.focus()
    page_.keyboard.press("Enter")
    assert choice.locator("table").is_visible()
    page_ = visit(rich_board / "report.html", java_script_enabled=False).page
    assert page_.locator("#raters details.choice").count() == 11  # three criteria x four, without the main one
    assert not page_.locator("button.csv").first.is_visible()


def test_print_is_on_white_without_buttons(rich_board: Path, visit: Visiting) -> None:
    page_ = visit(rich_board / "report.html", color_scheme="dark").page
    page_.emulate_media(media="print")
    assert not page_.locator("button.csv").first.is_visible()
    assert page_.locator("#table-raters td").first.is_visible()
    assert page_.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
