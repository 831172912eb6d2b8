"""What `metal.design` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.runs.design_run import DesignRun


class Design(Result, DesignRun):
    """How many items and people a study needs."""

    shown = "needs"
