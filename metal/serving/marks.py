"""What a dataset, or a plan of adjudication, notes of the ledgers whose answers it has:
annotation/served.json.

Each change that a worker makes leaves the same mark in the folder and in the ledger. If the marks
differ, one of the two was restored from a copy, and what the folder lacks comes in again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from metal.building.store import FOLDER
from metal.data.files import new_file, parse_json
from metal.errors import DataError
from metal.serving.studies import Study

FILE = f"{FOLDER}/served.json"
# among the figures of a study: the mark of the latest change of the dataset, and when the two were
# found to differ
MARK, RECOVERED = "mark", "recovered"


@dataclass(frozen=True)
class ServedMarks:
    """The marks in a dataset.

    studies: key of a study -> the mark of the latest change by its worker. people: name -> the
    fingerprint of the person in the ledger who has this name. withdrawn: fingerprints of people who
    have withdrawn, without their names.
    """

    studies: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    withdrawn: Mapping[str, str] = field(default_factory=dict)


def read_marks(folder: Path) -> ServedMarks:
    """The marks in a dataset's folder; none if no server brought answers in."""
    path = folder / FILE
    if not path.is_file():
        return ServedMarks()
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        parts = {name: content[name] for name in ("studies", "people", "withdrawn")}
        fine = all(
            isinstance(part, dict) and all(isinstance(value, str) for value in part.values())
            for part in parts.values()
        )
    except (ValueError, TypeError, LookupError):
        fine = False
    if not fine:
        raise DataError(path, "no marks of a server", "Restore the file, or delete it")
    return ServedMarks(**parts)


def write_marks(folder: Path, marks: ServedMarks) -> None:
    """Replace the marks in a dataset's folder."""
    (folder / FOLDER).mkdir(exist_ok=True)
    with new_file(folder / FILE) as unfinished:
        unfinished.write_text(json.dumps(vars(marks), ensure_ascii=False), encoding="utf-8")


def leave_mark(
    folder: Path,
    study: Study,
    *,
    joined: Mapping[str, str] | None = None,
    left: str = "",
    withdrawn: str = "",
) -> str:
    """Leave a new mark in the dataset, and return it for the ledger.

    joined: the fingerprints of people whose answers came in, by name. left: a person whose answers
    were taken out. withdrawn: the fingerprint of a person who has withdrawn.
    """
    marks, mark = read_marks(folder), secrets.token_hex(8)
    people = {name: person for name, person in marks.people.items() if name != left}
    gone = {withdrawn: key_of(study)} if withdrawn else {}
    studies = {**marks.studies, key_of(study): mark}
    changed = ServedMarks(studies, {**people, **(joined or {})}, {**marks.withdrawn, **gone})
    write_marks(folder, changed)
    return mark


def key_of(study: Study) -> str:
    """The key of a study, which a study of the same name in another ledger does not have."""
    return fingerprint(study.id, study.made)


def fingerprint(name: str, began: float) -> str:
    """A short text that tells apart who or what has the same name, and does not say the name."""
    return blake2b(f"{name}\n{began:.3f}".encode(), digest_size=8).hexdigest()
