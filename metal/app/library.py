"""The datasets and runs of the folder that the app shows, and a cache of what was read from
them.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from metal.api.folders import Folder, ls
from metal.data.files import whole_text
from metal.data.holdings import LOCK, WORKER
from metal.data.memory import give_back
from metal.data.run_toml import RUN_TOML, named_by, read_run_toml
from metal.errors import MetalError, UsageError

if TYPE_CHECKING:
    from metal.runs.run import Run

HERE = "-"  # the key of the app's own folder, where that is a dataset or a run itself
PAGES = 64 * 2**20  # characters of the pages that are kept
OPENED = 3  # large runs and datasets that are kept
LARGE = 1_000_000  # rows of one
LARGE_BYTES = 20_000_000  # of all files
LEAST = LARGE // 10  # rows that a small one counts for
NAMES = 200  # runs of which is kept what their run.toml names
AT_WORK = {LOCK, WORKER, "journal.jsonl", "batches.jsonl"}  # whoever reads the journal reads on
FileStates = tuple[tuple[str, int, int, int], ...]
Value = TypeVar("Value")


class NoSuchPage(UsageError):
    """An address that leads to nothing."""


class Kept:
    """The results of functions, with the latest used first, up to a total size.

    A result is made once, also if several threads ask for it at a time.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(
        self,
        key: Hashable,
        make: Callable[[], Value],
        size: Callable[[Value], int] = lambda value: 1,
    ) -> Value:
        """The result under a key; if it is not there, it is made and kept."""
        with self._lock:
            making = self._locks.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    value: Value = self._values[key][0]
                    return value
                self._make_room(self.room - 1)
            value = make()
            with self._lock:
                self._locks.pop(key, None)
                self._values[key] = value, size(value)
                self._make_room(self.room)
            return value

    def _make_room(self, room: int) -> None:
        """Forget what was used longest ago, and give its memory back before something new is read;
        the last result always stays.
        """
        before = len(self._values)
        while len(self._values) > 1 and sum(size for _, size in self._values.values()) > room:
            self._values.popitem(last=False)
        if len(self._values) < before:
            give_back()


class Library:
    """The datasets and runs in a folder.

    Only folders that `metal ls` lists have a key, so that no address leads outside.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._opened, self._pages, self._names = Kept(OPENED * LARGE), Kept(PAGES), Kept(NAMES)
        self._listed: dict[str, Folder] = {}
        self.nameless: list[str] = []

    def folders(self) -> dict[str, Folder]:
        """The folders by key, as `metal ls` lists them now. Those whose names are not UTF-8 have no
        address: they are in `nameless`.
        """
        listed, self.nameless = {}, []
        for folder in ls(self.root):
            key = self.key(Path(folder.path))
            if key.isprintable() or whole_text(key) == key:
                listed[key] = folder
            else:
                self.nameless.append(key)
        self._listed = listed
        return listed

    def key(self, folder: Path) -> str:
        """The part of an address that stands for a folder."""
        try:
            return folder.relative_to(self.root).as_posix().replace(".", HERE, folder == self.root)
        except ValueError:
            return ""

    def folder(self, key: str) -> Folder:
        """What is listed of a folder. Raises NoSuchPage."""
        if key not in self._listed and key not in self.folders():
            raise NoSuchPage(f"There is no dataset or run {key!r} in {self.root}")
        return self._listed[key]

    def listed(self, path: Path) -> Path | None:
        """The listed folder that a path leads to; None if it leads elsewhere."""
        target = path.resolve()
        folders = (Path(folder.path) for folder in self._listed.values())
        return next((folder for folder in folders if folder.resolve() == target), None)

    def path(self, key: str) -> Path:
        """The folder of a key. Raises NoSuchPage."""
        path = Path(self.folder(key).path)
        if not path.is_dir():
            raise NoSuchPage(f"{path} is no longer there")
        return path

    def run(self, folder: Path) -> Run:
        """The run in a folder, as `metal.open_run` reads it."""
        from metal.api.report import open_run

        run: Run = self.opened(folder, "run", lambda: open_run(folder), _rows_in)
        return run

    def opened(
        self,
        folder: Path,
        what: str,
        read: Callable[[], Value],
        rows: Callable[[Value], int] = lambda value: 0,
    ) -> Value:
        """What is read of a folder, kept until it changes, or a folder that its run.toml names.

        rows: how many rows it holds; of large ones fewer are kept.
        """
        key = what, folder, self._states(folder)

        def read_once() -> Value:
            value = read()
            if rows(value) >= LEAST:
                give_back()
            return value

        return self._opened.get(key, read_once, lambda value: min(max(rows(value), LEAST), LARGE))

    def is_large(self, folder: Path) -> bool:
        """Whether a folder and those that its run.toml names are better read in a process of their
        own.
        """
        files = chain.from_iterable(self._states(folder))
        return sum(size for _, _, size, _ in files) > LARGE_BYTES

    def _states(self, folder: Path) -> tuple[FileStates, ...]:
        return tuple(map(changed, (folder, *self._named_in(folder))))

    def datasets_of(self, run: Path) -> list[str]:
        """The keys of the listed datasets that a run's run.toml names."""
        folders = filter(None, map(self.listed, self._names_of(run)))
        keys = dict.fromkeys(map(self.key, folders))
        return [key for key in keys if self._listed[key].kind == "dataset"]

    def _named_in(self, folder: Path) -> tuple[Path, ...]:
        """The datasets and runs that a run and the runs in its data name."""
        named = self._names_of(folder)
        return tuple(dict.fromkeys(chain(named, *map(self._names_of, named))))

    def _names_of(self, run: Path) -> list[Path]:
        key = (run, _state(run / RUN_TOML))
        return self._names.get(key, lambda: _named_in(run))

    def page(self, folder: Path, draw: Callable[[], str]) -> str:
        """The page of a folder, kept until the folder changes."""
        return self._pages.get((folder, changed(folder)), draw, len)

    def page_of_two(self, folder: Path, other: Path, draw: Callable[[], str]) -> str:
        """The page that compares two folders, kept until one of them changes."""
        return self._pages.get((folder, other, changed(folder), changed(other)), draw, len)


def changed(folder: Path) -> FileStates:
    """The name, inode, size and time of each file in the folder and in its tables. They change
    whenever a file does: a replaced file has another inode, even within one tick of the clock.

    Files that change while a process works, but on which no figure depends, are left out.
    """
    states = []
    for inside in (folder, folder / "tables"):
        with suppress(OSError):
            names = [name for name in os.listdir(inside) if name not in AT_WORK]
            states += [(f"{inside.name}/{name}", *_state(inside / name)) for name in names]
    return tuple(sorted(states))


def _state(file: Path) -> tuple[int, int, int]:
    """The inode, size and time of a file; zeros if it is gone."""
    try:
        now = os.stat(file)
    except OSError:
        return 0, 0, 0
    return now.st_ino, now.st_size, now.st_mtime_ns


def _named_in(folder: Path) -> list[Path]:
    """The datasets and runs that a run.toml names."""
    try:
        content = read_run_toml(folder)
    except (MetalError, OSError):
        return []
    names = [content["settings"].get("dataset", "")]
    for dataset in content["datasets"]:
        names += [dataset.get("path", ""), *dataset.get("more", ())]
    return [named_by(folder, name) for name in names if isinstance(name, str) and name]


def _rows_in(run: Run) -> int:
    """The rows of a run's largest table."""
    tables = [*run.tables.values(), getattr(run, "disagreement_table", ())]
    return max(map(len, tables))
