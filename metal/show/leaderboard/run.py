"""What a leaderboard's page is drawn from: its run folder, read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metal.genie.leaderboard.settings import OVERALL
from metal.show.board.run import spoken
from metal.show.run import Tables
from metal.show.text import UNDEFINED, known, name
from metal.show.view import TableView

DIGITS = 3


@dataclass(frozen=True)
class LeaderboardRun(Tables):
    """A leaderboard: its tables (metal.genie.leaderboard.leaderboard.COLUMNS)."""

    @cached_property
    def main(self) -> str:
        """The criterion shown first."""
        return str(self.manifest["leaderboard"]["main"])

    @cached_property
    def people(self) -> tuple[str, ...]:
        """Whose ratings count."""
        return tuple(self.manifest["leaderboard"]["people"])

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The criteria that count."""
        return tuple(self.manifest["leaderboard"]["counted"])

    @cached_property
    def sample(self) -> int | None:
        """How many sources a language are scored; None for all."""
        found = self.manifest["settings"].get("sample")
        return int(found) if found else None

    @cached_property
    def seed(self) -> int:
        """Of the sample and of all chance."""
        return int(self.manifest["settings"].get("seed", 0))

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The criteria with a ranking: the main one, then the others in their order."""
        there = dict.fromkeys(self.tables["leaderboard"]["criterion"])
        return (*(one for one in there if one == self.main), *(one for one in there if one != self.main))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages together, where there are several, then each that has a ranking."""
        return tuple(dict.fromkeys(self.tables["leaderboard"]["language"]))

    @cached_property
    def language(self) -> str:
        """The language of the main ranking: all together, or the only one."""
        return str(next(iter(self.rows("leaderboard", criterion=self.main)["language"])))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The generators as the main ranking has them, then those that are not in it."""
        ranked = self.rows("leaderboard", criterion=self.main, language=self.language)["generator"]
        return tuple(dict.fromkeys([*ranked, *self.tables["leaderboard"]["generator"]]))

    @cached_property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """(criterion, language) of each ranking but the main one: its other languages, other criteria, the rest."""
        table = self.tables["leaderboard"]
        there = dict.fromkeys(zip(table["criterion"], table["language"], strict=True))
        order = {one: place for place, one in enumerate(self.measured)}
        found = sorted(there, key=lambda cell: (cell[0] != self.main and cell[1] != self.language, order[cell[0]]))
        return tuple(cell for cell in found if cell != (self.main, self.language))

    def criterion(self, key: str) -> str:
        """What a criterion is called."""
        found = self.criteria.get(key)
        return name((found.label if found and key != OVERALL else "") or key)

    def where(self, criterion: str, language: str) -> str:
        """`coherence, Hindi`."""
        return f"{self.criterion(criterion)}, {spoken(language)}"

    def ranking(self, criterion: str, language: str) -> list[dict[str, Any]]:
        """The rows of a ranking, best first."""
        return self.records("leaderboard", criterion=criterion, language=language)


def share(value: Any) -> str:
    """A score between 0 and 1; a dash where undefined."""
    return f"{value:.{DIGITS}f}" if known(value) else UNDEFINED


def within_cells(tables: Sequence[TableView], cells: int) -> tuple[tuple[TableView, ...], int]:
    """The first of the tables that together have no more than so many cells, and how many are left."""
    shown = []
    for table in tables:
        cells -= len(table.rows) * len(table.columns)
        if cells < 0:
            break
        shown.append(table)
    return tuple(shown), len(tables) - len(shown)
