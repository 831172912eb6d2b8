"""A design study's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Self

import numpy as np
import pandas as pd

from metal.auditing.verdict import today
from metal.building.store import ANSWERS, FOLDER
from metal.data.files import read_jsonl
from metal.data.languages import language_name
from metal.data.text import count, dollars, figure, known, plural, recorded, rounded, share, slugs
from metal.errors import DataError
from metal.questions.design.study import ALL, COLUMNS
from metal.runs.columns import Column, Tables, with_the_rest
from metal.runs.parts import records
from metal.runs.run import by_name
from metal.show.result import Result

COMMAND = "design"
PRICED = (Column("usd", "cost", dollars), Column("hours", "hours", rounded))
PEOPLE = Column("raters", "people per item", count)
INTERVAL = ("items_low", "items_high")  # of needs: not in runs before version 0.2
SHOWN = {
    "populations": (
        Column("criterion", ""),
        Column("scale", "scale"),
        Column("labelling", "labels"),
        Column("populations", "populations", count),
        Column("sd_between", "sd", share, direction="lower"),
        Column("lowest", "lowest", figure),
        Column("highest", "highest", figure),
    ),
    "needs": (
        Column("criterion", ""),
        Column("who", "who"),
        PEOPLE,
        Column("value", "value", figure),
        Column(
            "items_now",
            "items now",
            count,
            below=lambda row: plural(int(row["sources_now"]), "source"),
        ),
        Column("now", "now", share),
        Column("items_needed", "items needed", count),
        Column("at_needed", "there", share),
        *PRICED,
        *(Column(name, shown=False, later=True) for name in INTERVAL),
    ),
    "costs": (
        Column("language", "", lambda code: {ALL: "all languages"}.get(code, language_name(code))),
        Column("question", "for"),
        PEOPLE,
        Column("items_needed", "items", rounded),
        Column("tasks", "tasks", rounded),
        Column("test_questions", "of them test questions", rounded),
        *PRICED,
        Column(
            "for",
            "because of",
            recorded,
            below=lambda row: row["undefined"] if known(row["tasks"]) else "",
        ),
    ),
}
DESCRIBED: Tables = {
    name: with_the_rest(SHOWN.get(name, ()), columns) for name, columns in COLUMNS.items()
}


@dataclass(frozen=True, repr=False)
class Design(Result):
    """How many items and people a study needs."""

    shown = "needs"
    command = COMMAND
    described = DESCRIBED

    @classmethod
    def _read(cls, folder: Path, name: str = "", *more: Any) -> Self:
        run = super()._read(folder, name, *more)
        return replace(run, tables={table: _as_today(rows) for table, rows in run.tables.items()})

    def _check(self, folder: Path) -> None:
        for table in ("designs", "needs"):
            self._check_names(folder, table, "criterion", self.criteria, "run.toml")

    @property
    def thorough(self) -> bool:
        """Whether verdicts and scores were simulated; in runs before version 0.2 they
        always were.
        """
        return bool(self.settings.get("thorough", True))

    def records(self, table: str, **values: Any) -> list[dict[str, Any]]:
        """The rows of a table as plain dictionaries; None for missing values."""
        if (table,) not in self._plain:
            self._plain[(table,)] = {(): by_name(records(self.tables[table]))}
        return super().records(table, **values)

    @cached_property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """The criterion and language of each part of the study, in the study's order."""
        rows = self.records("needs")
        return tuple(dict.fromkeys((row["criterion"], row["language"]) for row in rows))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of the study."""
        return tuple(dict.fromkeys(language for _, language in self.cells))

    def key(self, criterion: str, language: str, who: str = "") -> str:
        """A unique file name and anchor for a cell, or for a judge in it."""
        cell = self._slugs[f"{criterion} {language}"]
        return f"{cell}_{self._slugs[who]}" if who else cell

    @cached_property
    def _slugs(self) -> dict[str, str]:
        judges = dict.fromkeys(row["who"] for row in self.records("needs"))
        return slugs([*(f"{criterion} {language}" for criterion, language in self.cells), *judges])


def _as_today(rows: pd.DataFrame) -> pd.DataFrame:
    """A table of a run before version 0.2, converted to today's verdicts and columns."""
    for column in ("question", "verdict"):
        if column in rows and len(rows):
            rows = rows.assign(**{column: rows[column].map(today)})
    if "items_needed" in rows and "sources_now" in rows:
        missing = {column: np.nan for column in INTERVAL if column not in rows}
        rows = rows.assign(**missing)
    return rows


def open_end(row: Mapping[str, Any]) -> bool:
    """Whether the interval of the items needed has a lower end but no upper end."""
    return known(row["items_low"]) and not known(row["items_high"])


def interval_of(row: Mapping[str, Any]) -> str:
    """The 80% interval of the items needed, such as `80 to 700`; empty without one, or if both ends
    are equal.
    """
    least, most = row["items_low"], row["items_high"]
    if open_end(row):
        return f"at least {count(least)}, no upper end from this pilot"
    return f"{count(least)} to {count(most)}" if known(least) and least < most else ""


def measured_seconds(dataset: Path) -> float | None:
    """The median time of an answer in seconds, as measured by forms; None if no form
    measured it.
    """
    path = dataset / FOLDER / ANSWERS
    if not path.is_file():
        return None
    durations = []
    for row, answer in read_jsonl(path):
        seconds = answer.get("seconds")
        if seconds is None:
            continue
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0:
            raise DataError(
                f"{path} row {row + 1}", f"seconds {seconds!r}", "Write a number, 0 or more"
            )
        durations.append(float(seconds))
    return median(durations) or None if durations else None
