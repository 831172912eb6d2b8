"""A small Label Studio: projects, tasks, annotations and exports in memory, answers that get lost,
tokens that run out.

It answers as version 1.23 does to what METAL asks; tests/services holds METAL against the real one.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

LEGACY = "0123456789abcdef0123456789abcdef01234567"
PERSONAL = "eyJhbGci.eyJ0b2tl.c2lnbmVk"


class LabelStudioServer:
    """A running server. lose: numbers of requests (from 1) that are carried out but whose answer
    gets lost; busy: that are answered with 503; calls: what was asked; lifetime: calls that an
    access token lasts."""

    def __init__(self, lifetime: int = 1000) -> None:
        self.projects: dict[int, dict[str, Any]] = {}
        self.tasks: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.lose: set[int] = set()
        self.busy: set[int] = set()
        self.redirect = ""
        self.lifetime = lifetime
        self.access = 0  # how many were given out
        self.used = 0  # calls with the last of them
        self._lock = threading.Lock()

    def __enter__(self) -> LabelStudioServer:
        handler = type("Handler", (_Handler,), {"state": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    # ------------------------------------------------------------ what tests look at and do

    def in_project(self, project: int) -> list[dict[str, Any]]:
        return [task for task in self.tasks if task["project"] == project]

    def annotate(
        self, task: dict[str, Any], scores: Mapping[str, str], login: int = 1, comment: str = ""
    ) -> None:
        """As the page does when a task is submitted; without scores it was skipped."""
        interface = ElementTree.fromstring(self.projects[task["project"]]["label_config"])
        controls = {each.get("name"): each for each in interface.iter("Choices")}
        results = []
        for name, score in scores.items():
            control = controls[f"score:{name}"]
            assert score in [each.get("alias") for each in control.iter("Choice")]
            about = {
                "from_name": f"score:{name}",
                "to_name": control.get("toName"),
                "type": "choices",
            }
            results.append(about | {"value": {"choices": [score]}})
        if comment:
            results.append(
                {"from_name": "comment", "type": "textarea", "value": {"text": [comment]}}
            )
        task["annotations"] = [
            each for each in task["annotations"] if each["completed_by"] != login
        ]
        shown = {
            "completed_by": login,
            "result": results,
            "lead_time": 7.5,
            "was_cancelled": not scores,
        }
        task["annotations"].append(shown)

    # ------------------------------------------------------------ what it answers

    def answer(
        self, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> tuple[int, Any]:
        number = int(result[0]) if (result := re.findall(r"/api/projects/(\d+)/", path)) else 0
        if number and number not in self.projects:
            return 404, {"detail": "Not found."}
        if (method, path) == ("GET", "/api/projects/"):
            listed = [
                {"id": each, "title": self.projects[each]["title"]}
                for each in sorted(self.projects, reverse=True)
            ]
            return self._page(listed, query, "results", "count")
        if (method, path) == ("POST", "/api/projects/"):
            return self._create(body)
        if method == "GET" and path == f"/api/projects/{number}/":
            return 200, {
                "id": number,
                **self.projects[number],
                "task_number": len(self.in_project(number)),
            }
        if method == "POST" and path == f"/api/projects/{number}/import":
            for each in body:
                shown = {
                    "id": len(self.tasks) + 1,
                    "project": number,
                    "data": each["data"],
                    "annotations": [],
                }
                self.tasks.append(shown)
            return 201, {"task_count": len(body)}
        if method == "GET" and path == f"/api/projects/{number}/export":
            return 200, [task for task in self.in_project(number) if task["annotations"]]
        if (method, path) == ("GET", "/api/tasks"):
            return self._page(self.in_project(int(query["project"])), query, "tasks", "total")
        return 404, {"detail": "Not found."}

    def _create(self, body: dict[str, Any]) -> tuple[int, Any]:
        if not 3 <= len(body["title"]) <= 50:
            return 400, {
                "validation_errors": {
                    "title": ["Ensure this field has no more than 50 characters."]
                }
            }
        ElementTree.fromstring(body["label_config"])
        number = len(self.projects) + 1
        self.projects[number] = body
        return 201, {"id": number, **body}

    def _page(
        self, listed: list[Any], query: Mapping[str, str], field: str, total: str
    ) -> tuple[int, Any]:
        page, size = int(query["page"]), int(query["page_size"])
        cut = listed[(page - 1) * size : page * size]
        return (
            (200, {field: cut, total: len(listed)})
            if cut or page == 1
            else (404, {"detail": "Invalid page."})
        )

    def allowed(self, header: str) -> bool:
        if header.startswith("Bearer "):
            self.used += 1
            return header == f"Bearer access-{self.access}" and self.used <= self.lifetime
        return header == f"Token {LEGACY}"


class _Handler(BaseHTTPRequestHandler):
    state: LabelStudioServer
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with self.state._lock:
            self.state.calls.append(f"{self.command} {parts.path}")
            number = len(self.state.calls)
            status, content = self._answer(parts.path, query, body, number)
        if number in self.state.lose:
            self.close_connection = True
            self.connection.close()
            return
        words = json.dumps(content).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.state.redirect)
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    do_GET = do_POST = _handle

    def _answer(self, path: str, query: dict[str, str], body: Any, number: int) -> tuple[int, Any]:
        if number in self.state.busy:
            return 503, {"detail": "busy"}
        if self.state.redirect:
            return 302, None
        if path == "/api/token/refresh/":
            if body != {"refresh": PERSONAL}:
                return 401, {"detail": "Token is invalid or expired"}
            self.state.access += 1
            self.state.used = 0
            return 200, {"access": f"access-{self.state.access}"}
        header = self.headers.get("Authorization", "")
        if not self.state.allowed(header):
            return 401, {"detail": f"Invalid token: {header}"}
        return self.state.answer(self.command, path, query, body)

    def log_message(self, *_: object) -> None: ...
