"""People rate in a real browser: by keyboard, on a phone, in the dark, without a script, from right
to left, and without a connection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.serving.people import JOIN, new_link
from tests.app.shop import check_looks
from tests.serving.browsing import SIZES, Site, rate_task, start, tab_to, wait_saved
from tests.serving.conftest import KINDS
from tests.serving.postgres import Cluster
from tests.serving.web import DATA, eventually


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The server at work, with a file of SQLite."""
    site = Site(tmp_path_factory.mktemp("site"))
    site.study(people=9, raters=9)
    yield site
    site.served.stop()


@pytest.fixture(scope="module")
def site_on_postgresql(
    tmp_path_factory: pytest.TempPathFactory, postgres: Cluster
) -> Iterator[Site]:
    """The server at work, with PostgreSQL."""
    site = Site(tmp_path_factory.mktemp("site"), postgres.address(postgres.new()))
    site.study(people=9, raters=9)
    yield site
    site.served.stop()


@pytest.fixture(params=KINDS)
def any_site(request: pytest.FixtureRequest) -> Site:
    """The server at work, with each kind of database."""
    named = {"sqlite": "site", "postgresql": "site_on_postgresql"}
    site: Site = request.getfixturevalue(named[request.param])
    return site


@pytest.mark.slow
@pytest.mark.parametrize(
    ("any_site", "size", "scheme", "language"),
    [
        *product(["sqlite"], SIZES, ["light", "dark"], ["ar", "en"]),
        ("postgresql", SIZES[0], "light", "en"),
        ("postgresql", SIZES[1], "dark", "ar"),
    ],
    indirect=["any_site"],
)
def test_a_rater_works_by_keyboard_and_every_view_is_clean(
    any_site: Site, new_page: Any, size: tuple[int, int], scheme: str, language: str
) -> None:
    site = any_site
    page = new_page(*size, color_scheme=scheme)
    before = site.answers()
    page.goto(site.link(language))
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("document.documentElement.dir") == ("rtl" if language == "ar" else "ltr")
    check_looks(page, size[0])
    tab_to(page, f"A {page.locator('#start').inner_text()}")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-task:not([hidden])")
    check_looks(page, size[0])
    for _ in range(2):
        rate_task(page)
    wait_saved(page)
    assert site.answers() == before + 2
    page.goto(page.url.partition("#")[0] + "#tasks")
    check_looks(page, size[0])
    page.goto(page.url.partition("#")[0] + "/mine")
    assert page.locator("ol li").count() == 2
    check_looks(page, size[0])


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=("desk", "phone"))
def test_without_script_the_pages_are_clean_and_work(
    site: Site, new_page: Any, size: tuple[int, int]
) -> None:
    page = new_page(*size, java_script_enabled=False)
    before = site.answers()
    page.goto(site.link("ar"))
    with page.expect_navigation():
        page.click("noscript a, .notice a")
    for _ in range(2):
        for fieldset in page.query_selector_all("fieldset"):
            fieldset.query_selector("label").click()
        with page.expect_navigation():
            page.click("form .primary")
    assert site.answers() == before + 2
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_answers_given_without_a_connection_arrive_later(any_site: Site, new_page: Any) -> None:
    page = new_page()
    before = any_site.answers()
    start(page, any_site.link("en"))
    rate_task(page)
    wait_saved(page)
    page.context.set_offline(True)
    for _ in range(3):
        rate_task(page)
    page.wait_for_function("() => failures > 0")
    page.fill("#comment", "written offline")
    assert any_site.answers() == before + 1
    page.context.set_offline(False)
    wait_saved(page)
    assert any_site.answers() == before + 4


def test_a_page_closed_without_a_connection_loses_nothing(any_site: Site, new_page: Any) -> None:
    page = new_page()
    before = any_site.answers()
    start(page, any_site.link("en"))
    rate_task(page)
    wait_saved(page)  # after that, a page that is loaded again shows tasks in another order
    page.context.set_offline(True)
    for _ in range(2):
        rate_task(page)
    page.wait_for_function("() => failures > 0")
    page.close(run_before_unload=False)
    assert any_site.answers() == before + 1
    again = page.context.new_page()
    page.context.set_offline(False)
    again.goto(f"{any_site.served.address}/study/demo")
    again.wait_for_selector("body[data-ready]")
    wait_saved(again)
    assert any_site.answers() == before + 3


