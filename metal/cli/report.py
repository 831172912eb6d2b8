"""`metal report`: the page of a run again, and its charts and tables for papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from metal.show.view import Chart, TableView


@click.command(short_help="Write a run's page, charts and LaTeX tables.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@click.option("--figures", type=click.Path(path_type=Path), metavar="DIR", help="Write the charts as SVG, PDF and PNG.")
@click.option("--latex", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as LaTeX (booktabs).")
def report(run: Path, open_it: bool, figures: Path | None, latex: Path | None) -> None:
    """Write report.html of RUN, a run folder, from its tables; nothing is computed again.

    The page is one file that loads nothing from elsewhere. Of an audit: verdicts with their reasons, agreement among
    people, judges against people, class distribution, a browser of disagreements. Of a board: rankings of raters and
    generators, the ensemble, who overrates machines, history. Of `metal monitor`, `leaderboard` and `design`: the
    people, the generators they rank, what a study needs. Methods and signatures of all.

    --figures and --latex add to a folder what a paper needs; files of the same names are replaced. PDF and PNG
    need the extra `figures`.

    \b
    Examples:
      metal report runs/pariksha --open
      metal report runs/pariksha --figures paper/figures --latex paper/tables
    """
    from metal.show.files import write_charts, write_page, write_tables_latex
    from metal.show.terminal import console as show

    html, charts, tables = _parts(run)
    path = write_page(html, run)
    show.say(f"Report: {path}", wrap=False)
    if figures:
        with show.progress("drawing") as advance:
            written = write_charts(charts, figures, advance)
        show.say(f"{written} charts in {figures}, each as SVG, PDF and PNG", wrap=False)
    if latex:
        number, latin = write_tables_latex(tables, latex)
        needs = "" if latin else "; names beyond Latin letters need XeLaTeX or LuaLaTeX"
        show.say(f"{number} tables in {latex}; \\input them where booktabs and graphicx are loaded{needs}", wrap=False)
    if open_it:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            show.say("No browser could be opened; open the file above in one.")


# What each command's run folder is read with, and the module that draws its page: both are loaded when needed.
PAGES = {
    "audit": ("metal.runs.audit_run", "read_run", "metal.show.page"),
    "billboard": ("metal.runs.board_run", "read_board_run", "metal.show.board.page"),
    "design": ("metal.runs.design_run", "read_design_run", "metal.show.design.page"),
    "leaderboard": ("metal.runs.leaderboard_run", "read_leaderboard_run", "metal.show.leaderboard.page"),
    "monitor": ("metal.runs.monitor_run", "read_monitor_run", "metal.show.monitor.page"),
}


def _parts(folder: Path) -> tuple[str, list[Chart], list[TableView]]:
    """Page, charts and tables of a run folder."""
    from importlib import import_module

    from metal.runs.parts import command_of

    module, reader, drawing = PAGES.get(command_of(folder), PAGES["audit"])
    run = getattr(import_module(module), reader)(folder)
    page = import_module(drawing)
    return page.page(run), page.charts(run), page.tables(run)
