"""The state of a watch on disk: one JSON line a step, appended before it counts.

    {"watch": 1, "alpha": 0.05, "least": [[KEY, 0.71], ...]}
    {"batch": B, "output": O, "key": K, "value": 1.0}

Whoever reads the lines again in their order gets the same e-values, to the bit. A last line that was cut short never
counted; it is taken away when the file is opened, and the step is taken again when its batch is given again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from metal.data.files import naming, write_new
from metal.errors import DataError, UsageError
from metal.gating.watching import Key
from metal.raters.judges.journal import heal
from metal.stats.drift import Stream


class WatchFile:
    """Streams by key, as far as the file has come. Hold its lock (`data.files.one_writer`)."""

    def __init__(self, path: Path, alpha: float, least: Mapping[Key, float]) -> None:
        """Go on with the file, or begin it. Raises UsageError where it watches for something else."""
        self.path, self.alpha = path, alpha
        self.streams = {key: Stream(level) for key, level in least.items()}
        self.alarms: dict[Key, int] = {}
        self._keys = sorted(least)
        self._taken: set[tuple[str, str, Key]] = set()
        head = {"watch": 1, "alpha": alpha, "least": [[list(key), least[key]] for key in self._keys]}
        if not path.is_file():
            write_new(path, json.dumps(head, ensure_ascii=False) + "\n")
            return
        heal(path)
        lines = path.read_bytes().splitlines()
        if not lines or self._read(lines[0], 1) != head:
            raise UsageError(
                f"{path} watches another judge, other languages or other levels; give another `state`, or move it away"
            )
        for number, line in enumerate(lines[1:], 2):
            step = self._read(line, number)
            try:
                self._count(step["batch"], step["output"], self._keys[step["key"]], float(step["value"]))
            except (KeyError, IndexError, TypeError, ValueError):
                raise self._damaged(number) from None

    def take(self, batch: str, steps: Iterable[tuple[Key, str, float]]) -> int:
        """Take the steps of a batch that were not taken before, each on disk before it counts; how many these were.

        Steps of no stream are left out.
        """
        places, taken = {key: place for place, key in enumerate(self._keys)}, 0
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            for key, output, value in steps:
                if key in places and (batch, output, key) not in self._taken:
                    step = {"batch": batch, "output": output, "key": places[key], "value": value}
                    line = (json.dumps(step, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
                    with naming(self.path):
                        if os.write(file, line) != len(line):  # a full disk takes a part of it
                            raise OSError(28, "no space left on device", str(self.path))
                    self._count(batch, output, key, value)
                    taken += 1
            os.fsync(file)
        finally:
            os.close(file)
        return taken

    @property
    def threshold(self) -> float:
        """The e-value at which a stream alarms: 1 / alpha, times the streams."""
        return len(self.streams) / self.alpha

    def _count(self, batch: str, output: str, key: Key, value: float) -> None:
        self._taken.add((batch, output, key))
        self.streams[key] = stream = self.streams[key].after(value)
        if key not in self.alarms and stream.log_e >= math.log(self.threshold):
            self.alarms[key] = stream.steps

    def _read(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line.decode("utf-8", "surrogatepass"))
        except ValueError:
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> DataError:
        return DataError(f"{self.path} line {number}", "not a step of a watch", "Restore the file, or begin a new one")