def test_answers_to_tasks_that_are_no_longer_on_the_page_are_sent(
    site: Site, new_page: Any
) -> None:
    page = new_page()
    before = site.answers()
    start(page, site.link("en"))
    page.context.set_offline(True)
    rate_task(page)
    page.wait_for_function("() => failures > 0")
    page.close(run_before_unload=False)
    again = page.context.new_page()
    page.context.set_offline(False)
    again.route("**/study/demo", lambda route: without_first(route))
    again.goto(f"{site.served.address}/study/demo")
    again.wait_for_selector("body[data-ready]")
    wait_saved(again)
    assert site.answers() == before + 1


def without_first(route: Any) -> None:
    """Let a page lack the first of its tasks."""
    reply = route.fetch()
    text = reply.text()
    found = DATA.search(text)
    assert found
    data = json.loads(found[1])
    del data["tasks"][0]
    data["digest"] = "another"
    changed = json.dumps(data).replace("<", "\\u003c")
    route.fulfill(response=reply, body=text.replace(found[1], changed))


def test_to_and_fro_between_two_devices(any_site: Site, new_page: Any) -> None:
    address = any_site.link("en")
    phone, desk = new_page(390, 844), new_page()
    start(phone, address)
    rate_task(phone)
    wait_saved(phone)
    desk.goto(address)
    desk.wait_for_selector("body[data-ready]")
    assert desk.evaluate("data.tasks.length - unrated().length") == 1
    desk.click("#start")
    desk.wait_for_selector("#view-task:not([hidden])")
    rate_task(desk)
    wait_saved(desk)
    phone.reload()
    phone.wait_for_selector("body[data-ready]")
    assert phone.evaluate("data.tasks.length - unrated().length") == 2


def test_a_click_on_go_on_waits_for_what_is_being_sent(any_site: Site, new_page: Any) -> None:
    page = new_page()
    before = any_site.answers()
    start(page, any_site.link("en"))
    for _ in range(page.evaluate("count")):
        rate_task(page)
    page.wait_for_selector("#more:not([hidden])")
    page.click("#more button")
    eventually(lambda: any_site.answers() >= before + 10)


def test_the_owners_pages_are_clean(any_site: Site, new_page: Any) -> None:
    for size, scheme in zip(SIZES, ("light", "dark"), strict=True):
        page = new_page(*size, color_scheme=scheme)
        page.goto(any_site.served.owner)
        check_looks(page, size[0])
        page.click("text=Choose what people rate")
        check_looks(page, size[0])
        page.goto(f"{any_site.served.address}/owner/study/demo")
        check_looks(page, size[0])
        page.locator("form[action$='/people'] button").click()
        assert page.locator("img.qr").count() == 3
        assert page.evaluate("[...document.querySelectorAll('img.qr')].every(i => i.naturalWidth)")
        check_looks(page, size[0])


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=("desk", "phone"))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_around_the_form_is_clean(
    site: Site, new_page: Any, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    (tmp_path / "consent.txt").write_text("We keep your answers.\nYou can withdraw.")
    study, _ = metal.study_new(
        site.folder / "demo", folder=site.folder, name=f"door-{size[0]}-{scheme}", raters=9, most=1,
        languages="ar,en", code="DONE-42", consent=tmp_path / "consent.txt",
    )  # fmt: skip
    ledger = site.ledger()
    secret = new_link(ledger, JOIN, study=study.id)
    ledger.close()
    form = f"{site.served.address}/study/{study.id}"
    page = new_page(*size, color_scheme=scheme, locale="ar-EG")
    page.goto(form)  # without a session: how to go on from another device
    check_looks(page, size[0])
    page.goto(f"{site.served.address}/join/{secret}")
    assert page.evaluate("document.documentElement.lang") == "ar"
    check_looks(page, size[0])
    page.click("button")
    page.wait_for_selector("[role=alert]", state="attached")
    check_looks(page, size[0])
    page.check("input[value=ar]")
    page.click("button")
    page.wait_for_selector("#code", state="attached")
    check_looks(page, size[0])
    page.click("a.primary")
    page.wait_for_selector("input[name=version]", state="attached")  # the consent
    check_looks(page, size[0])
    page.click("button.primary")
    page.wait_for_selector("body[data-ready]")
    page.goto(f"{form}/plain")  # for browsers without script
    check_looks(page, size[0])
    with page.expect_navigation():  # nothing is answered
        page.evaluate("document.querySelector('form:not([action])').submit()")
    page.wait_for_selector("[role=alert]", state="attached")
    check_looks(page, size[0])
    for group in page.locator("form:not([action]) fieldset").all():
        group.locator("input[type=radio]").first.check(force=True)
    page.click("form:not([action]) button.primary")
    page.wait_for_selector("code:has-text('DONE-42')")
    check_looks(page, size[0])
    page.goto(f"{form}/mine")
    check_looks(page, size[0])
