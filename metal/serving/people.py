"""The people of a study, and the links and sessions by which the server knows them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from metal.data.files import read_jsonl
from metal.errors import MetalError, UsageError
from metal.serving import tables
from metal.serving.ledger import ServingLedger
from metal.serving.marks import read_marks
from metal.serving.studies import Study

ACTIVE, EXCLUDED, WITHDRAWN = "active", "excluded", "withdrawn"
OWNER, RATER, JOIN, VIEWER, SUBMITTER = "owner", "rater", "join", "viewer", "submitter"
DAY = 86_400.0
LINK_DAYS = 180
SESSION_DAYS = 30
MOST_SESSIONS = 50  # of a link; the oldest ends when another begins
# that the names of a dataset's people on a server may have, as in hi-1 (see `reserve` in
# metal.building.store); who comes after these is called hi-s1001, as nobody is elsewhere
NUMBERS = 1000
# letters and digits that nobody confuses
READABLE = "23456789abcdefghjkmnpqrstuvwxyz"


class NotValid(UsageError):
    """A link that lets nobody in."""


@dataclass(frozen=True)
class RaterInStudy:
    """Somebody who rates in a study.

    name: as raters are called in the dataset. consent: the version that they agreed to; empty
    before.
    """

    id: int
    study: str
    name: str
    languages: tuple[str, ...]
    state: str
    consent: str
    platform: Mapping[str, Any]
    qualified: str = ""


@dataclass(frozen=True)
class Visitor:
    """Who a session is: a role, and the person, study or team of its link."""

    role: str
    study: str
    person: int | None
    label: str
    csrf: str


def hashed(secret: str) -> str:
    """The hash under which the ledger keeps a secret; secrets are long and random, so that no slow
    hash is needed.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def new_link(
    ledger: ServingLedger,
    role: str,
    *,
    study: str | None = None,
    person: int | None = None,
    board: str | None = None,
    team: int | None = None,
    label: str = "",
    days: float = LINK_DAYS,
) -> str:
    """A new secret that lets somebody in; only its hash is kept."""
    secret = secrets.token_urlsafe(24)
    row: dict[str, Any] = {"hash": hashed(secret), "role": role, "study": study, "person": person}
    row |= {"board": board, "team": team, "label": label, "revoked": False}
    row["until"] = time.time() + days * DAY
    ledger.writes(lambda connection: _insert_once(connection, tables.links, row))
    return secret


def revoke(
    ledger: ServingLedger, *, person: int | None = None, role: str = "", study: str = ""
) -> None:
    """Make the links of a person, or those of a role in a study, useless, with their sessions."""
    link = tables.links
    chosen = link.c.person == person if person is not None else link.c.role == role
    if study:
        chosen &= link.c.study == study
    change = update(link).where(chosen).values(revoked=True)
    ledger.writes(lambda connection: connection.execute(change))


def end_ways_in(ledger: ServingLedger, rater: RaterInStudy) -> None:
    """Make a person's links, sessions and recovery code useless, before they get a new link."""
    person = tables.people
    without_code = update(person).where(person.c.id == rater.id).values(recovery=None)
    ledger.writes(lambda connection: connection.execute(without_code))
    revoke(ledger, person=rater.id)


def session_of(ledger: ServingLedger, secret: str) -> str:
    """Begin a session by a link: the secret that the browser keeps. Raises UsageError for a link
    that is unknown, over or revoked.
    """
    link = tables.links
    cookie, csrf = secrets.token_urlsafe(24), secrets.token_urlsafe(18)

    def write(connection: Connection) -> None:
        row = connection.execute(select(link).where(link.c.hash == hashed(secret))).first()
        if row is None or row.revoked or row.until < time.time():
            raise NotValid("this link is not valid, or no longer valid; ask for a new one")
        until = min(row.until, time.time() + SESSION_DAYS * DAY)
        _end_sessions(connection, row.hash)
        new = {"hash": hashed(cookie), "link": row.hash, "csrf": csrf, "until": until}
        _insert_once(connection, tables.sessions, new)

    ledger.writes(write)
    return cookie


def _end_sessions(connection: Connection, link: str) -> None:
    """Delete the sessions of a link that are over, and the oldest of too many."""
    session = tables.sessions
    of_link = select(session.c.hash).where(session.c.link == link, session.c.until > time.time())
    kept = connection.scalars(
        of_link.order_by(session.c.until.desc()).limit(MOST_SESSIONS - 1)
    ).all()
    gone = delete(session).where(session.c.link == link, session.c.hash.not_in(kept))
    connection.execute(gone)


