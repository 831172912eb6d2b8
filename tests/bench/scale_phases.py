"""Where the time of a command goes: `python -m tests.bench.scale_phases audit DATASET --out RUN`.

The command runs within this process, with a clock around the functions that do the work. A phase's time holds that of
the phases it calls (indented below it), so that lines do not add up.
"""

from __future__ import annotations

import functools
import importlib
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from metal.cli import metal

# module:function, and how deep it stands below what calls it. The module is the one that looks the name up.
AUDIT = (
    ("metal.data.dataset:load_dataset", 0),
    ("metal.data.ratings_files:read_facts", 1),
    ("metal.data.dataset:assemble", 1),
    ("metal.data.ratings:join", 2),
    ("metal.data.dataset:Dataset.identity", 0),
    ("metal.auditing.audit:cells", 0),
    ("metal.auditing.audit:people_row", 0),
    ("metal.auditing.audit:judge_figures", 0),
    ("metal.auditing.judging:alternative_annotator_test", 1),
    ("metal.auditing.audit:difference_rows", 0),
    ("metal.auditing.audit:distribution_rows", 0),
    ("metal.stats.bootstrap:SourceBootstrap.draw_counts", 1),
    ("metal.stats.bootstrap:SourceBootstrap.totals", 1),
    ("metal.auditing.audit:disagreements", 0),
    ("metal.auditing.audit:lint", 0),
    ("metal.auditing.audit:lengths", 0),
    ("metal.auditing.audit:classes", 0),
    ("metal.runs.run:Run.write", 0),
    ("metal.show.pages:page", 1),
)
BILLBOARD = (
    *AUDIT[:5],
    ("metal.boards.store:open_board", 0),
    ("metal.boards.board:billboard", 0),
    ("metal.boards.board:ranking", 1),
    ("metal.boards.ranking:agreement", 2),
    ("metal.boards.ranking:soft_pairwise_accuracy", 2),
    ("metal.boards.ranking:correlates_better", 2),
    ("metal.boards.board:generator_rows", 1),
    ("metal.boards.board:crowd", 1),
    ("metal.stats.bootstrap:SourceBootstrap.totals", 1),
    ("metal.runs.run:Run.write", 0),
)


def now() -> tuple[float, float]:
    """Wall time, and CPU time of all threads."""
    return time.perf_counter(), time.process_time()


class Clock:
    """Seconds within a function, all its calls together, those of CPU too, and the most memory at its last end."""

    def __init__(self) -> None:
        self.seconds, self.cpu, self.calls, self.gigabytes = 0.0, 0.0, 0, 0.0

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def timed(*given: Any, **named: Any) -> Any:
            self.calls += 1
            start = now()
            try:
                found = work(*given, **named)
            finally:
                self._add(start)
            return self._each(found) if isinstance(found, Iterator) else found

        return timed

    def _each(self, found: Iterator[Any]) -> Iterator[Any]:
        """An iterator works when it is asked."""
        while True:
            start = now()
            try:
                one = next(found)
            except StopIteration:
                return
            finally:
                self._add(start)
            yield one

    def _add(self, start: tuple[float, float]) -> None:
        seconds, cpu = now()
        self.seconds += seconds - start[0]
        self.cpu += cpu - start[1]
        self.gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def watch(place: str) -> Clock:
    """Put a clock around a function, method or property."""
    module, _, path = place.partition(":")
    holder: Any = importlib.import_module(module)
    *owners, name = path.split(".")
    for owner in owners:
        holder = getattr(holder, owner)
    clock, work = Clock(), vars(holder)[name]
    setattr(holder, name, property(clock.around(work.fget)) if isinstance(work, property) else clock.around(work))
    return clock


def main() -> None:
    """Run the command, then print a line a phase."""
    phases = AUDIT if sys.argv[1] == "audit" else BILLBOARD
    clocks = [(place, depth, watch(place)) for place, depth in phases]
    whole = Clock()
    whole.around(metal.main)(sys.argv[1:], standalone_mode=False)
    print(f"\n{'phase':<44}{'calls':>8}{'seconds':>10}{'CPU':>8}{'GB so far':>11}")
    for place, depth, clock in [*clocks, (":whole, after imports", 0, whole)]:
        if clock.calls:
            name = "  " * depth + place.partition(":")[2]
            print(f"{name:<44}{clock.calls:>8}{clock.seconds:>10.1f}{clock.cpu:>8.1f}{clock.gigabytes:>11.2f}")


if __name__ == "__main__":
    main()
