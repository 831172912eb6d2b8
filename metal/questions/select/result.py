"""What `metal.select` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.select.run import SelectRun


class Selection(Result, SelectRun):
    """When each judge may answer alone, in each language."""

    shown = "selection"
