"""Texts that are kept in a file instead of in memory."""

from __future__ import annotations

import tempfile
import threading
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

PART = 2**20  # bytes that are read at once


class TextFile:
    """Texts one after another in a temporary file, each read by its number.

    The file has no name and goes with this object. A text takes eight bytes of memory.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  open as long as this object is
        weakref.finalize(self, self._file.close)
        self._ends = array("q", [0])
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: str) -> int:
        """Keep a text, and return its number."""
        content = text.encode("utf-8", "surrogatepass")
        with self._lock:
            if self._file.tell() != self._ends[-1]:
                self._file.seek(self._ends[-1])
            self._file.write(content)
            self._ends.append(self._ends[-1] + len(content))
            return len(self) - 1

    def __getitem__(self, number: int) -> str:
        return self._read(number, number + 1).decode("utf-8", "surrogatepass")

    def _read(self, first: int, end: int) -> bytes:
        """The texts from number `first` to before `end`."""
        start = self._ends[first]
        with self._lock:
            self._file.seek(start)
            return self._file.read(self._ends[end] - start)

    def parts(self) -> Iterator[list[str]]:
        """All texts in their order, some of them at a time."""
        for first, end in self._parts():
            content, before = self._read(first, end), self._ends[first]
            starts = [start - before for start in self._ends[first : end + 1]]
            yield [
                content[start:stop].decode("utf-8", "surrogatepass")
                for start, stop in pairwise(starts)
            ]

    def _parts(self) -> Iterator[tuple[int, int]]:
        """The number of the first text of each part, and that after its last; a part has about
        PART bytes.
        """
        first = 0
        while first < len(self):
            end = max(bisect_right(self._ends, self._ends[first] + PART) - 1, first + 1)
            yield first, end
            first = end

    def having(self, word: str) -> Iterator[int]:
        """The numbers of the texts that have a word, in rising order."""
        wanted = word.encode("utf-8", "surrogatepass")
        for number, end_of_part in self._parts():
            content, before = self._read(number, end_of_part), self._ends[number]
            found_at = content.find(wanted)
            while found_at >= 0:
                number = bisect_right(self._ends, before + found_at, number) - 1
                end = self._ends[number + 1] - before
                inside = found_at + len(wanted) <= end  # not across the end of the text
                if inside:
                    yield number
                found_at = content.find(wanted, end if inside else found_at + 1)
