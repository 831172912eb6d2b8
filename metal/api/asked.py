"""Results of asking models (runs of judges and of generators), and how their progress is shown."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from metal.running.asking import Callbacks, Outcome, Terms
from metal.running.judging import JudgeJob
from metal.runs.judges_run import RatingsRun


@dataclass(frozen=True, repr=False)
class Judging(RatingsRun):
    """A run of judges: its folder, ratings and raters, and the outcome of asking.

    outcome: the estimates made before the run, and statistics of its answers. If the run is
    incomplete, a call with `resume` makes the remaining calls.
    """

    job: JudgeJob
    terms: Terms
    outcome: Outcome

    @property
    def complete(self) -> bool:
        """Whether every call has been made."""
        return self.outcome.complete


def default_callbacks() -> Callbacks:
    """Callbacks that show one progress bar per model in a terminal or notebook, and ask nobody."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return Callbacks()
    from metal.show.terminal import console
    from metal.show.terminal.asking_text import progress

    return Callbacks(say=console.say, watch=progress)
