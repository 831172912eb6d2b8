"""Ledgers in SQLite and in PostgreSQL, and a server at work on a small dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metal.serving.ledger import ServingLedger
from tests.browser import browser as browser
from tests.browser import pages as pages
from tests.serving.postgres import Cluster, cluster

KINDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """PostgreSQL at work, one for a process of tests."""
    with cluster() as started:
        yield started


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest) -> str:
    """The address of a new database; empty for a file of SQLite in the server's folder."""
    if request.param == "sqlite":
        return ""
    started: Cluster = request.getfixturevalue("postgres")
    return started.address(started.new())


OpenLedger = Callable[[], ServingLedger]


@pytest.fixture
def open_ledger(database: str, tmp_path: Path) -> Iterator[OpenLedger]:
    """Open the ledger of the test, as another process would; each is closed at the end."""
    opened: list[ServingLedger] = []

    def opening() -> ServingLedger:
        opened.append(ServingLedger(tmp_path, database))
        return opened[-1]

    yield opening
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: OpenLedger) -> ServingLedger:
    """A ledger, once in each kind of database."""
    return open_ledger()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Any]:
    """new_page(width, height, ...): a page of a new browser, which says nothing on its console."""
    contexts = []
    said: list[str] = []

    def opening(width: int = 1400, height: int = 900, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.set_default_timeout(60_000)
        return page

    yield opening
    for context in contexts:
        context.close()
    assert said == []