def _insert_once(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert a row with a hash, unless an attempt whose end was not heard of did it already."""
    if not connection.scalar(select(table.c.hash).where(table.c.hash == row["hash"])):
        connection.execute(insert(table).values(**row))


def visitor_of(ledger: ServingLedger, cookie: str) -> Visitor | None:
    """Who a session belongs to; None if it is unknown or over, or its link was revoked."""
    session, link = tables.sessions, tables.links
    wanted = (
        select(link.c.role, link.c.study, link.c.person, link.c.label, session.c.csrf)
        .select_from(session.join(link))
        .where(session.c.hash == hashed(cookie), session.c.until > time.time())
        .where(~link.c.revoked, link.c.until > time.time())
    )
    row = ledger.reads(lambda connection: connection.execute(wanted).first())
    return None if row is None else Visitor(row[0], row[1] or "", row[2], row[3], row[4])


def same(secret: str, other: str) -> bool:
    """Whether two secrets are equal, in a time that says nothing about them."""
    return hmac.compare_digest(secret.encode(), other.encode())


# ---------------------------------------------------------------- people


def new_person(
    ledger: ServingLedger,
    study: Study,
    languages: Sequence[str],
    *,
    name: str = "",
    platform: Mapping[str, Any] | None = None,
) -> tuple[RaterInStudy, str]:
    """Somebody new in a study, and their recovery code, which is not kept.

    name: what a platform calls them; without one, they get the next name such as hi-3. Who comes
    from a platform again is who they were; their code is then empty. In a further study of the
    dataset they get a name of their own (prolific:5f2a#2), because an ID is no secret: whoever
    knows it must not rate in the place of somebody else.
    """
    unknown = [each for each in languages if each not in study.languages]
    if unknown or not languages:
        raise UsageError(f"choose one or more of {', '.join(study.languages)}")
    code = "-".join("".join(secrets.choice(READABLE) for _ in range(4)) for _ in range(3))
    person = tables.people
    elsewhere = _names_in(study.folder(ledger.folder))

    def write(connection: Connection) -> bool:
        # One at a time, so that no two get one name.
        connection.execute(
            select(tables.studies.c.id).where(tables.studies.c.dataset == study.dataset)
            .with_for_update()
        )  # fmt: skip
        if name:
            theirs = (person.c.name == name) | person.c.name.startswith(f"{name}#", autoescape=True)
            here = select(person.c.name).where(person.c.study == study.id, theirs)
            if called_here := connection.scalar(here):
                written.append(called_here)
                return False
            called = _platform_name(connection, study, name, elsewhere)
        else:
            called = _next_name(connection, study, languages[0], elsewhere)
        row = {"study": study.id, "name": called, "languages": list(languages), "state": ACTIVE}
        more = {"consent": "", "qualified": "", "platform": dict(platform or {})}
        secret = {"recovery": hashed(_plain(code)), "made": time.time()}
        connection.execute(insert(person).values(**row, **more, **secret))
        written.append(called)
        return True

    written: list[str] = []
    new = ledger.writes(write)
    rater = person_named(ledger, study.id, written[-1])
    assert rater is not None
    return rater, code if new else ""


def _platform_name(
    connection: Connection, study: Study, name: str, elsewhere: Container[str]
) -> str:
    """The name of somebody from a platform: its own, with a number if another study of the dataset,
    or the dataset itself, has it.
    """
    person, every = tables.people, tables.studies
    wanted = select(person.c.name).join(every).where(every.c.dataset == study.dataset)
    taken = set(connection.scalars(wanted))
    names = chain([name], (f"{name}#{number}" for number in count(2)))
    return next(each for each in names if each not in taken and each not in elsewhere)


def _names_in(dataset: Path) -> set[str]:
    """The names that a dataset's raters have, whatever the ledger says: it may be an older copy."""
    path = dataset / "raters.jsonl"
    try:
        raters = (
            [str(entry.get("rater")) for _, entry in read_jsonl(path)] if path.is_file() else []
        )
        return {*raters, *read_marks(dataset).people}
    except (MetalError, OSError):
        raise UsageError(
            "nobody can join now, because the dataset cannot be read; please tell the study's owner"
        ) from None


def _next_name(
    connection: Connection, study: Study, language: str, elsewhere: Container[str]
) -> str:
    """The next free name of a language, in all studies of the dataset. elsewhere: names that the
    dataset has.
    """
    person, every = tables.people, tables.studies
    begins = person.c.name.like(f"{language}-%")
    wanted = select(person.c.name).join(every).where(every.c.dataset == study.dataset, begins)
    ends = [name.rpartition("-")[2].removeprefix("s") for name in connection.scalars(wanted)]
    taken = [int(number) for number in ends if number.isdecimal()]
    settings = study.settings
    number = max([settings.first - 1, settings.past, *taken]) + 1
    while True:
        name = f"{language}-{'s' if number >= settings.first + NUMBERS else ''}{number}"
        if name not in elsewhere:
            return name
        number += 1


def person_named(ledger: ServingLedger, study: str, name: str) -> RaterInStudy | None:
    """The person of a name in a study."""
    person = tables.people
    return _person(ledger, (person.c.study == study) & (person.c.name == name))


def person_of(ledger: ServingLedger, key: int) -> RaterInStudy | None:
    """The person with a key."""
    return _person(ledger, tables.people.c.id == key)


def _person(ledger: ServingLedger, which: Any) -> RaterInStudy | None:
    wanted = select(tables.people).where(which)
    row = ledger.reads(lambda connection: connection.execute(wanted).mappings().first())
    return None if row is None else _rater(row)


def _rater(row: Mapping[Any, Any]) -> RaterInStudy:
    return RaterInStudy(
        row["id"],
        row["study"],
        row["name"],
        tuple(row["languages"]),
        row["state"],
        row["consent"],
        row["platform"],
        row["qualified"],
    )


def people_of(ledger: ServingLedger, study: str) -> list[RaterInStudy]:
    """The people of a study, in the order in which they came."""
    person = tables.people
    wanted = select(person).where(person.c.study == study).order_by(person.c.id)
    return list(map(_rater, ledger.reads(lambda c: c.execute(wanted).mappings().all())))


def recovered(ledger: ServingLedger, study: str, name: str, code: str) -> RaterInStudy:
    """The person who has a name and its recovery code. Raises UsageError for any other code."""
    person = tables.people
    wanted = select(person.c.recovery).where(person.c.study == study, person.c.name == name)
    kept = ledger.reads(lambda connection: connection.scalar(wanted)) or hashed("")
    written = _plain(code)
    if not same(hashed(written), kept) or not written:
        raise UsageError("this name and code do not belong together; look again at your note")
    rater = person_named(ledger, study, name)
    assert rater is not None
    return rater


def _plain(code: str) -> str:
    """A recovery code without spaces and hyphens, which people leave out or add."""
    return "".join(code.lower().replace("-", " ").split())


def consented(ledger: ServingLedger, key: int, version: str) -> None:
    """Note that a person agreed to the consent of this version."""
    person = tables.people
    change = update(person).where(person.c.id == key)
    noted = change.values(consent=version, consented=time.time())
    ledger.writes(lambda connection: connection.execute(noted))


def tasks_by_person(ledger: ServingLedger, study: str, state: str) -> dict[str, int]:
    """Person -> how many of their tasks are in a state, test questions among them."""
    person, handed = tables.people, tables.handed
    wanted = (
        select(person.c.name, func.count())
        .select_from(handed.join(person))
        .where(handed.c.study == study, handed.c.state == state)
        .group_by(person.c.name)
    )
    rows = ledger.reads(lambda connection: connection.execute(wanted).all())
    return {str(name): int(number) for name, number in rows}


@dataclass(frozen=True)
class Link:
    """What a link lets somebody into."""

    role: str
    study: str
    person: int | None
    label: str


def link_of(ledger: ServingLedger, secret: str, role: str) -> Link:
    """The link of a secret. Raises UsageError if it is not valid, or lets in somebody else."""
    link = tables.links
    wanted = select(link).where(link.c.hash == hashed(secret), link.c.role == role)
    row = ledger.reads(lambda connection: connection.execute(wanted).first())
    if row is None or row.revoked or row.until < time.time():
        raise NotValid("this link is not valid, or no longer valid; ask for a new one")
    return Link(row.role, row.study or "", row.person, row.label)


@dataclass(frozen=True)
class GivenConsent:
    """That somebody agreed to a version of the consent.

    at: when, in seconds since 1970; None for a version before their latest. answers: how many they
    gave under it.
    """

    person: str
    version: str
    at: float | None
    answers: int


def consents_of(ledger: ServingLedger, study: str) -> list[GivenConsent]:
    """Who agreed to which version of the consent, by person."""
    person, handed, answer = tables.people, tables.handed, tables.answers
    agreed = select(person.c.name, person.c.consent, person.c.consented).where(
        person.c.study == study, person.c.consent != ""
    )
    counted = (
        select(person.c.name, answer.c.consent, func.count())
        .select_from(answer.join(handed).join(person))
        .where(person.c.study == study, answer.c.consent != "")
        .group_by(person.c.name, answer.c.consent)
    )
    times, answers = ledger.reads(
        lambda connection: (connection.execute(agreed).all(), connection.execute(counted).all())
    )
    at = {(str(name), str(version)): float(when) for name, version, when in times}
    number = {(str(name), str(version)): int(count) for name, version, count in answers}
    return [GivenConsent(*key, at.get(key), number.get(key, 0)) for key in sorted({*at, *number})]


def times_of(ledger: ServingLedger, rater: RaterInStudy) -> tuple[float, float | None]:
    """When somebody came into the study, and when they agreed to its consent (None if they did
    not), in seconds since 1970.
    """
    person = tables.people
    wanted = select(person.c.made, person.c.consented).where(person.c.id == rater.id)
    came, agreed = ledger.reads(lambda connection: connection.execute(wanted).one())
    return float(came), agreed
