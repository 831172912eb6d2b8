"""A run of `metal monitor`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from metal.auditing.cells import cells
from metal.auditing.people import QUICK, people_row
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.data.folders import new_folder
from metal.data.records import Manifest
from metal.runs.parts import read_parts, write_parts
from metal.show.files import write_page
from metal.show.monitor.page import page
from metal.show.monitor.run import NEEDED, MonitorRun
from metal.stats.bootstrap import SourceBootstrap

COMMAND = "monitor"


def agreement_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Agreement of the people in each language on each criterion with levels, without intervals."""
    for cell in cells(dataset, AuditSettings()):
        if cell.people:
            yield people_row(cell, SourceBootstrap(1, 0), QUICK)


def write_monitor(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    dataset: Dataset,
    about: Manifest,
    warnings: Sequence[str],
    *,
    force: bool,
) -> None:
    """The run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        write_parts(partial, about.to_dict(), warnings, dataset.raters.values(), tables)
        write_page(page(read_monitor_run(partial, folder.name)), partial)


def read_monitor_run(folder: Path, name: str = "") -> MonitorRun:
    """The run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    return MonitorRun(*read_parts(folder, name, COMMAND, NEEDED))
