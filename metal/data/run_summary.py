"""The table `summary` at the end of run.toml: what `metal ls` says of a run without reading its
tables.

`[summary.of]` has digests of run.toml and of the files from which the summary was made. If one of
them was changed since, `metal ls` ignores the summary and reads the whole run, which takes longer.
`metal report` writes the page and the summary again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from metal.data.files import read_toml, whole_text, write_new
from metal.data.holdings import GATES, LOCK
from metal.data.records import Rater
from metal.data.run_toml import RUN_TOML, check_shape
from metal.errors import DataError

BEGUN, STOPPED, WAITING, FINISHED = "begun", "stopped", "waiting", "finished"
STATES = (BEGUN, STOPPED, WAITING, FINISHED)
_MARK = b"\n[summary]\n"  # the last table that METAL writes; so the rest need not be parsed
_MOST_KEPT = 1000  # summaries, as a list is made again and again
_ENDINGS = (".json", ".jsonl", ".txt")  # of files on which a headline may depend, besides tables
_APART = ("journal.jsonl", "batches.jsonl", GATES)  # they grow, and no headline depends on them
_SHAPE: Mapping[str, Any] = {
    **dict.fromkeys(("kind", "state", "dataset", "title", "headline"), str),
    **{key: [str] for key in ("languages", "judges")},
    **{key: {} for key in ("raters", "cells")},
    **dict.fromkeys(("ratings", "not_asked", "waiting"), int),
    "cost": float,
    "of": {"run_toml": str, "files": [str], "sizes": str, "contents": str},
}


@dataclass(frozen=True)
class RunSummary:
    """What `metal ls` says of a run. Fields that are not known are missing from the table.

    kind: the command. state: `begun`, `stopped`, `waiting` (for a batch service) or `finished`; a
    killed run stays `begun`. dataset, title: the dataset's name and title. headline: the answer of
    a run with a page. raters: the number of raters of each kind. judges: the names of all raters
    that are not people. cells: an audit's number of cells (judge, language, criterion), by verdict
    and language. ratings: the number of ratings by judges or metrics. not_asked: the number of
    calls that were not made. waiting: the number of calls in open batches. cost: the cost of all
    replies in dollars; missing if the price or the tokens of some are not known.
    """

    kind: str
    state: str
    dataset: str = ""
    title: str = ""
    headline: str = ""
    languages: tuple[str, ...] | None = None
    raters: Mapping[str, int] | None = None
    judges: tuple[str, ...] = ()
    cells: Mapping[str, Mapping[str, int]] | None = None
    ratings: int | None = None
    not_asked: int = 0
    waiting: int = 0
    cost: float | None = None

    @classmethod
    def of(
        cls, content: Mapping[str, Any], raters: Iterable[Rater] | None = None, **more: Any
    ) -> RunSummary:
        """The summary of a run.

        content: that of run.toml. raters: None if they are not known yet. more: further fields.
        """
        settings = content["settings"]
        progress: Mapping[str, Any] = settings.get("state", {})
        data: Mapping[str, Any] = next(iter(content["datasets"]), {})
        state = more.pop("state", _state(settings))
        facts = {"not_asked": progress.get("not_asked", 0)}
        facts |= {"ratings": progress["ratings"]} if "ratings" in progress else {}
        facts |= {"title": str(data.get("title", "")), "dataset": str(data.get("name", ""))}
        if raters is not None:
            listed = list(raters)
            judges = tuple(rater.rater for rater in listed if rater.kind != "human")
            facts |= {"raters": dict(Counter(rater.kind for rater in listed)), "judges": judges}
        return cls(content["command"], state, **facts | more)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.toml, without fields that have their default."""
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                plain[field.name] = list(value) if isinstance(value, tuple) else value
        return plain


def _state(settings: Mapping[str, Any]) -> str:
    """How far a run has come by its own account."""
    if "identities" not in settings:  # it asked no model, so it is written when it has ended
        return FINISHED
    if "state" not in settings:
        return BEGUN
    return FINISHED if settings["state"].get("complete") else STOPPED


def read_summary(folder: Path) -> RunSummary | None:
    """The summary in a run's folder; None if it has none, or if the run was changed since."""
    path = folder / RUN_TOML
    before, mark, text = path.read_bytes().rpartition(_MARK)
    table = _parsed(text, path) if mark else None
    if table is None:
        return None
    table = deepcopy(table)
    of: Mapping[str, Any] = table.pop("of")
    if of.get("run_toml") != _digest(before) or not _same_files(folder, of, path):
        return None
    for key in ("languages", "judges"):
        table |= {key: tuple(table[key])} if key in table else {}
    return RunSummary(**table)


