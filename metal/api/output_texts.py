"""The ids and texts of outputs: kept in files, read by the outputs' numbers, and searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metal.data.text_file import TextFile
from metal.stats.patterns import Codes

TEXTS = ("title", "source_text", "output_text")
FEW = 8  # if only one in so many texts is left, each is read by itself


class TextColumn:
    """A text for each output, empty until it is put. Each different text is kept once."""

    def __init__(self, outputs: int) -> None:
        self._different = TextFile()
        self._numbers = np.zeros(outputs, np.int32)  # of each output's text
        self._known: dict[bytes, int] = {}
        self._small: TextFile | None = None
        if outputs:
            self.put(0, "")

    def put(self, output: int, text: str) -> None:
        """Say what the text of an output is."""
        digest = blake2b(text.encode(), digest_size=16).digest()
        if digest not in self._known:
            self._known[digest] = self._different.add(text)
        self._numbers[output] = self._known[digest]

    def close(self) -> None:
        """Give back the memory that only `put` needs."""
        self._known.clear()

    def __getitem__(self, output: int) -> str:
        return self._different[int(self._numbers[output])]

    def having(self, word: str, outputs: Codes) -> Any:
        """(outputs,) whether the texts of these outputs have a word, which is in small letters."""
        small, numbers = self._in_small_letters(), self._numbers[outputs]
        having, looked_at = np.zeros((2, len(small)), dtype=bool)
        looked_at[numbers] = True
        few = np.flatnonzero(looked_at)
        if len(few) * FEW < len(small):
            having[few] = [word in small[number] for number in few.tolist()]
        else:
            having[list(small.having(word))] = True
        return having[numbers]

    def _in_small_letters(self) -> TextFile:
        """The different texts in small letters, in a file that the first search makes."""
        if self._small is None:
            small = TextFile()
            for texts in self._different.parts():
                for text in in_small_letters(texts):
                    small.add(text)
            self._small = small
        return self._small


class OutputTexts:
    """The ids of outputs, and the texts TEXTS that belong to each.

    texts: numbers of outputs, each with its texts in the order of TEXTS; an output without any has
    empty ones.
    """

    def __init__(self, ids: Sequence[str], texts: Iterable[tuple[int, Sequence[str]]]) -> None:
        self._outputs = len(ids)
        self._ids, *self._texts = (TextColumn(len(ids)) for _ in ("id", *TEXTS))
        for number, name in enumerate(ids):
            self._ids.put(number, name)
        for number, of_output in texts:
            for column, text in zip(self._texts, of_output, strict=True):
                column.put(number, text)
        for column in (self._ids, *self._texts):
            column.close()

    def of(self, outputs: Iterable[int]) -> list[dict[str, str]]:
        """The texts of each of these outputs, by the names in TEXTS."""
        return [
            dict(zip(TEXTS, (column[number] for column in self._texts), strict=True))
            for number in outputs
        ]

    def having(self, searched: Iterable[str]) -> Any:
        """(outputs,) whether the id or a text of an output has each of the words searched; capital
        and small letters are the same.
        """
        left = np.arange(self._outputs)  # the outputs that have the words so far
        for word in sorted(in_small_letters(list(searched)), key=len, reverse=True):
            having = np.zeros(len(left), dtype=bool)
            for column in (self._ids, *self._texts):
                having |= column.having(word, left)
            left = left[having]
        every = np.zeros(self._outputs, dtype=bool)
        every[left] = True
        return every


def in_small_letters(texts: Sequence[str]) -> list[str]:
    """Texts as a search compares them."""
    small: list[str] = pc.utf8_lower(pa.array(texts, pa.string())).to_pylist()
    return small
