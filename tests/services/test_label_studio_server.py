"""The Label Studio form against a real server: METAL_LABEL_STUDIO names the `label-studio` executable."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metal.build.forms.label_studio import read, skipped, write
from metal.build.forms.label_studio_export import FIELD
from tests.build.label_studio_sheets import CRITERIA, SHEETS

pytestmark = pytest.mark.services
TOKEN = "0123456789abcdef0123456789abcdef01234567"


class Server:
    """A running Label Studio, asked as its own pages ask it."""

    def __init__(self, address: str) -> None:
        self.address = address

    def call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.loads(reply.read() or b"null")

    def export(self, project: int, kind: str = "JSON") -> bytes:
        return json.dumps(self.call("GET", f"/api/projects/{project}/export?exportType={kind}")).encode()

    def project(self, title: str, interface: bytes, tasks: bytes) -> int:
        config = interface.decode()
        made = self.call("POST", "/api/projects/", {"title": title, "label_config": config})
        self.call("POST", f"/api/projects/{made['id']}/validate/", {"label_config": config})
        self.call("POST", f"/api/projects/{made['id']}/import", json.loads(tasks))
        return int(made["id"])

    def tasks(self, project: int) -> list[dict[str, Any]]:
        found = self.call("GET", f"/api/tasks?project={project}&page_size=100&fields=all")
        return list(found["tasks"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    executable = os.environ.get("METAL_LABEL_STUDIO")
    if not executable:
        pytest.skip("METAL_LABEL_STUDIO does not name a label-studio executable")
    folder = tmp_path_factory.mktemp("label-studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [executable, "start", "--data-dir", str(folder), "--internal-host", "127.0.0.1", "--port", str(port)]
    command += ["--username", "a@example.org", "--password", "not-a-secret-1", "--user-token", TOKEN, "--no-browser"]
    environment = os.environ | {"LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "COLLECT_ANALYTICS": "false"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield _ready(Server(f"http://127.0.0.1:{port}"), process, folder / "log")
    finally:
        process.terminate()
        process.wait(30)


def _ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> Server:
    for _ in range(180):
        try:
            server.call("GET", "/api/projects/")
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            time.sleep(1)
        else:
            return server
    raise AssertionError(f"no answer after three minutes: {log.read_text(errors='replace')[-2000:]}")


def results(scores: dict[str, str | float], comment: str) -> list[dict[str, Any]]:
    """What the page sends when a task is submitted."""
    found: list[dict[str, Any]] = []
    for criterion, score in scores.items():
        kind, value = ("number", {"number": score}) if criterion == "fluency" else ("choices", {"choices": [score]})
        found.append({"from_name": FIELD + criterion, "to_name": "output", "type": kind, "value": value})
    if comment:
        found.append({"from_name": "comment", "to_name": "output", "type": "textarea", "value": {"text": [comment]}})
    return [{"id": f"r{number}", "origin": "manual"} | result for number, result in enumerate(found)]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.rater)
def test_what_is_rated_comes_back(server: Server, sheet: Any) -> None:
    files = dict(write(SHEETS))
    project = server.project(sheet.rater, files[f"interface-{sheet.language}.xml"], files[f"{sheet.rater}.json"])
    there = sorted(server.tasks(project), key=lambda task: task["id"])
    assert [task["data"]["task"] for task in there] == [task.task for task in sheet.tasks]
    assert [task["data"]["output_text"] for task in there] == [task.text for task in sheet.tasks]
    given = {}
    for number, task in enumerate(there[:-1]):
        scores: dict[str, str | float] = {"task_quality": str(number % 3), 'Ton & "Stil" | <x>': "1", "fluency": 1.5}
        given[task["data"]["task"]] = ({name: str(score) for name, score in scores.items()}, f"جيد {number}")
        answer = {"result": results(scores, f"جيد {number}"), "lead_time": 12.5}
        server.call("POST", f"/api/tasks/{task['id']}/annotations/", answer)
    skip = {"result": [], "was_cancelled": True}
    server.call("POST", f"/api/tasks/{there[-1]['id']}/annotations/", skip)
    export = server.export(project)
    answers = read("export.json", export, CRITERIA)
    assert {answer.task: (answer.scores, answer.comment) for answer in answers} == given
    assert {answer.rater for answer in answers} == {sheet.rater}
    assert {answer.seconds for answer in answers} == {12.5}
    assert skipped("export.json", export) == 1
    brief = read("min.json", server.export(project, "JSON_MIN"), CRITERIA)
    by_task = {answer.task: (answer.scores, answer.comment, answer.rater) for answer in brief}
    assert {task: by_task[task] for task in given} == {task: (*said, sheet.rater) for task, said in given.items()}
