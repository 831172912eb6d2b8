"""How long raters wait: `metal serve` beside Label Studio, under the same load in one run.

Both have the same outputs and want three raters an output. Label Studio keeps everything in SQLite,
METAL there, too, and once in PostgreSQL.
The same raters think for the same time, ask for the next task, think, and send their answer. The
load is what Label Studio bears on two cores at this size; more raters would wait in its queue.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx
import numpy as np
import pytest

import metal
from tests.bench.serving import TEXT, write_outputs
from tests.services.label_studio import LabelStudio
from tests.serving.postgres import cluster
from tests.serving.web import DATA, ServedProcess, answer_of

pytestmark = pytest.mark.services

ITEMS = 100_000
RATERS, SECONDS, THINK = 5, 45.0, 4.0
AT_MOST = 1 / 5  # of Label Studio's time
STEP = 10_000  # tasks of an import
INTERFACE = """<View><Text name="source" value="$source"/><Text name="output" value="$output"/>
<Choices name="task_quality" toName="output"><Choice value="0"/><Choice value="1"/>
<Choice value="2"/></Choices><Choices name="hallucinations" toName="output"><Choice value="0"/>
<Choice value="1"/></Choices></View>"""
CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Seat(Protocol):
    """Somebody with a browser at one of the servers."""

    client: httpx.Client

    def next_task(self) -> Any:
        """The task to rate now."""

    def save(self, task: Any) -> None:
        """Answer it; the server has the answer when this returns."""


class SeatAtMetal:
    """A rater of `metal serve`, by their link."""

    def __init__(self, address: str, link: str) -> None:
        self.client = httpx.Client(base_url=address, follow_redirects=True, timeout=60)
        self.page = self.client.get(link).raise_for_status()

    def next_task(self) -> Any:
        self.page = self.client.get("/study/large").raise_for_status()
        data = self.data()
        answers = {each["task"]: each["scores"].values() for each in data["served"]["given"]}
        open_tasks = (each["task"] for each in data["tasks"] if not any(answers[each["task"]]))
        return next(open_tasks)

    def data(self) -> dict[str, Any]:
        """What the page's script has."""
        on_page = DATA.search(self.page.text)
        assert on_page, self.page.text[:500]
        content: dict[str, Any] = json.loads(on_page[1])
        return content

    def save(self, task: Any) -> None:
        data = self.data()
        headers = {"X-CSRF": data["served"]["csrf"]}
        content = {"answers": [answer_of(data, task, 1)]}
        reply = self.client.post("/study/large/answers", json=content, headers=headers)
        reply.raise_for_status()


class SeatAtLabelStudio:
    """An annotator of Label Studio, who signed up by its invitation."""

    def __init__(self, server: LabelStudio, project: int, name: str) -> None:
        self.project = project
        self.client = httpx.Client(base_url=server.address, follow_redirects=True, timeout=60)
        invitation = server.call("GET", "/api/invite")["invite_url"]
        token = CSRF.search(self.client.get(invitation).raise_for_status().text)
        assert token
        account = {"email": f"{name}@example.org", "password": "not-a-secret-1"}
        self.client.post(invitation, data={**account, "csrfmiddlewaretoken": token[1]})

    def next_task(self) -> Any:
        reply = self.client.get(f"/api/projects/{self.project}/next").raise_for_status()
        return reply.json()["id"]

    def save(self, task: Any) -> None:
        scores = {"task_quality": "1", "hallucinations": "0"}
        results = [
            {"id": name, "from_name": name, "to_name": "output", "type": "choices"}
            | {"value": {"choices": [score]}}
            for name, score in scores.items()
        ]
        headers = {"X-CSRFToken": self.client.cookies["csrftoken"]}
        answer = {"result": results, "lead_time": 3.0}
        path = f"/api/tasks/{task}/annotations/"
        self.client.post(path, json=answer, headers=headers).raise_for_status()


