"""The ledger: the server's database, SQLite or PostgreSQL, and its transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import DataError as ValueRefused

from metal.data.files import new_file
from metal.errors import MetalError, UsageError
from metal.serving.tables import VERSION, metadata, schema, sent, tasks_out

FILE = "metal-serve.db"  # in the server's folder
PATIENCE = 30  # seconds to wait for a database that is busy or gone
PAUSE = 0.05
RESERVE = 35  # connections beside the five of the pool: as many as threads answer requests
Value = TypeVar("Value")


class DiskFull(MetalError):
    """A disk without room, so that nothing was written."""

    def __init__(self) -> None:
        super().__init__(
            "the disk of the server is full, so that nothing was saved; what was answered stays on"
            " the device and is sent again once there is room"
        )


class ServingLedger:
    """The database at work.

    address: as SQLAlchemy takes it, e.g. `postgresql+psycopg://user@host/name`; without one, the
    ledger is a file in `folder`. Raises UsageError if there is no such database.
    """

    def __init__(self, folder: Path, address: str = "") -> None:
        # SQLite writers of one process queue here, since those that wait in SQLite take turns at
        # random.
        self._turn: Lock | nullcontext[None] = nullcontext() if address else Lock()
        self.folder = folder
        self.file = None if address else folder / FILE
        if self.file and not self.file.exists():
            self.file.touch(0o600)  # what it says of people is the owner's
        self.engine = _engine(address or f"sqlite:///{(folder / FILE).absolute()}")
        try:
            _upgrade(self.engine, self.file)
        except BaseException:
            self.close()
            raise

    def reads(self, work: Callable[[Connection], Value]) -> Value:
        """The result of reading; tried again where the connection breaks."""
        return self._tried(lambda: self._within(work, writes=False))

    def writes(self, work: Callable[[Connection], Value]) -> Value:
        """The result of a transaction that is on disk when this returns. Nothing of it happens if
        it fails.

        `work` may be called again, if the database was busy or the connection broke, so it must do
        nothing but ask the database.
        """
        return self._tried(lambda: self._within(work, writes=True))

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    def _within(self, work: Callable[[Connection], Value], *, writes: bool) -> Value:
        turn = self._turn if writes else nullcontext()
        with turn, _transaction(self.engine, writes=writes) as connection:
            return work(connection)

    @staticmethod
    def _tried(do: Callable[[], Value]) -> Value:
        end, pause = time.monotonic() + PATIENCE, PAUSE
        while True:
            try:
                return do()
            except (ValueRefused, UnicodeEncodeError):
                raise UsageError(
                    "this holds characters or numbers that the database cannot keep"
                ) from None
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None)  # of PostgreSQL
                if state == "53100" or "disk is full" in str(error.orig):
                    raise DiskFull from None
                if not _passes(error) or time.monotonic() > end:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 1.0)


def _passes(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed later: the connection broke, the database is locked,
    or two transactions met.
    """
    states = ("40001", "40P01", "57P01", "57P02", "57P03", "53300")
    state = getattr(error.orig, "sqlstate", None)
    busy = "database is locked" in str(error.orig) or "database is busy" in str(error.orig)
    of_sqlite = type(error.orig).__module__.startswith("sqlite3")
    gone = not of_sqlite and state is None and type(error.orig).__name__ == "OperationalError"
    return error.connection_invalidated or busy or state in states or gone


