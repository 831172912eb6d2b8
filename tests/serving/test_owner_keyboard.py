"""The owner's pages of a study by keyboard alone, from the new study to its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from metal.serving.people import people_of
from metal.serving.studies import progress, study_of
from tests.app.shop import check_looks
from tests.serving.browsing import ON, Site, press, tab_to
from tests.serving.web import Person, rate


@pytest.fixture
def site(tmp_path: Path, database: str) -> Iterator[Site]:
    """A server with a dataset and no study yet."""
    site = Site(tmp_path, database)
    yield site
    site.served.stop()


def write(page: Any, label: str, text: str) -> None:
    """Go to a field by Tab, which marks what is in it, and write over that."""
    tab_to(page, label)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(text)


def rates(site: Site, link: str, number: int) -> None:
    """Somebody rates so many outputs of the study."""
    person = Person(site.served.address)
    person.get(link)
    assert len(rate(person, "demo", number)) == number
    person.client.close()


def standing(site: Site) -> dict[str, Any]:
    """What the ledger says of the study: its state, its answers, and its people's states."""
    ledger = site.ledger()
    (row,) = progress(ledger, "demo")
    people = {each.name: each.state for each in people_of(ledger, "demo")}
    study = study_of(ledger, "demo")
    ledger.close()
    return {
        "state": study.state,
        "numbers": (row["answered"], row["wanted"]),
        "people": people,
        "consent": study.settings.consent,
    }


@pytest.mark.slow
@ON
def test_a_study_from_beginning_to_end(site: Site, new_page: Any, size: tuple[int, int]) -> None:
    page = new_page(*size)
    page.goto(site.served.owner)
    check_looks(page, size[0])
    press(page, "BUTTON Choose what people rate")
    check_looks(page, size[0])
    write(page, "People for each output", "2")
    tab_to(page, "English")
    page.keyboard.press("Space")
    write(page, "Links for people of each language", "2")
    press(page, "BUTTON Make the study")
    check_looks(page, size[0])
    links = page.locator(".links a").all_inner_texts()
    assert len(links) == 2
    assert standing(site)["numbers"] == (0, 24)

    rates(site, links[0], 12)
    rates(site, links[1], 5)
    press(page, "BUTTON Pause it")
    assert standing(site)["state"] == "paused"
    assert page.locator(".state", has_text="Paused").count() == 1
    press(page, "BUTTON Exclude en-1")
    assert standing(site)["people"] == {"en-1": "excluded", "en-2": "active"}
    assert standing(site)["numbers"] == (5, 24)
    press(page, "BUTTON Let back in: en-1")
    assert standing(site)["numbers"] == (17, 24)
    press(page, "BUTTON Exclude en-2")
    press(page, "BUTTON Open it")
    assert standing(site)["state"] == "open"

    write(page, "New people", "1")
    press(page, "BUTTON Make their links")
    (link,) = page.locator(".links a").all_inner_texts()
    rates(site, link, 12)
    press(page, "BUTTON New link for en-3")
    assert page.locator(".links a").count() == 1
    assert httpx.get(link).status_code == 404  # a new link ends the old one
    press(page, "BUTTON Make an open link")
    assert "/join/" in page.locator(".links a").inner_text()
    assert standing(site)["numbers"] == (24, 24)
    write(page, "Ask more people for each output", "3")
    press(page, "BUTTON Ask them")
    assert standing(site)["numbers"] == (24, 60)
    tab_to(page, "SUMMARY The consent")
    page.keyboard.press("Enter")
    write(page, "Text that people agree to before they rate", "We keep your answers.")
    press(page, "BUTTON Change the consent")
    assert standing(site)["consent"] == "We keep your answers."
    press(page, "BUTTON Close it")
    assert standing(site)["state"] == "closed"
    assert page.locator(".state", has_text="Closed").count() == 1
    check_looks(page, size[0])
    press(page, "A Studies")
    assert page.locator(".folders li", has_text="closed").count() == 1
