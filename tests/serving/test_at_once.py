"""Whole stories in real browsers: people in three languages at once, the owner who watches, a team
that submits, and a server that is killed meanwhile; and somebody who is offline for long.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

import metal
from metal.data.dataset import load_dataset
from metal.serving import tables
from metal.serving.keeping import keep
from metal.serving.ledger import ServingLedger
from metal.serving.studies import Forms, study_of
from tests.serving.boards_at_work import dataset, outputs_of, sent
from tests.serving.browsing import (
    PATIENCE,
    Site,
    go_on,
    open_board,
    rate_task,
    start,
    wait_saved,
)
from tests.serving.web import LANGUAGES, Person, ServedProcess, eventually, folder_with_demo, rate

OUTPUTS = 12  # in each language
# the outputs that at least two people rated, by language, as the owner's page tells
AGREEING = """() => {
  const table = [...document.querySelectorAll("table")].find((each) =>
    each.caption && each.caption.textContent === "How far people agree in this study");
  if (!table) return {};
  return Object.fromEntries([...table.tBodies[0].rows].map((row) =>
    [row.cells[0].textContent, Number(row.cells[4].textContent)]));
}"""
TELLS = f"(number) => {{ const all = Object.values(({AGREEING})());"
TELLS += " return all.length === 3 && all.every((each) => each >= number); }"
OVER = 0.0  # when a lease ends that has ended


@pytest.fixture
def server(tmp_path: Path, database: str) -> Iterator[ServedProcess]:
    """`metal serve` with a study in three languages, and a board."""
    folder = folder_with_demo(tmp_path)
    dataset(folder / "news")
    started = ServedProcess(folder, database)
    yield started
    if started.process.poll() is None:
        started.stop()


def raters_of(address: str, links: list[tuple[str, str]], new_page: Any) -> list[Any]:
    """A page for one person of each language, after the other one has rated everything."""
    pages = []
    for language in LANGUAGES:
        early, late = (path for name, path in links if name.startswith(language))
        person = Person(address)
        person.get(early)
        assert len(rate(person, "demo")) == OUTPUTS
        person.client.close()
        pages.append(new_page())
        start(pages[-1], address + late)
    return pages


def rate_at_once(pages: list[Any], number: int) -> None:
    """Everybody rates so many tasks, in turns."""
    for _ in range(number):
        for page in pages:
            rate_task(page)


@pytest.mark.slow
def test_nobody_notices_that_the_server_is_killed(
    server: ServedProcess, new_page: Any, database: str
) -> None:
    folder, address = server.folder, server.address
    owner, reader = new_page(), new_page()
    owner.goto(server.owner)
    token = open_board(owner, address)
    _, links = metal.study_new(
        folder / "demo", folder=folder, database=database, people=2, raters=2
    )
    raters = raters_of(address, links, new_page)
    owner.goto(f"{address}/owner/study/demo")
    reader.goto(f"{address}/boards/news")
    for page in (*raters, owner):
        page.evaluate("window.loaded = 'once'")

    rate_at_once(raters, 3)
    owner.wait_for_function(TELLS, arg=3, timeout=1000 * PATIENCE)  # the page changes by itself
    team = httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert sent(team, "generator", "gen", outputs_of("gen")).status_code == 201
    team.close()
    rate_at_once(raters, 1)
    server.kill()
    rate_at_once(raters, 3)
    for page in raters:
        page.wait_for_function("() => failures > 0")
    server.start()
    for page in raters:
        wait_saved(page)
    owner.wait_for_function(TELLS, arg=7, timeout=1000 * PATIENCE)
    rate_at_once(raters, 3)
    for page in raters:
        wait_saved(page)
    assert [page.evaluate("window.loaded") for page in (*raters, owner)] == ["once"] * 4
    for page in raters:
        go_on(page)
    rate_at_once(raters, 2)
    for page in raters:
        wait_saved(page)
    owner.wait_for_function(TELLS, arg=OUTPUTS, timeout=1000 * PATIENCE)
    assert owner.evaluate("window.loaded") == "once"

    eventually(lambda: joined(reader), PATIENCE)
    check_counts(folder, database, dict.fromkeys(LANGUAGES, 2 * OUTPUTS))
    server.stop()
    ratings = load_dataset(folder / "demo").ratings
    assert len(ratings) == 3 * 2 * OUTPUTS * 2  # languages, people, outputs, criteria
    assert ratings["score"].notna().all()
    assert list(metal.billboard_history(folder / "news")["name"]).count("gen") == 1


def joined(reader: Any) -> bool:
    """Whether a reader of the board sees what the team submitted."""
    reader.reload()
    history = reader.locator("table", has_text="Which")
    return bool(history.count()) and "A team" in history.inner_text()


def check_counts(folder: Path, database: str, expected: dict[str, int]) -> None:
    """Assert how many answers there are in each language, each person's once."""
    ledger = ServingLedger(folder, database)
    task, handed, answer = tables.tasks, tables.handed, tables.answers
    wanted = select(task.c.language, task.c.id, handed.c.person).select_from(
        answer.join(handed).join(task)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted.where(answer.c.whole)).all())
    assert len(set(rows)) == len(rows)
    languages = [row.language for row in rows]
    assert {each: languages.count(each) for each in set(languages)} == expected
    count = select(func.count()).where(handed.c.task == task.c.id, handed.c.state == "answered")
    wrong = select(func.count()).where(task.c.answered != count.scalar_subquery())
    assert ledger.reads(lambda connection: connection.scalar(wrong)) == 0
    ledger.close()


