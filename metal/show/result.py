"""A run as the analyses return it: to look at, to save and to compute with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.progress import Progress, no_progress
from metal.errors import check_known
from metal.runs.run import Run, write_page

if TYPE_CHECKING:
    from metal.show.view import Chart

MOST_ROWS = 60  # of a table in a notebook


class Result(Run):
    """A run that can be looked at, saved and drawn.

    `tables` has a DataFrame for each table, `warnings` what to know before trusting the figures,
    and `signature` everything on which the figures depend.
    """

    shown = ""  # the table that stands for the run in a notebook

    def save(
        self, folder: str | Path, *, force: bool = False, progress: Progress = no_progress
    ) -> Path:
        """Write the run folder, exactly as the command line does: tables/, report.html, run.toml,
        ...

        force: replace a run of the same verb; it is kept as NAME.replaced. progress: called with
        the number of parts done and of all parts. Raises UsageError if something else is in the
        way.
        """
        from metal.show.pages import page

        folder = Path(folder)
        self.write(folder, page, force=force, progress=progress)
        return folder

    def report(self, folder: str | Path | None = None) -> str:
        """The page as HTML.

        folder: if given, the page is also written there as report.html.
        """
        from metal.show.pages import page

        html = page(self)
        if folder is not None:
            write_page(html, Path(folder))
        return html

    @property
    def plot(self) -> Plots:
        """The charts of the page: `plot.names()`, `plot("f1_task_quality")`."""
        return Plots(self)

    def more_facts(self) -> Mapping[str, Any]:
        """What JSON says in addition to the run's headline, signature, warnings and tables."""
        return {}

    def _repr_html_(self) -> str:
        table = self.tables[self.shown]
        shown = table.drop(columns=[name for name in ("signature",) if name in table])
        more = (
            f"<p>The first {MOST_ROWS} of {len(table):,} rows.</p>"
            if len(table) > MOST_ROWS
            else ""
        )
        html: str = shown.head(MOST_ROWS).to_html(
            index=False, na_rep="–", float_format="{:.2f}".format
        )
        return f"<p><b>{escape(self.command)}</b> {escape(self.name)}</p>{html}{more}"


class Plots:
    """The charts of a run, each drawn when it is requested."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def names(self) -> list[str]:
        """The names of the charts of the page."""
        return [chart.name for chart in self]

    def __iter__(self) -> Iterator[Chart]:
        from metal.show.pages import charts

        return iter(charts(self._run))

    def __call__(self, name: str) -> Chart:
        """Draw the chart with this name. Raises UnknownName."""
        by_name = {chart.name: chart for chart in self}
        check_known("chart", [name], by_name)
        return by_name[name]
