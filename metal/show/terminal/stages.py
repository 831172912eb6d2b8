"""What a progress bar shows of long work: stages, each counted in its own unit, with rate and
remaining time.
"""

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
LATE = 1.0  # seconds by which a step may take longer before nobody knows what is left
QUIET_EVERY = 10.0  # seconds between two lines of progress where there is no terminal


@dataclass
class Stage:
    """A stage of the work: its name, the number of its steps and of those done, when it began, and
    when it last reported.
    """

    name: str
    unit: str
    total: int
    began: float
    done: int = 0
    reported: float = 0.0

    @property
    def has_rate(self) -> bool:
        return self.done > 0 and self.reported > self.began

    @property
    def left(self) -> float:
        """Seconds to the end at the rate so far; below 0 if a step takes longer than the earlier
        ones.
        """
        return (self.total - self.done) * (self.reported - self.began) / self.done - (
            time.monotonic() - self.reported
        )

    def numbers(self, *, outermost: bool) -> str:
        """The number done, the total, the rate and, for the outermost stage, the remaining time;
        the elapsed time if the total is unknown.
        """
        now, done, total, unit = (
            time.monotonic(),
            float(self.done),
            float(self.total),
            f" {self.unit}",
        )
        if self.unit == BYTES:
            scale, unit = (1e6, " MB") if total >= 1e6 else (1e3, " kB")
            done, total = done / scale, total / scale
        if self.unit == PERCENT:
            done, total, unit = 100 * done / total, 100, PERCENT
        so_far = f"{done:,.0f}/{total:,.0f}" if total else f"{done:,.0f}"
        shown = [(f"{done:,.0f}%" if unit == PERCENT else so_far)]
        if not self.has_rate:
            shown[0] += unit.removesuffix(PERCENT)
        else:
            if unit != PERCENT:  # a rate of per cent says no more than the time that is left
                shown.append(per_second(done / (self.reported - self.began), unit))
            if not total:
                shown.append(_clock(now - self.began))
            elif outermost and self.left > -LATE:
                shown.append(f"{_clock(max(math.ceil(self.left), 1))} left")
        return "; ".join(shown)


class Stages:
    """The stages of work that are going on at present.

    Of nested stages the outermost one with a steady rate is shown, because only its remaining time
    is that of the whole work; without one, the last stage.
    """

    def __init__(self, what: str) -> None:
        self.what, self.stages = what, dict[tuple[str, str, int], Stage]()
        self.began = self.printed = time.monotonic()

    def advance(self, name: str, unit: str, done: int, total: int) -> None:
        """Note how far a stage has come."""
        now, kind = time.monotonic(), (name, unit, total)
        stage = self.stages.pop(kind, None)
        if done < total or not total:
            self.stages[kind] = stage = stage if stage and done else Stage(*kind, now)
            stage.done, stage.reported = done, now
            if not sys.stderr.isatty() and now - self.printed >= QUIET_EVERY:
                self.printed = now
                print(": ".join(self._shown()), file=sys.stderr)

    def _stages(self) -> tuple[Stage | None, Stage | None]:
        """The stage to show, and the outermost stage."""
        under_way = [*reversed(self.stages.copy().values())]
        nested = sorted(
            (stage for stage in reversed(under_way) if stage.total), key=lambda stage: stage.began
        )
        in_time = (stage for stage in nested if stage.has_rate and stage.left > -LATE)
        with_rate = (stage for stage in under_way if stage.has_rate)
        return next(iter([*in_time, *with_rate, *under_way]), None), next(iter(nested), None)

    def _shown(self) -> tuple[str, str]:
        stage, outermost = self._stages()
        if not stage:
            return self.what, _clock(time.monotonic() - self.began)
        return f"{self.what}, {stage.name}" if stage.name else self.what, stage.numbers(
            outermost=stage is outermost
        )

    def __rich__(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        stage = self._stages()[0] or Stage("", "", 0, 0)
        bar = ProgressBar(stage.total or None, stage.done, width=20, pulse=not stage.total)
        description, numbers = self._shown()
        grid = Table.grid(padding=(0, 1))
        for uncut in (False, False, True):
            grid.add_column(no_wrap=uncut)
        grid.add_row(Text(description, no_wrap=True, overflow="ellipsis"), bar, Text(numbers))
        return grid


def per_second(rate: float, unit: str) -> str:
    """The rate in words: `2.7 cells/s` for the unit ` cells`."""
    if rate >= 10:
        return f"{rate:,.0f}{unit}/s"
    return f"{rate:,.1f}{unit}/s" if rate >= 0.1 else f"{rate:,.3f}{unit}/s"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
