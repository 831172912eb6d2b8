"""CSV sheets as spreadsheets give them back, and the guidelines beside them."""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import replace

import pytest

from metal.building.forms import csv_sheet, guidelines
from metal.building.forms.sheet import ABOUT, CELL_LIMIT
from metal.building.tasks import Assignment, assign
from metal.data.escaping import FORMULA_STARTS
from metal.data.records import Level, Scale
from metal.errors import DataError, UnknownName
from metal.raters.judges.rubric import LevelText
from tests.build.conftest import criterion, tasks_of


def rows_of(content: bytes, **how) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), **how))


def saved(rows: list[list[str]], encoding: str = "utf-8-sig", **how) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, **how).writerows(rows)
    return file.getvalue().encode(encoding)


def filled(
    assignment: Assignment, content: bytes
) -> tuple[list[list[str]], dict[str, dict[str, str]]]:
    """The rows with answers, and the scores by task."""
    head, *rows = rows_of(content)
    expected = {}
    for number, row in enumerate(rows):
        scores = {
            name: ["0", "1", ""][(number + place) % 3]
            for place, name in enumerate(assignment.rubrics)
        }
        expected[row[0]] = scores
        row[6:] = [*scores.values(), f" تعليق {number}\nsecond line "]
    return [head, *rows], expected


@pytest.fixture
def english(assignments) -> tuple[Assignment, bytes]:
    return assignments[0], dict(csv_sheet.write(assignments))["en-1.csv"]


def test_one_file_a_person_and_the_guidelines(assignments):
    files = dict(csv_sheet.write(assignments))
    assert list(files)[:2] == ["guidelines.html", "en-1.csv"]
    assert len(files) == 13
    for assignment in assignments:
        head, *rows = rows_of(files[f"{assignment.rater}.csv"])
        assert head == [*ABOUT, *assignment.rubrics, "comment"]
        assert [row[0] for row in rows] == [task.task for task in assignment.tasks]
        assert {(row[1], row[2]) for row in rows} == {(assignment.rater, assignment.language)}
        assert all(cell == "" for row in rows for cell in row[6:])


def test_excel_opens_it_right(assignments):
    files = dict(csv_sheet.write(assignments))
    for name, content in files.items():
        if name.endswith(".csv"):
            assert content.startswith(b"\xef\xbb\xbf")
            assert content.endswith(b"\r\n")
            cells = [cell for row in rows_of(content) for cell in row]
            assert not any(cell.startswith(FORMULA_STARTS) for cell in cells)
            assert all(len(cell.encode("utf-16-le")) // 2 <= CELL_LIMIT for cell in cells)
            assert not any("\r" in cell for cell in cells)
    (chinese,) = rows_of(files["zh-1.csv"])[1:]
    assert chinese[4] == "旧桥周一关闭,\n维修需要一年。\ufffd"
    assert chinese[5].endswith("more of this text]")


def test_an_emoji_is_not_cut_in_half(rubrics):
    (assignment,) = assign(
        tasks_of({"en": [("", "", "a" + "😀" * 40_000)]}), "made", rubrics, raters=1
    )
    (_, (_, content)) = csv_sheet.write([assignment])
    assert rows_of(content)[1][5].startswith("a😀😀")
    assert "\ufffd" not in content.decode()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"delimiter": ";"},
        {"delimiter": "\t", "encoding": "utf-16"},
        {"encoding": "utf-8", "lineterminator": "\n"},
        {"quoting": csv.QUOTE_ALL, "lineterminator": "\r"},
    ],
    ids=["as-written", "semicolons", "unicode-text", "unix", "mac"],
)
def test_what_is_filled_in_comes_back(assignments, criteria, how):
    files = dict(csv_sheet.write(assignments))
    for assignment in assignments:
        name = f"{assignment.rater}.csv"
        rows, expected = filled(assignment, files[name])
        answers = csv_sheet.read(name, saved(rows, **how), criteria)
        assert {answer.task: dict(answer.scores) for answer in answers} == expected
        assert {answer.rater for answer in answers} == {assignment.rater}
        assert [answer.where for answer in answers] == [
            f"{name} row {row}" for row in range(2, len(rows) + 1)
        ]
        assert answers[0].comment == "تعليق 0\nsecond line"


def test_order_extra_columns_and_blank_rows_do_not_matter(english, criteria):
    assignment, content = english
    rows, expected = filled(assignment, content)
    moved = [[*reversed(row), "mine"] for row in rows]
    moved[2:2] = [[""] * len(moved[0]), []]
    moved[0][-1] = "my notes"
    answers = csv_sheet.read("a.csv", saved(moved), criteria)
    assert {answer.task: dict(answer.scores) for answer in answers} == expected
    assert [answer.where for answer in answers] == ["a.csv row 2", "a.csv row 5", "a.csv row 6"]


def test_a_line_that_names_the_delimiter(criteria):
    content = b"sep=;\r\ntask;rater;task_quality;comment\r\nt1;en-1;2;a,b,c,d,e,f\r\n"
    (answer,) = csv_sheet.read("a.csv", content, criteria)
    assert (answer.scores, answer.comment, answer.where) == (
        {"task_quality": "2"},
        "a,b,c,d,e,f",
        "a.csv row 2",
    )


