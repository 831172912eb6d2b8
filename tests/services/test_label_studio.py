"""The Label Studio form and `metal annotate push`/`pull` against a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from metal.building.forms.label_studio import read, skipped, write
from metal.building.forms.label_studio_export import FIELD
from metal.cli import metal as command
from metal.data.dataset import Card, assemble, load_dataset, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from tests.build.label_studio_assignments import ASSIGNMENTS, CRITERIA
from tests.conftest import TASK_QUALITY
from tests.services.label_studio import TOKEN, LabelStudio

pytestmark = pytest.mark.services


def results(scores: dict[str, str | float], comment: str) -> list[dict[str, Any]]:
    """What the page sends when a task is submitted."""
    rows_read: list[dict[str, Any]] = []
    for criterion, score in scores.items():
        kind, value = (
            ("number", {"number": score})
            if criterion == "fluency"
            else ("choices", {"choices": [score]})
        )
        rows_read.append(
            {"from_name": FIELD + criterion, "to_name": "output", "type": kind, "value": value}
        )
    if comment:
        rows_read.append(
            {
                "from_name": "comment",
                "to_name": "output",
                "type": "textarea",
                "value": {"text": [comment]},
            }
        )
    return [
        {"id": f"r{number}", "origin": "manual"} | result for number, result in enumerate(rows_read)
    ]


@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda assignment: assignment.rater)
def test_what_is_rated_comes_back(server: LabelStudio, assignment: Any) -> None:
    files = dict(write(ASSIGNMENTS))
    interface, exported = (
        files[f"interface-{assignment.language}.xml"],
        files[f"{assignment.rater}.json"],
    )
    project = server.project(assignment.rater, interface, exported)
    present = sorted(server.tasks(project), key=lambda task: task["id"])
    assert [task["data"]["task"] for task in present] == [task.task for task in assignment.tasks]
    assert [task["data"]["output_text"] for task in present] == [
        task.text for task in assignment.tasks
    ]
    given = {}
    for number, task in enumerate(present[:-1]):
        scores: dict[str, str | float] = {
            "task_quality": str(number % 3),
            'Ton & "Stil" | <x>': "1",
            "fluency": 1.5,
        }
        given[task["data"]["task"]] = (
            {name: str(score) for name, score in scores.items()},
            f"جيد {number}",
        )
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


HOSTILE = "<script>alert(1)</script> $first_text ${output} {{7*7}} \"q\" 'x'"
COUNT = 120  # more than a page of the server's lists


def run(*arguments: str) -> str:
    done = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def annotate(server: LabelStudio, task: dict[str, Any], scores: dict[str, str]) -> None:
    results = [
        {
            "id": name,
            "from_name": f"score:{name}",
            "to_name": "second",
            "type": "choices",
            "origin": "manual",
        }
        | {"value": {"choices": [score]}}
        for name, score in scores.items()
    ]
    server.call(
        "POST", f"/api/tasks/{task['id']}/annotations/", {"result": results, "lead_time": 3.5}
    )


def projects(server: LabelStudio, key: str) -> dict[str, int]:
    listed = server.call("GET", "/api/projects/?page_size=1000")["results"]
    return {each["title"].partition(" ")[0]: each["id"] for each in listed if key in each["title"]}


def test_there_and_back(
    server: LabelStudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = [
        Source(f"s{n}", "en", f"{n} {HOSTILE}", "", (f"gold {n} {HOSTILE}",)) for n in range(COUNT)
    ]
    outputs = [Output(f"o{n}", f"s{n}", "g", "en", f"made {n} {HOSTILE}") for n in range(COUNT)]
    save_dataset(
        assemble(Card("mine"), [TASK_QUALITY], sources, outputs, [], facts_from([])),
        tmp_path / "mine",
    )
    export = (
        "annotate export mine --to label-studio --raters 2 --template summarization --add-criteria"
    )
    run(*export.split())

    # A personal access token, exchanged for one that lasts minutes.
    server.call(
        "POST", "/api/jwt/settings", {"api_tokens_enabled": True, "legacy_api_tokens_enabled": True}
    )
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", server.call("POST", "/api/token/")["token"])
    push = ("annotate", "push", "label-studio", "mine", "--url", server.address)
    assert "Posted 2 projects" in run(*push)
    state = tmp_path / "mine/annotation/campaigns/mine-label-studio"
    journal = (state / "projects.jsonl").read_text().splitlines(keepends=True)
    key = journal[0].rpartition("[metal ")[2].partition("]")[0]
    made = projects(server, key)
    assert set(made) == {"en-1", "en-2"}

    # All that was answered is forgotten: nothing is made again.
    (state / "projects.jsonl").write_text("".join(line for line in journal if "title" in line))
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", TOKEN)
    assert "Posted 2 projects" in run(*push)
    assert projects(server, key) == made
    counts = {server.call("GET", f"/api/projects/{each}/")["task_number"] for each in made.values()}
    assert counts == {COUNT}

    # Half of an import: the rest is imported.
    for task in server.tasks(made["en-2"])[:7]:
        server.call("DELETE", f"/api/tasks/{task['id']}/")
    (state / "projects.jsonl").write_text("".join(line for line in journal if "tasks" not in line))
    run(*push)
    assert server.call("GET", f"/api/projects/{made['en-2']}/")["task_number"] == COUNT

    for task in server.tasks(made["en-1"])[:5]:
        assert HOSTILE in task["data"]["first_text"]
        first = task["data"]["first_text"].startswith("made")
        annotate(server, task, {"overall": "1" if first else "5", "fluency": "2" if first else "4"})
    run("annotate", "pull", "label-studio", "mine")
    table = load_dataset(tmp_path / "mine").ratings
    scores = table[table["score"].notna()]
    assert set(scores["rater"]) == {"en-1"}
    assert {(row.criterion, row.score) for row in scores.itertuples()} == {
        ("overall", 5.0),
        ("fluency", 4.0),
    }
    assert len(scores) == 10
    assert 'seconds": 3.5' in (tmp_path / "mine/annotation/answers.jsonl").read_text()
