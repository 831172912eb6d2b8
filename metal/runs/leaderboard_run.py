"""A leaderboard's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from metal.data.dataset import Dataset
from metal.data.records import Manifest
from metal.data.text import name
from metal.errors import DataError
from metal.genie.leaderboard.leaderboard import COLUMNS, Leaderboard
from metal.genie.leaderboard.settings import OVERALL
from metal.runs.board_run import spoken
from metal.runs.parts import again
from metal.runs.run import Run

COMMAND = "leaderboard"


@dataclass(frozen=True, repr=False)
class LeaderboardRun(Run):
    """A leaderboard: its tables (metal.genie.leaderboard.leaderboard.COLUMNS)."""

    command = COMMAND
    needed = COLUMNS

    @classmethod
    def of(cls, leaderboard: Leaderboard, dataset: Dataset, manifest: Manifest, name: str = "") -> Self:
        """The run of a leaderboard that was just made."""
        about = {
            "main": leaderboard.main,
            "people": list(leaderboard.people),
            "counted": list(leaderboard.counted),
        }
        return cls(
            name or dataset.card.name,
            manifest.to_dict() | {"leaderboard": about},
            dataset.criteria,
            {rater: dataset.raters[rater] for rater in manifest.raters},
            leaderboard.tables,
            leaderboard.warnings,
        )

    def _check(self, folder: Path) -> None:
        about = self.manifest.get("leaderboard")
        if not isinstance(about, dict) or not isinstance(about.get("main"), str):
            raise DataError(folder / "run.toml", "no table [leaderboard] with main, people and counted", again(COMMAND))
        for part in ("people", "counted"):
            if not isinstance(about.get(part), list) or not all(isinstance(rater, str) for rater in about[part]):
                raise DataError(folder / "run.toml", f"no {part!r} in the table [leaderboard]", again(COMMAND))
        _check_names(self, folder)

    @cached_property
    def main(self) -> str:
        """The criterion shown first."""
        return str(self.manifest["leaderboard"]["main"])

    @cached_property
    def people_names(self) -> tuple[str, ...]:
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


def _check_names(run: LeaderboardRun, folder: Path) -> None:
    """Every criterion and rater of the tables is known, so that no page is made of two runs."""
    for table in ("leaderboard", "beside"):
        for one in run.tables[table]["criterion"].unique() if len(run.tables[table]) else ():
            if one != OVERALL and one not in run.criteria:
                raise DataError(folder, f"criterion {one!r} of the tables is not in run.toml", again(COMMAND))
    for one in run.tables["beside"]["rater"].unique() if len(run.tables["beside"]) else ():
        if one not in run.raters:
            raise DataError(folder, f"rater {one!r} of the tables is not in raters.jsonl", again(COMMAND))
    if run.main not in run.measured:
        raise DataError(folder, f"criterion {run.main!r} of run.toml is not in the tables", again(COMMAND))
