"""Boards that the owner opened on the server: their rules, who may read them, and their teams."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from metal.errors import UsageError
from metal.serving import tables
from metal.serving.jobs import PAGES, add_job, failed_lately
from metal.serving.ledger import ServingLedger
from metal.serving.people import SUBMITTER, VIEWER, hashed, new_link
from metal.serving.studies import address_name, free_name

PRIVATE, BY_LINK, PUBLIC = "private", "link", "public"
READERS = (PRIVATE, BY_LINK, PUBLIC)
BUDGET = 10  # submissions of a team in a month
TEAM_LENGTH = 60
WITHDRAWAL, SUBMISSION = "withdrawal", "submission"  # kinds of jobs
TRIED_AGAIN = 60.0  # seconds after which pages that could not be made are tried again


@dataclass(frozen=True)
class BoardRules:
    """The rules of a board.

    readers: who may read it besides the owner and its teams: nobody (`private`), who has a viewer's
    link (`link`), or everybody (`public`). moderated: whether the owner accepts each submission
    first. budget: how many submissions a team may make in a month. programs: whether metrics may
    come as programs. reference: the people with whom raters are compared, as in `metal.billboard`.
    """

    readers: str = PRIVATE
    moderated: bool = True
    budget: int = BUDGET
    programs: bool = True
    reference: str = ""

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> BoardRules:
        """The rules as the ledger keeps them."""
        names = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in content.items() if name in names})


@dataclass(frozen=True)
class ServedBoard:
    """A board as the ledger has it.

    seen: the state of its folder whose pages were made last. version: the newest one with pages, 0
    before. says: why there are no newer pages; empty if there are.
    """

    id: str
    dataset: str
    rules: BoardRules
    seen: str = ""
    version: int = 0
    says: str = ""

    def folder(self, root: Path) -> Path:
        """The folder of its dataset."""
        return root / self.dataset


@dataclass(frozen=True)
class BoardVisitor:
    """Who a link to a board belongs to. team: the key of a submitter's team."""

    role: str
    board: str
    team: int | None
    name: str
    csrf: str = field(default="", repr=False)


class NoSuchBoard(UsageError):
    """A board that is not there, or not for this reader."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no board {name[:60]!r} here, or it is not open to you; open the link that"
            " you were given"
        )


def open_served_board(ledger: ServingLedger, dataset: str, rules: BoardRules) -> ServedBoard:
    """Open a dataset's board on the server. Raises UsageError if it is open."""
    board, moment = tables.boards, time.time()

    def write(connection: Connection) -> str:
        rows = connection.execute(select(board.c.id, board.c.dataset, board.c.made)).all()
        for earlier in rows:
            if earlier.dataset != dataset:
                continue
            if earlier.made == moment:
                return str(earlier.id)  # a connection that broke after it was written
            raise UsageError(f"the board {earlier.id} of {dataset} is open already")
        name = free_name(address_name(dataset), {each.id for each in rows})
        row = {"id": name, "dataset": dataset, "settings": asdict(rules), "made": moment}
        connection.execute(insert(board).values(**row, seen="", version=0, says=""))
        return name

    return board_of(ledger, ledger.writes(write))


def set_rules(ledger: ServingLedger, name: str, rules: BoardRules) -> None:
    """Change the rules of a board; its pages are made anew."""
    board = tables.boards
    change = update(board).where(board.c.id == name).values(settings=asdict(rules), seen="")
    ledger.writes(lambda connection: connection.execute(change))


def all_boards(ledger: ServingLedger) -> list[ServedBoard]:
    """Every board, by name."""
    wanted = select(tables.boards).order_by(tables.boards.c.id)
    return list(map(_board, ledger.reads(lambda connection: connection.execute(wanted).all())))


def board_of(ledger: ServingLedger, name: str) -> ServedBoard:
    """The board of a name. Raises NoSuchBoard."""
    wanted = select(tables.boards).where(tables.boards.c.id == name)
    row = ledger.reads(lambda connection: connection.execute(wanted).first())
    if row is None:
        raise NoSuchBoard(name)
    return _board(row)


def _board(row: Row[Any]) -> ServedBoard:
    rules = BoardRules.of(row.settings)
    return ServedBoard(row.id, row.dataset, rules, row.seen, row.version, row.says)


