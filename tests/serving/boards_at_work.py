"""A server with one board, its worker in the test's own process, and browsers and programs that ask
it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from metal.data.dataset import Card, assemble
from metal.data.ratings import facts_from
from metal.data.records import METRIC_SCORE, Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.serving.board_worker import BoardWorker
from metal.serving.ledger import ServingLedger
from metal.serving.server import Served, begin

QUALITY = Criterion(
    "quality", Scale("ordinal", (Level(0, "bad"), Level(1, "fair"), Level(2, "good")))
)
SOURCES, GENERATORS = 12, ("a", "b", "c")
HIDDEN = (
    "the hidden source",
    "the hidden reference",
    "the hidden output",
    "the hidden comment",
)
LENGTH = """
def score(output):
    return float(len(output))
"""


def dataset(folder: Path) -> Path:
    """Two people, a judge and two metrics on three generators, in one language."""
    rng = np.random.default_rng(5)
    sources = [
        Source(f"s{at}", "en", f"{HIDDEN[0]} {at}", references=(f"{HIDDEN[1]} {at}",))
        for at in range(SOURCES)
    ]
    outputs, ratings = [], []
    for source in sources:
        for better, generator in enumerate(GENERATORS):
            name = f"{source.source}/{generator}"
            truth = better + rng.normal(0, 0.5)
            text = f"{HIDDEN[2]} " + "x" * round(10 * abs(truth))
            outputs.append(Output(name, source.source, generator, "en", text))
            for person in ("P1", "P2"):
                level = float(np.clip(round(truth + rng.normal(0, 0.4)), 0, 2))
                ratings.append(Rating(name, "quality", person, level, ""))
            judged = float(np.clip(round(truth + rng.normal(0, 1)), 0, 2))
            ratings.append(Rating(name, "quality", "judge", judged, "", HIDDEN[3]))
            for metric, noise in (("near", 0.3), ("far", 3.0)):
                ratings.append(
                    Rating(name, METRIC_SCORE.name, metric, truth + rng.normal(0, noise), "")
                )
    people = [Rater(each, "human", "native") for each in ("P1", "P2")]
    metrics = [Rater(each, "metric", "metric") for each in ("near", "far")]
    assemble(
        Card("news"),
        [METRIC_SCORE, QUALITY],
        sources,
        outputs,
        [*people, *metrics, Rater("judge", "llm", "judge")],
        facts_from(ratings),
    ).save(folder)
    return folder


def outputs_of(name: str, sources: int = SOURCES) -> bytes:
    """The file of a generator's outputs."""
    rows = [{"source": f"s{at}", "text": f"{name} writes {at}"} for at in range(sources)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def scores_of(dataset_folder: Path) -> bytes:
    """The file of a metric's scores."""
    lines = (dataset_folder / "outputs.jsonl").read_text().splitlines()
    names = [json.loads(line)["output"] for line in lines]
    return ("output,score\n" + "".join(f"{name},{at}\n" for at, name in enumerate(names))).encode()


@dataclass
class BoardAtWork:
    """A server with the board `news`. root: its folder."""

    served: Served
    root: Path
    owner: httpx.Client = field(init=False)
    clients: list[httpx.Client] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.owner = self.browser(self.served.owner)

    @property
    def ledger(self) -> ServingLedger:
        """The server's ledger."""
        return self.served._desk.ledger

    @property
    def folder(self) -> Path:
        """The board's dataset folder."""
        return self.root / "news"

    def browser(self, link: str = "") -> httpx.Client:
        """A browser, which opened a link."""
        client = httpx.Client(base_url=self.served.address, follow_redirects=True, timeout=60)
        self.clients.append(client)
        if link:
            assert client.get(link).status_code == 200
        return client

    def does(self, what: str, **fields: Any) -> httpx.Response:
        """The owner presses a button on the page of the board."""
        page = self.owner.get("/owner/board/news" if what else "/owner/boards").text
        token = re.search('name="csrf" value="([^"]+)"', page)
        assert token
        path = f"/owner/board/news/{what}" if what else "/owner/boards"
        return self.owner.post(path, data={"csrf": token[1], **fields})

    def opens(self, **rules: Any) -> None:
        """The owner opens the board."""
        fields = {"dataset": "news", "readers": "private", "programs": "on", **rules}
        assert self.does("", **fields).status_code == 200

    def link(self, team: str) -> str:
        """A new link of a team."""
        page = self.does("team", team=team).text
        link = re.search(r'<a href="([^"]+/with/[^"]+)"', page)
        assert link
        return link[1]

    def team(self, name: str) -> httpx.Client:
        """A program with the token of a team."""
        token = self.link(name).rpartition("/")[2]
        client = self.browser()
        client.headers["Authorization"] = f"Bearer {token}"
        return client

    def works(self) -> None:
        """The worker does all there is to do; like its process, it works in the server's folder."""
        worker = BoardWorker(self.ledger, Path())
        while worker.look():
            worker._rests.clear()
        worker._rests.clear()
        worker.look()


@contextmanager
def board_at_work(root: Path, database: str = "") -> Iterator[BoardAtWork]:
    """A server whose board is not open yet."""
    dataset(root / "news")
    served = begin(
        root,
        host="127.0.0.1",
        port=0,
        database=database,
        root_path="",
        https=False,
        worker=False,
    )
    at_work = BoardAtWork(served, root)
    try:
        yield at_work
    finally:
        for client in at_work.clients:
            client.close()
        served.stop()


def sent(client: httpx.Client, kind: str, name: str, content: bytes, **more: str) -> httpx.Response:
    """A submission over HTTP."""
    fields = {"kind": kind, "name": name, **more}
    return client.post("/boards/news/api/submissions", data=fields, files={"file": content})
