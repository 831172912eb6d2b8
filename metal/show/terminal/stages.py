"""What a progress bar shows of long work: stages, each counted in a unit of its own, with rate and remaining time."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from metal.data.progress import BYTES

if TYPE_CHECKING:
    from rich.table import Table

PERCENT = "%"
QUIET_EVERY = 10.0  # seconds between two lines of progress where there is no terminal


@dataclass
class Stage:
    """Steps of one kind: of what, how many in all and done, since when, and when that was reported."""

    name: str
    unit: str
    total: int
    began: float
    done: int = 0
    reported: float = 0.0

    @property
    def has_rate(self) -> bool:
        return self.done > 0 and self.reported > self.began

    def numbers(self) -> str:
        """Done of all, rate and remaining time; where nobody knows how many there are, the time that has passed."""
        now, done, total, unit = time.monotonic(), float(self.done), float(self.total), f" {self.unit}"
        if self.unit == BYTES:
            scale, unit = (1e6, " MB") if total >= 1e6 else (1e3, " kB")
            done, total = done / scale, total / scale
        if self.unit == PERCENT:
            done, total, unit = 100 * done / total, 100, PERCENT
        shown = [f"{done:,.0f}%" if unit == PERCENT else f"{done:,.0f}/{total:,.0f}" if total else f"{done:,.0f}"]
        if not self.has_rate:
            shown[0] += unit.removesuffix(PERCENT)
        else:
            rate = done / (self.reported - self.began)
            shown.append(per_second(rate, unit))
            left = max((total - done) / rate - (now - self.reported), 1)  # some steps take longer than others
            shown.append(f"{_clock(math.ceil(left))} left" if total else _clock(now - self.began))
        return "; ".join(shown)


class Stages:
    """What is done at present: the last of its stages that is not at its end, and has a rate where any has."""

    def __init__(self, what: str) -> None:
        self.what, self.stages = what, dict[tuple[str, str, int], Stage]()
        self.began = self.printed = time.monotonic()

    def advance(self, name: str, unit: str, done: int, total: int) -> None:
        """Take down how far it is."""
        now, kind = time.monotonic(), (name, unit, total)
        stage = self.stages.pop(kind, None)
        if done < total or not total:
            self.stages[kind] = stage = stage if stage and done else Stage(*kind, now)
            stage.done, stage.reported = done, now
            if not sys.stderr.isatty() and now - self.printed >= QUIET_EVERY:
                self.printed = now
                print(": ".join(self._shown()), file=sys.stderr)

    def _stage(self) -> Stage | None:
        """The stage that is shown."""
        under_way = [*reversed(self.stages.copy().values())]
        return next((stage for stage in under_way if stage.has_rate), next(iter(under_way), None))

    def _shown(self) -> tuple[str, str]:
        stage = self._stage()
        if not stage:
            return self.what, _clock(time.monotonic() - self.began)
        return f"{self.what}, {stage.name}" if stage.name else self.what, stage.numbers()

    def __rich__(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        stage = self._stage() or Stage("", "", 0, 0)
        bar = ProgressBar(stage.total or None, stage.done, width=20, pulse=not stage.total)
        words, numbers = self._shown()
        grid = Table.grid(padding=(0, 1))
        for uncut in (False, False, True):
            grid.add_column(no_wrap=uncut)
        grid.add_row(Text(words, no_wrap=True, overflow="ellipsis"), bar, Text(numbers))
        return grid


def per_second(rate: float, unit: str) -> str:
    """`2.7 cells/s`, of the unit ` cells`."""
    return f"{rate:,.{0 if rate >= 10 else 1 if rate >= 0.1 else 3}f}{unit}/s"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
