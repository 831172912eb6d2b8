"""The first screen of a language-bias audit."""

from __future__ import annotations

from metal.data.text import plural
from metal.runs.bias_run import BiasRun
from metal.show.bias.words import headline
from metal.show.bias.words import remarks as cards

__all__ = ["cards", "headline", "lead", "scope"]


def lead(run: BiasRun) -> str:
    """Nothing beyond the headline."""
    return ""


def scope(run: BiasRun) -> str:
    """What was compared, for the line above the headline."""
    rows = run.records("language_bias")
    judges, languages = ({row[key] for row in rows} for key in ("judge", "language"))
    return f"{plural(len(judges), 'judge')} · {plural(len(languages), 'language')}"
