"""A design study's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import tomli_w

from metal.cli.annotation_folder import ANSWERS, FOLDER
from metal.cli.report_files import write_page
from metal.cli.run_folder import write_tables
from metal.cli.run_parts import again, need_files, read_lines, read_manifest, read_table
from metal.dataset import Dataset, read_criterion
from metal.dataset_lines import rater_record, read_raters
from metal.errors import DataError
from metal.folders import new_folder
from metal.genie.design.study import COLUMNS, Design
from metal.json_files import read_jsonl, write_jsonl
from metal.records import Manifest
from metal.report.design.page import page
from metal.report.design.run import DesignRun

COMMAND = "design"


def write_design(folder: Path, found: Design, dataset: Dataset, about: Manifest, *, force: bool) -> None:
    """A design study's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        lines = "".join(f"{' '.join(text.split())}\n" for text in found.warnings)
        (partial / "warnings.txt").write_text(lines, encoding="utf-8")
        write_jsonl(partial / "raters.jsonl", (rater_record(dataset.raters[name]) for name in found.raters))
        write_tables(partial / "tables", found.tables)
        write_page(page(read_design_run(partial, folder.name)), partial)


def read_design_run(folder: Path, name: str = "") -> DesignRun:
    """A design study's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    about = read_manifest(folder, COMMAND)
    need_files(folder, ("raters.jsonl", "warnings.txt"), COMMAND)
    tables = {
        table: read_table(folder / "tables" / f"{table}.parquet", set(needed), COMMAND)
        for table, needed in COLUMNS.items()
    }
    criteria = {key: read_criterion(key, entry, folder / "run.toml") for key, entry in about["criteria"].items()}
    for table in ("designs", "needs"):
        for one in tables[table]["criterion"].unique() if len(tables[table]) else ():
            if one not in criteria:
                raise DataError(folder, f"criterion {one!r} of the tables is not in run.toml", again(COMMAND))
    return DesignRun(
        name or folder.resolve().name,
        about,
        criteria,
        {rater.rater: rater for rater in read_raters(folder)},
        tables,
        read_lines(folder / "warnings.txt", COMMAND),
    )


def measured_seconds(dataset: Path) -> float | None:
    """The median of the seconds that forms measured for an answer; None where none did."""
    path = dataset / FOLDER / ANSWERS
    if not path.is_file():
        return None
    found = []
    for row, answer in read_jsonl(path):
        seconds = answer.get("seconds")
        if seconds is None:
            continue
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise DataError(f"{path} row {row + 1}", f"seconds {seconds!r}", "It is a number, 0 or more")
        found.append(float(seconds))
    return median(found) or None if found else None
