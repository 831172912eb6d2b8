"""An audit's run folder: run.toml, raters.jsonl, warnings.txt, tables/ (CSV, JSON, Parquet), disagreements.parquet,
report.html.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from metal.audit.disagreements import SCHEMA
from metal.audit.verdict import VERDICTS
from metal.cli.report_files import write_page
from metal.cli.run_parts import again, need_files, read_lines, read_manifest, read_parquet, read_table
from metal.csv_cells import csv_text
from metal.dataset import Dataset, read_criterion
from metal.dataset_lines import rater_record, read_raters
from metal.errors import DataError
from metal.folders import new_folder
from metal.json_files import write_jsonl
from metal.records import Manifest
from metal.report.page import page
from metal.report.run import OPTIONAL, TABLES, Run

if TYPE_CHECKING:
    from metal.audit.audit import Audit


def write_audit(folder: Path, found: Audit, dataset: Dataset, about: Manifest, *, force: bool) -> None:
    """An audit's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        (partial / "warnings.txt").write_text("".join(f"{_line(text)}\n" for text in found.warnings), encoding="utf-8")
        write_jsonl(partial / "raters.jsonl", (rater_record(dataset.raters[name]) for name in found.compared))
        write_tables(partial / "tables", found.tables)
        pq.write_table(found.disagreements, partial / "disagreements.parquet", compression="zstd")
        write_report(read_run(partial, folder.name), partial)


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Each table as CSV, JSON and Parquet; the bytes depend on its figures only."""
    folder.mkdir()
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        (folder / f"{name}.json").write_text(json.dumps(records(table), indent=1, ensure_ascii=False) + "\n", "utf-8")
        table.to_parquet(folder / f"{name}.parquet", index=False)


def _line(text: str) -> str:
    return " ".join(text.split())


AGAIN = again("audit")


def read_run(folder: Path, name: str = "") -> Run:
    """An audit's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    about = read_manifest(folder, "audit")
    need_files(folder, ("raters.jsonl", "warnings.txt"), "audit")
    run = Run(
        name or folder.resolve().name,
        about,
        {key: read_criterion(key, entry, folder / "run.toml") for key, entry in about["criteria"].items()},
        {rater.rater: rater for rater in read_raters(folder)},
        {
            table: read_table(path, needed, "audit")
            for table, needed in (TABLES | OPTIONAL).items()
            if (path := folder / "tables" / f"{table}.parquet").is_file() or table in TABLES
        },
        read_lines(folder / "warnings.txt", "audit"),
        _disagreements(folder / "disagreements.parquet"),
    )
    _check_names(run, folder)
    return run


def _disagreements(path: Path) -> pa.Table:
    try:
        return read_parquet(path, "audit").select(SCHEMA.names).cast(SCHEMA)
    except (KeyError, ValueError, TypeError, NotImplementedError) as error:  # Arrow's errors are kinds of these
        if isinstance(error, DataError):
            raise
        first = str(error).split("\n")[0]
        raise DataError(path, f"not the columns of disagreements ({first})", AGAIN) from None


def _check_names(run: Run, folder: Path) -> None:
    """Every name in the tables is known, so that a page is never drawn from parts of different runs."""
    judged = [run.tables[table] for table in ("judges", "verdicts") if len(run.tables[table])]
    disagreeing = run.disagreements["ratings"].combine_chunks().flatten().field("rater").unique().to_pylist()
    known = (
        ("criterion", run.tables["people"]["criterion"], run.criteria, "run.toml"),
        *(("criterion", table["criterion"], run.criteria, "run.toml") for table in judged),
        *(("judge", table["judge"], run.raters, "raters.jsonl") for table in judged),
        ("rater", disagreeing, run.raters, "raters.jsonl"),
        *(("verdict", table["verdict"], VERDICTS, "its place") for table in judged if "verdict" in table),
    )
    for what, names, choices, where in known:
        for one in dict.fromkeys(names):
            if one not in choices:
                raise DataError(folder, f"{what} {one!r} of the tables is not in {where}", AGAIN)


def write_report(run: Run, folder: Path) -> Path:
    """report.html in the folder."""
    return write_page(page(run), folder)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values; undefined figures are null."""
    plain = table.astype(object)
    return [
        {str(key): value for key, value in row.items()} for row in plain.where(plain.notna(), None).to_dict("records")
    ]
