"""A leaderboard's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from metal.data.text import count, known, score, share
from metal.genie.output_scores import OVERALL, OWN
from metal.questions.leaderboard.compute import COLUMNS, LeaderboardTables
from metal.runs.columns import Column, RankInterval, Row, Tables, with_the_rest
from metal.runs.run import RankingRun, spoken
from metal.show.result import Result

COMMAND = "leaderboard"


def in_own_units(row: Row) -> bool:
    """Whether a score is in the units of its criterion. Earlier versions had no such scores."""
    return bool(row.get("scale") == OWN)


def has_own_mean(row: Row) -> bool:
    """Whether a row has a mean in the units of its criterion beside a score from 0 to 1 that says
    something else. Earlier versions had no such means.
    """
    mean = row.get("mean")
    return not in_own_units(row) and known(mean) and share(mean) != share(row["score"])


def form_of(row: Row) -> Callable[[Any], str]:
    """The format of a row's score: three digits for shares, else four significant digits."""
    return score if in_own_units(row) else share


@dataclass(frozen=True)
class ScoreColumn(Column):
    """A column whose number format depends on the scale of the row's score."""

    def text(self, row: Row) -> str:
        """The formatted value of a row; a dash if it is undefined."""
        return form_of(row)(row[self.name])

    def ends(self, row: Row) -> str:
        """The text below a row's value."""
        return Column.ends(replace(self, format=form_of(row)), row)


def _at_most(row: Row) -> str:
    """The upper bound of a standard error; empty if the scale has no ends."""
    if in_own_units(row):
        return ""
    largest = share(row["worst_error"])
    return f"at most {largest}"


RANKING = (
    Column("rank", "", count),
    Column("generator", "generator", below=lambda row: "human writing" if row["human"] else ""),
    RankInterval(),
    ScoreColumn("score", "score", share, interval=True, direction="higher"),
    Column("mean", "mean", score, later=True),
    Column("corrected", "people by judge", share, interval=True, direction="higher"),
    ScoreColumn(
        "standard_error",
        "standard error",
        share,
        below=_at_most,
    ),
    Column("scale", shown=False, later=True),
    *(
        Column(counted, counted, count)
        for counted in ("outputs", "sources", "ratings", "people", "unanswered")
    ),
)
RATED = (
    Column("generator", "generator"),
    Column("language", "language", spoken),
    Column("sources_rated", "sources rated", count),
    Column("outputs_rated", "outputs rated", count),
    Column(
        "outputs_to_rate",
        "outputs to rate",
        count,
        below=lambda row: "" if row["outputs_rated"] else "not rated yet",
    ),
    Column("without_text", "without a text", count),
)
SHOWN = {"leaderboard": RANKING, "coverage": RATED}
DESCRIBED: Tables = {
    name: with_the_rest(SHOWN.get(name, ()), columns) for name, columns in COLUMNS.items()
}


@dataclass(frozen=True, repr=False)
class Leaderboard(Result, RankingRun):
    """Generators ranked by people."""

    shown = "leaderboard"
    command = COMMAND
    described = DESCRIBED
    ranks = "leaderboard"
    about = "leaderboard"
    listed = ("people", "counted")

    def more_facts(self) -> Mapping[str, Any]:
        """Further facts for JSON, in addition to the run's tables."""
        return {"main": self.main}

    @classmethod
    def _about(cls, analysis: LeaderboardTables) -> dict[str, Any]:
        compared = super()._about(analysis)[cls.about]
        return {cls.about: compared | {"counted": list(analysis.counted)}}

    def _check(self, folder: Path) -> None:
        super()._check(folder)
        for table in ("leaderboard", "beside"):
            self._check_names(folder, table, "criterion", {*self.criteria, OVERALL}, "run.toml")
        self._check_names(folder, "beside", "rater", self.raters, "raters.jsonl")

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The criteria by which generators are ranked."""
        return tuple(self.manifest["leaderboard"]["counted"])

    @cached_property
    def sample(self) -> int | None:
        """How many sources per language are scored; None if all are."""
        sample = self.manifest["settings"].get("sample")
        return int(sample) if sample else None

    @cached_property
    def corrected_by(self) -> str:
        """The judge whose ratings correct people's means; empty if none does."""
        return str(self.manifest["settings"].get("corrected", ""))

    @cached_property
    def seed(self) -> int:
        """The seed of the sample and of all other random choices."""
        return int(self.manifest["settings"].get("seed", 0))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The generators in the order of the main ranking, then those that it does not have."""
        ranked = self.rows("leaderboard", criterion=self.main, language=self.language)["generator"]
        return tuple(dict.fromkeys([*ranked, *self.tables["leaderboard"]["generator"]]))

    def criterion(self, key: str) -> str:
        """A criterion's name to show; `overall` means the mean of the criteria that count, even if
        the dataset has such a criterion.
        """
        return OVERALL if key == OVERALL else super().criterion(key)

    def ranking(self, criterion: str, language: str) -> list[dict[str, Any]]:
        """The rows of a ranking, best first."""
        return self.records("leaderboard", criterion=criterion, language=language)
