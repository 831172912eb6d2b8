"""The import wizard in a real browser: few clicks, without script, by keyboard, on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import metal
from metal.app.server import View
from tests.app.shop import check_looks
from tests.app.test_importing import WIDE, WORDS
from tests.app.test_importing import desk as desk

MOST_CLICKS = 10
STRANGERS = (
    *("cl.csv", "da.csv", "harness.jsonl", "hindi.csv", "likert_num.csv", "long.csv"),
    *("one_one.csv", "pairs.csv", "two_heads.xlsx", "wide.csv"),
)
HARNESS = {  # file -> whether people rated, too
    "deepeval/evaluation_result.json": True,
    "deepeval/test_run.json": True,
    "documented/langfuse_scores.csv": True,
    "documented/langsmith_runs.csv": True,
    "documented/mlflow_traces.json": True,
    "documented/openai_evals.jsonl": False,
    "documented/phoenix_annotations.csv": True,
    "inspect/log.json": False,
    "inspect/qa.eval": False,
    "inspect/samples.csv": False,
    "lm-eval/samples_toy.jsonl": False,
    "promptfoo/out.csv": False,
    "promptfoo/out.json": False,
    "promptfoo/out.jsonl": False,
}
FILES = [("strangers", name, True) for name in STRANGERS]
FILES += [("harness", name, people) for name, people in HARNESS.items()]
MADE = re.compile(r"/imported/")
JOB = re.compile(r"/job/")
RUN = re.compile(r"/run/")


class Visitor:
    """Somebody at a page of the app, who counts clicks and choices."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address, self.clicks = page, address, 0
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.goto(address)

    def click(self, name: str) -> None:
        """Click what has this name."""
        self.clicks += 1
        self.page.locator(f"a:text-is('{name}'), button:text-is('{name}')").first.click()

    def give(self, *files: Path) -> None:
        """Choose files; a click without script sends them."""
        self.clicks += 1
        self.page.set_input_files("#file", list(map(str, files)))
        self.page.wait_for_url(re.compile("/import/."))

    def choose(self, name: str, value: str) -> None:
        """Choose from a menu; the page comes again by itself."""
        self.clicks += 1
        with self.page.expect_navigation():
            self.page.locator(f"[name='{name}']").select_option(value)

    @property
    def figures(self) -> str:
        """The figures on the page."""
        text: str = self.page.locator("dl.figures").inner_text()
        return text


@pytest.fixture
def visitor(browser: Any, desk: View) -> Iterator[Callable[..., Visitor]]:
    """visitor(java_script_enabled=False, ...): somebody at the start page."""
    contexts = []

    def come(**options: Any) -> Visitor:
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        )
        contexts[-1].set_default_timeout(30_000)
        return Visitor(contexts[-1].new_page(), desk.address)

    yield come
    for context in contexts:
        context.close()


@pytest.mark.reference
@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name", "people"), FILES, ids=lambda value: str(value))
def test_every_strangers_table_is_audited_in_few_clicks(
    visitor: Callable[..., Visitor], reference: Path, folder: str, name: str, people: bool
) -> None:
    somebody = visitor()
    page = somebody.page
    somebody.give(reference / folder / name)
    if page.locator("a[href='#language']").count():
        somebody.clicks += 1
        with page.expect_navigation():
            page.fill("#language", "Hindi")
            page.keyboard.press("Tab")
        assert "Hindi" in somebody.figures
    if people:
        somebody.click("This is right: audit it")
    else:
        somebody.click("This is right: make the dataset")
        page.wait_for_url(MADE)
        somebody.click("Audit it anyway")
    page.wait_for_url(JOB)
    assert somebody.clicks <= MOST_CLICKS
    if people:
        page.wait_for_url(RUN)  # the page of a command leads there when it has ended
        page.wait_for_selector("h1")
    else:
        page.wait_for_selector("h1:text-is('Not done')")
        assert "no human raters" in page.locator("pre").inner_text().replace("\n", " ")
    assert somebody.said == []


def give_table(somebody: Visitor, folder: Path, name: str, content: str) -> None:
    """Choose a file with this content on the page for it."""
    (folder / name).write_text(content, encoding="utf-8")
    somebody.page.goto(f"{somebody.address}import")
    somebody.give(folder / name)


