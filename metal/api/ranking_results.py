"""What `metal.billboard` and `metal.leaderboard` return."""

from __future__ import annotations

from metal.api.results import Result
from metal.runs.board_run import BoardRun
from metal.runs.leaderboard_run import LeaderboardRun


class Billboard(Result, BoardRun):
    """A board: raters ranked by agreement with people, generators by the raters."""

    shown = "raters"


class Leaderboard(Result, LeaderboardRun):
    """Generators ranked by people."""

    shown = "leaderboard"
