"""The parts that every run folder has: run.toml, warnings.txt, raters.jsonl, tables/ (CSV, JSON,
Parquet).

Every kind of run writes them in the same way. If a part cannot be read, the error says what is
wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from metal.data.dataset import Dataset
from metal.data.dataset_lines import criterion_record, rater_record
from metal.data.escaping import csv_text
from metal.data.files import write_jsonl
from metal.data.missing import no_such
from metal.data.progress import Progress, followed, no_progress
from metal.data.records import Manifest, Rater
from metal.data.run_toml import read_run_toml
from metal.errors import DataError, UsageError
from metal.version import __version__

LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy")
ROWS = 1_000  # of a table whose texts are in memory at a time
NEEDED = ("criteria", "datasets", "settings", "signature", "libraries", "metal")


def again(command: str) -> str:
    """A sentence on what to do about a run that cannot be used."""
    return f"Run `metal {command}` again"


def manifest(
    command: str,
    dataset: Dataset,
    paths: Iterable[Path],
    settings: Mapping[str, Any],
    raters: Iterable[str] = (),
    signature: str = "",
    data: str = "",
    reading: Mapping[str, Any] | None = None,
) -> Manifest:
    """The manifest of a run.

    paths: the path of the dataset, then those of the run folders added to it.

    data: the digest of a table before ratings were added, to recognise another table of the same
    name. reading: the options with which the data were read, if the dataset does not record them.
    """
    first, *more = list(map(str, paths))
    of_this_table = dataset.reading if str(dataset.origin) == first else {}
    if str(dataset.origin) == first == dataset.card.name:
        first = f"./{first}"  # a name alone stands for data that are in memory only
    described: dict[str, Any] = {
        "path": first,
        "identity": dataset.identity,
        "digest": dataset.digest,
        "more": more,
    }
    described |= {
        key: value for key, value in {"data": data, **vars(dataset.card)}.items() if value
    }
    described |= {"reading": dict(options)} if (options := reading or of_this_table) else {}
    criteria = {name: criterion_record(criterion) for name, criterion in dataset.criteria.items()}
    versions = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return Manifest(
        command, __version__, (described,), settings, versions, tuple(raters), signature, criteria
    )


def write_parts(
    folder: Path,
    described: Mapping[str, Any],
    warnings: Iterable[str],
    raters: Iterable[Rater],
    tables: Mapping[str, pd.DataFrame],
    progress: Progress = no_progress,
) -> None:
    """Write all parts into a new folder. The bytes of the tables depend only on their figures.

    described: the content of run.toml.
    """
    (folder / "run.toml").write_text(tomli_w.dumps(described), encoding="utf-8")
    write_results(folder, warnings, raters, tables, progress)


def write_results(
    folder: Path,
    warnings: Iterable[str],
    raters: Iterable[Rater],
    tables: Mapping[str, pd.DataFrame],
    progress: Progress = no_progress,
) -> None:
    """Write all parts except run.toml, replacing those that the folder already has."""
    lines = "".join(f"{' '.join(text.split())}\n" for text in warnings)
    (folder / "warnings.txt").write_text(lines, encoding="utf-8")
    write_jsonl(folder / "raters.jsonl", map(rater_record, raters))
    write_tables(folder / "tables", tables, progress)


def write_tables(
    folder: Path, tables: Mapping[str, pd.DataFrame], progress: Progress = no_progress
) -> None:
    """Write each table as CSV, JSON and Parquet; the bytes depend only on its figures.

    progress: counts figures.
    """
    folder.mkdir(exist_ok=True)
    sizes = [table.size for table in tables.values()]
    for name, table in followed(tables.items(), progress, sum(sizes), sizes):
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        (folder / f"{name}.json").write_text(_json(records(table)), encoding="utf-8")
        table.to_parquet(folder / f"{name}.parquet", index=False)


def _json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as JSON with a value on each line; about ten times as fast as `json.dumps` with
    indentation.
    """
    flat = (json.dumps(row, ensure_ascii=False, separators=(",\n  ", ": "))[1:-1] for row in rows)
    return "[" + ",".join(f"\n {{\n  {row}\n }}" for row in flat) + "\n" * bool(rows) + "]\n"


def command_of(folder: Path) -> str:
    """The command of the run in a folder; empty if the folder is no run."""
    return str(read_run_toml(folder)["command"])


def made_from(folder: Path, data: Path | Dataset) -> bool:
    """Whether the folder is a run on this dataset folder, or on a table with the same ratings."""
    dataset: Mapping[str, Any] = next(iter(read_run_toml(folder)["datasets"]), {})
    if isinstance(data, Path):
        # however it was named
        return "path" in dataset and Path(dataset["path"]).resolve() == data.resolve()
    return bool(dataset.get("data") == data.digest)


