"""The summary of a run that has a page, as lists of runs show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.run_summary import RunSummary, write_summary
from metal.runs.kinds import is_kind, kind_of, load

if TYPE_CHECKING:
    from metal.runs.run import Run


def summary_of(run: Run) -> RunSummary:
    """The headline of a run's page, its languages and raters, and an audit's verdicts."""
    tables = [table for table in run.tables.values() if "language" in table and len(table)]
    languages = None
    if tables:
        languages = tuple(map(str, filter(None, tables[0]["language"].unique())))
    return RunSummary.of(
        run.manifest,
        run.raters.values(),
        headline=load(kind_of(run.command).page).headline(run),
        languages=languages,
        cells=run.verdict_counts(),
    )


def summarize(folder: Path, run: Run) -> None:
    """Write the summary of the run in a folder into its run.toml, after all of its other files."""
    if is_kind(run.command):
        write_summary(folder, summary_of(run))
