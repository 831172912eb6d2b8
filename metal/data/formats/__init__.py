"""Other people's formats, one file each.

A format is a `Format` record, offered by an entry point of the group `metal.formats`. To add one, write its file and
one line, here or in a package of your own:

    [project.entry-points."metal.formats"]
    my_format = "my_package.my_format:FORMAT"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.formats.draft import COMMON_OPTIONS, Draft, with_common_options
from metal.data.plugins import load_plugin, plugins
from metal.errors import UsageError

GROUP = "metal.formats"


@dataclass(frozen=True)
class Format:
    """A readable format: what it is in a line, the function that reads it, and the options that function knows.

    read(path, options): options holds only names listed in `options`, and `name`. Importing the module must be quick:
    heavy libraries are imported in the function.
    """

    summary: str
    read: Callable[[Path, Mapping[str, Any]], Draft]
    options: frozenset[str] = frozenset()


def known_formats() -> dict[str, Format]:
    """The installed formats by name, METAL's first."""
    return {name: load_format(name) for name in plugins(GROUP)}


def load_format(name: str) -> Format:
    """The format of that name. Raises UnknownName, and UsageError for an entry point that is no format."""
    loaded = load_plugin(GROUP, "format", name, "`metal import --list` explains each")
    if not isinstance(loaded, Format):
        raise UsageError(f"format {name} ({plugins(GROUP)[name].value}) is not a metal.data.formats.Format")
    return loaded


def read(name: str, path: str | Path, options: Mapping[str, Any]) -> Draft:
    """Read `path` in the named format.

    Every format has two more options: `name` names the dataset, and `only` lists the kinds of rater to keep.
    Raises UnknownName for a format, UsageError for an option the format does not know, and what the reader raises.
    """
    chosen = load_format(name)
    unused = sorted(set(options) - chosen.options - COMMON_OPTIONS)
    if unused:
        raise UsageError(f"format {name} does not use the option for {', '.join(unused)}; leave it out")
    return with_common_options(chosen.read(Path(path), options), options)
