"""Errors for paths that do not exist, with the file or folder that was probably meant."""

from __future__ import annotations

import difflib
import shlex
from contextlib import suppress
from itertools import islice
from pathlib import Path

from metal.errors import UsageError

NEARLY = 0.6  # share of letters that a misspelt name has in common with what was meant
MOST = 5000  # entries of a folder that are compared with a name
PLACES = ("datasets", "runs")  # where a folder may lie that is named without its place


def no_such(path: str | Path, what: str = "file or folder", remedy: str = "") -> UsageError:
    """The error for a path that does not exist or is of another type.

    remedy: the advice if nothing has a similar name.
    """
    if Path(path).exists():
        return _of_another_type(Path(path), what, remedy)
    meant = nearest_path(Path(path))
    if copy := _copy_of_bundled(Path(path)):
        remedy = f"; it comes with METAL, so copy it first: {copy}"
    elif meant:
        remedy = f"; did you mean {str(meant)!r}?"
    return UsageError(f"{path}: no such {what}{remedy}")


def _of_another_type(path: Path, what: str, remedy: str) -> UsageError:
    """The error for a path that exists; a pipe, as of `<(command)`, and a device are no files."""
    if path.is_dir():
        return UsageError(f"{path}: a folder, not a {what}{remedy}")
    if path.is_file():
        return UsageError(f"{path}: a file, not a {what}{remedy}")
    return UsageError(f"{path}: a pipe or a device, not a {what}; write it to a file first")


def _copy_of_bundled(path: Path) -> str:
    """The command that copies a bundled dataset to the path that the documentation uses; empty for
    other paths.
    """
    from metal.data.files import bundled

    with suppress(UsageError):
        if (
            path.parent == Path("datasets")
            and ((brought := bundled(str(path))) / "dataset.toml").is_file()
        ):
            return f"mkdir -p datasets && cp -r {shlex.quote(str(brought))} {path}"
    return ""


def nearest_path(path: Path) -> Path | None:
    """The existing path that differs least from one that does not exist: compared part by part, or
    in one of PLACES.
    """
    if len(path.parts) == 1:
        for folder in PLACES:
            if (folder / path).exists():
                return folder / path
    if path.exists():
        return None
    built = Path(path.anchor)
    for part in path.parts[len(built.parts) :]:
        if not (built / part).exists():
            part = _nearest_name(part, built)
        if not part:
            return None
        built /= part
    return built


def _nearest_name(name: str, folder: Path) -> str:
    """The entry of the folder whose name is nearest to this one; empty if none is similar.

    Endings only decide between names that are equally near: `nope.csv` is not `wide.csv`.
    """
    try:
        entries = sorted(entry.name for entry in islice(folder.iterdir(), MOST))
    except OSError:  # not a folder, or one that may not be read
        return ""
    asked = Path(name.lower())
    best, most = "", (NEARLY, False)
    for entry in entries:
        name_there = Path(entry.lower())
        alike = difflib.SequenceMatcher(None, name_there.stem, asked.stem).ratio()
        if (alike, name_there.suffix == asked.suffix) > most:
            best, most = entry, (alike, name_there.suffix == asked.suffix)
    return best
