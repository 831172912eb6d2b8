"""A board's folder on disk: the dataset folder with `board/` in it.

board/history.jsonl          one line per version; lines are only added, never changed
board/data/DIGEST/           the dataset as it was at a version; DIGEST covers its ratings and its files' bytes
board/submissions/0002/      what joined with version 2: outputs.jsonl, raters.jsonl, ratings.parquet, its program
board/ensembles.jsonl        every ensemble that was ever fitted, by its signature
board/settings.json          the people with whom raters were last compared (WHOM); submissions are compared with them too
"""  # noqa: E501

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from metal.boards.ensemble_records import read_ensemble
from metal.boards.history import Entry, Submission, board_at, entry_at, standing
from metal.boards.settings import BoardSettings
from metal.data.dataset import Dataset, load_dataset, update_dataset, with_parts
from metal.data.dataset_lines import (
    numbered_records,
    rater_record,
    read_output,
    read_raters,
    text_record,
)
from metal.data.files import (
    of_one_state,
    one_writer,
    parse_json,
    read_json,
    recover,
    write_jsonl,
    write_new,
)
from metal.data.ratings import FACTS, tidy_facts
from metal.data.ratings_files import find_ratings, read_facts, write_facts
from metal.data.replacing import new_folder
from metal.errors import DataError

BOARD = "board"
DATA = ("dataset.toml", "sources.jsonl", "outputs.jsonl", "raters.jsonl")
# Settings that say whom a board compares with and who its generators are; all others are ways of
# looking at it.
WHOM = ("reference", "exclude_noisy", "human_generators", "families")
PEOPLE = "people"  # whose ratings of submitted generators are a version of the board
PROGRAM = "metric.py"  # of a submitted metric


@dataclass(frozen=True)
class OpenBoard:
    """A board at one version. base: the dataset without submissions.

    recorded: whether the last entry is on disk (see `record`). files: the files from which the
    dataset was read.
    """

    folder: Path
    base: Dataset
    entries: tuple[Entry, ...]
    version: int
    recorded: bool = True
    files: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset with its submissions. Raises DataError if a submission does not fit; it can
        then be withdrawn.
        """
        submissions = [
            read_submission(self.folder, entry) for entry in standing(self.entries, self.version)
        ]
        return board_at(self.base, submissions)


def open_board(folder: Path, version: int | None = None) -> OpenBoard:
    """The board of a dataset folder, now or at a version; nothing is written.

    If the dataset has changed since the last version, or has no history yet, the board is at a new
    version, which `record` can store. Raises UsageError if the board never had the wanted version.
    """
    files, base, entries, digest = of_one_state(folder, lambda: _read(folder))
    recorded = bool(entries) and entries[-1].digest == digest
    if not recorded:
        entries = (*entries, _entry(entries, digest))
    at = len(entries) if version is None else version
    wanted = entry_at(entries, at).digest
    if wanted != entries[-1].digest:
        base = load_dataset(folder / BOARD / "data" / wanted)
    return OpenBoard(folder, base, entries, at, recorded, files)


def with_submissions(base: Dataset, folder: Path) -> Dataset:
    """The dataset of a folder with what has joined its board; `base` itself if nothing has."""
    return open_board(folder).dataset if read_history(folder) else base


def _read(folder: Path) -> tuple[dict[str, tuple[int, ...]], Dataset, tuple[Entry, ...], str]:
    files, base = _files(folder), load_dataset(folder)
    return files, base, read_history(folder), _digest(folder, base)


def _files(folder: Path) -> dict[str, tuple[int, ...]]:
    """File name -> inode, size and time. If these change, the file is no longer the one that was
    read.
    """
    return {
        path.name: (status.st_ino, status.st_size, status.st_mtime_ns)
        for path in folder.glob("*")
        if (path.name in DATA or path.stem == "ratings") and (status := path.stat())
    }


def _digest(folder: Path, base: Dataset) -> str:
    """A hash that identifies a version. It changes if ratings change (their order does not matter)
    or if a byte of another file changes.
    """
    combined = hashlib.sha256(base.digest.encode("ascii"))
    for name in DATA:
        combined.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return combined.hexdigest()[:16]


def read_history(folder: Path) -> tuple[Entry, ...]:
    """The entries of a board's history, empty if it has none. Raises DataError for a damaged
    file.
    """
    path = folder / BOARD / "history.jsonl"
    if not path.is_file():
        return ()
    entries: list[Entry] = []
    for location, record in _records(path):
        entry = Entry.of(record, location)
        if entry.version != len(entries) + 1:
            raise DataError(
                location,
                f"version {entry.version} after {len(entries)}",
                "Take the file from a backup",
            )
        entries.append(entry)
    return tuple(entries)


def read_submission(folder: Path, entry: Entry) -> Submission:
    """What joined with an entry."""
    subfolder = submission_folder(folder, entry.version)
    outputs = [
        read_output(record, location)
        for location, record in numbered_records(subfolder / "outputs.jsonl")
    ]
    return Submission(
        entry, tuple(outputs), tuple(read_raters(subfolder)), read_facts(find_ratings(subfolder))
    )


def submission_folder(folder: Path, version: int) -> Path:
    """The folder of the submission of a version."""
    return folder / BOARD / "submissions" / f"{version:04d}"


def kept_program(folder: Path, version: int) -> Path | None:
    """The program of the metric that joined with a version; None if there is none."""
    path = submission_folder(folder, version) / PROGRAM
    return path if path.is_file() else None


def is_writable(folder: Path) -> bool:
    """Whether something can join the board of this folder."""
    places = [path for path in (folder, folder / BOARD) if path.exists()]
    return all(path.is_dir() and os.access(path, os.W_OK) for path in places)


def read_file(path: Path) -> bytes | None:
    """The bytes of a submitted file; None if there is no such file."""
    return path.read_bytes() if path.is_file() else None


# ---------------------------------------------------------------- adding to the history


def add_entry(
    folder: Path, seen: OpenBoard, new: Entry | Submission, files: Mapping[str, bytes]
) -> OpenBoard | None:
    """Write an entry with its submission. If the board has changed since it was `seen`, write
    nothing and return None.

    new: an entry, or a submission that holds one. The entry gets its version, time and digest here.
    files: the files to store with the submission.
    """
    with one_writer(folder):
        now = open_board(folder)
        before, after = (
            [replace(entry, at="") for entry in board.entries] for board in (seen, now)
        )
        if before != after or not (now.recorded or _note_data(now)):
            return None
        stamp = _entry(now.entries, now.entries[-1].digest)
        entry = new.entry if isinstance(new, Submission) else new
        entry = replace(entry, version=stamp.version, at=stamp.at, digest=stamp.digest)
        _clear(folder, entry.version)
        if isinstance(new, Submission):
            _write_submission(submission_folder(folder, entry.version), new, files)
        _append(folder / BOARD / "history.jsonl", [entry.to_dict()])
        return replace(now, entries=read_history(folder), version=entry.version)


def _clear(folder: Path, version: int) -> None:
    """Delete the remains of a process that died before it wrote the line of this version."""
    subfolder = submission_folder(folder, version)
    recover(subfolder)
    if subfolder.exists():
        shutil.rmtree(subfolder)


def _write_submission(folder: Path, submission: Submission, files: Mapping[str, bytes]) -> None:
    with new_folder(folder) as partial:
        write_jsonl(partial / "outputs.jsonl", map(text_record, submission.outputs))
        write_jsonl(partial / "raters.jsonl", map(rater_record, submission.raters))
        write_facts(submission.facts, partial / "ratings.parquet")
        for name, content in files.items():
            (partial / name).write_bytes(content)
        _sync(partial)


def _sync(folder: Path) -> None:
    """Force the files of a folder to disk before anything relies on them."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _entry(entries: Sequence[Entry], digest: str) -> Entry:
    """The entry that follows `entries` if the data are new."""
    return Entry(len(entries) + 1, datetime.now(UTC).isoformat(timespec="seconds"), "data", digest)


