"""A board's run folder: run.toml, raters.jsonl, warnings.txt, history.jsonl, ensembles.json, tables/, report.html."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metal.boards.board import Board
from metal.boards.cells import OVERALL
from metal.boards.history import Entry
from metal.data.dataset import Dataset
from metal.data.dataset_lines import numbered_records
from metal.data.folders import new_folder
from metal.data.json_files import read_json, write_jsonl
from metal.data.records import Manifest
from metal.errors import DataError
from metal.runs.parts import again, need_files, read_parts, write_parts
from metal.show.board.page import page
from metal.show.board.run import NEEDED, OPTIONAL, BoardRun
from metal.show.files import write_page

COMMAND = "billboard"


def write_board(
    folder: Path, found: Board, dataset: Dataset, about: Manifest, history: Sequence[Entry], *, force: bool
) -> None:
    """A board's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        described = about.to_dict() | {"board": {"main": found.main, "people": list(found.people)}}
        raters = [dataset.raters[name] for name in found.raters if name in dataset.raters]
        write_parts(partial, described, found.warnings, raters, found.tables)
        write_jsonl(partial / "history.jsonl", (entry.to_dict() for entry in history))
        ensembles = json.dumps(list(found.ensembles.values()), indent=1, ensure_ascii=False)
        (partial / "ensembles.json").write_text(ensembles + "\n", encoding="utf-8")
        write_page(page(read_board_run(partial, folder.name)), partial)


def read_board_run(folder: Path, name: str = "") -> BoardRun:
    """A board's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    parts = read_parts(folder, name, COMMAND, NEEDED, OPTIONAL)
    board = parts[1].get("board")
    if not isinstance(board, dict) or not isinstance(board.get("main"), str) or not _names(board.get("people")):
        raise DataError(folder / "run.toml", "no table [board] with main and people", again(COMMAND))
    need_files(folder, ("history.jsonl", "ensembles.json"), COMMAND)
    history = tuple(Entry.of(record, where) for where, record in numbered_records(folder / "history.jsonl"))
    run = BoardRun(*parts, history, _ensembles(folder / "ensembles.json"))
    _check_names(run, folder)
    return run


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