def write_summary(folder: Path, summary: RunSummary) -> None:
    """Write the summary into run.toml, whose other text stays as it is. All other files of the run
    must be there already.

    How far the run has come stays as in its earlier summary. Nothing is written if somebody has
    added to the summary, or has moved it.
    """
    path = folder / RUN_TOML
    content = path.read_bytes()
    before, mark, text = content.rpartition(_MARK)
    if not mark:
        before = content
    earlier = _parsed(text, path) if mark else None
    if (mark and earlier is None) or (not mark and "summary" in read_toml(path)):
        return
    if earlier and earlier["of"].get("run_toml") == _digest(before):
        progress = {key: earlier[key] for key in ("state", "waiting", "cost") if key in earlier}
        summary = replace(summary, **progress)
    summarized = with_summary(before, summary, folder)
    if summarized != content:
        write_new(path, summarized)


def with_summary(content: bytes, summary: RunSummary, folder: Path) -> bytes:
    """The content of a run.toml with the summary after it.

    folder: where all other files of the run are.
    """
    import tomli_w

    files = [
        entry.name
        for entry in os.scandir(folder)
        if entry.name.endswith(_ENDINGS) and entry.name not in _APART
    ]
    parts = _parts(folder, files)
    of = {
        "run_toml": _digest(content),
        "files": sorted(files),
        "sizes": _sizes(parts),
        "contents": _contents(folder, parts),
    }
    table = whole_text(tomli_w.dumps({"summary": summary.to_dict() | {"of": of}}))
    return content + b"\n" + table.encode()


def is_running(folder: Path) -> bool:
    """Whether a process works on a run of judges or of generation, as its lock says.

    False on systems where that cannot be seen.
    """
    with suppress(ImportError, OSError):
        import fcntl

        with (folder / LOCK).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


@lru_cache(maxsize=_MOST_KEPT)
def _parsed(text: bytes, path: Path) -> dict[str, Any] | None:
    """The table that a text contains; None if the text is not in the form that METAL writes."""
    try:
        content = tomllib.loads(f"[summary]\n{text.decode()}")
        table: dict[str, Any] = content.pop("summary")
        check_shape(table, _SHAPE, "summary", path)
    except (ValueError, RecursionError, DataError):
        return None
    names = {field.name for field in fields(RunSummary)} | {"of"}
    by_verdict = table.get("cells", {}).values()
    as_written = (
        not content
        and {"kind", "state", "of"} <= table.keys() <= names
        and table["state"] in STATES
        and isfinite(table.get("cost", 0))
        and all(isinstance(counts, dict) for counts in by_verdict)
        and all(map(_are_counts, (table.get("raters", {}), *by_verdict)))
    )
    return table if as_written else None


def _are_counts(counts: Mapping[str, Any]) -> bool:
    return all(type(count) is int and count >= 0 for count in counts.values())


def _parts(folder: Path, files: Iterable[str]) -> dict[str, os.stat_result]:
    """Those of the named files that exist, and the run's tables."""
    parts = {name for name in files if os.path.basename(name) == name}
    with suppress(FileNotFoundError, NotADirectoryError):
        tables = os.listdir(os.path.join(folder, "tables"))
        parts |= {f"tables/{name}" for name in tables if name.endswith(".parquet")}
    statuses: dict[str, os.stat_result] = {}
    for name in sorted(parts):
        with suppress(OSError):
            status = os.stat(os.path.join(folder, name))
            if stat.S_ISREG(status.st_mode):  # no pipe, from which one would read for ever
                statuses[name] = status
    return statuses


def _same_files(folder: Path, of: Mapping[str, Any], path: Path) -> bool:
    """Whether the files are those of which a summary was made.

    They are read only if one of them seems newer than the summary, as in a copy of the folder.
    """
    parts = _parts(folder, of.get("files", ()))
    if of.get("sizes") != _sizes(parts):
        return False
    written = path.stat().st_mtime_ns
    if all(max(part.st_mtime_ns, part.st_ctime_ns) <= written for part in parts.values()):
        return True
    return of.get("contents") == _contents(folder, parts)


def _sizes(parts: Mapping[str, os.stat_result]) -> str:
    return _digest("".join(f"{name}\0{part.st_size}\n" for name, part in parts.items()).encode())


def _contents(folder: Path, parts: Iterable[str]) -> str:
    digests = []
    for name in parts:
        with (folder / name).open("rb") as file:
            digests.append(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n")
    return _digest("".join(digests).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
