"""A run of `metal monitor`: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metal.auditing.cells import cells
from metal.auditing.people import QUICK, people_row
from metal.auditing.settings import AuditSettings
from metal.data.dataset import Dataset
from metal.stats.bootstrap import SourceBootstrap


def agreement_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Agreement of the people in each language on each criterion with levels, without intervals."""
    for cell in cells(dataset, AuditSettings()):
        if cell.people:
            yield people_row(cell, SourceBootstrap(1, 0), QUICK)
