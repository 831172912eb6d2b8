"""A meta-evaluation dataset from the first command to the audit: real passages, a local model,
ratings in a browser.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metal.building.store import read_tasks
from metal.data.dataset import load_dataset
from tests.browser import Visit, browser
from tests.build.assignments import downloaded
from tests.cli.forks import Metal, environment
from tests.cli.runs import KEY
from tests.llm_server import LlmServer

__all__ = ["browser"]

LANGUAGES = ("ar", "tr", "yo", "zh")
CRITERIA = (3, 3, 3, 2, 2)  # levels of each, as the form shows them


def level(task: str, criterion: int, person: int) -> int:
    """What a person gives: most agree, some do not, always the same."""
    said = (int(task[1:7], 16) + criterion) % CRITERIA[criterion]
    return (said + 1) % CRITERIA[criterion] if (int(task[7:9], 16) + person) % 4 == 0 else said


def rate(browser: Any, form: Path, person: int, returned: Path) -> dict[str, list[int]]:
    """Rate every task of a form as a person does: keys in even tasks, the mouse in odd ones; save
    the answers.
    """
    visit = Visit(browser, form)
    page, given = visit.page, {}
    page.click("#start")
    tasks = json.loads(page.locator("script[type='application/json']").first.text_content())[
        "tasks"
    ]
    for number, task in enumerate(tasks, 1):
        # in any language
        page.locator("#task-heading", has_text=re.compile(rf"^\D*{number}\D")).wait_for()
        given[task["task"]] = [level(task["task"], one, person) for one in range(len(CRITERIA))]
        for place, score in enumerate(given[task["task"]]):
            if number % 2:
                page.locator(f"#c{place} label").nth(score).click()
            else:
                page.keyboard.press(str(score))
        page.click("#next")
    page.locator("#view-tasks").wait_for()
    name, content = downloaded(page)
    (returned / name).write_bytes(content)
    assert visit.said == []
    visit.context.close()
    return given


@pytest.mark.slow
@pytest.mark.reference
def test_from_passages_to_an_audit(
    reference: Path, tmp_path: Path, browser: Any, processes: Metal
) -> None:
    temperatures: set[float] = set()
    with LlmServer() as server:
        server.faults = lambda call: temperatures.add(call.parameter("temperature"))
        metal = processes.at(
            tmp_path, environment(tmp_path, OPENAI_BASE_URL=server.openai_url, OPENAI_API_KEY=KEY)
        )
        metal(
            "sample", "--source", str(reference / "passages"), "-n", "3", "--out", "datasets/mine"
        )
        metal("generate", "datasets/mine", "-m", "openai:gpt-4o", "--yes")
        assert temperatures == {0, 1}
        metal("annotate", "html", "datasets/mine", "--out", "forms")
    forms = sorted((tmp_path / "forms").glob("*.html"))
    assert [form.stem for form in forms] == [
        f"{code}-{person}" for code in LANGUAGES for person in (1, 2, 3)
    ]
    returned = tmp_path / "returned"
    returned.mkdir()
    given = {form.stem: rate(browser, form, int(form.stem[-1]), returned) for form in forms}

    files = [str(path) for path in sorted(returned.iterdir())]
    metal = processes.at(tmp_path, environment(tmp_path))
    said = metal("annotate", "import", "datasets/mine", *files).out
    assert "of the people so far" in said
    dataset = load_dataset(tmp_path / "datasets" / "mine")
    output_of = read_tasks(tmp_path / "datasets" / "mine")
    wanted = {
        (output_of[task], criterion, person): score
        for person, answers in given.items()
        for task, scores in answers.items()
        for criterion, score in zip(dataset.criteria, scores, strict=True)
    }
    facts = dataset.ratings
    assert {
        (row.output, row.criterion, row.rater): row.score for row in facts.itertuples()
    } == wanted
    assert len(wanted) == 4 * 3 * 3 * 5
    assert Counter(output.chosen for output in dataset.outputs.values()) == {True: 12, False: 12}
    metal("judge", "datasets/mine", "-j", "majority,lexical", "--out", "runs/baselines")
    metal("audit", "datasets/mine", "runs/baselines", "--out", "runs/audit", "--bootstrap", "100")
    described = metal("describe", "datasets/mine").out
    assert re.search(r"good +bad$", described, flags=re.MULTILINE)
    lengths = pd.read_csv(tmp_path / "runs" / "audit" / "tables" / "lengths.csv")
    assert lengths["language"].tolist() == list(LANGUAGES)
    assert (lengths["good"] + lengths["bad"]).tolist() == [3, 3, 3, 3]
    assert (lengths["passages_counted"] == 3).all()
    page = (tmp_path / "runs" / "audit" / "report.html").read_text(encoding="utf-8")
    assert 'id="dataset"' in page
    assert not any(
        KEY in path.read_text(errors="ignore") for path in tmp_path.rglob("*") if path.is_file()
    )
