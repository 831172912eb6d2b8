"""An audit's run folder: run.toml, raters.jsonl, warnings.txt, tables/ (CSV, JSON, Parquet), disagreements.parquet,
report.html.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from metal.auditing.disagreements import SCHEMA
from metal.auditing.verdict import VERDICTS
from metal.data.dataset import Dataset
from metal.data.folders import new_folder
from metal.data.records import Manifest
from metal.errors import DataError
from metal.runs.parts import again, read_parquet, read_parts, write_parts
from metal.show.files import write_page
from metal.show.page import page
from metal.show.run import OPTIONAL, TABLES, Run

if TYPE_CHECKING:
    from metal.auditing.audit import Audit


ROWS = 50_000  # outputs of a row group, each with its texts and ratings


def write_audit(folder: Path, found: Audit, dataset: Dataset, about: Manifest, *, force: bool) -> None:
    """An audit's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        raters = [dataset.raters[name] for name in found.compared]
        write_parts(partial, about.to_dict(), found.warnings, raters, found.tables)
        pq.write_table(found.disagreements, partial / "disagreements.parquet", ROWS, compression="zstd")
        write_report(read_run(partial, folder.name), partial)


AGAIN = again("audit")


def read_run(folder: Path, name: str = "") -> Run:
    """An audit's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    parts = read_parts(folder, name, "audit", TABLES, OPTIONAL)
    run = Run(*parts, _disagreements(folder / "disagreements.parquet"))
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
    disagreeing = [rater for part in run.disagreements["ratings"].chunks for rater in _raters(part)]
    known: tuple[tuple[str, Any, Collection[str], str], ...] = (
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


def _raters(ratings: pa.Array) -> list[str]:
    found: list[str] = ratings.flatten().field("rater").unique().to_pylist()
    return found


def write_report(run: Run, folder: Path) -> Path:
    """report.html in the folder."""
    return write_page(page(run), folder)
