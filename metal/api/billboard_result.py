"""What `metal.billboard` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.runs.board_run import BoardRun


class Billboard(Result, BoardRun):
    """A board: raters ranked by agreement with people, generators by the raters."""

    shown = "raters"
