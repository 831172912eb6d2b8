"""A run folder: run.toml, and its tables as CSV, JSON and Parquet; or the ratings of judges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import tomli_w

from metal import __version__
from metal.csv_cells import guard
from metal.dataset import Dataset, rater_record
from metal.folders import new_folder
from metal.json_files import write_jsonl
from metal.ratings_files import write_facts
from metal.records import Manifest, Rater

LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "krippendorff")


def manifest(
    command: str,
    dataset: Dataset,
    paths: Iterable[Path],
    settings: Mapping[str, Any],
    raters: Iterable[str] = (),
    signature: str = "",
) -> Manifest:
    """The manifest of a run over a dataset and the run folders added to it."""
    first, *more = [str(path) for path in paths]
    described = {"path": first, "identity": dataset.identity, "digest": dataset.digest, "more": more}
    return Manifest(command, __version__, (described,), settings, _versions(), tuple(raters), signature)


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_tables(
    folder: Path, tables: Mapping[str, pd.DataFrame], about: Manifest, warnings: Iterable[str], *, force: bool
) -> None:
    """An audit's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        (partial / "warnings.txt").write_text("".join(f"{line}\n" for line in warnings), encoding="utf-8")
        target = partial / "tables"
        target.mkdir()
        for name, table in tables.items():
            guard(table).to_csv(target / f"{name}.csv", index=False, lineterminator="\n")
            (target / f"{name}.json").write_text(
                json.dumps(records(table), indent=1, ensure_ascii=False) + "\n", "utf-8"
            )
            table.to_parquet(target / f"{name}.parquet", index=False)


def write_judgements(
    folder: Path, raters: Iterable[Rater], facts: pd.DataFrame, about: Manifest, *, force: bool
) -> None:
    """A judges' run folder: raters.jsonl and ratings.parquet, which `metal audit DATASET RUN` adds to a dataset."""
    with new_folder(folder, force=force) as partial:
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        write_jsonl(partial / "raters.jsonl", (rater_record(rater) for rater in raters))
        write_facts(facts, partial / "ratings.parquet")


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values; undefined figures are null."""
    plain = table.astype(object)
    return [
        {str(key): value for key, value in row.items()} for row in plain.where(plain.notna(), None).to_dict("records")
    ]
