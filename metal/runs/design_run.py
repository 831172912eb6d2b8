"""A design study's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Self

import pandas as pd

from metal.building.store import ANSWERS, FOLDER
from metal.data.dataset import Dataset
from metal.data.json_files import read_jsonl
from metal.data.languages import language_name
from metal.data.records import Manifest
from metal.data.text import name, slug
from metal.errors import DataError
from metal.genie.design.study import ALL, COLUMNS, Design
from metal.runs.parts import again
from metal.runs.run import Run

COMMAND = "design"


@dataclass(frozen=True, repr=False)
class DesignRun(Run):
    """A design study: its tables (metal.genie.design.study.COLUMNS)."""

    command = COMMAND
    needed = COLUMNS

    @classmethod
    def of(cls, design: Design, dataset: Dataset, manifest: Manifest, name: str = "") -> Self:
        """The run of a design study that was just made."""
        return cls(
            name or dataset.card.name,
            manifest.to_dict(),
            dataset.criteria,
            {rater: dataset.raters[rater] for rater in design.raters},
            design.tables,
            design.warnings,
        )

    def _check(self, folder: Path) -> None:
        for table in ("designs", "needs"):
            for criterion in self.tables[table]["criterion"].unique() if len(self.tables[table]) else ():
                if criterion not in self.criteria:
                    raise DataError(folder, f"criterion {criterion!r} of the tables is not in run.toml", again(COMMAND))

    def records(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """Rows as plain dictionaries; None for what is missing."""
        rows = self.rows(table, **where)
        plain = rows.astype(object).where(pd.notna(rows), None)
        return [{str(key): value for key, value in row.items()} for row in plain.to_dict("records")]

    @property
    def settings(self) -> dict[str, Any]:
        """What was asked for (metal.genie.design.settings)."""
        return dict(self.manifest["settings"])

    @cached_property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """(criterion, language) of each part of the study, in its order."""
        rows = self.records("designs")
        return tuple(dict.fromkeys((row["criterion"], row["language"]) for row in rows))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of the study."""
        return tuple(dict.fromkeys(language for _, language in self.cells))

    def key(self, criterion: str, language: str, who: str = "") -> str:
        """A file name and anchor of a cell, or of a judge in it, that no other has."""
        cell = self._slugs[f"{criterion} {language}"]
        return f"{cell}_{self._slugs[who]}" if who else cell

    @cached_property
    def _slugs(self) -> dict[str, str]:
        found: dict[str, str] = {}
        judges = dict.fromkeys(row["who"] for row in self.records("needs"))
        for words in (*(f"{criterion} {language}" for criterion, language in self.cells), *judges):
            plain = slug(words)
            found[words] = f"{plain}-{len(found) + 1}" if plain in found.values() else plain
        return found

    def criterion(self, key: str) -> str:
        """What a criterion is called."""
        found = self.criteria.get(key)
        return name((found.label if found else "") or key)

    def where(self, criterion: str, language: str) -> str:
        """`task quality, Hindi`."""
        return f"{self.criterion(criterion)}, {spoken(language)}"


def spoken(language: str) -> str:
    """A language's name; all languages together have one too."""
    return "all languages" if language == ALL else language_name(language)


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
