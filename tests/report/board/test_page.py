"""The whole page: the same from the same tables, small, harmless, and at home in a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metal.runs.board_run import BoardRun
from metal.show.pages import page
from tests.report.board.boards import dataset, written
from tests.report.checks import (
    HOSTILE,
    Visiting,
    check_accessible,
    check_csv,
    check_names_are_text,
    check_quiet,
    unpacked,
)

LANGUAGES = ("", "ar", "bn", "de", "en", "fr", "hi", "ja", "sw", "tr", "zh")


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
    declared = {name: replace(run.criteria["fluency"], name=name) for name in criteria}
    return replace(run, tables=tables, criteria=declared)


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
    check_csv(rich_board, missing=frozenset({"crowd_comparisons", "crowd_examples"}))


def test_hostile_names_are_text(hostile_board: Path, visit: Visiting) -> None:
    check_names_are_text((hostile_board / "report.html").read_text(encoding="utf-8"))
    check_quiet(visit, hostile_board / "report.html")


def test_opens_quietly_and_fits(rich_board: Path, visit: Visiting) -> None:
    sections = ("overview", "raters", "maps", "generators", "ensemble", "overrating", "history", "methods")
    check_quiet(visit, rich_board / "report.html", *sections)
    check_accessible(visit, rich_board / "report.html")


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
