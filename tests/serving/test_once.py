"""A form that makes links counts once: a page that is loaded again makes no second study, and ends
no link that it showed.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import metal
from metal.serving import tables
from metal.serving.once import REMEMBERED, SentAgain, counted_once
from metal.serving.people import people_of
from tests.saying import tells
from tests.serving.boards_at_work import board_at_work
from tests.serving.browsing import Site
from tests.serving.conftest import OpenLedger
from tests.serving.test_web import House
from tests.serving.test_web import house as house
from tests.serving.web import Person

NOTE = ("sent again", "the first time only")


def send_twice(owner: Person, path: str, fields: dict[str, Any]) -> list[str]:
    """Send a form, and again as a browser does that loads the page again; return its links."""
    content = {**owner.hidden(), **fields}
    owner.page = owner.client.post(path, data=content)
    links = owner.links()
    again = owner.client.post(path, data=content)
    assert again.url.query == b"again=1"
    assert tells(again.text, *NOTE)
    owner.page = again
    assert owner.links() == []
    return links


def test_a_study_is_made_once(house: House) -> None:
    owner = house.owner()
    owner.get("/owner/new?dataset=demo")
    links = send_twice(
        owner, "/owner/studies", {"dataset": "demo", "languages": "hi", "people": "3"}
    )
    assert len(links) == 3
    assert str(owner.page.url.path) == "/owner/study/demo"  # type: ignore[union-attr]
    assert len(metal.study_ls(house.folder, database=house.database)) == 1
    owner.get("/owner/new?dataset=demo")  # whoever opens the form again means another one
    owner.post("/owner/studies", {"dataset": "demo"})
    assert len(metal.study_ls(house.folder, database=house.database)) == 2


def test_a_form_that_was_refused_can_be_sent_again(house: House) -> None:
    owner = house.owner()
    owner.get("/owner/new?dataset=demo")
    content = {**owner.hidden(), "dataset": "demo"}
    refused = owner.client.post("/owner/studies", data={**content, "languages": "fi"})
    assert refused.status_code == 400
    made = owner.client.post("/owner/studies", data={**content, "languages": "hi"})
    assert (made.status_code, made.url.query) == (200, b"")


@pytest.mark.parametrize("what", ["people", "link", "open-link"])
def test_links_stay_valid_if_their_page_is_loaded_again(house: House, what: str) -> None:
    house.study("hi")
    owner = house.owner()
    owner.get("/owner/study/demo")
    fields = {"person": "hi-1", "number": "1", "language": "hi"}
    (link,) = send_twice(owner, f"/owner/study/demo/{what}", fields)
    assert house.person().get(link).status_code == 200
    ledger = house.ledger()
    assert len(people_of(ledger, "demo")) == 1 + (what == "people")
    ledger.close()


@pytest.mark.parametrize("what", ["team", "viewer"])
def test_links_of_a_board_stay_valid(what: str, database: str, tmp_path: Path) -> None:
    with board_at_work(tmp_path, database) as work:
        work.opens(readers="link")
        owner = Person(work.served.address)
        owner.get(work.served.owner)
        owner.get("/owner/board/news")
        content = {**owner.hidden(), "team": "A team"}
        path = f"/owner/board/news/{what}"
        (link,) = (
            part.split('"')[0]
            for part in owner.client.post(path, data=content).text.split('<a href="')
            if "/with/" in part.split('"')[0]
        )
        again = owner.client.post(path, data=content)
        assert tells(again.text, *NOTE)
        assert "/with/" not in again.text
        assert work.browser(link).get("/boards/news").status_code == 200
        owner.client.close()


def test_of_two_attempts_at_the_same_moment_one_counts(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger(), open_ledger()]
    together, over = threading.Barrier(2, timeout=600), threading.Event()
    made, refused = [], []

    def attempt(number: int) -> None:
        together.wait()
        try:
            with counted_once(ledgers[number], "a", "study", "/owner"):
                made.append(number)
                over.wait(600)
        except SentAgain as error:
            refused.append(error.page)
            over.set()

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), refused) == (1, ["/owner"])


def test_the_ledger_forgets_forms_in_time(open_ledger: OpenLedger) -> None:
    ledger, sent = open_ledger(), tables.sent
    for once in ("a", "b", ""):
        with counted_once(ledger, once, "study", "/owner") as form:
            form.page = f"/owner/study/{once}"
    with pytest.raises(SentAgain) as again, counted_once(ledger, "a", "study", "/owner"):
        pass
    assert again.value.page == "/owner/study/a"
    old = update(sent).values(made=sent.c.made - REMEMBERED)
    ledger.writes(lambda connection: connection.execute(old))
    with counted_once(ledger, "c", "study", "/owner"):
        pass
    left = ledger.reads(lambda connection: connection.scalars(select(sent.c.once)).all())
    assert left == ["c study"]


def test_a_browser_that_loads_the_page_of_links_again(
    tmp_path: Path, database: str, new_page: Any
) -> None:
    site = Site(tmp_path, database)
    owner = new_page()
    owner.goto(site.served.owner)
    owner.click("text=Choose what people rate")
    owner.click("text=Make the study")
    assert owner.locator("img.qr").count() == 9
    owner.reload()
    assert owner.locator("img.qr").count() == 0
    assert tells(owner.locator("main").inner_text(), *NOTE)
    assert len(metal.study_ls(site.folder, database=database)) == 1
    site.served.stop()
