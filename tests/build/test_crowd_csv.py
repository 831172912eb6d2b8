"""CSV for platforms: what goes out, whatever comes back, and Prolific's word on whose answers
count.
"""

from __future__ import annotations

import csv
import io

import pytest

from metal.building import forms
from metal.building.forms.crowd_csv import RATERS
from metal.building.tasks import Answer, Assignment
from metal.data.escaping import FORMULA_STARTS
from metal.errors import DataError, UnknownName
from tests.build.assignments import CRITERIA
from tests.build.conftest import SECRETS
from tests.saying import tells

HEAD = "task,{rater},task_quality,comment"
PARTICIPANTS = (
    "Submission id,Participant id,Status,Started at,Time taken,Total approvals\n"
    "s1,p1,APPROVED,2026-01-01T10:00,600,5\n"
    "s2,p2,REJECTED,2026-01-01T10:00,60,5\n"
    "s3,p3,RETURNED,2026-01-01T10:00,,5\n"
    "s4,p4,AWAITING REVIEW,2026-01-01T10:00,90,5\n"
    "s5,p5,TIMED-OUT,2026-01-01T10:00,90,5\n"
    "s6,p6,RETURNED,2026-01-01T10:00,,5\n"
    "s7,p6,APPROVED,2026-01-02T10:00,40,5\n"
    "s8,p6,RETURNED,2026-01-03T10:00,,5\n"
)


def read(*files: str, platform: str = "") -> tuple[list[Answer], list[str]]:
    named = [(f"answers-{number}.csv", content.encode()) for number, content in enumerate(files)]
    return forms.read_all(named, CRITERIA, platform)


def test_a_row_a_task_with_what_is_asked(assignments: list[Assignment]) -> None:
    files = dict(forms.write("crowd-csv", assignments))
    assert list(files) == [
        "tasks-en.csv",
        "tasks-ar.csv",
        "tasks-hi.csv",
        "tasks-zh.csv",
        "guidelines.html",
        "README.txt",
    ]
    rows = list(csv.DictReader(io.StringIO(files["tasks-ar.csv"].decode(), newline="")))
    theirs = {
        task.task: task
        for assignment in assignments
        if assignment.language == "ar"
        for task in assignment.tasks
    }
    assert [row["task"] for row in rows] == list(theirs)
    for row in rows:
        assert row["output"] == theirs[row["task"]].text
        assert (row["language"], row["direction"]) == ("ar", "rtl")
        assert row["question_task_quality"].endswith("(0 Bad, 1 Medium, 2 Good)")
    full = b"".join(files.values()).decode()
    assert not [secret for secret in SECRETS if secret in full]
    cells = [
        cell
        for row in csv.reader(io.StringIO(files["tasks-en.csv"].decode(), newline=""))
        for cell in row
    ]
    assert [cell for cell in cells if "HYPERLINK" in cell] == [
        '\'=HYPERLINK("http://example.org","press")'
    ]
    assert not [cell for cell in cells if cell.startswith(FORMULA_STARTS)]
    for column in RATERS:
        assert column in files["README.txt"].decode()


@pytest.mark.parametrize(
    ("column", "platform", "rater"),
    [
        ("PROLIFIC_PID", "", "prolific:p1"),
        ("Participant id", "", "prolific:p1"),
        ("participant_id", "", "prolific:p1"),
        ("worker", "", "csv:p1"),
        ("WorkerId", "", "csv:p1"),
        ("WorkerId", "toloka", "toloka:p1"),
        ("rater", "prolific", "prolific:p1"),
        ("PROLIFIC_PID", "csv", "csv:p1"),
    ],
)
def test_people_carry_their_platform(column: str, platform: str, rater: str) -> None:
    [answer], notes = read(f"{HEAD.format(rater=column)}\nt1,p1,2,good\n", platform=platform)
    assert answer == Answer("t1", rater, {"task_quality": "2"}, "good", "answers-0.csv row 2")
    assert not notes


