"""The ledger: transactions that survive broken connections, copies, and other versions."""

from __future__ import annotations

import resource
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, insert, inspect, select, text

import metal
from metal.data.replacing import kept_name
from metal.errors import UsageError
from metal.serving import ledger as ledgers
from metal.serving import tables
from metal.serving.ledger import FILE, ServingLedger, copy_of
from metal.serving.people import new_link, session_of, visitor_of
from tests.saying import tells
from tests.serving.conftest import OpenLedger
from tests.serving.postgres import Cluster
from tests.serving.simulated import at_once, made_study, people


def add_jobs(connection: Connection, number: int, kind: str = "test") -> None:
    row = {"kind": kind, "about": {}, "state": "waiting", "says": "", "worker": "", "tries": 0}
    connection.execute(insert(tables.jobs), [{**row, "until": 0, "made": 0}] * number)


def jobs_in(ledger: ServingLedger) -> int:
    wanted = select(func.count()).select_from(tables.jobs)
    return ledger.reads(lambda connection: connection.scalar(wanted) or 0)


def test_a_transaction_happens_whole_or_not_at_all(ledger: ServingLedger) -> None:
    def fails(connection: Connection) -> None:
        add_jobs(connection, 2)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        ledger.writes(fails)
    assert jobs_in(ledger) == 0
    ledger.writes(lambda connection: add_jobs(connection, 2))
    assert jobs_in(ledger) == 2


def test_a_transaction_is_made_again_when_its_connection_breaks(postgres: Cluster) -> None:
    database = postgres.new()
    ledger = ServingLedger(Path(), postgres.address(database))
    tries = []

    def write(connection: Connection) -> None:
        add_jobs(connection, 1)
        tries.append(1)
        if len(tries) <= 2:
            postgres.cut(database)
            connection.execute(text("SELECT 1"))
        add_jobs(connection, 1)

    ledger.writes(write)
    assert (len(tries), jobs_in(ledger)) == (3, 2)
    postgres.cut(database)  # also those that wait in the pool
    assert jobs_in(ledger) == 2
    ledger.close()


def test_a_commit_that_breaks_is_made_again(postgres: Cluster) -> None:
    database = postgres.new()
    ledger = ServingLedger(Path(), postgres.address(database))
    tries = []

    def write(connection: Connection) -> None:
        add_jobs(connection, 1)
        tries.append(1)
        if len(tries) == 1:
            postgres.cut(database)  # the commit finds the connection broken

    ledger.writes(write)
    assert (len(tries), jobs_in(ledger)) == (2, 1)
    ledger.close()


def test_an_error_that_stays_is_not_tried_again(ledger: ServingLedger) -> None:
    tries = []

    def write(connection: Connection) -> None:
        tries.append(1)
        connection.execute(text("SELECT nothing FROM nowhere"))

    with pytest.raises(Exception, match="nowhere"):
        ledger.writes(write)
    assert len(tries) == 1


def test_what_a_database_cannot_keep_is_refused(ledger: ServingLedger) -> None:
    with pytest.raises(UsageError, match="cannot keep"):
        ledger.writes(lambda connection: add_jobs(connection, 1, "half \ud83d"))
    assert jobs_in(ledger) == 0


def test_many_writers_of_several_processes_lose_nothing(open_ledger: OpenLedger) -> None:
    opened = [open_ledger() for _ in range(3)]

    def work(ledger: ServingLedger) -> None:
        for _ in range(10):
            ledger.writes(lambda connection: add_jobs(connection, 1))

    at_once([lambda ledger=ledger: work(ledger) for ledger in opened for _ in range(4)])
    assert jobs_in(opened[0]) == 120


def test_several_servers_may_start_at_once(open_ledger: OpenLedger) -> None:
    at_once([open_ledger for _ in range(4)])
    ledger = open_ledger()
    versions = select(tables.schema.c.version)
    assert ledger.reads(lambda c: c.scalars(versions).all()) == [tables.VERSION]


def test_a_busy_file_is_waited_for(tmp_path: Path) -> None:
    ledger = ServingLedger(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE, check_same_thread=False)) as other:
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
        ledger.writes(lambda connection: add_jobs(connection, 1))
    assert jobs_in(ledger) == 1
    ledger.close()


# ---------------------------------------------------------------- versions


def test_a_newer_ledger_is_refused(open_ledger: OpenLedger) -> None:
    newer = tables.schema.update().values(version=tables.VERSION + 1)
    open_ledger().writes(lambda connection: connection.execute(newer))
    with pytest.raises(UsageError) as refused:
        open_ledger()
    assert tells(str(refused.value), "newer METAL", f"version {tables.VERSION + 1}")


