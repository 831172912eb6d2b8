"""What `metal.correct` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.correct.run import CorrectRun


class CorrectedScores(Result, CorrectRun):
    """People's mean of each generator, from a judge on all sources and people on some."""

    shown = "corrected"
