"""What joined the board when, by whom, and what was withdrawn; the newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metal.boards.history import ANONYMOUS, Entry
from metal.data.text import name
from metal.runs.board_run import BoardRun
from metal.show.view import Cell, TableView

WORDS = {"data": "dataset", "generator": "generator joined", "metric": "metric joined", "withdrawn": "withdrawn"}
MOST_ROWS = 200


def history_table(run: BoardRun) -> TableView:
    """A version a row."""
    gone = _withdrawn(run.history)
    newest = sorted(run.history, key=lambda entry: -entry.version)
    rows = []
    for entry in newest[:MOST_ROWS]:
        later = gone.get(entry.version)
        rows.append(
            (
                Cell(str(entry.version), "shown here" if entry.version == run.version else ""),
                Cell(name(entry.at.replace("T", " ").replace("+00:00", " UTC"))),
                Cell(WORDS[entry.what], f"withdrawn in version {later}" if later else ""),
                Cell(name(entry.name) if entry.name else f"data {name(entry.digest)}"),
                Cell("" if entry.what == "data" else name(entry.by or ANONYMOUS)),
                Cell(_remarks(entry.about)),
            )
        )
    left = len(newest) - MOST_ROWS
    notes = (f"{left} older versions are in history.jsonl.",) if left > 0 else ()
    columns = ("version", "when", "what", "which", "by", "about")
    return TableView("history", "Versions of the board", columns, tuple(rows), notes=notes)


def _withdrawn(entries: tuple[Entry, ...]) -> dict[int, int]:
    """The version of each submission that was withdrawn, and the version that did."""
    standing: dict[tuple[str, str], int] = {}
    withdrawn: dict[int, int] = {}
    for entry in entries:
        if entry.what in ("generator", "metric"):
            standing[entry.what, entry.name] = entry.version
        elif entry.what == "withdrawn":
            joined = standing.pop((str((entry.about or {}).get("was")), entry.name), None)
            if joined is not None:
                withdrawn[joined] = entry.version
    return withdrawn


def _remarks(about: Mapping[str, Any] | None) -> str:
    """What else is known, where it is a word or a number."""
    plain = [
        f"{name(key, 30)} {name(value)}"
        for key, value in (about or {}).items()
        if isinstance(value, str | int | float) and value != ""
    ]
    return ", ".join(plain)
