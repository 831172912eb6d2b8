"""People and owners at a server, without a browser: they keep cookies and read forms."""

from __future__ import annotations

import html
import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from metal.data.dataset import Card, assemble, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from tests.conftest import HALLUCINATIONS, TASK_QUALITY

LANGUAGES = ("hi", "ar", "en")
TEXTS = {"hi": "बारिश हुई।", "ar": "هطل المطر.", "en": "It rained."}
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def folder_with_demo(folder: Path) -> Path:
    """A folder to serve, with a dataset `demo` that nobody rated: 12 outputs in each language."""
    sources = [
        Source(
            f"s-{language}-{number}",
            language,
            f"{TEXTS[language]} {number}",
            references=(f"{TEXTS[language]} ({number})",),
        )
        for language in LANGUAGES
        for number in range(6)
    ]
    outputs = [
        Output(
            f"{each.source}/{letter}", each.source, letter, each.language, f"{each.text} {letter}"
        )
        for each in sources
        for letter in "ab"
    ]
    criteria = [TASK_QUALITY, HALLUCINATIONS]
    made = assemble(Card("demo"), criteria, sources, outputs, [], facts_from([]))
    save_dataset(made, folder / "demo")
    return folder


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(base_url=address, follow_redirects=True, timeout=60)
        self.page: httpx.Response | None = None

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Open a page."""
        self.page = self.client.get(path, **options)
        return self.page

    def post(self, path: str, fields: dict[str, Any] | None = None) -> httpx.Response:
        """Send a form, with what is hidden in the page's own form for this address."""
        hidden = self.hidden() if self.page is not None else {}
        self.page = self.client.post(path, data={**hidden, **(fields or {})})
        return self.page

    def hidden(self) -> dict[str, str]:
        """The hidden fields of the page."""
        assert self.page is not None
        pairs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', self.page.text)
        return {name: html.unescape(value) for name, value in pairs if name != "person"}

    def data(self) -> dict[str, Any]:
        """What the form's script has."""
        assert self.page is not None
        found = DATA.search(self.page.text)
        assert found, self.page.text[:2000]
        content: dict[str, Any] = json.loads(found[1])
        return content

    def send(self, answers: list[dict[str, Any]], csrf: str, study: str) -> httpx.Response:
        """Send answers as the form's script does."""
        headers = {"X-CSRF": csrf, "Content-Type": "application/json"}
        body = json.dumps({"answers": answers}).encode()
        return self.client.post(f"/study/{study}/answers", content=body, headers=headers)

    def links(self) -> list[str]:
        """The links that the page shows."""
        assert self.page is not None
        return re.findall(r'<a href="(http[^"]+/(?:r|join)/[^"]+)">', self.page.text)


def answer_of(data: dict[str, Any], task: str, score: int = 0, comment: str = "") -> dict[str, Any]:
    """An answer to a task of a form: the same level on every question."""
    scores = {}
    for asked in data["criteria"]:
        choices = asked["values"] or [asked["low"], asked["high"]]
        scores[asked["name"]] = choices[score % len(choices)]
    return {"task": task, "scores": scores, "comment": comment, "seconds": 3}


def rate(person: Person, study: str, most: int = 10**6, comment: str = "") -> list[dict[str, Any]]:
    """Rate until nothing is left, or `most` tasks; return the answers."""
    answers: list[dict[str, Any]] = []
    while len(answers) < most and 'id="data"' in person.get(f"/study/{study}").text:
        data = person.data()
        done = {
            each["task"]
            for each in data["served"]["given"]
            if each["scores"] and all(each["scores"].values())
        }
        new = [task["task"] for task in data["tasks"] if task["task"] not in done]
        level = len(answers) % 3
        batch = [answer_of(data, task, level, comment) for task in new][: most - len(answers)]
        reply = person.send(batch, data["served"]["csrf"], study)
        assert reply.status_code == 200, reply.text
        answers += batch
    return answers


def free_port() -> int:
    """A port that nobody uses, and that no program takes by itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class ServedProcess:
    """`metal serve` as a process of its own, which can be killed and started again."""

    def __init__(self, folder: Path, database: str = "", port: int = 0) -> None:
        self.folder, self.database, self.port = folder, database, port or free_port()
        self.owner = ""
        self.start()

    def start(self) -> None:
        """Start it, and wait for its address; the first start shows the owner's link."""
        command = [sys.executable, "-m", "metal", "serve", str(self.folder)]
        command += ["--port", str(self.port)] if self.port else []
        command += ["--database", self.database] if self.database else []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline().strip()
        assert line.startswith("http"), line
        self.owner = line if "/owner/" in line else self.owner
        self.address = line.partition("/owner")[0]
        self.port = int(self.address.rpartition(":")[2])

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        assert self.process.stdout
        self.process.stdout.close()


def eventually(check: Any, seconds: float = 60) -> None:
    """Wait until something is so; the worker looks once a second."""
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
