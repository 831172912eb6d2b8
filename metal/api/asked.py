"""What comes of asking models, runs of judges and of generators, and how they show their progress."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from metal.api.results import Result
from metal.running.asking import Callbacks, Outcome, Terms
from metal.running.generating import GenerateJob
from metal.running.judging import JudgeJob
from metal.questions.generate.run import GenerateRun
from metal.runs.judges_run import RatingsRun


@dataclass(frozen=True, repr=False)
class Judging(RatingsRun):
    """A run of judges: its folder, ratings and raters, and what came of asking.

    outcome: estimates before, statistics of the answers after. Where the run is not whole, calling again with `resume`
    makes what is left.
    """

    job: JudgeJob
    terms: Terms
    outcome: Outcome

    @property
    def complete(self) -> bool:
        """Whether every call has been made."""
        return self.outcome.complete


class GeneratedTexts(Result, GenerateRun):
    """How many texts there are in each language, and how many of them can be rated."""

    shown = "languages"


@dataclass(frozen=True, repr=False)
class Generating:
    """A run of generators. folder: with the journal of replies. What they wrote is in the dataset (`job.folder`).

    texts: how many there are in each language, the tables of the page; None for a dry run.
    """

    folder: Path
    job: GenerateJob
    terms: Terms
    outcome: Outcome
    texts: GeneratedTexts | None = None

    @property
    def complete(self) -> bool:
        """Whether every call has been made."""
        return self.outcome.complete

    def __repr__(self) -> str:
        return f"<texts in {self.job.folder}: {len(self.job.outputs):,} outputs>"


def default_callbacks() -> Callbacks:
    """One bar per model where somebody is looking; nobody is asked."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return Callbacks()
    from metal.show.terminal import console
    from metal.show.terminal.asking_text import progress

    return Callbacks(say=console.say, watch=progress)
