"""What a report is drawn from: an audit's run folder, read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa

from metal.records import Criterion, Rater

TABLES = (
    "people",
    "judges",
    "verdicts",
    "differences",
    "class_distribution",
    "class_distribution_overall",
    "table_3",
    "table_6",
)


@dataclass(frozen=True)
class Run:
    """An audit as it lies on disk.

    manifest: run.toml. criteria, raters: as in the dataset. tables: TABLES by name (metal.audit).
    disagreements: metal.audit.disagreements.SCHEMA.
    """

    name: str
    manifest: Mapping[str, Any]
    criteria: Mapping[str, Criterion]
    raters: Mapping[str, Rater]
    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...]
    disagreements: pa.Table

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What run.toml says of the dataset: identity, title, licence, ..."""
        return dict(self.manifest["datasets"][0])

    @cached_property
    def audited(self) -> tuple[Criterion, ...]:
        """The criteria that were audited, in their declared order."""
        return tuple(self.criteria[name] for name in self.tables["people"]["criterion"].unique())

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages that were audited, in string order."""
        return tuple(sorted(self.tables["people"]["language"].unique()))

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The judges in the order of the audit: LLM judges, metrics, baselines."""
        table = self.tables["judges"]
        return tuple(table["judge"].unique()) if len(table) else ()

    def rows(self, table: str, **where: str) -> pd.DataFrame:
        """The rows of a table where columns have these values; an empty table stays empty."""
        rows = self.tables[table]
        for column, value in where.items():
            if rows.empty:
                break
            rows = rows[rows[column] == value]
        return rows

    def records(self, table: str, **where: str) -> list[dict[str, Any]]:
        """The same rows as plain dictionaries."""
        rows = self.rows(table, **where).to_dict("records")
        return [{str(key): value for key, value in row.items()} for row in rows]

    def signature(self, table: str) -> str:
        """The signature of a table as a whole."""
        parts = self.manifest["signature"].split("|")
        return "|".join([*parts[:2], f"stat:{table}", *parts[2:]])
