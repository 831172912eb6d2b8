"""The state of a watch on disk: one JSON line per step, appended before the step counts.

    {"watch": 2, "alpha": 0.05, "streams": 8, "least": [[KEY, 0.71], ...]}
    {"batch": B, "source": O, "key": K, "value": 1.0, "sum": S}

Reading the lines in their order gives exactly the same e-values. If the last line was cut short,
its step never counted: the line is removed when the file is opened, and the step is taken when its
batch is passed again. `sum` is a checksum of the line and all lines before it, which reveals a
doubled, changed or removed line.
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
from metal.questions.drift.watching import Key
from metal.raters.judges.journal import heal
from metal.stats.stream import Stream, stake_at_alarm

FORMAT = 2  # 1 took the baseline for exact: its levels were the mean less the margin


def _is_step(step: Any, keys: int) -> bool:
    """Whether a line can be a step: its batch and source have names, and its value is between 0 and
    1.
    """
    if not isinstance(step, dict) or not {"batch", "source", "key", "value", "sum"} <= set(step):
        return False
    key, value = step["key"], step["value"]
    named = all(isinstance(step[part], str) and step[part].strip() for part in ("batch", "source"))
    numbered = type(key) is int and 0 <= key < keys
    return named and numbered and type(value) in (int, float) and 0 <= value <= 1


class WatchFile:
    """The streams by key, in the state that the file records. Callers must hold the file's lock
    (`data.files.one_writer`).
    """

    def __init__(self, path: Path, alpha: float, least: Mapping[Key, float], streams: int) -> None:
        """Continue the file, or begin it.

        streams: the declared number of streams, at least as many as `least` has.

        Raises UsageError if the file belongs to another watch, or follows the rule of an earlier
        version.
        """
        self.path, self.alpha, self.declared = path, alpha, streams
        self.streams = {key: Stream(level) for key, level in least.items()}
        self.alarms: dict[Key, int] = {}
        self._keys = sorted(least)
        self._taken: set[tuple[str, str, Key]] = set()
        self._sum = ""
        head = {
            "watch": FORMAT,
            "alpha": alpha,
            "streams": streams,
            "least": [[list(key), least[key]] for key in self._keys],
        }
        if not path.is_file():
            write_new(path, json.dumps(head, ensure_ascii=False) + "\n")
            return
        heal(path)
        lines = path.read_bytes().splitlines()
        self._check_head(self._read(lines[0], 1) if lines else None, head)
        for number, line in enumerate(lines[1:], 2):
            step = self._read(line, number)
            if not _is_step(step, len(self._keys)):
                raise self._damaged(number)
            recorded = step.pop("sum")
            self._sum = self._sum_after(step)
            if recorded != self._sum:
                problem = (
                    "does not follow from the lines before it: a line was changed, doubled or"
                    " taken out"
                )
                raise DataError(
                    f"{self.path} line {number}", problem, "Restore the file, or begin a new one"
                )
            self._count(
                step["batch"], step["source"], self._keys[step["key"]], float(step["value"])
            )

    def _check_head(self, begun: Any, wanted: Mapping[str, Any]) -> None:
        """Raise UsageError unless the file's first line is the one that this watch would write."""
        if begun == wanted:
            return
        if isinstance(begun, dict) and begun.get("watch") == 1:
            raise UsageError(
                f"{self.path} was begun by an earlier METAL, which treated the baseline as exact"
                " and so raised false alarms; keep the file as a record, and begin a new file"
                " with another `state`"
            )
        raise UsageError(
            f"{self.path} watches another judge, other languages or other levels; give another"
            " `state`, or move it away"
        )

    def take(self, batch: str, steps: Iterable[tuple[Key, str, float]]) -> int:
        """Take the steps of a batch that were not taken before, writing each to disk before it
        counts; return their number.

        Steps that belong to no stream are left out.
        """
        places, taken = {key: position for position, key in enumerate(self._keys)}, 0
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            for key, source, value in steps:
                if key in places and (batch, source, key) not in self._taken:
                    step = {"batch": batch, "source": source, "key": places[key], "value": value}
                    self._sum = self._sum_after(step)
                    step["sum"] = self._sum
                    line = (json.dumps(step, ensure_ascii=False) + "\n").encode(
                        "utf-8", "surrogatepass"
                    )
                    with naming(self.path):
                        if os.write(file, line) != len(line):  # a full disk takes a part of it
                            raise OSError(28, "no space left on device", str(self.path))
                    self._count(batch, source, key, value)
                    taken += 1
            os.fsync(file)
        finally:
            os.close(file)
        return taken

    @property
    def threshold(self) -> float:
        """The e-value at which a stream alarms."""
        return stake_at_alarm(self.alpha, self.declared)

    def _count(self, batch: str, source: str, key: Key, value: float) -> None:
        self._taken.add((batch, source, key))
        self.streams[key] = stream = self.streams[key].after(value)
        if key not in self.alarms and stream.log_e >= math.log(self.threshold):
            self.alarms[key] = stream.steps

    def _sum_after(self, step: Mapping[str, Any]) -> str:
        """The checksum of all lines so far and this step."""
        return blake2b(
            (self._sum + json.dumps(step, sort_keys=True)).encode(), digest_size=8
        ).hexdigest()

    def _read(self, line: bytes, number: int) -> Any:
        try:
            return json.loads(line.decode("utf-8", "surrogatepass"))
        except ValueError:
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> DataError:
        return DataError(
            f"{self.path} line {number}",
            "not a step of a watch",
            "Restore the file, or begin a new one",
        )
