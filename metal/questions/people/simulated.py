"""What `metal monitor --simulate` prints: the simulated tables next to the paper's, and notes on
the paper.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import isnan
from typing import Any, NamedTuple

import pandas as pd

from metal.genie.noisy import BUCKETS

# What `metal monitor --simulate` says below its tables.
NOTES = (
    (
        "How many questions each person answered for the paper's table (WMT21) was not published."
        " Here these numbers are drawn from a geometric distribution, so differences of a few"
        " points mean little."
    ),
    (
        "Whatever the counts, several printed cells do not follow from the paper's text."
        " Class-fixed-2 with its noisy component Beta(0.5, 4.5) gives a posterior of 0.98998 to"
        " someone with 0 right of 4, below 0.99: its recall at 1-4 is 0, not 24%. Its recall of "
        "91% at 5-14 is out of reach for any noisy component: the best one gets about 44%."
        " Uninformative priors lose less precision at 1-4 than printed."
    ),
)


class SimulatedTable(NamedTuple):
    """A table of text cells: a row for each model, a column for each bucket of test questions."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def simulated_tables(table: pd.DataFrame) -> list[SimulatedTable]:
    """Tables of precision and recall next to the paper's, and of their standard errors."""
    shares, doubts = [], []
    for model, rows in table.groupby("model", sort=False):
        records = rows.to_dict("records")
        shares.append([str(model), *(text for row in records for text in _shares(row))])
        doubts.append([str(model), *(text for row in records for text in _doubts(row))])
    return [
        SimulatedTable(
            "Precision / recall in %, by test questions answered",
            ["model", *(column for bucket in BUCKETS for column in (bucket, "paper"))],
            shares,
        ),
        SimulatedTable(
            "Standard errors of both in points, and workers flagged",
            ["model", *(column for bucket in BUCKETS for column in (bucket, "flagged"))],
            doubts,
        ),
    ]


def _shares(row: Mapping[Hashable, Any]) -> tuple[str, str]:
    return (
        f"{_percent(row['precision'])}/{_percent(row['recall']):>3}",
        f"{_percent(row['paper_precision'])}/{_percent(row['paper_recall']):>3}",
    )


def _doubts(row: Mapping[Hashable, Any]) -> tuple[str, str]:
    errors = f"{_percent(row['precision_se'], 1)}/{_percent(row['recall_se'], 1):>4}"
    return errors, f"{row['flagged']:,}"


def _percent(share: float, digits: int = 0) -> str:
    return "-" if isnan(share) else f"{100 * share:.{digits}f}"


def noisy_workers(table: pd.DataFrame) -> str:
    """A note on how many workers were noisy, by the number of test questions answered."""
    buckets = table.drop_duplicates("bucket").to_dict("records")
    return ", ".join(
        f"{row['noisy']:,} of {row['workers']:,} at {row['bucket']}" for row in buckets
    )
