"""What a design study's page is drawn from: its run folder, read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from metal.data.languages import language_name
from metal.genie.design.study import ALL
from metal.show.run import Tables
from metal.show.text import name, slug


@dataclass(frozen=True)
class DesignRun(Tables):
    """A design study: its tables (metal.genie.design.study.COLUMNS)."""

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
