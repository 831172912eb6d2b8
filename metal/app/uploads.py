"""Files to import: those that a person sent, in a private folder until the app ends, and tables
that lie in the app's own folder.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from metal.app.library import NoSuchPage
from metal.data.tables.files import is_table
from metal.data.text import HARMFUL

MOST_KEPT = 8  # sent files; the one used longest ago is deleted for a new one
LONGEST_NAME = 100  # characters of a file's name
FURTHER_ENDINGS = (".eval", ".zip")  # of files that METAL reads, besides those of tables
MOST_LISTED = 50  # tables of the folder
_NOT_IN_NAMES = re.compile(rf"[{HARMFUL}\t\n]")


@dataclass(frozen=True)
class Upload:
    """A file to import, or a folder of several.

    typed: how a command names it. sent: whether it was sent to the app; a file of the app's folder
    was not.
    """

    key: str
    path: Path
    typed: str
    sent: bool

    @property
    def name(self) -> str:
        """The name to propose for the dataset."""
        return self.path.name.split(".")[0].strip() or "ratings"


class Uploads:
    """The files to import, by key.

    folder: where sent files are kept; root: the app's folder.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder / "uploads", root
        self._kept: OrderedDict[str, Upload] = OrderedDict()

    def get(self, key: str) -> Upload:
        """The file with a key. Raises NoSuchPage."""
        if key not in self._kept:
            raise NoSuchPage("This file is no longer kept here; choose it again")
        self._kept.move_to_end(key)
        return self._kept[key]

    def take(self, files: Sequence[tuple[str, BinaryIO]]) -> Upload:
        """Keep sent files, each with the name that it came with."""
        key = secrets.token_urlsafe(12)
        folder = self.folder / key / ("files" if len(files) > 1 else "")
        for each in (self.folder, self.folder / key, folder):
            each.mkdir(mode=0o700, exist_ok=True)
        for name, content in files:
            with _unused(folder, file_name(name)).open("xb") as kept:
                shutil.copyfileobj(content, kept)
        path = folder if len(files) > 1 else next(folder.iterdir())
        return self._keep(Upload(key, path, path.name, sent=True))

    def tables(self) -> list[str]:
        """The names of the files in the app's folder that may be tables."""
        readable = [
            path.name
            for path in self.root.iterdir()
            if (is_table(path) or path.suffix in FURTHER_ENDINGS)
            and path.is_file()
            and not path.name.startswith(".")
        ]
        return sorted(readable)[:MOST_LISTED]

    def open(self, name: str) -> Upload:
        """The file of the app's folder with a name that `tables` lists. Raises NoSuchPage."""
        if name not in self.tables():
            raise NoSuchPage(f"There is no table {name!r} in {self.root}")
        return self._keep(Upload(secrets.token_urlsafe(12), self.root / name, name, sent=False))

    def _keep(self, upload: Upload) -> Upload:
        self._kept[upload.key] = upload
        sent = [key for key, each in self._kept.items() if each.sent]
        for key in sent[:-MOST_KEPT]:
            del self._kept[key]
            shutil.rmtree(self.folder / key, ignore_errors=True)
        return upload


def file_name(sent: str) -> str:
    """The name under which a sent file is kept: the last part of its path, without characters that
    change how it is shown.

    >>> file_name("../../etc/passwd"), file_name(r"C:\\tables\\a.csv"), file_name("..")
    ('passwd', 'a.csv', 'table')
    """
    name = re.split(r"[/\\]", sent)[-1]
    name = _NOT_IN_NAMES.sub("", name).strip().lstrip(".")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return name.encode()[:LONGEST_NAME].decode(errors="ignore") or "table"
    kept = stem.encode()[:LONGEST_NAME].decode(errors="ignore")
    return f"{kept}.{ending[:20]}"


def _unused(folder: Path, name: str) -> Path:
    """A path in the folder that does not exist yet, so that two files of one name are both kept."""
    path, number = folder / name, 1
    while path.exists():
        number += 1
        path = folder / f"{number}-{name}"
    return path
