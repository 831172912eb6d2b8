"""The Label Studio form against a real server."""

from __future__ import annotations

from typing import Any

import pytest

from metal.building.forms.label_studio import read, skipped, write
from metal.building.forms.label_studio_export import FIELD
from tests.build.label_studio_assignments import ASSIGNMENTS, CRITERIA
from tests.services.conftest import Server

pytestmark = pytest.mark.services


def results(scores: dict[str, str | float], comment: str) -> list[dict[str, Any]]:
    """What the page sends when a task is submitted."""
    rows_read: list[dict[str, Any]] = []
    for criterion, score in scores.items():
        kind, value = ("number", {"number": score}) if criterion == "fluency" else ("choices", {"choices": [score]})
        rows_read.append({"from_name": FIELD + criterion, "to_name": "output", "type": kind, "value": value})
    if comment:
        rows_read.append(
            {"from_name": "comment", "to_name": "output", "type": "textarea", "value": {"text": [comment]}}
        )
    return [{"id": f"r{number}", "origin": "manual"} | result for number, result in enumerate(rows_read)]


@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda assignment: assignment.rater)
def test_what_is_rated_comes_back(server: Server, assignment: Any) -> None:
    files = dict(write(ASSIGNMENTS))
    interface, exported = files[f"interface-{assignment.language}.xml"], files[f"{assignment.rater}.json"]
    project = server.project(assignment.rater, interface, exported)
    present = sorted(server.tasks(project), key=lambda task: task["id"])
    assert [task["data"]["task"] for task in present] == [task.task for task in assignment.tasks]
    assert [task["data"]["output_text"] for task in present] == [task.text for task in assignment.tasks]
    given = {}
    for number, task in enumerate(present[:-1]):
        scores: dict[str, str | float] = {"task_quality": str(number % 3), 'Ton & "Stil" | <x>': "1", "fluency": 1.5}
        given[task["data"]["task"]] = ({name: str(score) for name, score in scores.items()}, f"جيد {number}")
        answer = {"result": results(scores, f"جيد {number}"), "lead_time": 12.5}
        server.call("POST", f"/api/tasks/{task['id']}/annotations/", answer)
    skip = {"result": [], "was_cancelled": True}
    server.call("POST", f"/api/tasks/{present[-1]['id']}/annotations/", skip)
    export = server.export(project)
    answers = read("export.json", export, CRITERIA)
    assert {answer.task: (answer.scores, answer.comment) for answer in answers} == given
    assert {answer.rater for answer in answers} == {assignment.rater}
    assert {answer.seconds for answer in answers} == {12.5}
    assert skipped("export.json", export) == 1
    brief = read("min.json", server.export(project, "JSON_MIN"), CRITERIA)
    by_task = {answer.task: (answer.scores, answer.comment, answer.rater) for answer in brief}
    assert {task: by_task[task] for task in given} == {
        task: (*words, assignment.rater) for task, words in given.items()
    }
