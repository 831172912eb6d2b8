"""The datasets and runs of the folder that the app shows, and what was read of them lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from metal.api.folders import Folder, ls
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.runs.run import Run

HERE = "-"  # the key of the app's own folder, where that is a dataset or a run itself
PAGES = 64 * 2**20  # characters of the pages that are kept
OPENED = 3  # runs and datasets that are kept
Value = TypeVar("Value")


class NoSuchPage(UsageError):
    """An address that leads to nothing."""


class Kept:
    """The results of functions, the latest used first, up to a total size.

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
            value = make()
            with self._lock:
                self._locks.pop(key, None)
                self._values[key] = value, size(value)
                while len(self._values) > 1 and self._size() > self.room:
                    self._values.popitem(last=False)
            return value

    def _size(self) -> int:
        return sum(size for _, size in self._values.values())


class Library:
    """The datasets and runs in a folder.

    Only folders that `metal ls` lists have a key, so that no address leads outside.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._opened, self._pages = Kept(OPENED), Kept(PAGES)
        self._listed: dict[str, Folder] = {}

    def folders(self) -> dict[str, Folder]:
        """The folders by key, as `metal ls` lists them now."""
        self._listed = {self.key(Path(folder.path)): folder for folder in ls(self.root)}
        return self._listed

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

    def path(self, key: str) -> Path:
        """The folder of a key. Raises NoSuchPage."""
        path = Path(self.folder(key).path)
        if not path.is_dir():
            raise NoSuchPage(f"{path} is no longer there")
        return path

    def run(self, folder: Path) -> Run:
        """The run in a folder, as `metal.open_run` reads it."""
        from metal.api.report import open_run

        run: Run = self.opened(folder, "run", lambda: open_run(folder))
        return run

    def opened(self, folder: Path, what: str, read: Callable[[], Value]) -> Value:
        """What is read of a folder, kept until the folder changes."""
        return self._opened.get((what, folder, changed(folder)), read)

    def page(self, folder: Path, draw: Callable[[], str]) -> str:
        """The page of a folder, kept until the folder changes."""
        return self._pages.get((folder, changed(folder)), draw, len)

    def page_of_two(self, folder: Path, other: Path, draw: Callable[[], str]) -> str:
        """The page that compares two folders, kept until one of them changes."""
        return self._pages.get((folder, other, changed(folder), changed(other)), draw, len)


def changed(folder: Path) -> tuple[int, ...]:
    """What changes whenever the folder's main files do."""
    files = ("run.toml", "dataset.toml", "ratings.parquet", "tables")
    return tuple(
        (folder / file).stat().st_mtime_ns if (folder / file).exists() else 0 for file in files
    )
