"""Kinds of run: each is described by a record, from which its function, command, page and documents
come.

METAL's own kinds are entry points of the group `metal.kinds`, like those of other packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from metal.data.plugins import load_plugin, plugins
from metal.errors import UsageError

GROUP = "metal.kinds"
FILES = "report.html, tables/ (CSV, JSON, Parquet), run.toml"


@dataclass(frozen=True)
class Kind:
    """One kind of run. Objects that take long to import are given as "module:name" and imported
    when needed.

    Attributes:
        command: What run.toml and the command line call it, such as "probe report".
        summary: The question that it answers, as a line of `metal --help`.
        group, position: The group of `metal --help` that lists its command, which may be a new
        group, and its position in the group, counted from 0; by default the last.
        function: The public function that makes such a run.
        run: The class of such runs, a metal.show.result.Result.
        page: How its page is made, a metal.show.pages.Page.
        verb: Its click command; empty for the usual one, which the rest describes.
        ending: The suffix that the default run folder adds to the dataset's name.
        doing, unit: What the progress bar says, and what it counts.
        files: What the run folder contains.
        slices: What `--by` may also show; `sliced` says in words what that is.
        about: A function of the run that returns what JSON says in addition to its tables.
        more, examples: What the help says in addition to the function's docstring.
    """

    command: str
    summary: str
    function: str
    run: str
    page: str
    group: str = "Others"
    position: int = 99
    verb: str = ""
    ending: str = ""
    doing: str = ""
    unit: str = "cells"
    files: str = FILES
    slices: tuple[str, ...] = ()
    sliced: str = ""
    about: str = ""
    more: str = ""
    examples: str = ""

    @property
    def name(self) -> str:
        """The name of its public function."""
        return self.function.partition(":")[2]


@cache
def load(entry: str) -> Any:
    """Import what "module:name" names."""
    module, _, name = entry.partition(":")
    return getattr(import_module(module), name)


def kinds() -> dict[str, Kind]:
    """Every kind by its command: METAL's kinds, then those of other packages.

    If a package cannot be imported, only its kinds are missing; see `unloadable`.
    """
    records = [kind for kind in _records().values() if isinstance(kind, Kind)]
    return {kind.command: kind for kind in records}


def unloadable() -> dict[str, str]:
    """Kinds of other packages that cannot be imported, by name, each with the reason."""
    return {name: kind for name, kind in _records().items() if isinstance(kind, str)}


def _records() -> dict[str, Kind | str]:
    """The kinds by name; for a kind that cannot be imported, the reason."""
    records: dict[str, Kind | str] = {}
    for name in plugins(GROUP):
        try:
            records[name] = load_plugin(GROUP, "kind", name)
        except UsageError as error:
            records[name] = str(error)
    return records


def kind_of(command: str) -> Kind:
    """The kind of a run with this command. Raises UnknownName."""
    kind: Kind = load_plugin(GROUP, "kind of run", command.replace(" ", "-"))
    return kind


def is_kind(command: str) -> bool:
    """Whether runs of a command have a page."""
    return command.replace(" ", "-") in plugins(GROUP)


def meaning(kind: Kind, column: str) -> str:
    """What a column of a kind's tables means; empty if nobody wrote it down.

    Each kind has a file meanings.toml next to its run's module; columns that several kinds share
    are in the file next to this module.
    """
    module = import_module(kind.run.partition(":")[0])
    own = _meanings(Path(str(module.__file__)).with_name("meanings.toml"))
    shared = _meanings(Path(__file__).with_name("meanings.toml"))["any"]
    text = own.get(column) or shared.get(column, "")
    figure, _, end = column.rpartition("_")
    if not text and end in ("low", "high"):
        return f"the {end} end of the interval of `{figure}`"
    return str(text)


@cache
def _meanings(path: Path) -> Mapping[str, Any]:
    from metal.data.files import read_toml  # not needed for a command's help

    return read_toml(path) if path.is_file() else {}
