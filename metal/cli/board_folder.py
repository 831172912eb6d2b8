"""A board's folder on disk: the dataset folder with `board/` in it.

board/history.jsonl          a line a version, only ever added to
board/data/DIGEST/           the dataset as it was at a version
board/submissions/0002/      outputs.jsonl, raters.jsonl, ratings.parquet of what joined with version 2, and its program
board/ensembles.jsonl        every ensemble that was ever fitted, by its signature
board/settings.json          what the board was last told (metal.billboard.settings); submissions are ranked by it
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metal.billboard.history import Entry, Submission, board_at, entry_at, standing
from metal.billboard.settings import BoardSettings
from metal.dataset import Dataset, load_dataset
from metal.dataset_lines import numbered_records, output_record, rater_record, read_output, read_raters
from metal.errors import DataError
from metal.folders import new_file, new_folder, one_writer, recover
from metal.json_files import read_json, write_jsonl
from metal.ratings_files import find_ratings, read_facts, write_facts

BOARD = "board"
DATA = ("dataset.toml", "sources.jsonl", "outputs.jsonl", "raters.jsonl")


@dataclass(frozen=True)
class OpenBoard:
    """A board at one of its versions. recorded: whether its history is on disk (not where the folder is read-only)."""

    folder: Path
    base: Dataset
    dataset: Dataset
    entries: tuple[Entry, ...]
    version: int
    recorded: bool = True


def open_board(folder: Path, version: int | None = None) -> OpenBoard:
    """The board of a dataset folder, now or at a version.

    A dataset that has changed since the last version, or has no history yet, becomes a version of its own; where the
    folder cannot be written, it does so without being recorded. Raises UsageError for a version that never was.
    """
    base = load_dataset(folder)
    entries, recorded = read_history(folder), True
    if not entries or entries[-1].digest != base.digest:
        try:
            entries = _note_data(folder, base)
        except OSError:
            entries, recorded = (*entries, _entry(entries, "data", base.digest)), False
    at = len(entries) if version is None else version
    digest = entry_at(entries, at).digest
    if digest != base.digest:
        base = load_dataset(folder / BOARD / "data" / digest)
    submissions = [read_submission(folder, entry) for entry in standing(entries, at)]
    return OpenBoard(folder, base, board_at(base, submissions), entries, at, recorded)


def read_history(folder: Path) -> tuple[Entry, ...]:
    """The entries of a board's history; none where there is no history. Raises DataError for a damaged file."""
    path = folder / BOARD / "history.jsonl"
    if not path.is_file():
        return ()
    entries = tuple(Entry.of(record, where) for where, record in numbered_records(path))
    for place, entry in enumerate(entries, 1):
        if entry.version != place:
            raise DataError(f"{path} row {place}", f"version {entry.version}", "Take the file from a backup")
    return entries


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
        if now.entries != seen.entries or now.base.digest != seen.base.digest:
            return None
        made = make(_entry(now.entries, "data", now.base.digest))
        entry = made.entry if isinstance(made, Submission) else made
        if isinstance(made, Submission):
            _write_submission(submission_folder(folder, entry.version), made, files or {})
        _append(folder / BOARD / "history.jsonl", [entry.to_dict()])
        return open_board(folder)


def _write_submission(place: Path, one: Submission, files: Mapping[str, bytes]) -> None:
    if place.exists():  # its line was never written: the process died between the two
        shutil.rmtree(place)
    with new_folder(place) as partial:
        write_jsonl(partial / "outputs.jsonl", map(output_record, one.outputs))
        write_jsonl(partial / "raters.jsonl", map(rater_record, one.raters))
        write_facts(one.facts, partial / "ratings.parquet")
        for name, content in files.items():
            (partial / name).write_bytes(content)


def _entry(entries: Sequence[Entry], what: Any, digest: str) -> Entry:
    return Entry(len(entries) + 1, datetime.now(UTC).isoformat(timespec="seconds"), what, digest)


def _note_data(folder: Path, base: Dataset) -> tuple[Entry, ...]:
    """A version for the dataset as it is now, with a copy of it."""
    with one_writer(folder):
        entries = read_history(folder)
        if entries and entries[-1].digest == base.digest:  # another command was first
            return entries
        recover(folder)
        kept = folder / BOARD / "data" / base.digest
        if not kept.exists():
            with new_folder(kept) as partial:
                _keep(folder, partial)
        entry = _entry(entries, "data", base.digest)
        _append(folder / BOARD / "history.jsonl", [entry.to_dict()])
        return (*entries, entry)


def _keep(folder: Path, copy: Path) -> None:
    """Copy the dataset's files. Parquet is linked where it can be: METAL replaces it and never writes into it."""
    for name in DATA:
        shutil.copyfile(folder / name, copy / name)
    ratings = find_ratings(folder)
    if ratings.suffix == ".parquet":
        try:
            os.link(ratings, copy / ratings.name)
        except OSError:
            shutil.copyfile(ratings, copy / ratings.name)
        return
    shutil.copyfile(ratings, copy / ratings.name)


def _append(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Add lines, on disk before they count. What a power cut left of a line is cut off first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        whole = file.read()
        if whole and not whole.endswith(b"\n"):
            file.truncate(whole.rfind(b"\n") + 1)
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        file.flush()
        os.fsync(file.fileno())


# ---------------------------------------------------------------- ensembles


def stored_ensembles(folder: Path) -> list[dict[str, Any]]:
    """Every ensemble that was fitted on this board, in the order they were."""
    path = folder / BOARD / "ensembles.jsonl"
    return [record for _, record in numbered_records(path)] if path.is_file() else []


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


def kept_settings(folder: Path, version: int) -> BoardSettings:
    """What the board was last told, for a version; the defaults where it was told nothing."""
    path = folder / BOARD / "settings.json"
    if not path.is_file():
        return BoardSettings(version=version)
    kept = read_json(path, "settings of a board")
    try:
        told: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in kept.items()}
        return BoardSettings(**{**told, "version": version})
    except (TypeError, AttributeError):
        raise DataError(path, "not the settings of a board", "Remove it, and run `metal billboard` again") from None
