"""Scores of a leaderboard as they are shown."""

from __future__ import annotations

from typing import Any

from metal.data.text import UNDEFINED, known

DIGITS = 3


def share(value: Any) -> str:
    """A score between 0 and 1; a dash where undefined."""
    return f"{value:.{DIGITS}f}" if known(value) else UNDEFINED
