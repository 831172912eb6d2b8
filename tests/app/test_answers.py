"""Lists of outputs with a column for each rater: of datasets, runs and audits, in a browser and as
files.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metal
from metal.app.server import View
from metal.data.dataset import save_dataset
from tests.app.shop import check_looks, listened
from tests.app.test_guard import asked
from tests.formats.test_promptfoo import table
from tests.saying import tells

LISTS = ("answers/datasets/demo", "answers/runs/judged", "answers/runs/audit")
EVIL = "<script>alert(1)</script>=1+1"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    complaints = listened(page)
    yield page
    context.close()
    assert complaints == []


def outputs_on(page: Any) -> list[str]:
    return [str(link.inner_text()) for link in page.locator("tbody th a").all()]


@pytest.mark.parametrize("path", LISTS)
def test_every_list_leads_to_pages_of_outputs(view: View, page: Any, path: str) -> None:
    page.goto(f"{view.address}{path}?language=ar")
    assert page.locator("tbody tr").count() > 3
    assert page.locator("tbody .clip").first.inner_text()
    heads = [head.inner_text().strip() for head in page.locator("thead th").all()]
    assert heads[:1] == ["Output"]
    assert {"People", "ar-1", "ar-2", "ar-3"} <= set(heads)
    page.locator("tbody th a").first.click()
    assert page.locator(".text[lang=ar]").count() >= 2
    raters = [rater.inner_text() for rater in page.locator(".part.here tbody th").all()]
    assert raters[:3] == ["ar-1", "ar-2", "ar-3"]
    assert len(raters) > 3
    page.get_by_role("link", name="answers").click()
    assert page.url.endswith("language=ar")


def test_a_dataset_leads_to_its_outputs(view: View, page: Any) -> None:
    page.goto(f"{view.address}dataset/datasets/demo")
    page.get_by_role("link", name="Look at its outputs and ratings").click()
    assert page.locator("tbody tr").count() == 50


def test_a_dataset_without_judges_is_listed_too(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame(
        {
            "language": "en",
            "output": ["one", "two", EVIL],
            "text": ["A first text", "A second text", EVIL],
            "rater": "anna",
            "quality": [1, 3, 2],
        }
    )
    metal.read(frame).save(tmp_path / "shelf" / "plain")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view = View.begin(tmp_path / "shelf", 0)
    status, text, _ = asked(view, "answers/plain")
    view.stop()
    assert status == 200
    assert "3 outputs" in text
    assert "A first text" in text
    assert "<script>alert" not in text


def test_the_graders_reason_of_an_imported_log_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded = ["a text", "", "FAIL", "0.20", '{"tone": 0.2}', f"It is rude. {EVIL}", ""]
    file = table(tmp_path / "out.csv", ["1", "hi", *graded])
    metal.read(file).save(tmp_path / "shelf" / "log")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view = View.begin(tmp_path / "shelf", 0)
    link = re.findall('/output/[^"]*', asked(view, "answers/log")[1])[0]
    text = asked(view, unescape(link)[1:])[1]
    view.stop()
    assert "It is rude." in text
    assert "<script>alert" not in text


def test_an_audits_list_says_that_it_has_only_disagreements(view: View) -> None:
    audit = asked(view, "answers/runs/audit?kind=any")[1]
    assert tells(audit, "An audit keeps only the outputs", "datasets/demo")
    assert "An audit keeps" not in asked(view, "answers/datasets/demo")[1]


def test_heads_of_columns_sort_and_turn_round(view: View, page: Any) -> None:
    page.goto(f"{view.address}answers/runs/audit?language=hi&criterion=task_quality&kind=any")
    column = page.locator("thead th").filter(has_text="fake:blind")
    column.get_by_role("link").click()
    at = [head.inner_text() for head in page.locator("thead th").all()]
    number = next(place for place, head in enumerate(at) if head.startswith("fake:"))
    cells = page.locator(f"tbody tr > :nth-child({number + 1})")
    scores = [int(re.findall(r"\d", cell.inner_text())[0]) for cell in cells.all()]
    assert scores == sorted(scores)
    assert page.locator("thead th[aria-sort=ascending]").count() == 1
    page.locator("thead th[aria-sort=ascending] a").click()
    assert page.locator("thead th[aria-sort=descending]").count() == 1
    top = outputs_on(page)
    page.locator("tbody th a").nth(1).click()
    page.locator("[data-key=k]").click()  # the output before, in the order of the list
    assert page.get_by_role("heading", level=1).inner_text() == f"Output {top[0]}"


def test_words_in_texts_are_found_without_script(view: View, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{view.address}answers/datasets/demo?kind=any")
    page.get_by_label("Words in the texts").fill("Harrow COUNCIL bus")
    page.get_by_role("button", name="Show").click()
    every = page.locator("tbody tr").all()
    assert 0 < len(every) < 50
    assert "kind=any" in page.url
    address = page.url
    page.goto(address)  # an address lasts
    assert page.locator("tbody tr").count() == len(every)
    page.get_by_label("Words in the texts").fill("no text has this")
    page.get_by_role("button", name="Show").click()
    assert page.get_by_text("No output fits this choice").is_visible()
    context.close()


def test_any_answer_stays_chosen_on_the_next_page(view: View, page: Any) -> None:
    page.goto(f"{view.address}answers/datasets/demo?kind=any")
    before = page.get_by_text("outputs, 50 on this page").inner_text().split(" ")[0]
    page.get_by_role("link", name="Next page").click()
    assert page.get_by_text("outputs, 50 on this page").inner_text().split(" ")[0] == before


@pytest.mark.parametrize("path", [path.partition("/")[2] for path in LISTS])
def test_what_is_filtered_is_downloaded(view: View, path: str) -> None:
    query = "language=hi&criterion=task_quality&sort=people"
    total = int(re.findall(r"<span>(\d+) outputs", asked(view, f"answers/{path}?{query}")[1])[0])
    status, text, headers = asked(view, f"answers.csv/{path}?{query}")
    assert status == 200
    assert headers["content-type"].startswith("text/csv")
    assert "hi-task_quality.csv" in headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == total
    assert {row["language"] for row in rows} == {"hi"}
    people = [float(row["people"]) for row in rows if row["people"]]
    assert people == sorted(people)
    assert {"hi-1", "hi-2", "hi-3"} <= rows[0].keys()
    lines = asked(view, f"answers.jsonl/{path}?{query}")[1].splitlines()
    assert [json.loads(line)["output"] for line in lines] == [row["output"] for row in rows]


def test_no_other_file_is_offered(view: View) -> None:
    for path in ("answers.exe/runs/audit", "answers.csv/nothing", "answers.csv/../../etc"):
        assert asked(view, path)[0] in (400, 403, 404)


@pytest.mark.parametrize("query", ["sort=x", "kind=x", "language=xx", "sort=of:nobody"])
def test_what_does_not_exist_is_refused(view: View, query: str) -> None:
    assert asked(view, f"answers/runs/audit?{query}")[0] == 400


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_lists_are_fit_for_everybody(browser: Any, view: View, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    for path in (*LISTS, "answers/datasets/demo?language=ar&sort=of:constructed:good"):
        page.goto(view.address + path)
        check_looks(page, width)
    context.close()


def test_on_a_phone_outputs_are_cards(browser: Any, view: View) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(f"{view.address}answers/datasets/demo?language=ar")
    card = page.locator("tbody tr").first
    cells = [cell.bounding_box() for cell in card.locator("td").all()]
    assert all(cell is None or cell["x"] + cell["width"] <= 390 for cell in cells)
    clip = card.locator(".clip").first
    assert clip.evaluate("node => getComputedStyle(node).direction") == "rtl"
    page.close()


def test_judges_whose_scores_came_with_the_data_have_no_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = [f"o{n},text {n},en,{n % 3},{(n + n % 2) % 3},{n * n % 3}" for n in range(12)]
    table = tmp_path / "ratings.csv"
    table.write_text("\n".join(["id,text,language,human_a,human_b,gpt-4o", *lines]))
    metal.audit(table, resamples=100).save(tmp_path / "runs" / "audit")
    own = View.begin(tmp_path, 0)
    text = asked(own, "output/runs/audit?output=o2")[1]
    own.stop()
    assert tells(unescape(text), "gpt-4o", "METAL did not ask", "judges")
    assert "`" not in text


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """The app on a dataset with references, a run of a judge and audits, one of them of a dataset
    that is gone.
    """
    folder = tmp_path_factory.mktemp("expected")
    lines = ["id,source_text,text,reference,language,human_a,human_b,gpt-4o"]
    for n in range(12):
        lines.append(f"o{n},question {n},text {n},<b>gold {n}</b>,ar,{n % 3},{-n % 3},{n * n % 3}")
    (folder / "ratings.csv").write_text("\n".join(lines))
    data, judged = folder / "datasets" / "set", folder / "runs" / "judged"
    save_dataset(metal.read(folder / "ratings.csv"), data)
    metal.judge(data, "fake:blind", out=judged, prompt="simple")
    metal.audit(data, judged, resamples=100).save(folder / "runs" / "both")
    metal.audit(data, resamples=100).save(folder / "runs" / "alone")
    metal.audit(folder / "ratings.csv", resamples=100).save(folder / "runs" / "table")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(folder / "state"))
        view = View.begin(folder, 0)
    yield view
    view.stop()


@pytest.mark.parametrize("key", ["datasets/set", "runs/judged", "runs/both", "runs/alone"])
def test_the_page_of_an_output_shows_its_reference(expected: View, key: str) -> None:
    status, text, _ = asked(expected, f"output/{key}?output=o2")
    assert status == 200
    assert tells(text, "Reference", "&lt;b&gt;gold 2&lt;/b&gt;")
    assert "gold 3" not in text


def test_without_its_dataset_an_audit_shows_no_reference(expected: View) -> None:
    status, text, _ = asked(expected, "output/runs/table?output=o2")
    assert status == 200
    assert "text 2" in text
    assert "Reference" not in text


def test_calls_have_the_titles_of_their_criteria(view: View) -> None:
    text = asked(view, "output/runs/judged?output=hi-1/strong")[1]
    summaries = re.findall(r"<summary>(.*?)</summary>", text)
    assert len(summaries) == 4
    assert tells(summaries[0], "fake:blind", " on Task quality")
    assert "task_quality" not in "".join(summaries)
