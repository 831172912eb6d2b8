"""A real PostgreSQL for tests: a cluster in a folder of its own, which ends with the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

from tests.needed import found_or_not

USER = "metal"
NAMES = count(1)


def program(name: str) -> str:
    """Where a program of PostgreSQL is. Fails or skips the test if it is nowhere."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    search = os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")])
    message = f"no PostgreSQL found: {name} is missing (Debian: apt install postgresql)"
    path = found_or_not(shutil.which(name, path=search), "postgresql", message)
    return str(Path(path).resolve())


class Cluster:
    """PostgreSQL at work. It is reached by a socket in `folder`, and by nobody else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def address(self, database: str) -> str:
        """The address of a database, as SQLAlchemy takes it."""
        return f"postgresql+psycopg://{USER}@/{database}?host={self.folder}"

    def ask(self, line: str, database: str = "postgres") -> None:
        """Let the database do one thing."""
        place = f"host={self.folder} user={USER} dbname={database}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(line.encode())

    def new(self) -> str:
        """The name of a new, empty database."""
        name = f"metal_{next(NAMES)}"
        self.ask(f"CREATE DATABASE {name}")
        return name

    def cut(self, database: str) -> None:
        """Break every connection to a database."""
        self.ask(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        )


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Start PostgreSQL, and end it. It refuses to run as root: then it runs as another user."""
    initdb, pg_ctl = program("initdb"), program("pg_ctl")
    # a short path, since that of a socket has at most 107 characters
    folder = Path(tempfile.mkdtemp(prefix="metal-pg-"))
    as_user: list[str] = []
    if os.geteuid() == 0:
        user = "postgres" if _is_user("postgres") else "nobody"
        as_user = ["setpriv", f"--reuid={user}", "--clear-groups", "--"]
        shutil.chown(folder, user)
    data = folder / "data"
    options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=120"
    start = [pg_ctl, "-D", str(data), "-l", str(folder / "log"), "-o", options, "-w", "start"]
    create = [initdb, "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8", "-N"]
    try:
        for command in (create, start):
            subprocess.run([*as_user, *command], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        yield Cluster(folder)
    finally:
        stop = [pg_ctl, "-D", str(data), "-m", "immediate", "stop"]
        subprocess.run([*as_user, *stop], cwd=folder, stdout=subprocess.DEVNULL, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _is_user(name: str) -> bool:
    import pwd

    return any(each.pw_name == name for each in pwd.getpwall())
