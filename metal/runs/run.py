"""A run folder as an object: what every kind of run has, and how it is written and read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from metal.data.folders import new_file, new_folder
from metal.data.records import Criterion, Rater
from metal.errors import UsageError
from metal.runs.parts import read_parts, write_parts

CELL = {"language", "criterion"}


def with_interval(*names: str) -> set[str]:
    """The columns of figures with intervals."""
    return {f"{name}{end}" for name in names for end in ("", "_low", "_high")}


@dataclass(frozen=True, repr=False)
class Run:
    """A run: manifest (run.toml), the criteria and raters that took part, tables by name, warnings.

    The tables and their columns depend on the kind of run, each a subclass.
    """

    name: str
    manifest: Mapping[str, Any]
    criteria: Mapping[str, Criterion]
    raters: Mapping[str, Rater]
    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]

    command: ClassVar[str]
    needed: ClassVar[Mapping[str, Collection[str]]]  # table -> the columns that a page is drawn from
    optional: ClassVar[Mapping[str, Collection[str]]] = {}  # the same for tables that a run may lack

    @classmethod
    def read(cls, folder: Path, name: str = "") -> Self:
        """The run in a folder. name: what it is called; the folder's name if empty.

        Raises UsageError when it is no run of this kind, DataError when a part of it cannot be used.
        """
        run = cls(*read_parts(folder, name, cls.command, cls.needed, cls.optional), *cls._read_more(folder))
        run._check(folder)
        return run

    def write(self, folder: Path, page: Callable[[Self], str], *, force: bool = False) -> None:
        """The run folder, whole or not at all, with the page that `page` draws of it.

        The bytes of the tables depend on their figures only. The page is drawn from what was written.
        """
        with new_folder(folder, force=force) as partial:
            write_parts(partial, self.manifest, self.warnings, self.raters.values(), self.tables)
            self._write_more(partial)
            write_page(page(type(self).read(partial, folder.name)), partial)

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        """The further fields of a kind of run, from files of its own."""
        return ()

    def _write_more(self, folder: Path) -> None:
        """Write what `_read_more` reads."""

    def _check(self, folder: Path) -> None:
        """Raise DataError where the parts are not of one run."""

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(table):,}" for name, table in self.tables.items() if len(table))
        return f"<{self.command} {self.name!r}: rows of {sizes or 'no table'}>"

    @property
    def signature(self) -> str:
        """The signature of the run as a whole."""
        return str(self.manifest["signature"])

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What run.toml says of the dataset: identity, title, licence, ..."""
        return dict(self.manifest["datasets"][0])

    def rows(self, table: str, **where: Any) -> pd.DataFrame:
        """The rows of a table where columns have these values; an empty table stays empty."""
        rows = self.tables[table]
        for column, value in where.items():
            if rows.empty:
                break
            rows = rows[rows[column] == value]
        return rows

    def records(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """The same rows as plain dictionaries."""
        rows = self.rows(table, **where).to_dict("records")
        return [{str(key): value for key, value in row.items()} for row in rows]

    def signature_of(self, table: str) -> str:
        """The signature of a table as a whole."""
        parts = self.signature.split("|")
        return "|".join([*parts[:2], f"stat:{table}", *parts[2:]])


def write_page(html: str, folder: Path) -> Path:
    """report.html in the folder; one that is there is replaced only when the new one is whole."""
    path = folder / "report.html"
    if path.is_dir():
        raise UsageError(f"{path} is a folder, where the report should stand; move it away")
    with new_file(path) as partial:
        partial.write_text(html, encoding="utf-8", newline="\n")
    return path