def test_an_older_ledger_is_upgraded_and_a_copy_is_kept(
    open_ledger: OpenLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_ledger()
    first.writes(lambda connection: add_jobs(connection, 3))
    now = tables.VERSION
    monkeypatch.setattr(ledgers, "VERSION", now + 2)
    for version in (now, now + 1):
        step = f"UPDATE jobs SET says = says || '{version};'"
        monkeypatch.setitem(ledgers.UPGRADES, version, lambda c, step=step: c.execute(text(step)))
    second = open_ledger()
    says = second.reads(lambda connection: connection.scalars(select(tables.jobs.c.says)).all())
    assert says == [f"{now};{now + 1};"] * 3
    if second.file:
        with closing(sqlite3.connect(tmp_path / f"{FILE}.version-{now}")) as copy:
            assert copy.execute("SELECT count(*), max(says) FROM jobs").fetchone() == (3, "")
    assert jobs_in(open_ledger()) == 3  # nothing is upgraded twice


def test_a_ledger_of_version_1_gets_the_index_of_budgets(open_ledger: OpenLedger) -> None:
    def age(connection: Connection) -> None:
        tables.tasks_out.drop(connection)
        tables.sent.drop(connection)
        connection.execute(tables.schema.update().values(version=1))

    open_ledger().writes(age)
    later = open_ledger()
    indexes = later.reads(lambda connection: inspect(connection).get_indexes("tasks"))
    assert "tasks_out" in {each["name"] for each in indexes}
    assert later.reads(lambda c: c.scalar(select(tables.schema.c.version))) == tables.VERSION


def test_a_ledger_of_version_2_gets_the_table_of_forms(open_ledger: OpenLedger) -> None:
    def age(connection: Connection) -> None:
        tables.sent.drop(connection)
        connection.execute(tables.schema.update().values(version=2))

    open_ledger().writes(age)
    later = open_ledger()
    assert later.reads(lambda connection: inspect(connection).has_table("sent"))
    assert later.reads(lambda c: c.scalar(select(tables.schema.c.version))) == tables.VERSION


def test_an_upgrade_that_fails_changes_nothing(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_ledger().writes(lambda connection: add_jobs(connection, 1))

    def breaks(connection: Connection) -> None:
        connection.execute(text("UPDATE jobs SET says = 'half'"))
        raise RuntimeError("half-way")

    monkeypatch.setattr(ledgers, "VERSION", tables.VERSION + 1)
    monkeypatch.setitem(ledgers.UPGRADES, tables.VERSION, breaks)
    with pytest.raises(RuntimeError, match="half-way"):
        open_ledger()
    monkeypatch.undo()
    says = select(tables.jobs.c.says)
    assert open_ledger().reads(lambda connection: connection.scalars(says).all()) == [""]


@pytest.mark.parametrize(
    "address", ["mysql://a@b/c", "no address", "postgresql+psycopg://nobody@127.0.0.1:1/x"]
)
def test_a_database_that_cannot_be_used_is_refused_in_a_line(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError) as refused:
        ServingLedger(tmp_path, address)
    assert "database" in str(refused.value)
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- backup and restore


def test_a_copy_made_while_people_write_is_whole(tmp_path: Path) -> None:
    ledger = ServingLedger(tmp_path)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            ledger.writes(lambda connection: add_jobs(connection, 2))  # pairs, or none of them

    writer = threading.Thread(target=work)
    writer.start()
    numbers = []
    for number in range(5):
        out = metal.serve_backup(tmp_path / f"copy-{number}.db", folder=tmp_path)
        with closing(sqlite3.connect(out)) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            numbers.append(copy.execute("SELECT count(*) FROM jobs").fetchone()[0])
    over.set()
    writer.join()
    ledger.close()
    assert all(number % 2 == 0 for number in numbers)
    assert numbers == sorted(numbers)


def test_a_backup_replaces_no_file_unless_it_is_told_to(tmp_path: Path) -> None:
    ServingLedger(tmp_path).close()
    out = tmp_path / "copy.db"
    out.write_text("mine")
    with pytest.raises(UsageError, match="force"):
        metal.serve_backup(out, folder=tmp_path)
    assert out.read_text() == "mine"
    metal.serve_backup(out, folder=tmp_path, force=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no ledger"):
        metal.serve_backup(tmp_path / "x.db", folder=tmp_path / "empty")


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_ledger_in_a_database_is_not_copied_from_an_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    ServingLedger(tmp_path).close()
    copy = metal.serve_backup(tmp_path / "old.db", folder=tmp_path)
    address = "postgresql+psycopg://somebody@host/name"
    if way == "environment":
        monkeypatch.setenv("METAL_DATABASE", address)
    database = address if way == "option" else ""
    with pytest.raises(UsageError) as refused:
        metal.serve_backup(tmp_path / "copy.db", folder=tmp_path, database=database)
    assert tells(str(refused.value), "database", "pg_dump")
    assert not (tmp_path / "copy.db").exists()
    with pytest.raises(UsageError, match="psql"):
        metal.serve_restore(copy, folder=tmp_path, database=database)


def test_restore_puts_the_copy_in_place_and_keeps_what_was_there(tmp_path: Path) -> None:
    ledger = ServingLedger(tmp_path)
    ledger.writes(lambda connection: add_jobs(connection, 1))
    out = metal.serve_backup(tmp_path / "copy.db", folder=tmp_path)
    ledger.writes(lambda connection: add_jobs(connection, 4))
    ledger.close()
    metal.serve_restore(out, folder=tmp_path)
    again = ServingLedger(tmp_path)
    assert jobs_in(again) == 1
    again.close()
    kept = [each for each in tmp_path.iterdir() if each.name not in (FILE, "copy.db")]
    counts = []
    for file in kept:
        with closing(sqlite3.connect(file)) as opened:
            counts.append(opened.execute("SELECT count(*) FROM jobs").fetchone()[0])
    assert counts == [5]


def test_nothing_is_restored_under_a_server_at_work(tmp_path: Path) -> None:
    ledger = ServingLedger(tmp_path)
    out = metal.serve_backup(tmp_path / "copy.db", folder=tmp_path)
    ledger.writes(lambda connection: add_jobs(connection, 4))
    with pytest.raises(UsageError, match="at work"):
        metal.serve_restore(out, folder=tmp_path)
    assert jobs_in(ledger) == 4
    ledger.writes(lambda connection: add_jobs(connection, 1))  # and the server goes on
    ledger.close()


@pytest.mark.parametrize("content", [b"", b"not a ledger", b"SQLite format 3\0" + b"\0" * 4000])
def test_a_file_that_is_no_ledger_is_not_restored(tmp_path: Path, content: bytes) -> None:
    ledger = ServingLedger(tmp_path)
    ledger.writes(lambda connection: add_jobs(connection, 1))
    ledger.close()
    (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(UsageError) as refused:
        metal.serve_restore(tmp_path / "x.db", folder=tmp_path)
    assert tells(str(refused.value), "x.db", "not a copy")
    again = ServingLedger(tmp_path)
    assert jobs_in(again) == 1
    again.close()


def test_a_copy_of_a_copy_holds_the_same(tmp_path: Path) -> None:
    ledger = ServingLedger(tmp_path)
    people(ledger, made_study(ledger, 3), 2)
    ledger.close()
    copy_of(tmp_path / FILE, tmp_path / "a.db")
    copy_of(tmp_path / "a.db", tmp_path / "b.db")
    dumps = []
    for name in ("a.db", "b.db"):
        with closing(sqlite3.connect(tmp_path / name)) as opened:
            dumps.append(list(opened.iterdump()))
    assert dumps[0] == dumps[1]


# ---------------------------------------------------------------- secrets


def test_secrets_are_kept_only_as_hashes(ledger: ServingLedger) -> None:
    study = made_study(ledger, 1)
    (rater,) = people(ledger, study, 1)
    secret = new_link(ledger, "rater", study=study.id, person=rater.id)
    cookie = session_of(ledger, secret)
    visitor = visitor_of(ledger, cookie)
    assert visitor is not None
    kept = []
    for table in tables.metadata.sorted_tables:
        rows = ledger.reads(lambda c, table=table: c.execute(select(table)).all())
        kept += [str(value) for row in rows for value in row]
    assert not [value for value in kept if secret in value or cookie in value]


def test_sessions_of_a_link_are_bounded(ledger: ServingLedger) -> None:
    study = made_study(ledger, 1)
    (rater,) = people(ledger, study, 1)
    secret = new_link(ledger, "rater", study=study.id, person=rater.id)
    cookies = [session_of(ledger, secret) for _ in range(60)]
    number = select(func.count()).select_from(tables.sessions)
    assert ledger.reads(lambda connection: connection.scalar(number)) <= 50
    assert visitor_of(ledger, cookies[-1]) is not None
    assert visitor_of(ledger, cookies[0]) is None


def test_only_the_owner_of_the_machine_reads_copies(tmp_path: Path) -> None:
    ServingLedger(tmp_path, "").close()
    copy = metal.serve_backup(tmp_path / "copy.db", folder=tmp_path)
    restored = metal.serve_restore(copy, folder=tmp_path)
    files = [copy, restored, kept_name(restored)]
    assert [oct(each.stat().st_mode & 0o777) for each in files] == ["0o600"] * 3


def test_a_copy_without_room_is_refused_in_a_line(tmp_path: Path) -> None:
    ServingLedger(tmp_path, "").close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, before[1]))
    try:
        with pytest.raises(UsageError) as raised:
            metal.serve_backup(tmp_path / "copy.db", folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert tells(str(raised.value), "copy.db", "make room")
    assert not list(tmp_path.glob("*copy.db*"))