def record(board: OpenBoard) -> bool:
    """Store the version of an opened board if it is new.

    False if the folder cannot be written, or has changed since.
    """
    try:
        with one_writer(board.folder):
            return board.recorded or _note_data(board)
    except OSError:
        return False


def _note_data(board: OpenBoard) -> bool:
    """Copy the dataset's files and add an entry for them. Return False if they have changed since
    they were read.
    """
    folder, entry = board.folder, board.entries[-1]
    entries = read_history(folder)
    if entries and entries[-1].digest == entry.digest:  # another command was first
        return True
    if _files(folder) != board.files or entries != board.entries[:-1]:
        return False
    kept = folder / BOARD / "data" / entry.digest
    if not kept.exists():
        with new_folder(kept) as partial:
            for name in (*DATA, find_ratings(folder).name):
                # No links: whatever writes into the dataset's own files must not change the past.
                shutil.copyfile(folder / name, partial / name)
            _sync(partial)
    _clear(folder, entry.version)
    _append(folder / BOARD / "history.jsonl", [entry.to_dict()])
    return True


def _append(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Add lines and force them to disk. First remove an incomplete last line, which a power cut may
    have left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        content = file.read()
        end = _end(content)
        file.truncate(end)
        lines = [
            json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            for record in records
        ]
        file.write((b"" if content[:end].endswith(b"\n") or not end else b"\n") + b"".join(lines))
        file.flush()
        os.fsync(file.fileno())


def _end(content: bytes) -> int:
    """The position where the complete lines end. A last line without a line break is complete if it
    is a JSON object.
    """
    last = content.rfind(b"\n") + 1
    return len(content) if isinstance(_value(content[last:]), dict) else last


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in the lines of a file, each with its location for messages. An unfinished last
    line is skipped.

    Raises DataError for a line that is not an object.
    """
    content = path.read_bytes()
    for row, line in enumerate(content[: _end(content)].split(b"\n"), 1):
        record = _value(line)
        if isinstance(record, dict):
            yield f"{path} row {row}", record
        elif line.strip():
            raise DataError(f"{path} row {row}", "not a JSON object", "Take the file from a backup")


def _value(line: bytes) -> Any:
    """The value of a line of JSON, None for anything else; lone surrogates become U+FFFD."""
    try:
        return parse_json(line.decode("utf-8"))
    except ValueError:
        return None


# ---------------------------------------------------------------- people's ratings


def keep_ratings(
    base: Dataset, board: Dataset, folder: Path, files: Mapping[str, bytes], without: str = ""
) -> None:
    """Store new ratings of people: in the dataset for its own outputs, in a new version of the
    board for submitted outputs.

    base: the dataset of the folder; the caller makes sure that nobody else changes it meanwhile.
    board: the dataset with submissions and the new ratings. files, without: as in `update_dataset`;
    earlier versions of the board keep the ratings of who leaves.
    """
    people = {name: rater for name, rater in board.raters.items() if rater.kind == "human"}
    table = board.ratings
    own, by_people = table["output"].isin(base.outputs), table["rater"].isin(people)
    own_facts = tidy_facts(
        table.loc[own & (by_people | table["rater"].isin(base.raters)), list(FACTS)]
    )
    everybody = {**base.raters} | people
    if without not in people:  # none of their ratings is left
        everybody.pop(without, None)
    after = with_parts(base, raters=everybody.values(), facts=own_facts)
    update_dataset(after, folder, files, without=without)
    of_submitted = tidy_facts(table.loc[~own & by_people, list(FACTS)])
    seen = open_board(folder)
    before = seen.dataset.ratings
    kept = before.loc[
        before["kind"].eq("human") & ~before["output"].isin(base.outputs), list(FACTS)
    ]
    if Counter(map(str, kept.itertuples(index=False))) != Counter(
        map(str, of_submitted.itertuples(index=False))
    ):
        raters = tuple(people[name] for name in of_submitted["rater"].cat.categories)
        entry = Entry(0, "", "ratings", "", PEOPLE, "", {"ratings": len(of_submitted)})
        add_entry(folder, seen, Submission(entry, (), raters, of_submitted), {})


# ---------------------------------------------------------------- ensembles


def stored_ensembles(folder: Path) -> list[Mapping[str, Any]]:
    """Every ensemble ever fitted on this board, in the order of fitting."""
    path = folder / BOARD / "ensembles.jsonl"
    return (
        [read_ensemble(record, location) for location, record in _records(path)]
        if path.is_file()
        else []
    )


def store_ensembles(folder: Path, records: Sequence[Mapping[str, Any]]) -> bool:
    """Add the ensembles that are not stored yet; False if the folder cannot be written."""
    try:
        with one_writer(folder):
            stored = {record["ensemble"] for record in stored_ensembles(folder)}
            new = [record for record in records if record["ensemble"] not in stored]
            if new:
                _append(folder / BOARD / "ensembles.jsonl", new)
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- settings


def keep_settings(folder: Path, settings: BoardSettings) -> None:
    """Store the settings that say with whom submissions are compared. Given settings replace stored
    ones; settings outside WHOM are not stored.

    If the folder cannot be written, this does nothing.
    """
    chosen = {key: value for key, value in settings.to_dict().items() if key in WHOM and value}
    if not chosen:
        return
    try:
        with one_writer(folder):
            kept = kept_settings(folder, 1)
            whom = {
                key: value for key, value in kept.to_dict().items() if key in WHOM and value
            } | chosen
            write_new(folder / BOARD / "settings.json", json.dumps(whom, indent=1) + "\n")
    except OSError:
        return


def kept_settings(folder: Path, version: int) -> BoardSettings:
    """The settings that rank submissions at a version: stored settings of WHOM, and defaults for
    all others.
    """
    path = folder / BOARD / "settings.json"
    if not path.is_file():
        return BoardSettings(version=version)
    kept = read_json(path, "settings of a board")
    try:
        # Boards of earlier versions of METAL kept all their settings there.
        values: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item
            for key, item in kept.items()
            if key in WHOM
        }
        settings: BoardSettings | None = BoardSettings(**{**values, "version": version})
    except (TypeError, AttributeError, OverflowError):
        settings = None
    if settings is None or not _well_typed(settings):
        raise DataError(
            path, "not the settings of a board", "Remove it, and run `metal.billboard(...)` again"
        )
    return settings


def _well_typed(settings: BoardSettings) -> bool:
    """Whether each stored setting of WHOM has the type of its default, and each collection holds
    only texts.
    """
    for key in WHOM:
        value = getattr(settings, key)
        inside = value if isinstance(value, tuple) else ()
        if isinstance(value, dict):
            inside = (*value, *value.values())
        if type(value) is not type(getattr(BoardSettings(), key)) or not all(
            isinstance(item, str) for item in inside
        ):
            return False
    return True
