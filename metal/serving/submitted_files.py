"""The files that teams submitted, while the server needs them. A request never names a file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import IO

from metal.errors import UsageError

GENERATOR, SCORES, PROGRAM = "generator", "metric-scores", "metric-program"
FILES = {GENERATOR: "outputs.jsonl", SCORES: "scores.csv", PROGRAM: "metric.py"}  # by kind
GIVEN_SCORES = "given-scores.csv"  # of a generator's outputs, by metrics that cannot run here
OWN_FOLDER = ".metal-serve"  # in the server's folder: submitted files and pages of boards
SUBMISSIONS = "submissions"  # in it, a folder for each
LARGEST_FILE = 64 * 2**20  # bytes
LARGEST_PROGRAM = 2**20
BLOCK = 2**20


def file_of(root: Path, submission: str, kind: str) -> Path:
    """Where the file of a submission is."""
    return root / OWN_FOLDER / SUBMISSIONS / submission / FILES[kind]


def submitted(root: Path) -> dict[str, float]:
    """The submissions that have files: their names, and when the first bytes came."""
    folder = root / OWN_FOLDER / SUBMISSIONS
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_mtime for entry in entries}


def take_in(content: IO[bytes], path: Path, most: int) -> None:
    """Copy a file to the disk. Raises UsageError if it is empty or too large."""
    size = 0
    with path.open("xb") as file:
        while block := content.read(BLOCK):
            size += len(block)
            if size > most:
                raise UsageError(f"the file is larger than {most // 2**20} MB")
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if not size:
        raise UsageError("the file is empty")


def forget(root: Path, submission: str) -> None:
    """Delete the files of a submission; what joined is kept by the board."""
    shutil.rmtree(root / OWN_FOLDER / SUBMISSIONS / submission, ignore_errors=True)
