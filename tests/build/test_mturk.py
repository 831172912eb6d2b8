"""Files for a project on Mechanical Turk, and the three shapes that results come in."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from html.parser import HTMLParser

import pytest

from metal.building.forms import mturk
from metal.building.tasks import assign
from metal.data.escaping import FORMULA_STARTS
from metal.data.records import Level, Scale
from metal.errors import DataError, UnknownName
from tests.build.conftest import criterion, tasks_of
from tests.saying import tells


@pytest.fixture(scope="module")
def files(assignments) -> dict[str, str]:
    return {name: content.decode() for name, content in mturk.write(assignments)}


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def page_of(layout: str, row: dict[str, str]) -> str:
    """What a worker sees: the row put into the layout as Mechanical Turk does, unescaped."""
    return re.sub(r"\$\{(\w+)\}", lambda rows_read: row[rows_read[1]], layout)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_a_row_is_a_task_once(assignments, files):
    assert list(files)[-2:] == ["README.txt", "guidelines.html"]
    for language in ("en", "ar", "hi", "zh"):
        rows = rows_of(files[f"tasks-{language}.csv"])
        first = next(assignment for assignment in assignments if assignment.language == language)
        assert [row["task"] for row in rows] == [task.task for task in first.tasks]
        assert list(rows[0]) == ["task", "title", "source", "output", "language", "direction"]
    assert rows_of(files["tasks-ar.csv"])[0]["direction"] == "rtl"


def test_cells_are_html_on_one_line_that_an_upload_takes(assignments, files):
    for language in ("en", "ar", "hi", "zh"):
        text = files[f"tasks-{language}.csv"]
        assert not text.startswith("\ufeff")
        assert max(text) <= "\uffff"
        tasks = {task.task: task for assignment in assignments for task in assignment.tasks}
        for row in rows_of(text):
            assert not any(cell.startswith(FORMULA_STARTS) for cell in row.values())
            assert not any(
                mark in cell.replace("<br>", "")
                for cell in row.values()
                for mark in ("<", ">", "\n", "${")
            )
            task = tasks[row["task"]]
            shown = [
                html.unescape(row[column].replace("<br>", "\n"))
                for column in ("title", "source", "output")
            ]
            texts = (task.title, task.source, task.text)
            assert shown == [text.replace("\r\n", "\n").replace("\x07", "\ufffd") for text in texts]


def test_the_layout_asks_every_criterion(files, rubrics):
    for row in rows_of(files["tasks-en.csv"]):
        tags = Tags(page_of(files["layout-en.html"], row)).found
        asked: dict[str | None, list[str | None]] = {}
        for tag, attributes in tags:
            if tag == "input":
                assert attributes["type"] == "radio"
                assert "required" in attributes
                asked.setdefault(attributes["name"], []).append(attributes["value"])
        assert asked == {
            name: [f"{level.value:g}" for level in rubric.criterion.scale.levels]
            for name, rubric in rubrics.items()
        }
        assert [attributes["name"] for tag, attributes in tags if tag == "textarea"] == ["comment"]
        assert [tag for tag, _ in tags].count("script") == 1  # Amazon's own
        assert "crowd-form" in [tag for tag, _ in tags]
        assert "details" in [tag for tag, _ in tags]


def test_the_layout_uses_columns_only(files):
    used = set(re.findall(r"\$\{([^}]*)\}", files["layout-ar.html"]))
    assert used == {"title", "source", "output", "direction"}
    assert '<div class="text" lang="ar" dir="rtl">' in files["layout-ar.html"]
    assert '<div class="text rated" lang="ar" dir="${direction}">' in files["layout-ar.html"]


def test_a_hostile_rubric_is_text():
    levels = (Level(-0.5, "<b>${title}</b>"), Level(1, "😀"))
    named = {"comment": criterion("comment", Scale("ordinal", levels))}
    named['a"b'] = criterion('a"b', Scale("interval", low=1, high=5))
    assignments = assign(tasks_of({"zh-ur": [("", "a", "b")]}), "made", named, raters=1)
    layout = dict(mturk.write(assignments))["layout-zh-ur.html"].decode()
    assert "<b>$" not in layout
    assert set(re.findall(r"\$\{([^}]*)\}", layout)) == {"title", "source", "output", "direction"}
    assert max(layout) <= "\uffff"
    inputs = [attributes for tag, attributes in Tags(layout).found if tag == "input"]
    assert [(each["name"], each.get("value")) for each in inputs] == [
        ("comment score", "-0.5"),
        ("comment score", "1"),
        ('a"b', None),
    ]
    assert (inputs[2]["min"], inputs[2]["max"]) == ("1", "5")
    assert '<div class="text" lang="zh" dir="ltr">' in layout
    assert '<div class="text rated" lang="ur"' in layout


def test_the_readme_counts_hits_and_names_what_is_too_long(assignments, files):
    readme = files["README.txt"]
    assert "English: layout-en.html, tasks-en.csv\n  (HITs: 3; assignments per HIT: 3)" in readme
    too_long = next(
        task.task
        for assignment in assignments
        for task in assignment.tasks
        if task.language == "zh"
    )
    assert readme.rstrip().endswith(too_long)
    assert "Too long for a HIT: Arabic" not in readme


ABOUT_HIT = {
    "HITId": "H",
    "AssignmentId": "A",
    "AssignmentStatus": "Approved",
    "WorkTimeInSeconds": "61",
}


def results(rows: list[dict[str, str]]) -> bytes:
    file = io.StringIO(newline="")
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(file, names, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def shaped(
    shape: str, scores: dict[str, str], values: dict[str, list[str]], comment: str
) -> dict[str, str]:
    """Answers as Mechanical Turk writes them."""
    if shape == "plain":
        return {f"Answer.{name}": score for name, score in scores.items()} | {
            "Answer.comment": comment
        }
    if shape == "a column a choice":
        choices = {
            f"Answer.{name}.{value}": str(value == score).lower()
            for name, score in scores.items()
            for value in values[name]
        }
        return {"Answer.comment": comment} | choices
    words = {
        name: {value: value == score for value in values[name]} for name, score in scores.items()
    }
    return {"Answer.taskAnswers": json.dumps([{"comment": comment, **words}], ensure_ascii=False)}


@pytest.mark.parametrize("shape", ["plain", "a column a choice", "JSON"])
def test_answers_come_back(shape, assignments, files, criteria):
    values = {
        name: [f"{value:g}" for value in each.scale.values] for name, each in criteria.items()
    }
    for language in ("en", "ar"):
        rows, expected = [], {}
        for number, row in enumerate(rows_of(files[f"tasks-{language}.csv"])):
            for worker in ("A1X", "A2Y"):
                scores = {
                    name: [*values[name], ""][(number + place) % (len(values[name]) + 1)]
                    for place, name in enumerate(values)
                }
                expected[row["task"], f"mturk:{worker}"] = scores
                given = {f"Input.{name}": cell for name, cell in row.items()}
                rows.append(
                    ABOUT_HIT
                    | {"WorkerId": worker}
                    | given
                    | shaped(shape, scores, values, "جيد =\nline 2")
                )
        answers = mturk.read("batch.csv", results(rows), criteria)
        assert {(answer.task, answer.rater): dict(answer.scores) for answer in answers} == expected
        assert {(answer.comment, answer.seconds) for answer in answers} == {("جيد =\nline 2", 61.0)}
        assert [answer.where for answer in answers] == [
            f"batch.csv row {row + 2}" for row in range(len(rows))
        ]


def result(**more: str) -> dict[str, str]:
    return ABOUT_HIT | {"WorkerId": "W", "Input.task": "t1", "Answer.task_quality": "2"} | more


def test_rejected_assignments_are_left_out_and_counted(criteria):
    content = results(
        [result(), result(AssignmentStatus="Rejected"), result(AssignmentStatus="Submitted")]
    )
    assert [answer.where for answer in mturk.read("b.csv", content, criteria)] == [
        "b.csv row 2",
        "b.csv row 4",
    ]
    assert tells(mturk.notes("b.csv", content, criteria), "b.csv: 1 rejected")
    assert mturk.read("b.csv", results([result(AssignmentStatus="Rejected")]), criteria) == []


@pytest.mark.parametrize("cell", ["", "soon", "-1", "inf", "nan"])
def test_unknown_seconds(cell, criteria):
    (answer,) = mturk.read("b.csv", results([result(WorkTimeInSeconds=cell)]), criteria)
    assert answer.seconds is None


def test_simple_values_in_json(criteria):
    words = json.dumps(
        [{"task_quality": 2.0}, {"hallucinations": "1 Present", "comment": "\ud800 ok "}]
    )
    row = {name: cell for name, cell in result().items() if name != "Answer.task_quality"}
    content = results([row | {"Answer.taskAnswers": words}, row | {"Answer.taskAnswers": ""}])
    first, second = mturk.read("b.csv", content, criteria)
    assert (first.scores, first.comment) == (
        {"task_quality": "2", "hallucinations": "1 Present"},
        "\ufffd ok",
    )
    assert second.scores == {"task_quality": "", "hallucinations": ""}


@pytest.mark.parametrize(
    "rows, message",
    [
        (
            [{"task": "t1", "rater": "a"}],
            "no column 'Input.task'",
        ),
        ([result(WorkerId="")], "b.csv row 2: WorkerId is missing"),
        (
            [result(**{"Answer.taskAnswers": "[{"})],
            "b.csv row 2: Answer.taskAnswers is not a list of objects",
        ),
        (
            [result(**{"Answer.taskAnswers": "[1]"})],
            "b.csv row 2: Answer.taskAnswers is not a list of objects",
        ),
        (
            [ABOUT_HIT | {"WorkerId": "W", "Input.task": "t", "Answer.mood": "1"}],
            "no answers to a",
        ),
    ],
)
def test_what_cannot_be_read_is_said(rows, message, criteria):
    with pytest.raises(DataError) as error:
        mturk.read("b.csv", results(rows), criteria)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "more", [{"Answer.halucinations": "1"}, {"Answer.taskAnswers": '[{"halucinations": "1"}]'}]
)
def test_a_criterion_that_nobody_knows(more, criteria):
    with pytest.raises(
        UnknownName, match="criterion 'halucinations' is not known; did you mean 'hallucinations'"
    ):
        mturk.read("b.csv", results([result(**more)]), criteria)
