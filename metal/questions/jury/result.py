"""What `metal.jury` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.jury.run import JuryRun


class Jury(Result, JuryRun):
    """Several judges as one: its ratings, and whether it is better than the best of its members."""

    shown = "jury"