@dataclass
class Waiting:
    """How long raters waited, in seconds."""

    nexts: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def p95(self) -> tuple[float, float]:
        """Of *next task* and *save*."""
        return float(np.percentile(self.nexts, 95)), float(np.percentile(self.saves, 95))

    def lines(self, name: str) -> str:
        """Rows of the table."""
        rows = []
        for step, seconds in (("next task", self.nexts), ("save", self.saves)):
            half, most = np.percentile(seconds, [50, 95]) * 1000
            rows.append(f"| {name} | {step} | {len(seconds)} | {half:,.0f} ms | {most:,.0f} ms |")
        return "\n".join(rows)


def at_work(seats: Sequence[Seat]) -> Waiting:
    """Let everybody rate at the same time."""
    waiting, over = Waiting(), threading.Event()

    def rate(seat: Seat, rng: random.Random) -> None:
        try:
            while not over.wait(rng.uniform(0.25, 0.75) * THINK):
                began = time.perf_counter()
                task = seat.next_task()
                waiting.nexts.append(time.perf_counter() - began)
                over.wait(rng.uniform(0.25, 0.75) * THINK)
                began = time.perf_counter()
                seat.save(task)
                waiting.saves.append(time.perf_counter() - began)
        except Exception as error:
            waiting.problems.append(repr(error))

    threads = [
        threading.Thread(target=rate, args=(seat, random.Random(number)))
        for number, seat in enumerate(seats)
    ]
    for thread in threads:
        thread.start()
    over.wait(SECONDS)
    over.set()
    for thread, seat in zip(threads, seats, strict=True):
        thread.join()
        seat.client.close()
    assert waiting.problems == []
    return waiting


def at_metal(folder: Path, database: str = "") -> Waiting:
    """The crowd at `metal serve`."""
    write_outputs(folder / "large", ITEMS)
    dataset = folder / "large"
    _, links = metal.study_new(dataset, folder=folder, database=database, people=RATERS, raters=3)
    served = ServedProcess(folder, database)
    try:
        return at_work([SeatAtMetal(served.address, path) for _, path in links])
    finally:
        served.stop()


def at_label_studio(server: LabelStudio) -> Waiting:
    """The crowd at Label Studio. Its import takes 100,000 tasks in a minute, in several steps."""
    settings = {"title": "large", "label_config": INTERFACE, "maximum_annotations": 3}
    project = server.call("POST", "/api/projects/", settings)["id"]
    for start in range(0, ITEMS, STEP):
        tasks = [
            {"data": {"source": f"{TEXT}{number // 4}", "output": f"It rained. s{number // 4}"}}
            for number in range(start, start + STEP)
        ]
        server.call("POST", f"/api/projects/{project}/import", tasks)
    assert server.call("GET", f"/api/projects/{project}/")["task_number"] == ITEMS
    return at_work([SeatAtLabelStudio(server, project, f"r{n}") for n in range(RATERS)])


@pytest.fixture(scope="module")
def theirs(server: LabelStudio) -> Waiting:
    """How long raters wait at Label Studio."""
    return at_label_studio(server)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_raters_wait_a_fifth_as_long_as_at_label_studio(
    theirs: Waiting, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        database = ""
        if kind == "postgresql":
            postgres = stack.enter_context(cluster())
            database = postgres.address(postgres.new())
        ours = at_metal(tmp_path, database)
    with capsys.disabled():
        print(
            f"\n\n{RATERS} raters, {ITEMS:,} outputs, {SECONDS:.0f} s each; load now"
            f" {os.getloadavg()[0]:.1f}\n\n| server | step | times | p50 | p95 |\n"
            "| --- | --- | ---: | ---: | ---: |\n"
            f"{theirs.lines('Label Studio')}\n{ours.lines(f'metal serve, {kind}')}"
        )
    assert min(map(len, (theirs.nexts, theirs.saves))) > RATERS  # they bore it
    for our_time, their_time in zip(ours.p95(), theirs.p95(), strict=True):
        assert our_time <= AT_MOST * their_time
