"""A board's run folder: run.toml, raters.jsonl, warnings.txt, history.jsonl, ensembles.json,
tables/, report.html.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from metal.boards.cells import OVERALL
from metal.boards.ensemble import GROUP, NAME
from metal.boards.history import Entry
from metal.boards.rankable import Rankable
from metal.data import records
from metal.data.dataset import Dataset
from metal.data.dataset_lines import numbered_records
from metal.data.files import read_json, write_jsonl
from metal.data.text import (
    MINUS,
    count,
    coverage,
    dollars,
    figure,
    known,
    percent,
    score,
    share,
    signed,
)
from metal.errors import DataError
from metal.runs.columns import Column, RankInterval, Row, Tables, unshown
from metal.runs.parts import again, need_files
from metal.runs.run import CELL, RankingRun
from metal.show.result import Result

COMMAND = "billboard"

RATER = (*CELL, *unshown("rater", "kind", "group", "outputs", "undefined"))
R = Column("pearson", "r", figure, interval=True, direction="higher")
BETWEEN = Column(
    "system_pearson", "r between generators", figure, interval=True, direction="higher"
)
TAU = Column("kendall", "tau", figure, interval=True, direction="higher")
OVERRATED = Column("value", "overrating", signed)


def _lost(row: Row) -> str:
    """A phrase on what changes if a member is left out."""
    change = (
        row["pearson_without"] - row["pearson_unseen"] if known(row["pearson_without"]) else None
    )
    return f"{change:+.2f}".replace("-", MINUS) if known(change) else ""


def _times(number: Any) -> str:
    return count(number) if known(number) else ""


def _scored(row: Row) -> str:
    return f"{count(row['outputs'])} of {count(row['asked'])}"


DESCRIBED: Tables = {
    "raters": (
        Column("rank", "", count),
        Column("rater", "rater"),
        Column("kind", "kind"),
        RankInterval(),
        replace(R, title="r with people"),
        Column("spearman", "rho", figure, interval=True, direction="higher"),
        TAU,
        BETWEEN,
        Column("soft_pairwise_accuracy", "SPA", figure, interval=True, direction="higher"),
        Column("pairwise_accuracy", "pairwise accuracy", figure, interval=True, direction="higher"),
        Column("tie_epsilon", "ties up to", score),
        Column("coverage", "coverage", coverage, direction="higher", below=_scored),
        Column("cost_per_thousand", "cost per 1,000", dollars, direction="lower"),
        *CELL,
        *unshown("group", "people", "outputs", "asked", "undefined"),
    ),
    "generators": (
        *CELL,
        replace(RankInterval(), shown=False),
        *unshown("by", "rank", "generator", "human", "sources", "undefined"),
        Column("score", "mean score", share, interval=True),
    ),
    "ensembles": (
        *CELL,
        *unshown(
            "ensemble",
            "members",
            "alpha",
            "alpha_low",
            "alpha_high",
            "intercept",
            "rule",
            "nonzero",
        ),
        *unshown("candidates", "target_offset", "target_slope", "outputs", "generators"),
        *unshown("pearson_in_sample", "pearson_unseen"),
    ),
    "ensemble_members": (
        Column("member", "member"),
        Column("coefficient", "coefficient", score),
        Column("mean", "mean", score),
        Column("spread", "spread", score),
        Column("pearson_without", "r without it", figure, direction="higher", below=_lost),
        Column("members_without", "then of"),
        *CELL,
        *unshown("ensemble", "pearson_unseen"),
    ),
    "overrating": (*RATER, OVERRATED, *unshown("low", "high")),
    "self_preference": (
        *CELL,
        *unshown("rater", "kind", "family", "outputs", "undefined", "low", "high"),
        OVERRATED,
    ),
    "within_generators": (*CELL, *unshown("generator", "rater", "kind", "outputs", "undefined"), R),
    "comparisons": (
        *CELL,
        *unshown("first", "second", "p"),
        Column("p_adjusted", shown=False, later=True),
    ),
    "people": (
        *CELL,
        *unshown("people", "panels", "outputs", "scale_low", "scale_high", "undefined"),
        Column(
            "one_against_others",
            "one person against the others",
            figure,
            interval=True,
            direction="higher",
        ),
    ),
}
# Tables of metal.boards.crowd, where there are other people or LLM judges.
OPTIONAL: Tables = {
    "crowd_raters": (
        Column("rater", ""),
        R,
        TAU,
        BETWEEN,
        Column("bias", "bias", signed, interval=True),
        Column(
            "underrated_share",
            "people high, rater low",
            percent,
            below=lambda row: _times(row["underrated"]),
        ),
        Column(
            "overrated_share",
            "people low, rater high",
            percent,
            below=lambda row: _times(row["overrated"]),
        ),
        Column("outputs", "outputs", count),
        *CELL,
        *unshown("kind", "undefined", "underrated", "overrated"),
    ),
    "crowd_answers": (
        *CELL,
        *unshown(
            "answer",
            "sentence",
            "judge",
            "judge_pearson",
            "crowd",
            "crowd_pearson",
            "p_adjusted",
            "at_most",
        ),
    ),
    "crowd_dots": (*CELL, *unshown("rater", "score", "people", "outputs")),
}
# The table of metal.boards.references, which is no part of a run.
REFERENCES = (
    Column("metric", "metric"),
    Column("references", "references", lambda number: count(number) if known(number) else "any"),
    Column("pearson", "r with people", share, direction="higher"),
    Column("spread", "sd over draws", share),
    Column("outputs", "outputs", count),
)

KINDS = {**records.KINDS, "human": "people", "ensemble": "ensemble"}


@dataclass(frozen=True, repr=False)
class Billboard(Result, RankingRun):
    """A board: raters ranked by agreement with people, generators by the raters."""

    shown = "raters"
    history: tuple[Entry, ...]
    ensembles: tuple[Mapping[str, Any], ...]
    recorded: bool = True

    command = COMMAND
    described = DESCRIBED
    optional = OPTIONAL

    @cached_property
    def rankable(self) -> Rankable:
        """Which parts of the data can be ranked."""
        return Rankable.read(self.manifest.get("rankable"))

    @classmethod
    def _of_data(cls, dataset: Dataset) -> dict[str, Any]:
        return {"rankable": Rankable.of(dataset).to_dict()}

    ranks = "raters"
    about = "board"

    def more_facts(self) -> Mapping[str, Any]:
        """What JSON contains besides the run's tables."""
        return {
            "version": self.version,
            "ensembles": {each["ensemble"]: each for each in self.ensembles},
        }

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        need_files(folder, ("history.jsonl", "ensembles.json"), COMMAND)
        history = tuple(
            Entry.of(record, location)
            for location, record in numbered_records(folder / "history.jsonl")
        )
        return history, _ensembles(folder / "ensembles.json")

    def _write_more(self, folder: Path) -> None:
        write_jsonl(folder / "history.jsonl", (entry.to_dict() for entry in self.history))
        ensembles = json.dumps(list(self.ensembles), indent=1, ensure_ascii=False)
        (folder / "ensembles.json").write_text(ensembles + "\n", encoding="utf-8")

    def _check(self, folder: Path) -> None:
        super()._check(folder)
        for table in DESCRIBED:
            self._check_names(folder, table, "criterion", {*self.criteria, OVERALL}, "run.toml")

    @cached_property
    def version(self) -> int:
        """The version of the board; 1 if it has no history."""
        return int(self.manifest["settings"].get("version", 1))

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each rater, a key of KINDS; ensembles are distinguished from the metrics they
        are made of.
        """
        kinds = {}
        for table in ("overrating", "raters"):
            for row in self.records(table):
                ensemble = row["group"] == GROUP or row["rater"] == NAME
                kinds[row["rater"]] = "ensemble" if ensemble else row["kind"]
        return kinds

    def kind(self, rater: str) -> str:
        """The kind in words."""
        kind = self.kinds.get(rater, "metric")
        return KINDS.get(kind, kind)


def _ensembles(path: Path) -> tuple[Mapping[str, Any], ...]:
    ensembles = read_json(path, "a list of ensembles")
    if not isinstance(ensembles, list) or not all(
        isinstance(each, dict) and "ensemble" in each for each in ensembles
    ):
        raise DataError(path, "not a list of ensembles", again(COMMAND))
    return tuple(ensembles)
