"""Kinds of run: a record each, from which its function, command, page and documents come.

METAL's own are entry points of the group `metal.kinds`, as those of any other package are.
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
    """One kind of run. What is heavy is named ("module:name") and imported when it is needed.

    Attributes:
        command: What run.toml and the command line call it: "probe report".
        summary: What it answers, a line of `metal --help`.
        group, position: The group of `metal --help` where its command stands, one that is there or
            one of its own, and its place there, counted from 0; by default the last.
        function: The public function that makes such a run.
        run: The class of such runs, a metal.show.result.Result.
        page: How its page is made, a metal.show.pages.Page.
        verb: Its click command; empty for the usual one, which the rest describes.
        ending: What the name of the default run folder adds to the dataset's.
        doing, unit: What the progress bar says, and what it counts.
        files: What the run folder holds.
        slices: What `--by` may show as well, and `sliced` what these show.
        about: What JSON says of a run beside its tables, a function of the run.
        more, examples: What the help says besides the function's docstring.
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
    """What "module:name" names."""
    module, _, name = entry.partition(":")
    return getattr(import_module(module), name)


def kinds() -> dict[str, Kind]:
    """Every kind by its command: METAL's, then those of other packages.

    A package that cannot be imported takes nothing else with it: see `unloadable`.
    """
    records = [kind for kind in _records().values() if isinstance(kind, Kind)]
    return {kind.command: kind for kind in records}


def unloadable() -> dict[str, str]:
    """Kinds of other packages that cannot be imported, by name, and why."""
    return {name: kind for name, kind in _records().items() if isinstance(kind, str)}


def _records() -> dict[str, Kind | str]:
    """The kinds by name; why, for one that cannot be imported."""
    records: dict[str, Kind | str] = {}
    for name in plugins(GROUP):
        try:
            records[name] = load_plugin(GROUP, "kind", name)
        except UsageError as error:
            records[name] = str(error)
    return records


def kind_of(command: str) -> Kind:
    """The kind of a run by its command. Raises UnknownName."""
    kind: Kind = load_plugin(GROUP, "kind of run", command.replace(" ", "-"))
    return kind


def is_kind(command: str) -> bool:
    """Whether runs of a command have a page."""
    return command.replace(" ", "-") in plugins(GROUP)


def meaning(kind: Kind, column: str) -> str:
    """What a column of a kind's tables means; empty if nobody wrote it down.

    Each kind has a file meanings.toml beside its run's module; what several kinds have is in the
    one here.
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
