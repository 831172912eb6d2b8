"""What `metal.billboard` and `metal.leaderboard` return."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.board.run import BoardRun
from metal.questions.leaderboard.run import LeaderboardRun


class Billboard(Result, BoardRun):
    """A board: raters ranked by agreement with people, generators by the raters."""

    shown = "raters"


class Leaderboard(Result, LeaderboardRun):
    """Generators ranked by people."""

    shown = "leaderboard"
