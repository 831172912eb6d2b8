"""What `metal.leaderboard` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.runs.leaderboard_run import LeaderboardRun


class Leaderboard(Result, LeaderboardRun):
    """Generators ranked by people."""

    shown = "leaderboard"
