"""GENIE's loop in real browsers: a generator is submitted over HTTP, three people rate it, and its
place with the interval is on the board's page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import metal
from metal.boards.store import with_submissions
from metal.data.dataset import load_dataset
from metal.data.text import figure
from tests.serving.boards_at_work import GENERATORS, SOURCES, dataset, outputs_of, sent
from tests.serving.browsing import PATIENCE, go_on, open_board, rate_task, start, wait_saved
from tests.serving.web import ServedProcess, eventually

API = "/boards/news/api/submissions"
PEOPLE = 3
RANKING = "Generators by people’s scores"


@pytest.fixture
def server(tmp_path: Path, database: str) -> Iterator[ServedProcess]:
    """`metal serve` with its workers, and a dataset that can be a board."""
    dataset(tmp_path / "news")
    started = ServedProcess(tmp_path, database)
    yield started
    started.stop()


def shown(reader: Any, heading: str) -> dict[str, list[str]]:
    """The rows of a table of the board's page, by their first cell; none without the table."""
    reader.reload()
    rows = reader.locator("table", has=reader.locator("caption", has_text=heading)).locator("tr")
    cells = [row.locator("th, td").all_inner_texts() for row in rows.all()]
    return {first: rest for first, *rest in cells}


def rate_what_is_read(page: Any) -> None:
    """Answer a task with a level that depends on its text, and on nothing else."""
    text = page.locator("#output-body").inner_text()
    level = int(text.rpartition(" ")[2]) % 3
    rate_task(page, str(level))


def rate_everything(pages: list[Any], number: int) -> None:
    """Everybody rates all tasks, in turns."""
    rated = 0
    while rated < number:
        at_hand = pages[0].evaluate("unrated().length")
        for _ in range(at_hand):
            for page in pages:
                rate_what_is_read(page)
        rated += at_hand
        for page in pages:
            wait_saved(page)
            if rated < number:
                go_on(page)


def ratings_of(folder: Path, generator: str) -> int:
    """How many ratings people gave a generator."""
    ratings = with_submissions(load_dataset(folder), folder).ratings
    of_people = (ratings["generator"] == generator) & (ratings["kind"] == "human")
    return int(of_people.sum())


@pytest.mark.slow
def test_a_generator_is_rated_by_three_browsers_and_takes_its_place(
    server: ServedProcess, new_page: Any
) -> None:
    address, news = server.address, server.folder / "news"
    owner, reader = new_page(), new_page()
    owner.goto(server.owner)
    token = open_board(owner, address)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=address, headers=headers, timeout=60) as team:
        own = f"{API}/{sent(team, 'generator', 'gen', outputs_of('gen')).json()['id']}"
        eventually(lambda: team.get(own).json()["state"] == "joined", PATIENCE)
    reader.goto(f"{address}/boards/news")
    eventually(lambda: GENERATORS[0] in shown(reader, RANKING), PATIENCE)
    assert "gen" not in shown(reader, RANKING)  # nobody has rated it yet

    owner.goto(f"{address}/owner/board/news")
    owner.click("button:has-text('Have people rate it')")
    owner.fill("[name=number]", str(PEOPLE))
    owner.click("text=Make their links")
    links = owner.locator(".links a").all_inner_texts()
    assert len(links) == PEOPLE
    raters = [new_page() for _ in links]
    for page, link in zip(raters, links, strict=True):
        start(page, link)
    rate_everything(raters, SOURCES)

    eventually(lambda: ratings_of(news, "gen") == PEOPLE * SOURCES, PATIENCE)
    ranking = metal.leaderboard(news).rows("leaderboard").set_index("generator")
    assert set(ranking.index) == {*GENERATORS, "gen"}
    row = ranking.loc["gen"]
    assert (row["score"], row["people"], row["ratings"]) == (0.5, PEOPLE, PEOPLE * SOURCES)
    assert 0 < row["score_low"] < 0.5 < row["score_high"] < 1
    interval = f"{figure(row['score_low'])} to {figure(row['score_high'])}"
    ranks = f"{row['rank_low']:.0f} to {row['rank_high']:.0f}"
    place = [ranks, figure(row["score"]), interval]
    eventually(lambda: shown(reader, RANKING).get("gen") == place, PATIENCE)
    order = [name for name in shown(reader, RANKING) if name in ranking.index]
    assert order == list(ranking.index)
