"""A real Label Studio, started once: METAL_LABEL_STUDIO names the `label-studio` executable."""

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
        result = self.call("GET", f"/api/tasks?project={project}&page_size=100&fields=all")
        return list(result["tasks"])


@pytest.fixture(scope="session")
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
