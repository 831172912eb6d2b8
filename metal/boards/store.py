"""A board's folder on disk: the dataset folder with `board/` in it.

board/history.jsonl          a line a version, only ever added to
board/data/DIGEST/           the dataset as it was at a version: a digest of its ratings and of its files' bytes
board/submissions/0002/      outputs.jsonl, raters.jsonl, ratings.parquet of what joined with version 2, and its program
board/ensembles.jsonl        every ensemble that was ever fitted, by its signature
board/settings.json          what the board was last told (metal.boards.settings); submissions are ranked by it
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from metal.boards.apply import read_ensemble
from metal.boards.history import Entry, Submission, board_at, entry_at, standing
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset, load_dataset
from metal.data.dataset_lines import numbered_records, output_record, rater_record, read_output, read_raters
from metal.data.folders import new_file, new_folder, one_writer, recover
from metal.data.json_files import read_json, whole_text, write_jsonl
from metal.data.ratings_files import find_ratings, read_facts, write_facts
from metal.errors import DataError
from metal.stats.lasso import Rule

BOARD = "board"
DATA = ("dataset.toml", "sources.jsonl", "outputs.jsonl", "raters.jsonl")


@dataclass(frozen=True)
class OpenBoard:
    """A board at one of its versions. recorded: whether its history is on disk (not where the folder is read-only).

    base: the dataset without what joined.
    """

    folder: Path
    base: Dataset
    entries: tuple[Entry, ...]
    version: int
    recorded: bool = True

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset with what joined. Raises DataError where they do not fit: one of them can be withdrawn then."""
        return board_at(self.base, [read_submission(self.folder, one) for one in standing(self.entries, self.version)])


def open_board(folder: Path, version: int | None = None) -> OpenBoard:
    """The board of a dataset folder, now or at a version.

    A dataset that has changed since the last version, or has no history yet, becomes a version of its own; where the
    folder cannot be written, it does so without being recorded. Raises UsageError for a version that never was.
    """
    recover(folder)
    files = _files(folder)
    base = load_dataset(folder)
    entries, recorded, digest = read_history(folder), True, _digest(folder, base)
    if not entries or entries[-1].digest != digest:
        try:
            base, entries = _note_data(folder, base if _files(folder) == files else None, files)
        except OSError:
            entries, recorded = (*entries, _entry(entries, "data", digest)), False
    at = len(entries) if version is None else version
    wanted = entry_at(entries, at).digest
    if wanted != entries[-1].digest:
        base = load_dataset(folder / BOARD / "data" / wanted)
    return OpenBoard(folder, base, entries, at, recorded)


def _files(folder: Path) -> dict[str, tuple[int, ...]]:
    """By name, what tells whether a file of the dataset is still the one that was read: itself, its size, its time."""
    return {
        path.name: (status.st_ino, status.st_size, status.st_mtime_ns)
        for path in folder.glob("*")
        if (path.name in DATA or path.stem == "ratings") and (status := path.stat())
    }


def _digest(folder: Path, base: Dataset) -> str:
    """What a version is known by: it changes with the ratings, whatever their order, and with all that is not one."""
    whole = hashlib.sha256(base.digest.encode("ascii"))
    for name in DATA:
        whole.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return whole.hexdigest()[:16]


def read_history(folder: Path) -> tuple[Entry, ...]:
    """The entries of a board's history; none where there is no history. Raises DataError for a damaged file."""
    path = folder / BOARD / "history.jsonl"
    if not path.is_file():
        return ()
    entries: list[Entry] = []
    for where, record in _records(path):
        entry = Entry.of(record, where)
        if entry.version != len(entries) + 1:
            raise DataError(where, f"version {entry.version} after {len(entries)}", "Take the file from a backup")
        entries.append(entry)
    return tuple(entries)


def read_submission(folder: Path, entry: Entry) -> Submission:
    """What joined with an entry."""
    place = submission_folder(folder, entry.version)
    outputs = [read_output(record, where) for where, record in numbered_records(place / "outputs.jsonl")]
    return Submission(entry, tuple(outputs), tuple(read_raters(place)), read_facts(find_ratings(place)))


def submission_folder(folder: Path, version: int) -> Path:
    """Where what joined with a version lies."""
    return folder / BOARD / "submissions" / f"{version:04d}"


# ---------------------------------------------------------------- adding to the history


def add_entry(
    folder: Path, seen: OpenBoard, make: Callable[[Entry], Entry | Submission], files: Mapping[str, bytes] | None = None
) -> OpenBoard | None:
    """Write an entry with what joins; None when the board is no longer what was `seen`, and nothing was written.

    make: is given the entry's place (version, time, digest) and gives it filled in. files: kept beside the submission.
    """
    with one_writer(folder):
        now = open_board(folder)
        if now.entries != seen.entries:
            return None
        made = make(_entry(now.entries, "data", now.entries[-1].digest))
        entry = made.entry if isinstance(made, Submission) else made
        _clear(folder, entry.version)
        if isinstance(made, Submission):
            _write_submission(submission_folder(folder, entry.version), made, files or {})
        _append(folder / BOARD / "history.jsonl", [entry.to_dict()])
        return replace(now, entries=read_history(folder), version=entry.version)


def _clear(folder: Path, version: int) -> None:
    """Delete what lies where a new version is to be: its line was never written, the process died before it was."""
    place = submission_folder(folder, version)
    recover(place)
    if place.exists():
        shutil.rmtree(place)


