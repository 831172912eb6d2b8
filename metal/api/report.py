"""`metal.report` and `metal.open_run`: reopen a run, and write its page, charts and tables for
papers.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import Option, Progress, StrPath, documented, no_progress
from metal.data.progress import divided
from metal.errors import UsageError
from metal.runs.kinds import is_kind, kind_of, load

if TYPE_CHECKING:
    from metal.api.read import Ratings
    from metal.runs.run import Run
    from metal.show.result import Result


@dataclass(frozen=True)
class Report:
    """What was written.

    page: the path of report.html. figures, tables: the numbers of charts and LaTeX tables.

    latin: whether pdfLaTeX can print all letters of the tables; names in other scripts need XeLaTeX
    or LuaLaTeX.
    """

    page: Path
    figures: int = 0
    tables: int = 0
    latin: bool = True


@documented
def open_run(run: StrPath) -> Any:
    """Open a run folder, and return the object that the verb returned.

    This is an audit, a board, ...; for runs of judges or metrics it has the folder, raters and
    ratings.

    Args:
        run: A run folder.

    Returns:
        The run, as described.

    Raises:
        UsageError: If the folder is no such run.
        DataError: If a part of it cannot be used.

    Example:
        metal.open_run("runs/news-audit").verdicts
    """
    from metal.runs.judges_run import COMMANDS, RatingsRun
    from metal.runs.parts import command_of

    folder = Path(run)
    if command_of(folder) in COMMANDS and not is_kind(command_of(folder)):
        return RatingsRun.open(folder)
    return _open(folder)


def _open(folder: Path) -> Result:
    """Open the run in a folder, if its kind has a page."""
    from metal.runs.parts import command_of

    command = command_of(folder)
    # which says of a folder that it is no run
    kind = kind_of(command if is_kind(command) else "audit")
    result: Result = load(kind.run).read(folder)
    return result


def told_apart(arguments: Iterable[Ratings | Run]) -> tuple[list[Ratings], list[Run]]:
    """Split the arguments after `data` into ratings to add and runs that have findings about judges
    (`Run.remarks`).

    Raises UsageError for a result that is neither.
    """
    from metal.runs.parts import command_of
    from metal.runs.run import Run

    ratings: list[Ratings] = []
    runs: list[Run] = []
    folders: dict[Path, Run] = {}  # of which one that is named twice counts once
    for each in arguments:
        if isinstance(each, str | Path):
            command = command_of(Path(each))
            run_class: type[Run] = load(kind_of(command).run) if is_kind(command) else Run
            if run_class.remarks is Run.remarks:
                ratings.append(each)
            else:
                folders.setdefault(Path(each).resolve(), run_class.read(Path(each)))
        elif not isinstance(each, Run):
            ratings.append(each)
        elif type(each).remarks is Run.remarks:
            raise UsageError(
                f"a result of `metal {each.command}` says nothing of judges; give the folder it is"
                " saved in"
            )
        else:
            runs.append(each)
    return ratings, [*folders.values(), *runs]


@documented
def report(
    run: StrPath | Result,
    *,
    figures: Annotated[
        StrPath | None, Option("Write the charts as SVG, PDF and PNG.", metavar="DIR")
    ] = None,
    latex: Annotated[
        StrPath | None, Option("Write the tables as LaTeX (booktabs).", metavar="DIR")
    ] = None,
    progress: Progress | None = None,
) -> Report:
    """Write report.html for the run folder `run` from its tables, without computing anything again.

    The page is one file that loads nothing from elsewhere. An audit's page has verdicts with their
    reasons, agreement among people, judges against people, class distributions and a browser of
    disagreements. A board's page has rankings of raters and generators, the ensemble, who overrates
    machines, and the history. Runs of `metal.monitor`, `leaderboard` and `design` have pages about
    people, generators and plans. Each page lists methods and signatures.

    `figures` and `latex` write charts and tables for a paper into a folder. Files of the same names
    with other contents are kept in NAME.replaced next to the folder. PDF and PNG need the extra
    metal-eval[figures].

    Args:
        run: A run folder.
        progress: Called with the number of parts drawn and of all parts.

    Returns:
        What was written.

    Raises:
        UsageError: If the folder is not a run with a page.

    Example:
        metal.report("runs/news-audit", figures=True, latex=True)
    """
    from metal.runs.parts import fitting
    from metal.runs.run import write_page
    from metal.runs.summarizing import summarize
    from metal.show import pages
    from metal.show.files import write_charts, write_tables_latex

    opened = _open(Path(run)) if isinstance(run, str | Path) else run
    folder = Path(run) if isinstance(run, str | Path) else Path("runs") / opened.name
    drawing, exporting = divided(progress or no_progress, 1, bool(figures))
    with nullcontext() if run is opened else fitting(folder, opened.command):
        html = pages.page(opened, drawing)
        charts = pages.charts(opened) if figures else []
        tables = pages.tables(opened) if latex else []
    page = write_page(html, folder)
    if run is not opened:
        summarize(folder, opened)
    drawn = write_charts(charts, Path(figures), exporting) if figures else 0
    written, latin = write_tables_latex(tables, Path(latex)) if latex else (0, True)
    return Report(page, drawn, written, latin)
