"""The ledger of a run's batches: what each batch is and which state it has reached, on disk before
it counts.

batches.jsonl has a line for every step of a batch, synced before the next step is taken. batches/ contains, for those
still open, the request file, the keys of its requests, and the results once they are fetched.

    made        the request file and its keys are complete on the disk; the provider knows nothing
    uploaded    the provider has the file
    submitting  from now on the provider may have the batch: if no answer came, the batch is looked for by its token
    submitted   the provider has it, under this id
    fetched     its results are complete on the disk
    merged      all of them are in the journal
    dropped     nothing of it was or will be asked; its questions are free again
"""  # noqa: E501

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metal.data.files import naming
from metal.errors import DataError
from metal.raters.judges.journal import heal, read_line

FILE = "batches.jsonl"
FOLDER = "batches"
KEY = 16  # bytes
MADE, UPLOADED, SUBMITTING, SUBMITTED, FETCHED = (
    "made",
    "uploaded",
    "submitting",
    "submitted",
    "fetched",
)
MERGED, DROPPED = "merged", "dropped"
STATES = (MADE, UPLOADED, SUBMITTING, SUBMITTED, FETCHED, MERGED, DROPPED)


@dataclass
class Batch:
    """One batch. token: our name for it; id: the provider's name for it. judge: the model's name.
    tokens, dollars: estimates.

    begins: the position of its first question in the plan. without: parameters that its requests
    leave out because the model rejects them. stage, done: the last status from the provider, which
    is not stored.
    """

    token: str
    judge: str
    requests: int = 0
    tokens: float = 0.0
    dollars: float = 0.0
    begins: int = 0
    without: Mapping[str, str] = field(default_factory=dict)
    state: str = MADE
    uploaded: str = ""
    id: str = ""
    stage: str = ""
    done: int = 0

    @property
    def open(self) -> bool:
        """Whether the batch still has to be merged or dropped."""
        return self.state not in (MERGED, DROPPED)

    def apply(self, record: Mapping[str, Any]) -> None:
        """Update the batch from a line of the ledger."""
        self.state = str(record["state"])
        self.uploaded, self.id = record.get("uploaded", self.uploaded), record.get("id", self.id)


def new_token() -> str:
    """Twenty lower-case letters and digits, the first a letter."""
    return "m" + secrets.token_hex(10)[1:]


class Ledger:
    """The ledger of a run folder, open for writing. The caller holds the run's lock."""

    def __init__(self, out: Path) -> None:
        self.path, self.folder = out / FILE, out / FOLDER
        heal(self.path)
        self.batches = {batch.token: batch for batch in read_ledger(out)}
        self.folder.mkdir(exist_ok=True)
        still_open = {token for token, batch in self.batches.items() if batch.open}
        # files of batches that are done with, or were never complete
        for path in self.folder.iterdir():
            if path.name.lstrip(".").partition(".")[0] not in still_open:
                path.unlink()

    def open_batches(self, judge: str) -> list[Batch]:
        """A judge's open batches, oldest first."""
        return [batch for batch in self.batches.values() if batch.judge == judge and batch.open]

    def note(self, batch: Batch, state: str, **changes: str) -> None:
        """Record that a batch has reached a state. Raises OSError, for example of a full disk."""
        record: dict[str, Any] = {
            "token": batch.token,
            "state": state,
            "at": round(time.time(), 3),
            **changes,
        }
        if batch.token not in self.batches:
            record |= {name: getattr(batch, name) for name in _MADE_OF}
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        if state == FETCHED:
            _sync(self.results(batch.token))
        with naming(self.path), self.path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.batches[batch.token] = batch
        batch.apply(record)
        if not batch.open:
            for path in [
                *self.folder.glob(f"{batch.token}.*"),
                *self.folder.glob(f".{batch.token}.*"),
            ]:
                path.unlink(missing_ok=True)

    def requests(self, token: str) -> Path:
        """The request file of a batch."""
        return self.folder / f"{token}.requests.jsonl"

    def results(self, token: str) -> Path:
        """The results of a batch, as the provider gave them."""
        return self.folder / f"{token}.results.jsonl"

    def write_keys(self, token: str, keys: Iterable[bytes]) -> None:
        """Store the keys of a batch's questions: sixteen bytes each, in the order of the plan."""
        path = self.folder / f"{token}.keys"
        with naming(path), path.open("wb") as file:
            file.write(b"".join(keys))
            file.flush()
            os.fsync(file.fileno())

    def keys(self, batch: Batch) -> list[bytes]:
        """The keys of a batch's questions. Raises DataError if some are missing."""
        return _read_keys(self.folder, batch)


_MADE_OF = ("judge", "requests", "tokens", "dollars", "begins", "without")


def read_ledger(out: Path) -> list[Batch]:
    """The batches of a run folder, oldest first; empty if it has no ledger. Raises DataError for a
    damaged line.
    """
    path = out / FILE
    if not path.is_file():
        return []
    batches: dict[str, Batch] = {}
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break  # a crash cut it short: the step was not taken
        record = read_line(path, line)
        try:
            token = str(record["token"])
            if record["state"] not in STATES:
                raise KeyError("state")
            if token not in batches:
                batches[token] = Batch(token, **{name: record[name] for name in _MADE_OF})
            batches[token].apply(record)
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"{path} line {number}", "not a line of a ledger", "Restore the file"
            ) from None
    return list(batches.values())


def open_calls(out: Path) -> set[bytes]:
    """The keys of all questions in open batches of a run folder."""
    keys: set[bytes] = set()
    for batch in read_ledger(out):
        if batch.open:
            keys.update(_read_keys(out / FOLDER, batch))
    return keys


def _sync(path: Path) -> None:
    with naming(path), path.open("r+b") as file:
        os.fsync(file.fileno())


def _read_keys(folder: Path, batch: Batch) -> list[bytes]:
    path = folder / f"{batch.token}.keys"
    content = path.read_bytes() if path.is_file() else b""
    if len(content) != KEY * batch.requests:
        raise DataError(
            path,
            f"some keys of its {batch.requests:,} calls are missing",
            "Restore the run folder as it was",
        )
    return [content[start : start + KEY] for start in range(0, len(content), KEY)]
