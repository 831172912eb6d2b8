"""Numbers on disk: as many as one likes, without memory growing with them."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np


class Spool:
    """Numbers written one after another to a temporary file, which goes with the block that it is opened for."""

    def __init__(self, kind: str) -> None:
        self._kind = np.dtype(kind)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the spool
        self._length = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, numbers: Any) -> None:
        """Write numbers after those written before."""
        self._file.write(np.asarray(numbers, dtype=self._kind).tobytes())
        self._length += len(numbers)

    def array(self) -> np.ndarray[Any, Any]:
        """All of them, as an array that is read from the file where it is looked at; it can be written to.

        The spool ends with it; the file stays as long as the array.
        """
        with self._file:
            if not self._length:
                return np.empty(0, self._kind)
            self._file.flush()
            return np.memmap(self._file, dtype=self._kind, mode="r+", shape=(self._length,))
