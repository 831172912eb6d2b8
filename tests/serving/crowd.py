"""A crowd that rates at a server which may be killed at any moment, and what it was promised."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select

from metal.data.dataset import load_dataset
from metal.serving import tables
from metal.serving.ledger import ServingLedger
from metal.serving.worker import KeepingWorker
from tests.serving.web import DATA

GONE = (OSError, http.client.HTTPException)  # the server is away, or was killed in the middle


@dataclass
class Crowd:
    """What people were promised, and how long they waited.

    acknowledged: (rater, task) -> the scores that the server said it has. pages, saves: seconds.
    """

    address: str
    study: str
    think: float = 0.0
    acknowledged: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    pages: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    broken: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    failures: list[str] = field(default_factory=list)

    def rate(self, links: list[str], seconds: float | None = None) -> None:
        """Let everybody rate at the same time, until nothing is left or the time is over."""
        threads = [
            threading.Thread(target=self._guarded, args=(link, number), daemon=True)
            for number, link in enumerate(links)
        ]
        for thread in threads:
            thread.start()
        if seconds is not None:
            self.over.wait(seconds)
            self.over.set()
        for thread in threads:
            thread.join()

    def _guarded(self, link: str, seed: int) -> None:
        try:
            RatingRobot(self, link, random.Random(seed)).work()
        except Exception as error:
            self.failures.append(repr(error))
            self.over.set()


class RatingRobot:
    """One of the crowd. It asks again whatever was not answered."""

    def __init__(self, crowd: Crowd, link: str, rng: random.Random) -> None:
        self.crowd, self.link, self.rng = crowd, link, rng
        self.host = urlsplit(crowd.address).netloc
        self.connection: http.client.HTTPConnection | None = None
        self.cookie = ""

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        """The status and text of an answer, as often as it takes."""
        while True:
            try:
                return self._once(method, path, body, headers)
            except GONE:
                self.crowd.broken += 1
                self.close()
                time.sleep(0.05)
            if self.crowd.over.is_set():
                raise Over

    def _once(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, str]:
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, timeout=60)
        self.connection.request(method, path, body, {**headers, "Cookie": self.cookie})
        reply = self.connection.getresponse()
        text = reply.read().decode()
        cookie = reply.getheader("set-cookie")
        self.cookie = cookie.partition(";")[0] if cookie else self.cookie
        return reply.status, text

    def close(self) -> None:
        """Forget the connection."""
        if self.connection:
            self.connection.close()
        self.connection = None

    def pause(self) -> None:
        """Think."""
        if self.crowd.think:
            self.crowd.over.wait(self.rng.uniform(0.5, 1.5) * self.crowd.think)

    def work(self) -> None:
        """Rate until nothing is left."""
        try:
            self.pause()
            status, _ = self.ask("GET", self.link)
            assert status == 303, status
            while not self.crowd.over.is_set() and self.batch():
                pass
        except Over:
            pass
        finally:
            self.close()

    def batch(self) -> int:
        """Rate the tasks of a page; return how many there were."""
        began = time.perf_counter()
        status, page = self.ask("GET", f"/study/{self.crowd.study}")
        self.crowd.pages.append(time.perf_counter() - began)
        assert status == 200, page[:500]
        found = DATA.search(page)
        if not found:
            return 0
        data: dict[str, Any] = json.loads(found[1])
        given = data["served"]["given"]
        done = {each["task"] for each in given if each["scores"] and all(each["scores"].values())}
        tasks = [task["task"] for task in data["tasks"] if task["task"] not in done]
        for task in tasks:
            self.pause()
            if not self.crowd.over.is_set():
                self.answer(data, task)
        return len(tasks)

    def answer(self, data: dict[str, Any], task: str) -> None:
        """Answer a task, and note what the server says it has."""
        scores = {each["name"]: self.rng.choice(each["values"]) for each in data["criteria"]}
        content = {"answers": [{"task": task, "scores": scores, "comment": "", "seconds": 2}]}
        began = time.perf_counter()
        status, text = self.ask(
            "POST",
            f"/study/{self.crowd.study}/answers",
            json.dumps(content).encode(),
            **{"X-CSRF": data["served"]["csrf"], "Content-Type": "application/json"},
        )
        self.crowd.saves.append(time.perf_counter() - began)
        assert status == 200, text[:500]
        self.crowd.acknowledged[data["rater"], task] = scores


class Over(Exception):
    """The time is over."""


def check_promises(ledger: ServingLedger, crowd: Crowd) -> None:
    """Assert that the ledger has each acknowledged answer, once, and counts them rightly."""
    handed, task, person, answer = tables.handed, tables.tasks, tables.people, tables.answers
    wanted = select(person.c.name, task.c.task, answer.c.scores).select_from(
        answer.join(handed).join(person).join(task)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    kept = {(rater, name): scores for rater, name, scores in rows}
    assert len(kept) == len(rows)  # nobody twice on an output
    lost = [key for key, scores in crowd.acknowledged.items() if kept.get(key) != scores]
    assert lost == []
    counts = select(func.count()).where(handed.c.task == task.c.id, handed.c.state == "answered")
    in_use = select(func.count()).where(
        handed.c.task == task.c.id, handed.c.state.in_(("held", "answered"))
    )
    answered, out = counts.scalar_subquery(), in_use.scalar_subquery()
    wrong = (task.c.answered != answered) | (task.c.wanted - task.c.free != out)
    wrong |= task.c.answered > task.c.wanted
    counted_wrongly = select(func.count()).where(task.c.kind == "rate", wrong)
    assert ledger.reads(lambda connection: connection.scalar(counted_wrongly)) == 0


def check_dataset(ledger: ServingLedger, folder: Path, crowd: Crowd) -> int:
    """Bring in what is left, and assert that the dataset has each answer once; return how many
    outputs have all their raters.
    """
    worker = KeepingWorker(ledger, folder)
    worker.look()
    ratings = load_dataset(folder / crowd.study).ratings
    assert not ratings.duplicated(["output", "criterion", "rater"]).any()
    wanted = select(tables.answers.c.scores)
    scores = ledger.reads(lambda connection: connection.scalars(wanted).all())
    assert len(ratings) == sum(map(len, scores))
    task = tables.tasks
    whole = select(func.count()).where(task.c.answered == task.c.wanted)
    return ledger.reads(lambda connection: connection.execute(whole).scalar_one())
