"""The form on screens of all sizes and in both directions of writing, with every template, and who
can use it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metal.building import forms
from metal.building.forms import html_form
from metal.building.forms.frame import in_their_language
from metal.building.forms.html_form import read
from metal.building.tasks import Assignment, make_tasks
from metal.data.files import bundled
from metal.data.records import Criterion, Level, Output, Scale, Source
from metal.raters.judges.rubric import LevelText, Rubric
from tests.build.assignments import CRITERIA, TEXTS, assignment, downloaded, form, turn_to
from tests.build.test_template import GOLD, MADE, assignments, ours
from tests.report.checks import Visiting, check_policy

SEEN = [("en", 390, "light"), ("ar", 390, "dark"), ("ar", 1280, "light"), ("en", 1280, "dark")]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "width", "scheme"), SEEN)
def test_it_fits_and_axe_finds_nothing(
    tmp_path: Path, visit: Visiting, language: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    path = form(tmp_path, assignment(language))
    seen = visit(
        path, viewport={"width": width, "height": 850}, color_scheme=scheme, bypass_csp=True
    )
    page = seen.page
    for view in ("guidelines", "task-1", "tasks"):
        turn_to(page, view)
        if view == "task-1":
            page.locator("#c0 label").first.click()
            page.locator("#c0 summary").click()
            page.fill("#c2n", "-1")
        if view == "tasks":
            page.click("#download")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        result = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in result] == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == ("rgb(21, 23, 28)" if scheme == "dark" else "rgb(255, 255, 255)")
    assert seen.said == []


# The words of a page's buttons that stand on more than one line.
BROKEN = """[...document.querySelectorAll('button, .button')].flatMap((button) => {
  const walker = document.createTreeWalker(button, NodeFilter.SHOW_TEXT), broken = [];
  for (let node; (node = walker.nextNode()); )
    for (const word of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size > 1) broken.push(word[0]);
    }
  return broken;
})"""  # noqa: E501


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ru"])
def test_buttons_do_not_break_inside_words_in_a_narrow_window(
    tmp_path: Path, visit: Visiting, language: str
) -> None:
    given = assignment(language, texts=TEXTS["en"])
    path = form(tmp_path, in_their_language(given, [bundled("prompts")]))
    for width in (390, 600, 800):
        page = visit(path, "#task-1", viewport={"width": width, "height": 850}).page
        for view in ("task-1", "tasks", "guidelines"):
            turn_to(page, view)
            assert page.evaluate(BROKEN) == [], (width, view)
            assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("ar", "rtl")])
def test_texts_run_their_way_on_a_page_that_runs_from_the_left(
    tmp_path: Path, visit: Visiting, language: str, direction: str
) -> None:
    path = form(tmp_path, assignment(language))
    page = visit(path, "#task-1", viewport={"width": 1280, "height": 800}).page
    for node in ("#title", "#source-body", "#output-body"):
        assert page.get_attribute(node, "lang") == language
        assert (
            page.evaluate(f"getComputedStyle(document.querySelector('{node}')).direction")
            == direction
        )
    assert page.evaluate("getComputedStyle(document.body).direction") == "ltr"
    source, output = (page.locator(node).bounding_box() for node in ("#source", "#output"))
    assert source["y"] == output["y"]
    assert source["x"] + source["width"] < output["x"]
    page.set_viewport_size({"width": 390, "height": 850})
    source, output = (page.locator(node).bounding_box() for node in ("#source", "#output"))
    assert source["x"] == output["x"]
    assert source["y"] + source["height"] < output["y"]


def test_a_long_text_scrolls_in_its_place_and_opens(tmp_path: Path, visit: Visiting) -> None:
    page = visit(
        form(tmp_path, assignment()), "#task-1", viewport={"width": 390, "height": 850}
    ).page
    text = page.locator("#source-text")
    full = text.evaluate("node => node.scrollHeight")
    assert text.evaluate("node => node.clientHeight") < 850 / 2 < full
    page.locator("#source .whole").click()
    assert text.evaluate("node => node.clientHeight") == full
    assert not page.locator("#output .whole").is_visible()


@pytest.mark.slow
@pytest.mark.reference
def test_published_arabic_passages_are_shown_as_they_are(
    tmp_path: Path, visit: Visiting, reference: Path
) -> None:
    lines = (
        (reference / "passages" / "arabic_test.jsonl").read_text(encoding="utf-8").splitlines()[:5]
    )
    passages = [json.loads(line) for line in lines]
    for number, passage in enumerate(passages):
        own = assignment(
            "ar", 1, f"ar-{number}", (passage["title"], passage["text"], passage["summary"])
        )
        page = visit(form(tmp_path, own), "#task-1", viewport={"width": 390, "height": 850}).page
        assert page.locator("#source-body").text_content() == f"0 {passage['text']}"
        assert page.locator("#output-body").text_content() == f"0 {passage['summary']}"
        assert page.evaluate("document.documentElement.scrollWidth") == 390


ATTACK = (
    "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> {{ 7 * 7 }}"
    " <!-- &amp; \u202eevil\u2066 \x00\x1b \u2028 \ud800 ]]>"
)
SHOWN = re.sub("[\u202e\u2066\x00\x1b\ud800]", "\N{REPLACEMENT CHARACTER}", ATTACK)


def hostile() -> Assignment:
    scale = Scale("ordinal", (Level(0, f"0{ATTACK}"), Level(1, f"1{ATTACK}")))
    name = "__proto__"
    criterion = Criterion(name, scale, label=ATTACK, question=ATTACK)
    rubric = Rubric(criterion, ATTACK, ATTACK, {0: LevelText(ATTACK, (ATTACK,))})
    source = Source("s", "ar", ATTACK, ATTACK)
    tasks = make_tasks("demo", [Output("o", "s", "g", "ar", ATTACK)], {"s": source})
    return Assignment(f"d{ATTACK}", f"../{ATTACK}", "ar", tuple(tasks), {name: rubric})


def test_hostile_text_is_shown_and_does_nothing(tmp_path: Path, visit: Visiting) -> None:
    path = form(tmp_path, hostile())
    content = path.read_text(encoding="utf-8")
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", content
    )
    assert "\u2028" not in content.partition("application/json")[2]
    assert "<script>window" not in content
    seen = visit(path, "#task-1", viewport={"width": 390, "height": 850})
    page = seen.page
    assert page.locator("#output-body").text_content() == SHOWN
    assert page.locator("#c0 legend").text_content() == SHOWN
    page.locator("#c0 label").nth(1).click()
    page.click("#next")
    name, answers = downloaded(page)
    assert re.fullmatch(r"[\w.-]+\.answers\.json", name)
    [answer] = read(name, answers, CRITERIA)
    assert answer.scores == {"__proto__": "1"}
    assert answer.rater == f"../{ATTACK}".replace("\ud800", "\N{REPLACEMENT CHARACTER}")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert seen.said == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_policy_forbids_everything_from_outside(tmp_path: Path, visit: Visiting) -> None:
    check_policy(visit(form(tmp_path, assignment())))


LOOK = """(one) => {
  const style = getComputedStyle(one);
  return [...style].filter((name) => !/height|block-size|origin|width|inline-size/.test(name))
    .map((name) => [name, style.getPropertyValue(name)]);
}"""


def test_a_pair_in_the_page(visit: Callable[..., Any], tmp_path: Path) -> None:
    [each] = assignments(ours("summarization"))
    [(name, content)] = forms.write("html", [each])
    (tmp_path / name).write_bytes(content)
    opened = visit(tmp_path / name, "#task-1", viewport={"width": 1300, "height": 900})
    page = opened.page
    number = each.tasks[0].source[0]
    shown = [page.locator(f"#{side}-body").text_content() for side in ("first", "second")]
    assert sorted(shown) == sorted([f"{number} {GOLD}", f"{number} {MADE}"])
    assert (shown[0] == f"{number} {MADE}") == each.tasks[0].output_first
    assert [
        page.locator(f"#{side}-heading").text_content() for side in ("source", "first", "second")
    ] == [
        "Article",
        "Summary A",
        "Summary B",
    ]
    for part in ("", "-heading", "-text", "-body"):
        first, second = (
            page.locator(f"#{side}{part}").evaluate(LOOK) for side in ("first", "second")
        )
        assert first == second
    for digit in "123451":
        page.keyboard.press(digit)
    page.goto(page.url.split("#")[0] + "#tasks")
    page.click("#download")
    _, saved = downloaded(page, "#anyway")
    answer = json.loads(saved)["answers"][0]
    assert list(answer["scores"].values()) == ["1", "2", "3", "4", "5", "1"]
    assert [read.task for read in html_form.read("a.json", saved, {})] == [
        task.task for task in each.tasks
    ]
    assert opened.said == []
    assert [url for url in opened.requests if not url.startswith(("file:", "blob:"))] == []


def test_a_pair_in_a_hit(visit: Callable[..., Any], tmp_path: Path) -> None:
    [each] = assignments(ours("summarization"))
    files = dict(forms.write("mturk", [each]))
    row = next(csv.DictReader(io.StringIO(files["tasks-en.csv"].decode(), newline="")))
    layout = re.sub("<script src=.*?</script>", "", files["layout-en.html"].decode())
    page = re.sub(r"\$\{(\w+)\}", lambda result: row[result[1]], layout)
    (tmp_path / "hit.html").write_text(f"<body data-ready>{page}", encoding="utf-8")
    opened = visit(tmp_path / "hit.html")
    texts = opened.page.locator("#metal .rated")
    task = next(task for task in each.tasks if task.task == row["task"])
    number = task.source[0]
    shown = [texts.nth(place).inner_text().strip() for place in (0, 1)]
    assert shown == [f"{number} {MADE}", f"{number} {GOLD}"][:: 1 if task.output_first else -1]
    assert texts.nth(0).evaluate(LOOK) == texts.nth(1).evaluate(LOOK)
    assert opened.said == []