def _write_submission(place: Path, one: Submission, files: Mapping[str, bytes]) -> None:
    with new_folder(place) as partial:
        write_jsonl(partial / "outputs.jsonl", map(output_record, one.outputs))
        write_jsonl(partial / "raters.jsonl", map(rater_record, one.raters))
        write_facts(one.facts, partial / "ratings.parquet")
        for name, content in files.items():
            (partial / name).write_bytes(content)
        _to_disk(partial)


def _to_disk(folder: Path) -> None:
    """Have the files of a folder on disk before something relies on them."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _entry(entries: Sequence[Entry], what: Any, digest: str) -> Entry:
    return Entry(len(entries) + 1, datetime.now(UTC).isoformat(timespec="seconds"), what, digest)


def _note_data(
    folder: Path, base: Dataset | None, files: Mapping[str, tuple[int, ...]]
) -> tuple[Dataset, tuple[Entry, ...]]:
    """The dataset as it is now, and the history with a version for it, of which there is a copy.

    base: the dataset as it was read from these files, so that it is not read twice if they are still the same.
    """
    with one_writer(folder):
        recover(folder)
        if base is None or _files(folder) != files:
            base = load_dataset(folder)
        entries = read_history(folder)
        digest = _digest(folder, base)
        if entries and entries[-1].digest == digest:  # another command was first
            return base, entries
        kept = folder / BOARD / "data" / digest
        if not kept.exists():
            with new_folder(kept) as partial:
                _keep(folder, partial)
                _to_disk(partial)
        entry = _entry(entries, "data", digest)
        _clear(folder, entry.version)
        _append(folder / BOARD / "history.jsonl", [entry.to_dict()])
        return base, (*entries, entry)


def _keep(folder: Path, copy: Path) -> None:
    """Copy the dataset's files. No links: whatever writes into the dataset's own shall not write into the past."""
    for name in DATA:
        shutil.copyfile(folder / name, copy / name)
    ratings = find_ratings(folder)
    shutil.copyfile(ratings, copy / ratings.name)


def _append(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Add lines, on disk before they count. What a power cut left of a line is cut off first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        there = file.read()
        end = _end(there)
        file.truncate(end)
        lines = [json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for record in records]
        file.write((b"" if there[:end].endswith(b"\n") or not end else b"\n") + b"".join(lines))
        file.flush()
        os.fsync(file.fileno())


def _end(content: bytes) -> int:
    """Where the whole lines end. A last line without a line break is one if it is an object: then only that is lost."""
    last = content.rfind(b"\n") + 1
    return len(content) if isinstance(_value(content[last:]), dict) else last


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file that is only added to, with their places, but for an unfinished last line.

    Raises DataError for a line that is none.
    """
    content = path.read_bytes()
    for row, line in enumerate(content[: _end(content)].split(b"\n"), 1):
        record = _value(line)
        if isinstance(record, dict):
            yield f"{path} row {row}", record
        elif line.strip():
            raise DataError(f"{path} row {row}", "not a JSON object", "Take the file from a backup")


def _value(line: bytes) -> Any:
    """The value in a line of JSON, None where there is none; halves of surrogate pairs become U+FFFD."""
    try:
        value = json.loads(line.decode("utf-8"))
        if b"\\ud" in line.lower():
            value = json.loads(whole_text(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value


# ---------------------------------------------------------------- ensembles


def stored_ensembles(folder: Path) -> list[Mapping[str, Any]]:
    """Every ensemble that was fitted on this board, in the order they were."""
    path = folder / BOARD / "ensembles.jsonl"
    return [read_ensemble(record, where) for where, record in _records(path)] if path.is_file() else []


def store_ensembles(folder: Path, records: Sequence[Mapping[str, Any]]) -> bool:
    """Keep the ensembles that are not there yet; False where the folder cannot be written."""
    try:
        with one_writer(folder):
            known = {record["ensemble"] for record in stored_ensembles(folder)}
            new = [record for record in records if record["ensemble"] not in known]
            if new:
                _append(folder / BOARD / "ensembles.jsonl", new)
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- settings


def keep_settings(folder: Path, settings: BoardSettings) -> None:
    """Keep what the board was told, for submissions to be ranked by; nothing where the folder cannot be written."""
    try:
        with one_writer(folder), new_file(folder / BOARD / "settings.json") as partial:
            partial.write_text(json.dumps(settings.to_dict() | {"version": 1}, indent=1) + "\n", encoding="utf-8")
    except OSError:
        return


def is_told(folder: Path) -> bool:
    """Whether there was a board before, whose settings are kept."""
    return (folder / BOARD / "settings.json").is_file()


def kept_settings(folder: Path, version: int) -> BoardSettings:
    """What the board was last told, for a version; the defaults where it was told nothing."""
    path = folder / BOARD / "settings.json"
    if not path.is_file():
        return BoardSettings(version=version)
    kept = read_json(path, "settings of a board")
    try:
        told: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in kept.items()}
        found = BoardSettings(**{**told, "version": version})
    except (TypeError, AttributeError, OverflowError):
        found = None
    if found is None or not _of_their_types(found):
        raise DataError(path, "not the settings of a board", "Remove it, and run `metal billboard` again")
    return found


def _of_their_types(settings: BoardSettings) -> bool:
    """Whether every setting is of the type that its default has, and holds texts where it holds several."""
    for key, default in vars(BoardSettings()).items():
        value = getattr(settings, key)
        if key == "alpha":
            if value is not None and type(value) not in (int, float):
                return False
            continue
        if type(value) is not type(default):
            return False
        inside = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, tuple) else ()
        if not all(isinstance(one, str) for one in inside):
            return False
    return settings.rule in get_args(Rule) and settings.seed >= 0
