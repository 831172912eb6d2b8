"""A real Label Studio at work: METAL_LABEL_STUDIO names its executable, which starts once."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.serving.web import free_port

TOKEN = "0123456789abcdef0123456789abcdef01234567"


class LabelStudio:
    """A running Label Studio, asked as its own pages ask it.

    address: where it is. folder: where it keeps everything.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder

    def call(self, method: str, path: str, body: object = None) -> Any:
        """What its API answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.loads(reply.read() or b"null")

    def export(self, project: int, kind: str = "JSON") -> bytes:
        """The answers of a project, as people download them."""
        return json.dumps(
            self.call("GET", f"/api/projects/{project}/export?exportType={kind}")
        ).encode()

    def project(self, title: str, interface: bytes, tasks: bytes) -> int:
        """A new project with tasks; its number."""
        config = interface.decode()
        made = self.call("POST", "/api/projects/", {"title": title, "label_config": config})
        self.call("POST", f"/api/projects/{made['id']}/validate/", {"label_config": config})
        self.call("POST", f"/api/projects/{made['id']}/import", json.loads(tasks))
        return int(made["id"])

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """The first hundred tasks of a project."""
        result = self.call("GET", f"/api/tasks?project={project}&page_size=100&fields=all")
        return list(result["tasks"])


@contextmanager
def label_studio(executable: str, folder: Path) -> Iterator[LabelStudio]:
    """Start Label Studio with an empty SQLite database in a folder, and end it."""
    port = free_port()
    command = [executable, "start", "--data-dir", str(folder), "--no-browser"]
    command += ["--internal-host", "127.0.0.1", "--port", str(port), "--user-token", TOKEN]
    command += ["--username", "a@example.org", "--password", "not-a-secret-1"]
    environment = os.environ | {
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield _ready(LabelStudio(f"http://127.0.0.1:{port}", folder), process)
    finally:
        process.terminate()
        process.wait(30)


def _ready(server: LabelStudio, process: subprocess.Popen[bytes]) -> LabelStudio:
    for _ in range(180):
        try:
            server.call("GET", "/api/projects/")
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None, _log(server)
            time.sleep(1)
        else:
            return server
    raise AssertionError(f"no answer after three minutes: {_log(server)}")


def _log(server: LabelStudio) -> str:
    return (server.folder / "log").read_text(errors="replace")[-2000:]
