"""The page in a real browser: quiet, self-contained, usable, and true to the tables."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from metal.auditing.verdict import VERDICTS
from metal.data.dataset import load_dataset
from metal.data.languages import language_name
from metal.data.records import Criterion, Scale
from tests.conftest import MakeDataset
from tests.report.checks import Visiting, check_page, check_policy, visits
from tests.report.conftest import WriteRun, written
from tests.saying import tells

MLQE = Path(__file__).parents[2] / "datasets" / "mlqe"


def disagreements(run: Path) -> list[dict[str, Any]]:
    return pq.read_table(run / "disagreements.parquet").to_pylist()


def number_of_items(page: Any) -> int:
    return int(page.inner_text("#found").split()[0].replace(",", ""))


@pytest.mark.slow
def test_opens_quietly_and_fits(demo_run: Path, visit: Visiting) -> None:
    page = demo_run / "report.html"
    check_page(visit, page, "overview", "people", "judges", "classes", "disagreements", "methods")
    colours = [
        seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        for seen in visits(visit, page)
    ]
    assert colours == ["rgb(21, 23, 28)", "rgb(255, 255, 255)"]


def test_the_policy_forbids_everything_from_outside(demo_run: Path, visit: Visiting) -> None:
    seen = visit(demo_run / "report.html")
    seen.page.evaluate(
        "document.body.append(Object.assign(new Image(), {src: 'https://example.org/a.png'}))"
    )
    check_policy(seen)


def test_filters(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html").page
    items = disagreements(demo_run)
    assert number_of_items(page) == len(items)
    form = page.locator("#filters")
    form.locator("[name=language]").select_option("ar")
    assert number_of_items(page) == sum(item["language"] == "ar" for item in items)
    names = page.locator("article [role=region]").evaluate_all(
        "(parts) => parts.map((part) => part.ariaLabel)"
    )
    assert len(set(names)) == len(names) > 1  # an output stands here once for each criterion
    form.locator("[name=criterion]").select_option("task_quality")
    chosen = [
        item for item in items if (item["language"], item["criterion"]) == ("ar", "task_quality")
    ]
    assert number_of_items(page) == len(chosen)
    form.locator("[name=judge]").select_option("lexical")
    assert number_of_items(page) == sum("lexical" in item["judges_differing"] for item in chosen)
    page.click("#filters [type=reset]")
    page.get_by_text(f"{len(items)} found").wait_for()
    form.locator("[name=who]").select_option("people")
    assert number_of_items(page) == sum(item["case"] != "all agree" for item in items)
    form.locator("[name=case]").select_option("none agree")
    assert page.inner_text("#found").startswith(
        str(sum(item["case"] == "none agree" for item in items) or "None")
    )
    form.locator("[name=case]").select_option("")
    form.locator("[name=who]").select_option("judge")
    form.locator("[name=size]").fill("2")
    assert number_of_items(page) == sum((item["judge_difference"] or 0) >= 2 for item in items)
    form.locator("[name=text]").fill("no text holds this")
    assert tells(page.inner_text("#found"), "None found")


def test_an_item_shows_everything_said_about_it(demo_run: Path, visit: Visiting) -> None:
    item = next(
        item
        for item in disagreements(demo_run)
        if any(rating["comment"] for rating in item["ratings"])
    )
    address = f"#item={item['criterion']}/{item['output'].replace('/', '%2F')}"
    seen = visit(demo_run / "report.html", address)
    seen.page.wait_for_timeout(100)  # nothing may follow that takes the item away again
    assert seen.page.url.endswith(address)
    card = seen.page.locator("article").first
    assert "here" in card.get_attribute("class")
    assert card.locator(".text").all_inner_texts()[-2:] == [
        item["source_text"],
        item["output_text"],
    ]
    rows = card.locator("tbody tr")
    assert rows.count() == len(item["ratings"]) == 5
    for row, rating in zip(rows.all(), item["ratings"], strict=True):
        assert row.locator("th").inner_text() == rating["rater"]
        score = row.locator("td").nth(1).inner_text()
        assert score.startswith(
            f"{rating['score']:g}" if rating["score"] is not None else "no answer: "
        )
        assert row.locator("td").nth(2).inner_text() == rating["comment"]
    assert seen.page.locator("article a").first.get_attribute("href") == address


def test_links_carry_the_choice(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html", "#disagreements?language=zh&who=people").page
    assert page.locator("[name=language]").input_value() == "zh"
    assert page.locator("[name=who]").input_value() == "people"
    some = [
        item
        for item in disagreements(demo_run)
        if item["language"] == "zh" and item["case"] != "all agree"
    ]
    assert number_of_items(page) == len(some)
    page.goto(page.url.split("#")[0] + "#disagreements?language=zh&who=people&length=1&elements=2")
    assert number_of_items(page) == len(some)
    page.locator("#filters [name=judge]").select_option("random")
    assert page.url.endswith("#disagreements?language=zh&who=people&judge=random")
    page.goto(page.url.split("#")[0] + "#item=task_quality/unknown")
    assert "not in the page" in page.inner_text("#found")


def test_arabic_runs_from_the_right(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html", "#disagreements?language=ar").page
    text = page.locator("article .text").last
    assert text.get_attribute("lang") == "ar"
    assert text.evaluate("node => getComputedStyle(node).direction") == "rtl"
    page.goto(page.url.split("#")[0] + "#disagreements?language=en")
    assert (
        page.locator("article .text").last.evaluate("node => getComputedStyle(node).direction")
        == "ltr"
    )


def test_the_download_is_the_table(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html").page
    for table in ("judges", "class_distribution_overall"):
        with page.expect_download() as download:
            page.locator(f"button.csv[data-csv={table}]").first.click()
        assert download.value.suggested_filename == f"{table}.csv"
        assert (
            Path(download.value.path()).read_bytes()
            == (demo_run / "tables" / f"{table}.csv").read_bytes()
        )


def test_every_table_has_its_signature_to_copy(demo_run: Path, visit: Visiting) -> None:
    seen = visit(demo_run / "report.html", permissions=["clipboard-read", "clipboard-write"])
    sections = seen.page.locator("section.table")
    assert sections.count() >= 7
    for section in sections.all():
        assert section.locator("button.copy").count() == section.locator("button.csv").count() == 1
    first = seen.page.locator("#table-judges button.copy")
    first.click()
    assert seen.page.evaluate("navigator.clipboard.readText()") == seen.page.inner_text(
        "#table-judges .sign code"
    )
    assert "stat:judges" in first.get_attribute("data-copy")


def test_a_verdict_opens_all_of_it(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html").page
    verdicts = pd.read_csv(demo_run / "tables" / "verdicts.csv")
    assert page.locator("a.v").count() == len(verdicts)
    assert not page.locator("#why").is_visible()
    cell = page.locator("a.v").nth(1)
    cell.focus()
    page.keyboard.press("Enter")
    page.locator("#why h2").wait_for()
    judge, criterion, language = page.inner_text("#why h2").split(", ")
    (row,) = [
        row
        for row in verdicts.to_dict("records")
        if (row["judge"], row["criterion"]) == (judge, criterion.lower().replace(" ", "_"))
        and {"ar": "Arabic", "en": "English", "zh": "Chinese"}[row["language"]] == language
    ]
    assert row["verdict"] in page.inner_text("#why p").lower()
    assert page.locator("#why dt").count() > 4
    assert page.locator("#why table caption").first.inner_text() == "Class by class"
    assert 0 < page.locator("#why article").count() <= 3
    settles = shlex.split(page.inner_text("#why .sign code"))
    assert settles[:3] == ["metal", "adjudicate", "plan"]
    assert {judge, row["criterion"], row["language"]} <= {*settles}
    # A link to the cell opens it, and only it; the matrix stays in sight.
    address = page.evaluate("location.hash")
    again = visit(
        demo_run / "report.html", address, folded=True, viewport={"width": 1400, "height": 900}
    ).page
    again.locator("#why h2").wait_for()
    assert again.inner_text("#why h2") == page.inner_text("#why h2")
    assert again.locator("a.v[aria-current]").count() == 1


def test_a_verdict_on_scores_opens_typical_outputs(
    make_dataset: MakeDataset, write_run: WriteRun, visit: Visiting
) -> None:
    # j is 1 to 32 away from people on 32 of 40 outputs, k nowhere; 15, 16 and 17 are in the middle.
    people = [(7 * item) % 100 for item in range(40)]
    away = [0 if item < 8 else item - 7 for item in range(40)]
    scores = {
        "A1": people,
        "A2": people,
        "j": [sum(both) for both in zip(people, away, strict=True)],
        "k": people,
    }
    folder = write_run(make_dataset({"en": scores}, Criterion("direct", Scale("interval"))))
    page = visit(folder / "report.html", "#why-1-1-1").page
    page.locator("#why article").first.wait_for()
    outputs = page.locator("#why article p.soft bdi:last-child").all_inner_texts()
    assert outputs == [f"en-{item}/g0" for item in (22, 23, 24)]
    assert f"on average {people[22]} (all agree)" in page.inner_text("#why article")
    assert not page.locator("#why .sign").count()  # scores on a line are never right
    page.get_by_text("All its disagreements").click()
    page.get_by_text("32 found").wait_for()
    assert page.locator("[name=criterion]").input_value() == "direct"
    page.goto(page.url.split("#")[0] + "#why-2-1-1")
    page.get_by_text("Judge and people agree").wait_for()
    assert page.locator("#why a").all_inner_texts() == ["Back to the cell"]


def test_a_verdict_says_of_how_many_items_and_at_which_level(
    make_dataset: MakeDataset, write_run: WriteRun, visit: Visiting
) -> None:
    # Two people rated 60 outputs, which the verdict is of; all three 50, which F1 is of. Always 2:
    # F1 as the constant.
    people = [2, 2, 2, 2, 2, 2, 2, 2, 2, 0] * 6
    third: list[int | None] = [*people[:50], *[None] * 10]
    folder = write_run(
        make_dataset({"en": {"A1": people, "A2": people, "A3": third, "constant": [2] * 60}})
    )
    page = visit(folder / "report.html", "#why-1-1-1").page
    page.get_by_text("Intervals are 95%. Shares of").wait_for()
    titles = page.locator("#why dt").all_inner_texts()
    assert {
        "weighted F1, 50 items",
        "kappa, 50 items",
        "people's F1 against the others, 50 items",
    } <= {*titles}
    assert "people's alpha" in titles  # of 60, as the verdict is
    assert (
        "constant on task_quality in English has F1 0.85 [0.69, 0.94] on 50 fully rated outputs;"
        in page.inner_text(".cards")
    )
    assert "60 outputs compared" in page.inner_text(".scope")


def test_the_matrix_is_sorted_by_verdict_and_then_by_the_share_kept(
    tmp_path: Path, visit: Visiting
) -> None:
    written(load_dataset(MLQE), tmp_path / "run", criteria=("translation_quality",))
    page = visit(tmp_path / "run" / "report.html").page
    page.click("#sort")
    verdicts = pd.read_csv(tmp_path / "run" / "tables" / "verdicts.csv")
    verdicts["place"] = verdicts["verdict"].map(VERDICTS.index)
    best = verdicts.sort_values(["place", "kappa_kept"], ascending=[True, False])["language"].map(
        language_name
    )
    assert verdicts["place"].duplicated().sum() >= 3
    assert (
        page.locator("table.answers").first.locator("thead th").all_inner_texts() == best.to_list()
    )


def test_the_matrix_is_turned_and_sorted(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html").page
    words = "(row) => [...row.cells].map((cell) => cell.textContent.trim())"
    of = f"[...document.querySelector('table.answers').rows].map({words})"
    before = page.evaluate(of)
    page.click("#turn")
    assert page.evaluate(of) == [list(column) for column in zip(*before, strict=True)]
    page.click("#turn")
    assert page.evaluate(of) == before
    page.click("#sort")
    assert {row[0] for row in page.evaluate(of)} == {row[0] for row in before}


def test_the_answer_is_on_the_first_screen(demo_run: Path, visit: Visiting) -> None:
    for width, top, bottom in ((1400, 400, 700), (390, 420, 1400)):
        page = visit(
            demo_run / "report.html", folded=True, viewport={"width": width, "height": 900}
        ).page
        box = page.locator("table.answers").first.bounding_box()
        assert box["y"] < top
        assert box["y"] + box["height"] < bottom


def test_without_its_script_the_page_still_tells_everything_else(
    demo_run: Path, visit: Visiting
) -> None:
    page = visit(demo_run / "report.html", java_script_enabled=False).page
    page.get_by_text("Judges against people").click()
    assert page.locator("#table-judges td").first.is_visible()
    page.get_by_role("heading", name="Disagreements").click()
    assert page.locator("noscript").first.is_visible()
    assert not page.locator("#filters").is_visible()
    assert page.locator("#overview details li").count() == page.locator("a.v").count()
    assert page.locator("a.v strong").first.is_visible()


def test_print_leaves_out_what_cannot_be_used_on_paper(demo_run: Path, visit: Visiting) -> None:
    # A4
    page = visit(
        demo_run / "report.html", color_scheme="dark", viewport={"width": 717, "height": 1000}
    ).page
    page.emulate_media(media="print")
    box = page.locator("table.answers").first.bounding_box()
    assert box["x"] + box["width"] <= 717
    assert not page.locator("#filters").is_visible()
    assert not page.locator("button.csv").first.is_visible()
    assert page.locator("#table-judges .sign code").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # of an upright page, and of one on its side
    for width, tables in ((717, "table:not(.wide)"), (985, "table.wide")):
        page.set_viewport_size({"width": width, "height": 1000})
        ends = (
            f"[...document.querySelectorAll('{tables}')].map((table) =>"
            " table.getBoundingClientRect().right)"
        )
        drawn = [end for end in page.evaluate(ends) if end]
        assert len(drawn) > 1
        assert max(drawn) <= width


def test_every_chart_has_words_and_numbers(demo_run: Path, visit: Visiting) -> None:
    page = visit(demo_run / "report.html").page
    figures = page.locator("figure").all()
    # quality; classes; dots, F1 against kappa and radars; cases
    assert len(figures) == 3 + 3 + 3 * 3 + 3
    for figure in figures:
        assert len(figure.locator("[role=img]").get_attribute("aria-label")) > 60
        assert figure.locator("details td").count() > 0
