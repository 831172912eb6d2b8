"""Parts of a run folder, read with a word on what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from metal.dataset import read_toml
from metal.errors import DataError, UsageError

SHAPES = {"criteria": dict, "datasets": list, "settings": dict, "signature": str, "libraries": dict, "metal": str}


def again(command: str) -> str:
    """What to do about a run that cannot be used."""
    return f"Run `metal {command}` again"


def read_manifest(folder: Path, command: str) -> dict[str, Any]:
    """run.toml of a run of `metal COMMAND` from which a report can be made. Raises UsageError for another folder,
    DataError for a part that is missing.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such run folder (make one with `metal {command}`)")
    if not (folder / "run.toml").is_file():
        raise UsageError(f"{folder}: not a run folder, run.toml is missing (make one with `metal {command}`)")
    about = read_toml(folder / "run.toml")
    if about.get("command") != command:
        whose = f"a run of `metal {about['command']}`" if "command" in about else "run.toml names no command"
        raise UsageError(
            f"{folder}: {whose}; a report is made from a run of `metal audit`, `metal billboard` or `metal design`"
        )
    for part, shape in SHAPES.items():
        if not isinstance(about.get(part), shape) or not about[part]:
            raise DataError(folder / "run.toml", f"no {part!r}", again(command))
    return about


def need_files(folder: Path, names: tuple[str, ...], command: str) -> None:
    """Raises DataError for the first that is missing."""
    for name in names:
        if not (folder / name).is_file():
            raise DataError(folder / name, "the file is missing", again(command))


def read_lines(path: Path, command: str) -> tuple[str, ...]:
    """A text file's lines."""
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError:
        raise DataError(path, "not UTF-8", again(command)) from None


def read_parquet(path: Path, command: str) -> pa.Table:
    """A Parquet file."""
    try:
        return pq.ParquetFile(path).read()
    except FileNotFoundError:
        raise DataError(path, "the file is missing", again(command)) from None
    except (pa.ArrowInvalid, OSError) as error:
        first = str(error).split("\n")[0]
        raise DataError(path, f"not readable as Parquet ({first})", again(command)) from None


def read_table(path: Path, needed: set[str], command: str) -> pd.DataFrame:
    """A table with the needed columns, or an empty one."""
    table = read_parquet(path, command)
    missing = sorted(needed - set(table.column_names))
    if missing and table.num_rows:
        raise DataError(path, f"no column {missing[0]!r}", again(command))
    frame: pd.DataFrame = table.to_pandas()
    return frame