@pytest.fixture
def long_away(tmp_path: Path, database: str) -> Iterator[Site]:
    """A server with a study in which one person rates each output."""
    site = Site(tmp_path, database)
    site.study(people=2, raters=1, languages="en")
    yield site
    site.served.stop()


def test_somebody_offline_for_long_loses_nothing_and_counts_once(
    long_away: Site, new_page: Any
) -> None:
    page = new_page()
    page.clock.install()
    start(page, long_away.link("en"))
    rate_task(page)
    wait_saved(page)
    page.context.set_offline(True)
    for _ in range(6):
        rate_task(page)
        page.clock.fast_forward("01:40")
    page.fill("#comment", "ten minutes later")
    page.keyboard.press("Escape")
    page.clock.fast_forward("10:00")
    page.wait_for_function("() => failures > 0")
    assert long_away.answers() == 1

    ledger = long_away.ledger()
    over = update(tables.handed).values(until=OVER)
    ledger.writes(lambda connection: connection.execute(over))
    other = Person(long_away.served.address)
    other.get(long_away.link("en").removeprefix(long_away.served.address))
    others = rate(other, "demo")
    other.client.close()
    assert len(others) == OUTPUTS - 1  # all that this person is offline with, but for what was sent

    page.context.set_offline(False)
    page.clock.run_for("01:00")
    wait_saved(page)
    check_counts(long_away.folder, long_away.database, {"en": OUTPUTS - 1 + 7})
    for _ in range(3):  # what was left on the page, which others have by now
        rate_task(page)
    page.clock.run_for("01:00")
    wait_saved(page)
    check_counts(long_away.folder, long_away.database, {"en": OUTPUTS - 1 + 10})
    study = study_of(ledger, "demo")
    keep(ledger, Forms(ledger), long_away.folder, study)
    ledger.close()
    ratings = load_dataset(long_away.folder / "demo").ratings
    assert not ratings.duplicated(["output", "criterion", "rater"]).any()
    rated = ratings.groupby("rater", observed=True)["output"].nunique()
    assert sorted(rated) == [10, OUTPUTS - 1]
    assert "ten minutes later" in set(ratings["comment"])
    page.clock.run_for("01:00")
    with page.expect_navigation():
        page.click("#more button")
    assert page.locator("body[data-ready]").count() == 0  # nothing is left for anybody
