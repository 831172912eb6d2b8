"""A leaderboard's run folder: run.toml, raters.jsonl, warnings.txt, tables/, report.html."""

from __future__ import annotations

from pathlib import Path

from metal.data.dataset import Dataset
from metal.data.folders import new_folder
from metal.data.records import Manifest
from metal.errors import DataError
from metal.genie.leaderboard.leaderboard import COLUMNS, Leaderboard
from metal.genie.leaderboard.settings import OVERALL
from metal.runs.parts import again, read_parts, write_parts
from metal.show.files import write_page
from metal.show.leaderboard.page import page
from metal.show.leaderboard.run import LeaderboardRun

COMMAND = "leaderboard"


def write_leaderboard(folder: Path, found: Leaderboard, dataset: Dataset, about: Manifest, *, force: bool) -> None:
    """A leaderboard's run folder, whole or not at all. The tables' bytes depend on their figures only."""
    with new_folder(folder, force=force) as partial:
        board = {"main": found.main, "people": list(found.people), "counted": list(found.counted)}
        described = about.to_dict() | {"leaderboard": board}
        raters = (dataset.raters[name] for name in about.raters)
        write_parts(partial, described, found.warnings, raters, found.tables)
        write_page(page(read_leaderboard_run(partial, folder.name)), partial)


def read_leaderboard_run(folder: Path, name: str = "") -> LeaderboardRun:
    """A leaderboard's run folder. Raises UsageError when it is none, DataError when a part of it cannot be used."""
    run = LeaderboardRun(*read_parts(folder, name, COMMAND, COLUMNS))
    board = run.manifest.get("leaderboard")
    if not isinstance(board, dict) or not isinstance(board.get("main"), str):
        raise DataError(folder / "run.toml", "no table [leaderboard] with main, people and counted", again(COMMAND))
    for part in ("people", "counted"):
        if not isinstance(board.get(part), list) or not all(isinstance(one, str) for one in board[part]):
            raise DataError(folder / "run.toml", f"no {part!r} in the table [leaderboard]", again(COMMAND))
    _check_names(run, folder)
    return run


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