def test_a_choice_is_read_at_once(visitor: Callable[..., Visitor], tmp_path: Path) -> None:
    somebody = visitor()
    page = somebody.page
    give_table(somebody, tmp_path, "people.csv", WIDE)
    page.fill("#name", "at once")
    somebody.choose("kind.2", "human")
    assert "3 people" in somebody.figures
    page.wait_for_function("document.activeElement.name === 'kind.2'")
    assert page.input_value("#name") == "at once"
    somebody.choose("column.5", "answers")
    assert "160 ratings" in somebody.figures
    somebody.choose("column.4", "")
    assert "120 ratings" in somebody.figures
    command = page.locator(".command code").inner_text()
    assert "--ignore gpt_4o" in command or "--wide annotator_1,annotator_2,weather" in command
    assert page.locator("[data-without-script]:visible").count() == 0
    assert somebody.said == []


def test_words_are_dragged_into_order(visitor: Callable[..., Visitor], tmp_path: Path) -> None:
    somebody = visitor()
    page = somebody.page
    give_table(somebody, tmp_path, "words.csv", WORDS)
    words = page.locator(".levels bdi")
    assert words.all_inner_texts() == ["meh", "zut", "wow"]
    with page.expect_navigation():
        page.locator(".levels li").nth(1).drag_to(
            page.locator(".levels li").nth(2), target_position={"x": 60, "y": 28}
        )
    assert words.all_inner_texts() == ["meh", "wow", "zut"]
    assert "0 meh, 1 wow, 2 zut" in somebody.figures
    assert somebody.said == []