def test_a_guard_before_a_comment_is_undone(criteria):
    rows = [["task", "rater", "task_quality", "comment"], ["t1", "en-1", "2", "'=not a formula"]]
    rows.append(["t2", "en-1", "2", "'quoted'"])
    comments = [answer.comment for answer in csv_sheet.read("a.csv", saved(rows), criteria)]
    assert comments == ["=not a formula", "'quoted'"]


def test_criteria_that_were_not_asked_are_not_blank(criteria):
    (answer,) = csv_sheet.read(
        "a.csv", b"task,rater,task_quality,hallucinations\nt1,en-1,2", criteria
    )
    assert answer.scores == {"task_quality": "2", "hallucinations": ""}


def test_a_criterion_called_as_another_column(rubrics):
    scale = Scale("ordinal", (Level(0, "Bad"), Level(1, "Good")))
    named = {"language": criterion("language", scale), "=x": criterion("=x", scale)}
    assignments = assign(tasks_of({"en": [("", "a", "b")]}), "made", named, raters=1)
    rows = rows_of(dict(csv_sheet.write(assignments))["en-1.csv"])
    assert rows[0][6:] == ["language score", "'=x", "comment"]
    rows[1][6:8] = ["1", "0"]
    criteria = {name: rubric.criterion for name, rubric in named.items()}
    (answer,) = csv_sheet.read("a.csv", saved(rows), criteria)
    assert answer.scores == {"language": "1", "=x": "0"}


@pytest.mark.slow
def test_very_long_comments_and_the_csv_limit_of_others(criteria):
    limit = csv.field_size_limit()
    rows = [["task", "rater", "task_quality", "comment"], ["t1", "en-1", "2", "x" * (limit + 1)]]
    (answer,) = csv_sheet.read("a.csv", saved(rows), criteria)
    assert len(answer.comment) == limit + 1
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "a.csv: the file is empty"),
        ("task,rater,task_quality\nt1,é,2".encode("cp1252"), "a.csv: neither UTF-8 nor UTF-16"),
        ("task,rater,task_quality\nt1,a,2".encode("utf-16-le"), "save it as 'CSV UTF-8'"),
        (b"PK\x03\x04\x00\x00", "a.csv: neither UTF-8 nor UTF-16"),
        (
            b"id,score\nt1,2",
            "no column 'task'. Columns found: id, score; needed: task, rater, linguistic_accept",
        ),
        (b"task,task_quality\nt1,2", "no column 'rater'"),
        (b"task,rater,mood\nt1,a,2", "no column of a criterion. Columns found: task, rater, mood"),
        (b"task,rater,task_quality,task_quality\nt1,a,2,1", "two columns 'task_quality'"),
        (b"task,rater,task_quality\n\nt1,,2", "a.csv row 3: the rater is missing"),
        (b"task,rater,task_quality\n,a,2", "a.csv row 2: the task is missing"),
        (b'task,rater,task_quality\nt1,a,"2', "a.csv row 2: not readable as CSV"),
    ],
)
def test_what_cannot_be_read_is_said(content, message, criteria):
    with pytest.raises(DataError) as error:
        csv_sheet.read("a.csv", content, criteria)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    "head",
    ["task,rater,task_qualty,hallucinations", "task,rater,output,fluency,task_quality,comment"],
)
def test_a_criterion_that_nobody_knows(head, criteria):
    with pytest.raises(UnknownName, match=r"a.csv: criterion '(task_qualty|fluency)' is not known"):
        csv_sheet.read("a.csv", f"{head}\n".encode(), criteria)


def test_the_page_says_all_of_every_rubric(rubrics):
    page = html.unescape(guidelines.as_html(rubrics))
    for rubric in rubrics.values():
        words = [
            rubric.criterion.label,
            rubric.criterion.question,
            rubric.simple,
            *rubric.detailed.split("\n\n"),
        ]
        for level in rubric.criterion.scale.levels:
            words += [
                level.shown,
                rubric.levels[level.value].definition,
                *rubric.levels[level.value].reasons,
            ]
        for part in words:
            assert part in page
    for advice in guidelines.ADVICE:
        assert advice in page


def test_what_is_the_question_and_the_description_stands_once():
    texts = [
        text
        for _, text in guidelines.lines(
            {"charm": criterion("charm", Scale("interval", low=1, high=5))}
        )
    ]
    assert texts.count("How much?") == 1
    assert "A number: 1 to 5" in texts


def test_hostile_rubrics_are_text(rubrics):
    hostile = '<img src=x onerror="alert(1)">\x00\ud800'
    rubric = replace(
        rubrics["task_quality"],
        simple=hostile,
        detailed=hostile,
        levels={0.0: LevelText(hostile, (hostile,))},
    )
    named = replace(
        rubric,
        criterion=replace(
            rubric.criterion,
            label=hostile,
            scale=Scale("ordinal", (Level(0, hostile), Level(1, "b"))),
        ),
    )
    page = guidelines.as_html({"task_quality": named})
    assert "<img" not in page
    assert page.count("&lt;img") == 5  # label, text, level, definition, reason
    page.encode()
    assert all(
        text.isprintable() or "\ufffd" in text
        for _, text in guidelines.lines({"task_quality": named})
    )


def test_the_page_loads_nothing(rubrics):
    page = guidelines.as_html(rubrics)
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)
    assert "default-src 'none'" in page
