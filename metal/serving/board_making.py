"""The pages and tables of a board at a version, made by a worker into a folder of the server's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import metal
from metal.data.escaping import csv_text
from metal.data.replacing import new_folder
from metal.errors import MetalError
from metal.serving.boards import ServedBoard
from metal.serving.submitted_files import OWN_FOLDER

if TYPE_CHECKING:
    import pandas as pd

REPORTS = {"billboard": "board.html", "leaderboard": "leaderboard.html"}
SUMMARY = "summary.json"
WATCHED = ("dataset.toml", "sources.jsonl", "outputs.jsonl", "raters.jsonl", "ratings.*",
           "board/history.jsonl")  # fmt: skip
# what the board's own page shows of a ranking
SHOWN = {
    "raters": ("rater", "kind", "rank_low", "rank_high", "pearson", "pearson_low", "pearson_high"),
    "generators": ("by", "generator", "rank", "rank_low", "rank_high", "score"),
    "leaderboard": ("generator", "rank", "rank_low", "rank_high", "score", "score_low",
                    "score_high"),
}  # fmt: skip


@dataclass(frozen=True)
class BoardFolder:
    """The files that show a board at a version; only the names in it can be asked for."""

    folder: Path

    @property
    def there(self) -> bool:
        """Whether they are made."""
        return (self.folder / SUMMARY).is_file()

    @property
    def summary(self) -> dict[str, Any]:
        """What the board's own page shows."""
        content: dict[str, Any] = json.loads((self.folder / SUMMARY).read_bytes())
        return content

    def report(self, name: str) -> bytes | None:
        """The page that `metal billboard` or `metal leaderboard` makes; None if there is none."""
        return self._read(REPORTS.get(name, ""))

    def table(self, name: str) -> bytes | None:
        """A table as CSV; None if there is none."""
        return self._read(f"{name}.csv") if name in self.summary["tables"] else None

    def _read(self, file: str) -> bytes | None:
        path = self.folder / file
        return path.read_bytes() if file and path.is_file() else None


def folder_of_board(root: Path, board: ServedBoard, version: int) -> BoardFolder:
    """Where the files of a version are; they depend on the rules as well, and on METAL."""
    key = f"{board.rules.reference}\n{metal.__version__}".encode()
    name = f"{version}-{blake2b(key, digest_size=6).hexdigest()}"
    return BoardFolder(root / OWN_FOLDER / "boards" / board.id / name)


def state_of(folder: Path) -> str:
    """What changes if a file of a board changes."""
    marks = []
    for pattern in WATCHED:
        for path in sorted(folder.glob(pattern)):
            status = path.stat()
            marks.append(f"{path.name} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
    return blake2b("\n".join(marks).encode(), digest_size=16).hexdigest()


def make_pages(root: Path, board: ServedBoard, at: int = 0) -> int:
    """Make the files of a version, or of the newest one; return its number.

    They hold figures and names, but no texts of sources, references, outputs or comments. Raises
    MetalError if there is neither a ranking of raters nor one of generators.
    """
    folder = board.folder(root)
    history = metal.billboard_history(folder)
    version = at or len(history)
    target = folder_of_board(root, board, version)
    if target.there:
        return version
    makers: dict[str, Callable[[], Any]] = {
        "billboard": partial(metal.billboard, folder, at=version, reference=board.rules.reference)
    }
    if version == len(history):  # of earlier versions, only the ranking of raters is kept
        makers["leaderboard"] = partial(metal.leaderboard, folder, reference=board.rules.reference)
    target.folder.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(target.folder) as unfinished:
        summary: dict[str, Any] = {"version": version, "tables": [], "lacks": {}}
        summary |= {table: [] for table in SHOWN}
        for name, make in makers.items():
            try:
                summary |= _written(make(), unfinished, name, summary["tables"])
            except MetalError as error:
                summary["lacks"][name] = str(error).replace(str(folder), folder.name)
                if len(summary["lacks"]) == len(makers):
                    raise
        shown = history[history["version"] <= version][::-1]
        summary["history"] = shown.drop(columns="about").to_dict("records")
        text = json.dumps(summary, ensure_ascii=False, allow_nan=False, default=str)
        (unfinished / SUMMARY).write_text(text, encoding="utf-8")
    return version


def _written(run: Any, folder: Path, name: str, tables: list[str]) -> dict[str, Any]:
    """Write a run's page and tables; return the rows of its main rankings. tables: the names of
    tables that are there, to which these are added.
    """
    saved = run.save(folder / name)  # its page has the bytes of the command's
    (saved / "report.html").rename(folder / REPORTS[name])
    shutil.rmtree(saved)
    for table in run.described.keys() | run.optional.keys():
        if table in run.tables:
            called = f"{name}-{table}" if table in tables else table
            (folder / f"{called}.csv").write_text(csv_text(run.tables[table]), encoding="utf-8")
            tables.append(called)
    tables.sort()
    return _shown(run)


def _shown(run: Any) -> dict[str, Any]:
    """The rows of a run's main rankings."""
    shown: dict[str, Any] = {}
    for table, columns in SHOWN.items():
        if table in run.tables:
            shown[table] = _plain(run.rows(table), columns, run)
    return shown


def _plain(rows: pd.DataFrame, columns: tuple[str, ...], run: Any) -> list[dict[str, Any]]:
    main = rows[(rows["criterion"] == run.main) & (rows["language"] == run.language)]
    kept = main[[column for column in columns if column in main]]
    records: list[dict[str, Any]] = json.loads(kept.to_json(orient="records"))
    return records