@contextmanager
def _transaction(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    with engine.connect() as connection:
        begins = connection.execution_options(metal_writes=writes)
        with begins.begin():
            yield begins


def _engine(address: str) -> Engine:
    try:
        url = make_url(address)
        kind = url.get_backend_name()
        if kind not in ("sqlite", "postgresql"):
            raise UsageError(
                f"`database` is of kind {kind}; the ledger can be in SQLite or PostgreSQL, e.g."
                " postgresql+psycopg://USER@HOST/NAME"
            )
        # Logs must not say what people wrote.
        options: dict[str, Any] = {"pool_pre_ping": True, "hide_parameters": True}
        options["max_overflow"] = RESERVE
        if kind == "sqlite":
            options["connect_args"] = {"timeout": PATIENCE, "check_same_thread": False}
        engine = create_engine(url, **options)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise UsageError(
            f"`database` cannot be used ({error}); write e.g. postgresql+psycopg://USER@HOST/NAME"
        ) from None
    if kind == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, record: Any) -> None:
    """Each transaction is on disk when it ends, and readers never wait for a writer."""
    connection.isolation_level = None  # transactions begin as `_begin_sqlite` says
    for line in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {line}")


def _begin_sqlite(connection: Connection) -> None:
    """A transaction that writes takes its turn at once, so that two never block each other."""
    writes = connection.get_execution_options().get("metal_writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _upgrade(engine: Engine, file: Path | None) -> None:
    """Make the tables, or bring them to today's version; a copy of an older file is kept beside it.

    Raises UsageError for a newer version, or if the database does not answer.
    """
    try:
        with _transaction(engine, writes=True) as connection:
            if engine.dialect.name == "postgresql":  # several servers may start at once
                connection.execute(text("SELECT pg_advisory_xact_lock(7305)"))
            present = inspect(connection).has_table("schema")
            version = connection.scalar(select(schema.c.version)) if present else None
            if version is None:
                metadata.create_all(connection)
                connection.execute(schema.insert().values(version=VERSION))
                return
    except DBAPIError as error:
        raise UsageError(f"the database does not answer: {error.orig}".splitlines()[0]) from None
    if version > VERSION:
        raise UsageError(
            f"the ledger was written by a newer METAL (version {version} of its tables, this one"
            f" reads {VERSION}); install that METAL again"
        )
    while version < VERSION:
        if file:
            copy_of(file, file.with_name(f"{file.name}.version-{version}"))
        with _transaction(engine, writes=True) as connection:
            UPGRADES[version](connection)
            version += 1
            connection.execute(schema.update().values(version=version))


def copy_of(file: Path, to: Path) -> None:
    """Write a copy of an SQLite ledger, as it is at this moment, also while a server is at work."""
    with new_file(to) as partial:
        partial.touch(0o600)  # before anything is in it
        try:
            with (
                closing(sqlite3.connect(file)) as source,
                closing(sqlite3.connect(partial)) as target,
            ):
                source.backup(target)
        except sqlite3.Error as error:
            raise UsageError(
                f"{to}: the copy cannot be written ({error}), so nothing was; make room on the disk"
            ) from None


def stop_using(file: Path) -> None:
    """Bring everything that SQLite keeps beside a ledger into it, before it is replaced. Raises
    UsageError if a server is at work on it.
    """
    problem = "a server is at work on it; stop the server first"
    try:
        with closing(sqlite3.connect(file, timeout=1)) as opened:
            mode = opened.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if "locked" not in str(error):  # a broken file can be replaced
            return
        mode = "wal"
    if mode == "wal":
        raise UsageError(f"{file}: {problem}")


def check_ledger(file: Path) -> None:
    """Raise UsageError if a file is not an SQLite ledger of this METAL or an older one."""
    problem = "" if file.is_file() else "there is no such file"
    if not problem:
        try:
            with closing(
                sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
            ) as opened:
                version = opened.execute("SELECT version FROM schema").fetchone()[0]
            problem = "a newer METAL wrote it" if version > VERSION else ""
        except (sqlite3.Error, TypeError):
            problem = "it is not a copy of a ledger"
    if problem:
        raise UsageError(f"{file}: {problem}; give a file that `metal.serve_backup(...)` wrote")


# version -> what brings its tables to the next
UPGRADES: dict[int, Callable[[Connection], None]] = {1: tasks_out.create, 2: sent.create}