def test_a_sheet_of_ours_stays_one() -> None:
    [answer], _ = read(f"{HEAD.format(rater='rater')}\nt1,hi-1,2,\n")
    assert answer.rater == "hi-1"


def test_people_who_have_their_platform_already() -> None:
    [answer], _ = read("task,worker,task_quality\nt1,csv:p1,2\n")
    assert answer.rater == "csv:p1"


def test_columns_of_others_are_left_alone_and_said() -> None:
    text = (
        "\ufeffsep=;\nStartDate;Task;PROLIFIC_PID;output;question_task_quality;task_quality;fluency;seconds;Browser\n"
        "2026;t1;p1;'=1+1;How?;2 Good;;12.5;x\n\n;t2;p2;;;1;99;soon;\n"
    ).replace("\ufeffsep=;\n", "")
    answers, notes = read(text)
    assert [(each.task, each.rater, dict(each.scores), each.seconds) for each in answers] == [
        ("t1", "prolific:p1", {"task_quality": "2 Good", "fluency": ""}, 12.5),
        ("t2", "prolific:p2", {"task_quality": "1", "fluency": "99"}, None),
    ]
    assert notes == ["answers-0.csv: columns ignored: StartDate, Browser"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task,worker,participant_id,task_quality\nt,a,b,1\n", "several columns for the person"),
        ("task,worker,Task,task_quality\nt,a,b,1\n", "several columns for the task"),
        (
            "task,worker,mood\nt,a,1\n",
            "no column of a criterion. Columns found: task, worker, mood; criteria: task_qual",
        ),
        ("task,worker,task_quality,task_quality\nt,a,1,2\n", "two columns 'task_quality'"),
        ("task,worker,task_quality\n,a,1\n", "row 2: the task is missing"),
        ("task,Worker Id,task_quality\nt,,1\n", "row 2: the Worker Id is missing"),
        ('task,worker,task_quality\nt,"a,1\n', "not readable as CSV"),
    ],
)
def test_files_that_are_none(text: str, words: str) -> None:
    with pytest.raises(DataError) as error:
        read(text)
    assert words in str(error.value)
    assert str(error.value).startswith("answers-0.csv")
    assert len(str(error.value).splitlines()) == 1


def test_a_criterion_that_is_nearly_one_is_not_passed_over() -> None:
    with pytest.raises(UnknownName, match="hallucination"):
        read("task,worker,task_quality,hallucination\nt,a,1,0\n")


def test_who_was_rejected_or_returned_is_left_out_and_counted() -> None:
    """p1 and p4 count; p6 returned twice and was approved once; p7 is not in the export, w1 is
    nobody of Prolific's.
    """
    answers = "task,PROLIFIC_PID,task_quality\n" + "".join(
        f"t{task},p{person},1\n" for person in range(1, 8) for task in (1, 2)
    )
    result, notes = read(answers, "task,worker,task_quality\nt1,p2,1\n", PARTICIPANTS)
    seconds = {(each.rater, each.seconds) for each in result}
    assert seconds == {
        ("prolific:p1", 300.0),
        ("prolific:p4", 45.0),
        ("prolific:p6", 20.0),
        ("prolific:p7", None),
        ("csv:p2", None),
    }
    assert len(notes) == 4
    for note, why in zip(notes, ("rejected", "returned", "timed out"), strict=False):
        assert tells(note, "1 person left out", f"was {why} (2 answers)")
    assert tells(notes[3], "1 person is not in", "are kept")


def test_seconds_that_are_known_stay() -> None:
    result, _ = read("task,PROLIFIC_PID,task_quality,seconds\nt1,p1,1,9\nt2,p1,1,\n", PARTICIPANTS)
    assert [each.seconds for each in result] == [9.0, 300.0]


def test_the_export_of_participants_alone_says_nothing() -> None:
    answers, [note] = read(PARTICIPANTS)
    assert answers == []
    assert "`platform='prolific'`" in note
    with pytest.raises(DataError, match="row 2: the participant"):
        read("Participant id,Status\n,APPROVED\n")
