"""The rating form: in a real browser what people rate comes back as they rated it; its files and
their faults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metal.building.forms.html_form import read, write
from metal.building.tasks import Answer
from metal.errors import DataError
from tests.build.assignments import CRITERIA, assignment, downloaded, form, scores, turn_to
from tests.cli.runs import until
from tests.saying import tells

SAVED = "Saved on this device"
Visiting = Callable[..., Any]


def again(seen: Any, path: Path, address: str = "") -> Any:
    """The form opened anew in the same browser, as on the next day."""
    # saving is put off by 400 ms
    seen.page.evaluate("new Promise((done) => setTimeout(done, 420))")
    seen.page.close()
    seen.page = seen.context.new_page()
    seen.page.on("console", lambda message: seen.said.append(message.text))
    seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
    seen.page.goto(path.resolve().as_uri() + address)
    seen.page.wait_for_selector("body[data-ready]")
    return seen.page


def at_task(page: Any, number: int) -> None:
    page.locator("#task-heading", has_text=f"Task {number} of").wait_for()


def rate_by_mouse(page: Any, quality: int, absent: int, fluency: str) -> None:
    page.locator("#c0 label").nth(quality).click()
    page.locator("#c1 label").nth(absent).click()
    page.locator("#c2 input").fill(fluency)


@pytest.mark.parametrize("language", ["en", "ar"])
def test_what_is_rated_by_mouse_comes_back(tmp_path: Path, visit: Visiting, language: str) -> None:
    own = assignment(language)
    path = form(tmp_path, own)
    seen = visit(path)
    page = seen.page
    page.click("#start")
    rate_by_mouse(page, 2, 0, "80")
    page.fill("#comment", "n1 جيد 好")
    page.click("#next")
    at_task(page, 2)
    rate_by_mouse(page, 0, 1, "0.5")
    page.click("#next")
    at_task(page, 3)
    rate_by_mouse(page, 1, 0, "100")
    page.click("#next")
    page.locator("#view-tasks").wait_for()
    assert "All tasks are rated" in page.inner_text("#summary")
    name, content = downloaded(page)
    assert name == f"{language}-1.answers.json"
    answers = read(name, content, CRITERIA)
    assert scores(answers) == [("2", "0", "80"), ("0", "1", "0.5"), ("1", "0", "100")]
    assert list(answers[0].scores) == list(CRITERIA)
    assert [answer.task for answer in answers] == [task.task for task in own.tasks]
    assert [answer.comment for answer in answers] == ["n1 جيد 好", "", ""]
    assert {answer.rater for answer in answers} == {f"{language}-1"}
    assert answers[1].where == f"{name} answer 2"
    assert seen.said == []
    assert {url.partition("#")[0] for url in seen.requests if not url.startswith("blob:")} == {
        path.resolve().as_uri()
    }


def type_in_arabic(page: Any, key: str, code: str) -> None:
    """A key of a keyboard with Arabic letters and digits."""
    options = {"key": key, "code": code, "bubbles": True}
    page.evaluate(
        "options => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', options))",
        options,
    )


def test_what_is_rated_by_keyboard_comes_back(tmp_path: Path, visit: Visiting) -> None:
    seen = visit(form(tmp_path, assignment()), "#task-1")
    page, keys = seen.page, seen.page.keyboard
    keys.press("1")
    keys.press("0")
    keys.type("77")
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "next"
    keys.press("Enter")
    at_task(page, 2)
    assert page.evaluate("document.activeElement.id") == "task-heading"
    page.focus("#comment")
    keys.type("n p u 2 ?")
    assert page.inner_text("#task-heading") == "Task 2 of 3"
    keys.press("Escape")
    type_in_arabic(page, "٢", "Digit2")
    keys.press("9")
    assert page.inner_text("#told") == "No answer has the key 9 here."
    type_in_arabic(page, "ع", "KeyU")
    at_task(page, 3)
    keys.press("p")
    at_task(page, 2)
    keys.press("?")
    assert page.locator("#keys dl").is_visible()
    keys.press("?")
    assert not page.locator("#keys dl").is_visible()
    page.focus("#c0l2")
    keys.press("ArrowUp")
    keys.press("n")
    at_task(page, 3)
    keys.press("n")
    page.wait_for_selector("#unfinished", state="hidden")
    page.click("#download")
    assert "2 of 3 tasks are not rated" in page.inner_text("#unfinished")
    answers = read("a", downloaded(page, "#anyway")[1], CRITERIA)
    assert scores(answers) == [("1", "0", "77"), ("1", "", ""), ("", "", "")]
    assert answers[1].comment == "n p u 2 ?"
    assert seen.said == []


def test_a_digit_right_after_going_on_is_for_the_new_task(tmp_path: Path, visit: Visiting) -> None:
    page = visit(form(tmp_path, assignment()), "#task-1").page
    page.evaluate(
        "['n', '1'].forEach((key) => document.body.dispatchEvent("
        "new KeyboardEvent('keydown', { key, bubbles: true })))"
    )
    at_task(page, 2)
    assert page.evaluate("answers.map(({ scores }) => scores[0])") == ["", "1", ""]


def test_progress_and_what_is_left_are_told(tmp_path: Path, visit: Visiting) -> None:
    page = visit(form(tmp_path, assignment()), "#task-1").page
    rate_by_mouse(page, 0, 0, "1")
    page.click("#next")
    at_task(page, 2)
    page.locator("#c0 label").first.click()
    assert page.inner_text("#count") == "1 of 3 rated"
    page.get_by_role("link", name="All tasks and download").click()
    page.locator("#view-tasks").wait_for()
    links = page.locator("#list a").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('aria-label'))"
    )
    assert links == ["Task 1, rated", "Task 2, rated in part", "Task 3, not rated"]
    page.click("#first-unrated")
    at_task(page, 2)
    page.locator("#c0 .clear").click()
    assert page.locator("#c0 input:checked").count() == 0
    page.click("#unrated")
    at_task(page, 3)


def test_a_number_off_the_scale_is_refused(tmp_path: Path, visit: Visiting) -> None:
    page = visit(form(tmp_path, assignment()), "#task-1").page
    page.fill("#c2n", "101")
    assert page.inner_text("#c2e") == "Write a number from 0 to 100."
    assert page.get_attribute("#c2n", "aria-invalid") == "true"
    turn_to(page, "tasks")
    page.click("#download")
    assert scores(read("a", downloaded(page, "#anyway")[1], CRITERIA))[0] == ("", "", "")


def test_time_counts_while_somebody_is_there(tmp_path: Path, visit: Visiting) -> None:
    seen = visit(form(tmp_path, assignment()))
    seen.page.clock.install()
    page = again(seen, tmp_path / "en-1.html", "#task-1")
    page.clock.run_for(10_000)
    page.keyboard.press("n")
    at_task(page, 2)
    # gone for lunch: the two minutes in which a reader may sit still are counted
    page.clock.run_for(600_000)
    turn_to(page, "tasks")
    page.click("#download")
    seconds = [
        answer.seconds or 0 for answer in read("a", downloaded(page, "#anyway")[1], CRITERIA)
    ]
    assert 9 <= seconds[0] <= 12
    assert 118 <= seconds[1] <= 123
    assert seconds[2] == 0


def test_the_pace_says_how_long_the_rest_takes(tmp_path: Path, visit: Visiting) -> None:
    seen = visit(form(tmp_path, assignment(count=9)))
    seen.page.clock.install()
    page = again(seen, tmp_path / "en-1.html", "#task-1")
    for number in range(1, 6):
        at_task(page, number)
        page.clock.run_for(90_000)
        for key in ("1", "0", "5", "Enter", "Enter"):
            page.keyboard.press(key)
    turn_to(page, "tasks")
    assert tells(page.inner_text("#pace"), "about 6 min")


@pytest.mark.slow
def test_answers_are_there_again(tmp_path: Path, visit: Visiting) -> None:
    path = form(tmp_path, assignment())
    seen = visit(path, "#task-2")
    rate_by_mouse(seen.page, 1, 1, "50")
    seen.page.fill("#comment", "later")
    page = again(seen, path, "#task-2")
    assert page.locator("#c0l1").is_checked()
    assert page.locator("#c1l1").is_checked()
    assert page.input_value("#c2n") == "50"
    assert page.input_value("#comment") == "later"
    assert page.inner_text("#count") == "1 of 3 rated"
    assert again(seen, path).inner_text("#start") == "Go on with task 1"
    other = form(tmp_path, assignment(rater="en-2"))
    assert again(seen, other).inner_text("#count") == "0 of 3 rated"


def test_two_tabs_show_the_same(tmp_path: Path, visit: Visiting) -> None:
    seen = visit(form(tmp_path, assignment()), "#task-1")
    other = seen.context.new_page()
    other.goto(seen.page.url)
    rate_by_mouse(seen.page, 1, 0, "12")
    other.get_by_text("1 of 3 rated").wait_for()
    assert other.input_value("#c2n") == "12"


def closing_is_asked_about(page: Any) -> bool:
    """Whether the browser asks before it closes the page; if so, the page stays."""
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.type))
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.click("h1:visible")  # browsers ask only where somebody has touched the page
    page.close(run_before_unload=True)
    other = page.context.new_page()
    until(lambda: other.wait_for_timeout(50) or asked or page.is_closed())
    assert page.is_closed() == (not asked)
    return asked == ["beforeunload"]


def test_leaving_is_asked_about_only_with_answers_that_are_in_no_file(
    tmp_path: Path, visit: Visiting
) -> None:
    path = form(tmp_path, assignment(count=1))
    seen = visit(path, "#task-1")
    rate_by_mouse(seen.page, 0, 0, "1")
    page = again(seen, path, "#tasks")
    assert closing_is_asked_about(page)
    downloaded(page)
    assert not closing_is_asked_about(page)


def test_a_browser_without_storage_is_said_to_be_one(tmp_path: Path, visit: Visiting) -> None:
    path = form(tmp_path, assignment(count=1))
    seen = visit(path)
    seen.context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no',"
        " 'SecurityError'); }})"
    )
    page = again(seen, path, "#task-1")
    assert "cannot keep your answers" in page.inner_text("#warning")
    rate_by_mouse(page, 2, 1, "3")
    page.click("#next")
    assert scores(read("a", downloaded(page)[1], CRITERIA)) == [("2", "1", "3")]
    assert SAVED not in page.inner_text("#saved").replace("Not saved", "")
    assert seen.said == []


def load(page: Any, content: bytes) -> str:
    page.locator("#loading").evaluate("node => node.replaceChildren()")
    page.set_input_files(
        "#load", {"name": "x.json", "mimeType": "application/json", "buffer": content}
    )
    page.wait_for_selector("#loading p")
    return str(page.inner_text("#loading"))


def test_a_saved_file_goes_on_elsewhere(tmp_path: Path, visit: Visiting) -> None:
    path = form(tmp_path, assignment())
    first = visit(path, "#task-1").page
    rate_by_mouse(first, 2, 0, "9")
    first.fill("#comment", "mine")
    turn_to(first, "tasks")
    first.click("#download")
    content = downloaded(first, "#anyway")[1]

    seen = visit(path, "#task-2")
    page = seen.page
    rate_by_mouse(page, 1, 1, "5")
    turn_to(page, "tasks")
    result = json.loads(content)
    result["answers"].append({"task": "tunknown", "scores": {}})
    result["answers"][2]["scores"]["task_quality"] = "7"
    words = load(page, json.dumps(result).encode())
    assert words.startswith("Answers to 1 task were loaded.")
    # words that languages without plurals of nouns can say
    assert "left out: 1 task." in words
    assert "not on the scale: 1." in words
    assert page.inner_text("#count") == "2 of 3 rated"
    page.click("#download")
    answers = read("a", downloaded(page, "#anyway")[1], CRITERIA)
    assert scores(answers) == [("2", "0", "9"), ("1", "1", "5"), ("", "", "")]
    assert answers[0].comment == "mine"
    page.click("#undo")
    assert page.inner_text("#count") == "1 of 3 rated"
    for wrong in (
        b"{",
        b"[]",
        b"null",
        b'{"metal": "dataset"}',
        b'{"metal": "answers", "version": 1}',
    ):
        assert "not an answers file" in load(page, wrong)
    assert "not yours" in load(page, json.dumps(result | {"rater": "<b>en-2"}).encode())
    assert "not yours" in load(page, json.dumps(result | {"dataset": "other"}).encode())
    assert page.inner_text("#count") == "1 of 3 rated"
    assert seen.said == []


def test_the_script_holds_nothing_that_old_browsers_stumble_over() -> None:
    [(_, content)] = write([assignment()])
    script = content.decode().rpartition("<script>")[2]
    assert '"use strict"' in script
    assert (
        re.findall(
            r"\?\.[\w(\[]|\?\?|[|&]{2}=|replaceChildren|replaceAll|\.at\(|hasOwn|/[uv]\b", script
        )
        == []
    )


def test_names_of_files_are_safe_and_their_own() -> None:
    raters = ["hi-1", "HI-1", "../etc/passwd", "عائشة", "con", "...", "a b/c", "x" * 300]
    names = [name for name, _ in write(assignment(count=1, rater=rater) for rater in raters)]
    assert names[:7] == [
        "hi-1.html", "HI-1-2.html", "etc-passwd.html", "عائشة.html", "rater-con.html", "rater.html",
        "a-b-c.html"
    ]  # fmt: skip
    assert len(names[7]) == 65


def answers_file(**changed: Any) -> bytes:
    entry = {"task": "t1", "scores": {"task_quality": "2"}, "comment": "", "seconds": 5} | changed
    return json.dumps(
        {"metal": "answers", "version": 1, "dataset": "d", "rater": "hi-1", "answers": [entry]}
    ).encode()


WRONG = [
    (b'{"metal":\n nonsense}', "f.json line 2: not JSON"),
    (b"\n\xff", "f.json line 2: not UTF-8"),
    (b"[" * 100_000, "f.json line 1: not JSON ("),
    (b"[]", "f.json: not an answers file"),
    (b'{"metal": "dataset"}', "f.json: not an answers file"),
    (answers_file().replace(b'"version": 1', b'"version": 2'), "f.json: version 2"),
    (answers_file().replace(b'"version": 1', b'"version": true'), "f.json: version True"),
    (answers_file().replace(b'"hi-1"', b"7"), 'f.json: "rater" is not a name'),
    (
        answers_file().replace(b"[{", b'{"a": {').replace(b"}]", b"}}"),
        'f.json: "answers" is not a list',
    ),
    (answers_file(task=3), 'f.json answer 1: "task"'),
    (answers_file(scores=[]), 'f.json answer 1: "scores"'),
    (answers_file(scores={"task_quality": 2}), 'f.json answer 1: "scores"'),
    (answers_file(comment=None), 'f.json answer 1: "comment"'),
    (answers_file(seconds="5"), 'f.json answer 1: "seconds"'),
    (answers_file(seconds=float("nan")), 'f.json answer 1: "seconds"'),
    (answers_file(seconds=True), 'f.json answer 1: "seconds"'),
]


@pytest.mark.parametrize(("content", "words"), WRONG, ids=[words for _, words in WRONG])
def test_another_kind_of_file_is_refused_with_its_place(content: bytes, words: str) -> None:
    with pytest.raises(DataError) as refused:
        read("f.json", content, CRITERIA)
    assert str(refused.value).startswith(words)


def test_what_may_be_missing() -> None:
    [answer] = read(
        "f.json", b"\xef\xbb\xbf" + answers_file(seconds=None, comment="\ud800"), CRITERIA
    )
    assert answer == Answer(
        "t1", "hi-1", {"task_quality": "2"}, "\N{REPLACEMENT CHARACTER}", "f.json answer 1", None
    )
