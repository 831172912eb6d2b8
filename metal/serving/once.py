"""Forms that make links: each counts once, however often a browser sends it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from metal.serving import tables
from metal.serving.ledger import ServingLedger
from metal.serving.people import DAY

REMEMBERED = 30 * DAY  # how long the ledger knows a form again
LONGEST_ONCE = 40  # characters
AGAIN = (
    "This form was sent again. METAL carried it out the first time only, and showed its links then."
    " If you do not have a link any more, make a new one."
)


class SentAgain(Exception):
    """A form that was carried out before, or is being carried out. page: the path that shows what
    came of it.
    """

    def __init__(self, page: str) -> None:
        super().__init__(page)
        self.page = page


@dataclass
class SentForm:
    """A form that is being carried out. page: the path that shows what came of it."""

    page: str


def new_once() -> str:
    """The name of a form in a page."""
    return secrets.token_hex(8)


@contextmanager
def counted_once(ledger: ServingLedger, once: str, what: str, page: str) -> Iterator[SentForm]:
    """Carry a form out, unless it was sent before; then raise SentAgain. If this fails, the form
    can be sent again.

    once: the name of the form in its page; a form without one is new. what: what the form makes,
    which tells the forms of a page apart.
    """
    sent, form = tables.sent, SentForm(page)
    if not once:
        yield form
        return
    named, by = f"{once[:LONGEST_ONCE]} {what}", new_once()
    own = (sent.c.once == named) & (sent.c.by == by)
    _claim(ledger, named, by, page)
    try:
        yield form
    except BaseException:
        ledger.writes(lambda connection: connection.execute(delete(sent).where(own)))
        raise
    if form.page != page:
        change = update(sent).where(own).values(page=form.page)
        ledger.writes(lambda connection: connection.execute(change))


def _claim(ledger: ServingLedger, named: str, by: str, page: str) -> None:
    """Note that a form is being carried out. by: who does it, since a transaction whose end was not
    heard of is tried again.
    """
    sent = tables.sent
    wanted = select(sent.c.by, sent.c.page).where(sent.c.once == named)
    row: dict[str, Any] = {"once": named, "by": by, "page": page}

    def write(connection: Connection) -> None:
        now = time.time()
        connection.execute(delete(sent).where(sent.c.made < now - REMEMBERED))
        before = connection.execute(wanted).first()
        if before is None:
            connection.execute(insert(sent).values(**row, made=now))
        elif before.by != by:
            raise SentAgain(before.page)

    try:
        ledger.writes(write)
    except IntegrityError:  # it arrived twice at the same moment
        raise SentAgain(page) from None
