"""The folder from which relative names are meant, in run.toml and for judges.toml and modules."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

# A command runs in it. The app answers for another folder than that in which it was started.
PRESENT: ContextVar[Path] = ContextVar("PRESENT", default=Path())
