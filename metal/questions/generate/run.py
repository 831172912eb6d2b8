"""A run of `metal generate`: run.toml, journal.jsonl and, once it has ended, warnings.txt, tables/,
report.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metal.data.text import count, name
from metal.running.asking import Outcome, Terms
from metal.running.generating import GenerateJob
from metal.runs.columns import LANGUAGE, Column, Row, Tables
from metal.show.result import Result


def _reasons(row: Row) -> str:
    return name(row["reasons"]) if row["reasons"] else ""


FLAGGED = (
    Column("declined", "refuses", count, direction="lower"),
    Column("flagged", "flagged", count, direction="lower", below=_reasons),
    Column("reasons", shown=False),
    Column("chosen", "to be rated", count),
)
DESCRIBED: Tables = {
    "languages": (
        LANGUAGE,
        Column("passages", "passages", count),
        Column(
            "texts",
            "texts",
            count,
            below=lambda row: name(row["qualities"]) if row["qualities"] else "",
        ),
        Column("qualities", shown=False),
        *FLAGGED,
        Column("without", "passages without one", count, direction="lower"),
    ),
    "texts": (
        LANGUAGE,
        Column("generator", "written by"),
        Column("quality", "quality"),
        Column("texts", "texts", count),
        Column("missing", "no text", count, direction="lower"),
        *FLAGGED,
    ),
}


@dataclass(frozen=True, repr=False)
class GeneratedTexts(Result):
    """The number of texts in each language, and how many of them can be rated."""

    shown = "languages"
    command = "generate"
    described = DESCRIBED

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the run, without those that only a resumed run needs."""
        return {
            key: value for key, value in super().settings.items() if not isinstance(value, dict)
        }

    @property
    def not_asked(self) -> int:
        """How many calls the run has not made yet."""
        return int(self.manifest["settings"].get("state", {}).get("not_asked", 0))


@dataclass(frozen=True, repr=False)
class Generating:
    """A run of generators.

    folder: holds the journal of replies; the texts are in the dataset (`job.folder`).

    texts: the tables of the page, with the number of texts in each language; None for a dry run.
    """

    folder: Path
    job: GenerateJob
    terms: Terms
    outcome: Outcome
    texts: GeneratedTexts | None = None

    @property
    def complete(self) -> bool:
        """Whether every call has been made."""
        return self.outcome.complete

    def __repr__(self) -> str:
        return f"<texts in {self.job.folder}: {len(self.job.outputs):,} outputs>"
