"""Find the records about one output in a journal without reading the whole journal each time."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from metal.raters.judges.journal import REJECTED, read_line, scan

# A key of the record, not a word of its texts: there, quotation marks are escaped.
_OUTPUT = re.compile(rb'"output":"((?:[^"\\]|\\.)*+)"')


class JournalLines:
    """Where a journal has the lines about each output.

    The first look-up reads the journal; later ones read only what was added since. A line takes 16
    bytes of memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._clear()

    def _clear(self) -> None:
        self._file: tuple[int, int] | None = None
        self._end, self._lines = 0, 0
        self._hashes, self._offsets = array("q"), array("q")

    def records(self, output: str) -> Iterator[dict[str, Any]]:
        """The records about an output, in the journal's order. Raises DataError for a line that
        METAL did not write, or that is damaged.
        """
        self._read_on()
        if not self._offsets:
            return
        matching = np.frombuffer(self._hashes, dtype=np.int64) == hash(output)
        offsets = np.frombuffer(self._offsets, dtype=np.int64)[matching].tolist()
        with self.path.open("rb") as file:
            for offset in offsets:
                file.seek(offset)
                record = read_line(self.path, file.readline(), offset)
                if record.get("output") == output:  # two hashes may be equal
                    yield record

    def _read_on(self) -> None:
        """Index the lines that were added since the last time; all, if it is another file now."""
        if not self.path.is_file():
            self._clear()
            return
        state = self.path.stat()
        file = state.st_dev, state.st_ino
        if file != self._file or state.st_size < self._end:
            self._clear()
            self._file = file
        if state.st_size == self._end:
            return
        for _, kind, offset, line in scan(self.path, self._end, self._lines + 1):
            self._end, self._lines = offset + len(line), self._lines + 1
            if kind != REJECTED:
                self._hashes.append(hash(_output_of(self.path, line, offset)))
                self._offsets.append(offset)


def _output_of(path: Path, line: bytes, offset: int) -> object:
    """The output that a line is about."""
    match = _OUTPUT.search(line)
    if match is None:
        return str(read_line(path, line, offset).get("output", ""))
    if b"\\" in match[1]:
        return json.loads(b'"' + match[1] + b'"')
    return match[1].decode("utf-8", "replace")