def read_manifest(folder: Path, command: str) -> dict[str, Any]:
    """The content of run.toml, for a run of `metal COMMAND` from which a report can be made.

    Raises UsageError for another folder, DataError if a part is missing.
    """
    if not folder.is_dir():
        raise no_such(folder, "run folder", f" (make one with `metal {command}`)")
    if not (folder / "run.toml").is_file():
        raise UsageError(
            f"{folder}: not a run folder, run.toml is missing (make one with `metal {command}`)"
        )
    content = read_run_toml(folder)
    if content["command"] != command:
        whose = (
            f"a run of `metal {content['command']}`"
            if content["command"]
            else "run.toml names no command"
        )
        raise UsageError(f"{folder}: {whose}; give one of `metal {command}`")
    for part in NEEDED:
        # texts may be written before anything is asked of them
        may_lack = part == "criteria" and command == "generate"
        if not (content[part] or may_lack):
            raise DataError(folder / "run.toml", f"no {part!r}", again(command))
    return content


@contextmanager
def fitting(folder: Path, command: str) -> Iterator[None]:
    """Turn errors into a DataError that says that the parts of a run do not fit together, because
    one of them was changed.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = (
            f"its parts do not fit together ({type(error).__name__}:"
            f" {' '.join(str(error).split())})"
        )
        raise DataError(folder, problem, again(command)) from error


def need_files(folder: Path, names: tuple[str, ...], command: str) -> None:
    """Raise DataError for the first file that is missing."""
    for name in names:
        if not (folder / name).is_file():
            raise DataError(folder / name, "the file is missing", again(command))


def read_lines(path: Path, command: str) -> tuple[str, ...]:
    """The lines of a text file."""
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except UnicodeDecodeError:
        raise DataError(path, "not UTF-8", again(command)) from None


def read_parquet(path: Path, command: str, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file, or only some of its columns."""
    with reading_parquet(path, command):
        return pq.ParquetFile(path).read(columns)


def read_texts(path: Path, command: str, columns: Sequence[str]) -> Iterator[Sequence[str]]:
    """Read columns of texts in a Parquet file row by row, without having all of it in memory."""
    with reading_parquet(path, command), pq.ParquetFile(path) as file:
        for name in columns:
            if name not in file.schema_arrow.names:
                raise DataError(path, f"no column {name!r}", again(command))
        for batch in file.iter_batches(ROWS, columns=list(columns)):
            texts = [batch.column(name).cast(pa.string()).fill_null("") for name in columns]
            yield from zip(*(column.to_pylist() for column in texts), strict=True)


@contextmanager
def reading_parquet(path: Path, command: str) -> Iterator[None]:
    """Say what is wrong with a Parquet file that cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(path, "the file is missing", again(command)) from None
    except (pa.ArrowException, OSError) as error:
        first = str(error).split("\n")[0]
        raise DataError(path, f"not readable as Parquet ({first})", again(command)) from None


def read_table(path: Path, needed: set[str], command: str) -> pd.DataFrame:
    """Read a table with at least the needed columns; an empty table if the file is empty."""
    table = read_parquet(path, command)
    missing = sorted(needed - set(table.column_names))
    if missing and table.num_rows:
        raise DataError(path, f"no column {missing[0]!r}", again(command))
    for column in table.schema:
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            raise DataError(path, f"{column.name} holds bytes", again(command))
    frame: pd.DataFrame = table.to_pandas()
    return frame


def recorded_tables(folder: Path, name: str, command: str) -> dict[str, pd.DataFrame]:
    """Read a table of a run from each of its files: CSV, JSON, Parquet.

    Raises DataError if a file cannot be read, or if the files differ in rows or columns.
    """
    parquet = read_table(folder / "tables" / f"{name}.parquet", set(), command)
    numbers = {key: kind for key, kind in parquet.dtypes.items() if kind.kind in "fiu"}
    files = {}
    for ending, reader in (("csv", _read_csv), ("json", _read_json)):
        path = folder / "tables" / f"{name}.{ending}"
        try:
            files[path.name] = reader(path).astype(numbers)
        except (OSError, ValueError, KeyError) as error:
            raise DataError(path, f"not readable ({error})", again(command)) from None
        if len(files[path.name]) != len(parquet):
            raise DataError(path, f"the rows differ from those of {name}.parquet", again(command))
    return files | {f"{name}.parquet": parquet}


def _read_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str)  # as numbers they would lose digits


def _read_json(path: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values; an undefined figure is null."""
    plain = table.astype(object)
    return [
        {str(key): value for key, value in row.items()}
        for row in plain.where(plain.notna(), None).to_dict("records")
    ]
