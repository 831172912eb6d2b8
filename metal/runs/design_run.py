"""A design study's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from metal.building.store import ANSWERS, FOLDER
from metal.data.dataset import Dataset
from metal.data.folders import new_folder
from metal.data.json_files import read_jsonl
from metal.data.records import Manifest
from metal.errors import DataError
from metal.genie.design.study import COLUMNS, Design
from metal.runs.parts import again, read_parts, write_parts
from metal.show.design.page import page
from metal.show.design.run import DesignRun
from metal.show.files import write_page

COMMAND = "design"


def write_design(folder: Path, found: Design, dataset: Dataset, about: Manifest, *, force: bool) -> None:
    """A design study's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        raters = (dataset.raters[name] for name in found.raters)
        write_parts(partial, about.to_dict(), found.warnings, raters, found.tables)
        write_page(page(read_design_run(partial, folder.name)), partial)


def read_design_run(folder: Path, name: str = "") -> DesignRun:
    """A design study's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    run = DesignRun(*read_parts(folder, name, COMMAND, COLUMNS))
    for table in ("designs", "needs"):
        for one in run.tables[table]["criterion"].unique() if len(run.tables[table]) else ():
            if one not in run.criteria:
                raise DataError(folder, f"criterion {one!r} of the tables is not in run.toml", again(COMMAND))
    return run


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
