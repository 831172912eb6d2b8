"""The state of a watch on disk: one JSON line a step, appended before it counts.

    {"watch": 1, "alpha": 0.05, "least": [[KEY, 0.71], ...]}
    {"batch": B, "output": O, "key": K, "value": 1.0, "sum": S}

Whoever reads the lines again in their order gets the same e-values, to the bit. A last line that was cut short never
counted; it is taken away when the file is opened, and the step is taken again when its batch is given again. `sum` is
of the line and of all before it: a line that was doubled, changed or taken out is found. Older files have none; there
a step counts once all the same.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from metal.data.files import naming, write_new
from metal.errors import DataError, UsageError
from metal.gating.watching import Key
from metal.raters.judges.journal import heal
from metal.stats.drift import Stream


def _is_step(step: Any, keys: int) -> bool:
    """Whether a line's value can be a step: a batch and an output have names, a value lies between 0 and 1."""
    if not isinstance(step, dict) or not {"batch", "output", "key", "value"} <= set(step):
        return False
    key, value = step["key"], step["value"]
    named = all(isinstance(step[part], str) and step[part].strip() for part in ("batch", "output"))
    numbered = type(key) is int and 0 <= key < keys
    return named and numbered and type(value) in (int, float) and 0 <= value <= 1


class WatchFile:
    """Streams by key, as far as the file has come. Hold its lock (`data.files.one_writer`)."""

    def __init__(self, path: Path, alpha: float, least: Mapping[Key, float]) -> None:
        """Go on with the file, or begin it. Raises UsageError where it watches for something else."""
        self.path, self.alpha = path, alpha
        self.streams = {key: Stream(level) for key, level in least.items()}
        self.alarms: dict[Key, int] = {}
        self._keys = sorted(least)
        self._taken: dict[tuple[str, str, Key], float] = {}
        self._sum = ""
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
            if not _is_step(step, len(self._keys)):
                raise self._damaged(number)
            recorded = step.pop("sum", None)
            after = self._sum_after(step)
            if recorded not in (None, after):
                problem = "does not follow from the lines before it: one was changed, doubled or taken out"
                raise DataError(f"{self.path} line {number}", problem, "Restore the file, or begin a new one")
            self._sum = after
            self._count_again(number, step["batch"], step["output"], self._keys[step["key"]], float(step["value"]))

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
                    self._sum = self._sum_after(step)
                    step["sum"] = self._sum
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
        self._taken[batch, output, key] = value
        self.streams[key] = stream = self.streams[key].after(value)
        if key not in self.alarms and stream.log_e >= math.log(self.threshold):
            self.alarms[key] = stream.steps

    def _count_again(self, number: int, batch: str, output: str, key: Key, value: float) -> None:
        """Count a step of the file, once. Raises DataError where it is there already with another value."""
        before = self._taken.get((batch, output, key))
        if before is None:
            self._count(batch, output, key, value)
        elif before != value:
            problem = f"output {output!r} of batch {batch} has another value than in an earlier line"
            raise DataError(f"{self.path} line {number}", problem, "Restore the file, or begin a new one")

    def _sum_after(self, step: Mapping[str, Any]) -> str:
        """The sum of all lines so far and of this step."""
        return blake2b((self._sum + json.dumps(step, sort_keys=True)).encode(), digest_size=8).hexdigest()

    def _read(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line.decode("utf-8", "surrogatepass"))
        except ValueError:
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> DataError:
        return DataError(f"{self.path} line {number}", "not a step of a watch", "Restore the file, or begin a new one")
