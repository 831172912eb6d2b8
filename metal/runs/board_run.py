"""A board's run folder: run.toml, raters.jsonl, warnings.txt, history.jsonl, ensembles.json, tables/, report.html."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from metal.boards.board import Board
from metal.boards.cells import ALL_LANGUAGES, OVERALL
from metal.boards.ensemble import GROUP, NAME
from metal.boards.history import Entry
from metal.data.dataset import Dataset
from metal.data.dataset_lines import numbered_records
from metal.data.json_files import read_json, write_jsonl
from metal.data.languages import language_name
from metal.data.records import Manifest
from metal.data.text import name
from metal.errors import DataError
from metal.runs.parts import again, need_files
from metal.runs.run import CELL, Run, with_interval

COMMAND = "billboard"

INTERVAL = {"value", "low", "high"}
# The tables a board's page is drawn from, and the columns it takes from each.
NEEDED = {
    "raters": CELL
    | {"rank", "cluster", "rater", "kind", "group", "people", "outputs", "asked", "coverage", "undefined"}
    | {"spearman", "kendall", "soft_pairwise_accuracy", "pairwise_accuracy", "tie_epsilon", "cost_per_thousand"}
    | with_interval("pearson", "system_pearson"),
    "generators": CELL | {"by", "rank", "cluster", "generator", "human", "sources"} | with_interval("score"),
    "ensembles": CELL
    | {"ensemble", "members", "alpha", "alpha_low", "alpha_high", "intercept", "rule", "nonzero", "candidates"}
    | {"target_offset", "target_slope", "outputs", "generators", "pearson_in_sample", "pearson_unseen"},
    "ensemble_members": CELL
    | {"ensemble", "member", "coefficient", "mean", "spread", "pearson_unseen", "pearson_without", "members_without"},
    "overrating": CELL | INTERVAL | {"rater", "kind", "group", "outputs", "undefined"},
    "self_preference": CELL | INTERVAL | {"rater", "kind", "family", "outputs", "undefined"},
    "within_generators": CELL | {"generator", "rater", "kind", "outputs", "undefined"} | with_interval("pearson"),
    "comparisons": CELL | {"first", "second", "p"},
    "people": CELL | {"people", "outputs", "one_against_others", "scale_low", "scale_high", "undefined"},
}
# Those of metal.boards.crowd, where there are other people or LLM judges.
OPTIONAL = {
    "crowd_raters": CELL
    | {"rater", "kind", "outputs", "kendall", "undefined"}
    | {"underrated", "overrated", "underrated_share", "overrated_share"}
    | with_interval("pearson", "system_pearson", "bias"),
    "crowd_answers": CELL | {"answer", "sentence", "judge", "judge_pearson", "crowd", "crowd_pearson", "p_holm"},
    "crowd_dots": CELL | {"rater", "score", "people", "outputs"},
}

KINDS = {"human": "people", "llm": "LLM judge", "metric": "metric", "ensemble": "ensemble", "baseline": "baseline"}


@dataclass(frozen=True, repr=False)
class BoardRun(Run):
    """A board: its tables (metal.boards.board), history up to its version, and ensembles.json.

    recorded: whether the dataset's folder holds this version and its ensembles; it does not where it is read-only.
    """

    history: tuple[Entry, ...]
    ensembles: tuple[Mapping[str, Any], ...]
    recorded: bool = True

    command = COMMAND
    needed = NEEDED
    optional = OPTIONAL

    @classmethod
    def of(
        cls, board: Board, dataset: Dataset, manifest: Manifest, history: Sequence[Entry] = (), name: str = ""
    ) -> Self:
        """The run of a board that was just made. history: its versions up to this one."""
        return cls(
            name or dataset.card.name,
            manifest.to_dict() | {"board": {"main": board.main, "people": list(board.people)}},
            dataset.criteria,
            {rater: dataset.raters[rater] for rater in board.raters if rater in dataset.raters},
            board.tables,
            board.warnings,
            tuple(history),
            tuple(board.ensembles.values()),
        )

    @classmethod
    def _read_more(cls, folder: Path) -> tuple[Any, ...]:
        need_files(folder, ("history.jsonl", "ensembles.json"), COMMAND)
        history = tuple(Entry.of(record, where) for where, record in numbered_records(folder / "history.jsonl"))
        return history, _ensembles(folder / "ensembles.json")

    def _write_more(self, folder: Path) -> None:
        write_jsonl(folder / "history.jsonl", (entry.to_dict() for entry in self.history))
        ensembles = json.dumps(list(self.ensembles), indent=1, ensure_ascii=False)
        (folder / "ensembles.json").write_text(ensembles + "\n", encoding="utf-8")

    def _check(self, folder: Path) -> None:
        board = self.manifest.get("board")
        if not isinstance(board, dict) or not isinstance(board.get("main"), str) or not _names(board.get("people")):
            raise DataError(folder / "run.toml", "no table [board] with main and people", again(COMMAND))
        _check_names(self, folder)

    @cached_property
    def main(self) -> str:
        """The criterion shown first."""
        return str(self.manifest["board"]["main"])

    @cached_property
    def people_names(self) -> tuple[str, ...]:
        """Whom the raters are to agree with."""
        return tuple(self.manifest["board"]["people"])

    @cached_property
    def version(self) -> int:
        """Of the board; 1 where it has no history."""
        return int(self.manifest["settings"].get("version", 1))

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """The criteria with a ranking: the main one, then the others in their order."""
        there = dict.fromkeys(self.tables["raters"]["criterion"])
        return (*(one for one in there if one == self.main), *(one for one in there if one != self.main))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages together, where there are several, then each."""
        return tuple(dict.fromkeys(self.tables["raters"]["language"]))

    @cached_property
    def language(self) -> str:
        """The language of the main ranking: all together, or the only one."""
        return str(next(iter(self.rows("raters", criterion=self.main)["language"])))

    @cached_property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """(criterion, language) of each ranking: the main one, its other languages, other criteria, the rest."""
        table = self.tables["raters"]
        there = dict.fromkeys(zip(table["criterion"], table["language"], strict=True))
        order = {one: place for place, one in enumerate(self.measured)}
        return tuple(
            sorted(there, key=lambda cell: (cell[0] != self.main and cell[1] != self.language, order[cell[0]]))
        )

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each rater, a key of KINDS; ensembles are told from the metrics they are made of."""
        return {
            rater: "ensemble" if group == GROUP or rater == NAME else kind
            for rows in (self.tables["overrating"], self.tables["raters"])
            if len(rows)
            for rater, kind, group in zip(rows["rater"], rows["kind"], rows["group"], strict=True)
        }

    def kind(self, rater: str) -> str:
        """The kind in words."""
        kind = self.kinds.get(rater, "metric")
        return KINDS.get(kind, kind)

    def criterion(self, key: str) -> str:
        """What a criterion is called."""
        found = self.criteria.get(key)
        return name((found.label if found else "") or key)

    def where(self, criterion: str, language: str) -> str:
        """`coherence, Hindi`."""
        return f"{self.criterion(criterion)}, {spoken(language)}"


def spoken(language: str) -> str:
    """A language's name; all languages together have one too."""
    return "all languages" if language == ALL_LANGUAGES else language_name(language)


def code(language: str) -> str:
    """A language's code for the head of a column."""
    return "all" if language == ALL_LANGUAGES else language


def _names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _ensembles(path: Path) -> tuple[Mapping[str, Any], ...]:
    found = read_json(path, "a list of ensembles")
    if not isinstance(found, list) or not all(isinstance(one, dict) and "ensemble" in one for one in found):
        raise DataError(path, "not a list of ensembles", again(COMMAND))
    return tuple(found)


def _check_names(run: BoardRun, folder: Path) -> None:
    """Every criterion of the tables is known, and so is the main one, so that no page is made of two runs."""
    for table in NEEDED:
        for one in run.rows(table)["criterion"].unique() if len(run.tables[table]) else ():
            if one != OVERALL and one not in run.criteria:
                raise DataError(folder, f"criterion {one!r} of the tables is not in run.toml", again(COMMAND))
    if run.main not in run.measured:
        raise DataError(folder, f"criterion {run.main!r} of run.toml is not in the tables", again(COMMAND))
