"""What the working folder has to begin with: datasets, tables of ratings, passages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from metal.data.dataset_lines import read_raters
from metal.data.formats.passages import ROLES, find_passages
from metal.data.missing import PLACES
from metal.data.tables.files import is_table
from metal.errors import MetalError

PASSAGES = frozenset({*ROLES, "url"})  # keys of a passage as XL-Sum has it


@dataclass(frozen=True)
class AtHand:
    """What the working folder contains.

    passages: a source for `metal sample`; empty if there is none.
    """

    datasets: tuple[Path, ...]
    tables: tuple[Path, ...]
    passages: str


def look() -> AtHand:
    """Find datasets in the folder and in datasets/, the folder's tables, and passages in its files
    or subfolders.
    """
    folder = Path()
    datasets = [path.parent for path in sorted(folder.glob("*/dataset.toml"))]
    datasets += [path.parent for path in sorted(folder.glob("datasets/*/dataset.toml"))]
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and is_table(path)]
    passages = list(filter(_holds_passages, files))
    tables = [path for path in files if path not in passages and path.suffix != ".txt"]
    if len(passages) == 1:
        source = str(passages[0])
    elif passages:
        source = "."
    else:
        source = _folder_of_passages(folder)
    return AtHand(tuple(datasets), tuple(tables), source)


def kinds(dataset: Path) -> set[str]:
    """The kinds of raters that a dataset folder has."""
    if not (dataset / "raters.jsonl").is_file():
        return set()
    return {rater.kind for rater in read_raters(dataset)}


def has_outputs(dataset: Path) -> bool:
    """Whether the dataset folder has anything to rate."""
    outputs = dataset / "outputs.jsonl"
    return outputs.is_file() and outputs.stat().st_size > 0


def _holds_passages(path: Path) -> bool:
    """Whether a file has passages, and no column that could be a rating."""
    try:
        columns = _columns(path)
    except (OSError, ValueError):  # what cannot be read as what its name says
        return False
    return "text" in columns and columns <= PASSAGES


def _columns(path: Path) -> set[str]:
    """The keys of the first record of a file from which passages can be read; empty for any other
    file.
    """
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return {*pq.read_schema(path).names}
    if path.suffix != ".jsonl":
        return set()
    with path.open(encoding="utf-8") as file:
        record = json.loads(file.readline())
    return {*record} if isinstance(record, dict) else set()


def _folder_of_passages(folder: Path) -> str:
    """The first folder whose files are named after languages; empty if there is none."""
    for path in sorted(folder.glob("[!.]*/")):
        if (
            path.name in PLACES
            or (path / "dataset.toml").is_file()
            or (path / "run.toml").is_file()
        ):
            continue
        try:
            if find_passages(str(path)).languages:
                return str(path)
        except MetalError:
            continue
    return ""
