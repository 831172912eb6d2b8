"""State of a campaign: JSON Lines that only grow, each line on the disk before what it stands for is done or counts.

The file is opened anew for every line: an import meanwhile may have put another folder in this one's place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metal.data.json_files import read_jsonl, whole_text
from metal.raters.judges.journal import heal


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Write a line, and return when it is on the disk. A line that a killed process left half-written goes first."""
    heal(path)
    line = whole_text(json.dumps(record, ensure_ascii=False)).encode() + b"\n"
    with path.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def records(path: Path) -> Iterator[dict[str, Any]]:
    """All whole lines; nothing where there is no file. Raises DataError for a line that is damaged."""
    if path.is_file():
        heal(path)
        for _, record in read_jsonl(path):
            yield record
