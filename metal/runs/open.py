"""A run folder of whatever kind, opened."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from metal.runs.parts import command_of
from metal.runs.run import Run

# The command of a run with a page: its class.
KINDS = {
    "audit": "metal.runs.audit_run:AuditRun",
    "billboard": "metal.runs.board_run:BoardRun",
    "design": "metal.runs.design_run:DesignRun",
    "leaderboard": "metal.runs.leaderboard_run:LeaderboardRun",
    "monitor": "metal.show.monitor.run:MonitorRun",
}


def open_run_folder(folder: Path) -> Run:
    """The run in a folder. Raises UsageError when it is none from which a page is made."""
    module, _, kind = KINDS.get(command_of(folder), KINDS["audit"]).partition(":")
    run: Run = getattr(import_module(module), kind).read(folder)
    return run