def test_without_script_on_a_phone(
    visitor: Callable[..., Visitor], desk: View, tmp_path: Path
) -> None:
    somebody = visitor(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = somebody.page
    (tmp_path / "words.csv").write_text(WORDS)
    page.set_input_files("#file", str(tmp_path / "words.csv"))
    somebody.click("Read it")
    page.get_by_label("zut: better").click()
    assert "0 meh, 1 wow, 2 zut" in somebody.figures
    page.locator("[name='kind.0']").select_option("llm")
    page.locator("#raters button").click()
    assert "2 LLM judges" in somebody.figures
    page.fill("#name", "by phone")
    somebody.click("This is right: make the dataset")
    page.wait_for_url(MADE)
    assert "is made" in page.locator("h1").inner_text()
    dataset = metal.read(desk.folder / "datasets" / "by phone")
    assert {rater.kind for rater in dataset.raters.values()} == {"llm"}
    assert [level.label for level in dataset.criteria["overall"].scale.levels] == [
        *("meh", "wow", "zut"),
    ]


def test_a_table_is_dropped_on_the_start_page(visitor: Callable[..., Visitor]) -> None:
    page = visitor().page
    dropped = page.evaluate_handle(
        "text => { const all = new DataTransfer();"
        " all.items.add(new File([text], 'dropped.csv')); return all; }",
        WORDS,
    )
    for event in ("dragover", "drop"):
        page.dispatch_event("h1", event, {"dataTransfer": dropped})
    page.wait_for_url(re.compile(r"/import/"))
    assert "dropped.csv" in page.locator("h1").inner_text()


def tab_to(page: Any, what: str) -> None:
    """Press Tab until this has the focus."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({what!r})"):
            return
    raise AssertionError(f"{what} cannot be reached by keyboard")


def test_by_keyboard_only(visitor: Callable[..., Visitor], tmp_path: Path) -> None:
    somebody = visitor()
    page = somebody.page
    tab_to(page, "a[href$='/import']")
    page.keyboard.press("Enter")
    (tmp_path / "words.csv").write_text(WORDS)
    page.set_input_files("#file", str(tmp_path / "words.csv"))  # in the browser's own dialog
    page.wait_for_url(re.compile("/import/."))
    tab_to(page, "button[aria-label='zut: better']")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    tab_to(page, "[name='kind.0']")
    with page.expect_navigation():
        page.keyboard.press("m")  # metric
    assert "1 metric" in somebody.figures
    tab_to(page, "#name")
    page.keyboard.press("Control+A")
    page.keyboard.type("typed")
    tab_to(page, "button[value=make]")
    page.keyboard.press("Enter")
    page.wait_for_url(MADE)
    assert "typed" in page.locator("h1").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_pages_fit_and_axe_finds_nothing(
    visitor: Callable[..., Visitor], tmp_path: Path, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    somebody = visitor(
        viewport={"width": width, "height": 850}, color_scheme=scheme, bypass_csp=True
    )
    page = somebody.page
    long = "id,rater,زبان,score,x" + "y" * 300 + "\n1,Ann,ar,meh,مرحبا\n2,gpt-4,ar,zut,b\n"
    tables = {
        "people.csv": WIDE,
        "words.csv": WORDS,
        f"{'long' * 20}.csv": long,
        "two.csv": "id,lang,north,south\n1,en,2,3\n2,en,1,2\n",
        "none.json": "{",
    }
    for name, content in {"": "", **tables}.items():
        if name:
            give_table(somebody, tmp_path, name, content)
        else:
            page.goto(f"{somebody.address}import")
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == width, name
        violations = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == [], name
    assert somebody.said == []


VERDICTS = {"he": ("גרוע", "בינוני", "טוב"), "ar": ("ضعيف", "متوسط", "جيد")}
RATERS = {"he": ("נועה", "יוסי"), "ar": ("ليلى", "سمير")}


def from_right_to_left(language: str) -> str:
    """A table in whose headers and cells everything is written from right to left."""
    column = {"he": "טקסט", "ar": "النص"}[language]
    lines = [f"id,{column},language,rater,score"]
    for number in range(20):
        for at, rater in enumerate((*RATERS[language], "gpt-4o")):
            text = f'"{VERDICTS[language][0]} {number}, (abc) {VERDICTS[language][1]}."'
            word = VERDICTS[language][(number + at) % 3]
            lines.append(f"{number},{text},{language},{rater},{word}")
    return "\n".join(lines) + "\n"


# Where the first letter of each of these texts stands on the screen, from left to right.
LEFT_EDGES = """([element, texts]) => texts.map(text => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let from = 0, node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.data.indexOf(text, from);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        return range.getBoundingClientRect().left;
    }
    throw new Error('not there: ' + text);
})"""


@pytest.mark.slow
@pytest.mark.parametrize("language", ["he", "ar"])
@pytest.mark.parametrize("width", [1400, 390])
def test_a_table_written_from_right_to_left_is_read_as_any_other(
    visitor: Callable[..., Visitor], tmp_path: Path, language: str, width: int
) -> None:
    somebody = visitor(viewport={"width": width, "height": 850}, bypass_csp=True)
    page = somebody.page
    name = f"{VERDICTS[language][1]} {width}"
    give_table(somebody, tmp_path, f"{name}.csv", from_right_to_left(language))
    page.goto(f"{page.url}?{urlencode({'levels.overall': '<'.join(VERDICTS[language])})}")
    check_looks(page, width)
    assert "2 people, 1 LLM judge" in somebody.figures
    # each number stands before its word, whatever way the words are written
    worst, middle, best = VERDICTS[language]
    scale = page.locator("h3 .soft")
    if width == 1400:  # on one line
        parts = ["0", worst, "1", middle, "2", best]
        edges = page.evaluate(LEFT_EDGES, [scale.element_handle(), parts])
        assert edges == sorted(edges)
    for what in (f"bdi:text-is('{RATERS[language][0]}')", f".cells span:has-text('{worst}')"):
        turned = "element => getComputedStyle(element).direction"
        assert page.locator(what).first.evaluate(turned) == "rtl"
    page.locator(f"button[aria-label='{best}: worse']").click()
    page.locator(f"ol.levels li:nth-child(2):has-text('{best}')").wait_for()
    words = page.locator("ol.levels bdi").all_inner_texts()
    assert words == [worst, best, middle]
    assert somebody.said == []
    assert page.locator("#name").input_value() == name
    somebody.click("This is right: audit it")
    page.wait_for_url(RUN, timeout=60_000)
    page.goto(somebody.address)
    assert "\ufffd" not in page.locator("main").inner_text()
