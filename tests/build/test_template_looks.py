"""Pairs in a real browser: both texts look alike, hostile ones stay text, and answers are saved."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metal.building import forms
from metal.building.forms import html_form
from tests.build.assignments import downloaded
from tests.build.test_template import GOLD, MADE, assignments, ours

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
    assert [page.locator(f"#{side}-heading").text_content() for side in ("source", "first", "second")] == [
        "Article",
        "Summary A",
        "Summary B",
    ]
    for part in ("", "-heading", "-text", "-body"):
        first, second = (page.locator(f"#{side}{part}").evaluate(LOOK) for side in ("first", "second"))
        assert first == second
    for digit in "123451":
        page.keyboard.press(digit)
    page.goto(page.url.split("#")[0] + "#tasks")
    page.click("#download")
    _, saved = downloaded(page, "#anyway")
    answer = json.loads(saved)["answers"][0]
    assert list(answer["scores"].values()) == ["1", "2", "3", "4", "5", "1"]
    assert [read.task for read in html_form.read("a.json", saved, {})] == [task.task for task in each.tasks]
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