def note_pages(ledger: ServingLedger, name: str, seen: str, version: int | None, says: str) -> None:
    """Note what came of making a board's pages. version: None if there are no new ones."""
    board = tables.boards
    values: dict[str, Any] = {"seen": seen, "says": says}
    if version is not None:
        values["version"] = version
    change = update(board).where(board.c.id == name).values(**values)
    ledger.writes(lambda connection: connection.execute(change))


def ask_for_pages(ledger: ServingLedger, name: str, version: int) -> str:
    """Have the pages of an earlier version made. If they could not be made a moment ago, return the
    reason; otherwise an empty text.
    """
    content = {"board": name, "at": version}

    def write(connection: Connection) -> str:
        problem = failed_lately(connection, PAGES, content, TRIED_AGAIN)
        if not problem:
            add_job(connection, PAGES, content)
        return problem

    return ledger.writes(write)


def ask_to_withdraw(ledger: ServingLedger, board: str, submission: str) -> None:
    """Have a submission taken off its board."""
    content = {"board": board, "submission": submission}
    ledger.writes(lambda connection: add_job(connection, WITHDRAWAL, content))


# ---------------------------------------------------------------- who may read and submit


def new_team(ledger: ServingLedger, board: str, name: str) -> str:
    """The secret of a team; a team that is there gets a new one, and its old ones end.

    Raises UsageError for a name that cannot stand on a board.
    """
    plain = " ".join(name.split())
    if not plain.isprintable() or not 1 <= len(plain) <= TEAM_LENGTH:
        raise UsageError(f"a team's name has 1 to {TEAM_LENGTH} printable characters")
    team, link = tables.teams, tables.links

    def write(connection: Connection) -> int:
        same = select(team.c.id).where(team.c.board == board, team.c.name == plain)
        key = connection.scalar(same)
        if key is None:
            new = {"board": board, "name": plain, "made": time.time()}
            connection.execute(insert(team).values(**new))
            key = connection.scalar(same)
            assert key is not None
            return int(key)
        connection.execute(update(link).where(link.c.team == key).values(revoked=True))
        return int(key)

    key = ledger.writes(write)
    return new_link(ledger, SUBMITTER, board=board, team=key, label=plain)


def new_viewer_link(ledger: ServingLedger, board: str) -> str:
    """The secret of a link to read a board; those before let nobody in any more."""
    link = tables.links
    before = (link.c.board == board) & (link.c.role == VIEWER)
    change = update(link).where(before).values(revoked=True)
    ledger.writes(lambda connection: connection.execute(change))
    return new_link(ledger, VIEWER, board=board, label="viewer")


def teams_of(ledger: ServingLedger, board: str) -> list[dict[str, Any]]:
    """The teams of a board: id and name."""
    team = tables.teams
    wanted = select(team.c.id, team.c.name).where(team.c.board == board).order_by(team.c.name)
    return [dict(row) for row in ledger.reads(lambda c: c.execute(wanted).mappings().all())]


def shut_out(ledger: ServingLedger, board: str, team: int) -> None:
    """End the links of a team; what it submitted stays."""
    link = tables.links
    chosen = (link.c.board == board) & (link.c.team == team)
    change = update(link).where(chosen).values(revoked=True)
    ledger.writes(lambda connection: connection.execute(change))


def bearer(ledger: ServingLedger, board: str, secret: str) -> BoardVisitor | None:
    """The team whose token this is; None for any other token."""
    link = tables.links
    wanted = (
        select(link.c.role, link.c.team, link.c.label, link.c.hash)
        .where(link.c.hash == hashed(secret), link.c.board == board, link.c.role == SUBMITTER)
        .where(~link.c.revoked, link.c.until > time.time())
    )
    row = ledger.reads(lambda connection: connection.execute(wanted).first())
    return None if row is None else BoardVisitor(row.role, board, row.team, row.label)


def visitor_with(ledger: ServingLedger, board: str, cookie: str) -> BoardVisitor | None:
    """Who has a session with a board; None for a session that is over or of another board."""
    session, link = tables.sessions, tables.links
    wanted = (
        select(link.c.role, link.c.team, link.c.label, session.c.csrf)
        .select_from(session.join(link))
        .where(session.c.hash == hashed(cookie), session.c.until > time.time())
        .where(~link.c.revoked, link.c.until > time.time(), link.c.board == board)
    )
    row = ledger.reads(lambda connection: connection.execute(wanted).first())
    if row is None:
        return None
    return BoardVisitor(row.role, board, row.team, row.label, row.csrf)
