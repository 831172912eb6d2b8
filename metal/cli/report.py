"""`metal report`: the page of an audit, a board or a leaderboard again, and its charts and tables for papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from metal.report.view import Chart, TableView


@click.command(short_help="Write a run's page, charts and LaTeX tables.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@click.option("--figures", type=click.Path(path_type=Path), metavar="DIR", help="Write the charts as SVG, PDF and PNG.")
@click.option("--latex", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as LaTeX (booktabs).")
def report(run: Path, open_it: bool, figures: Path | None, latex: Path | None) -> None:
    """Write report.html of RUN, the run folder of an audit, a board or a leaderboard, from its tables; nothing is
    computed again.

    The page is one file that loads nothing from elsewhere. Of an audit: verdicts with their reasons, agreement among
    people, judges against people, class distribution, a browser of disagreements. Of a board: rankings of raters and
    generators, the ensemble, who overrates machines, history. Of a leaderboard: generators by people, metrics beside,
    what is still to be rated. Methods and signatures of each.

    --figures and --latex add to a folder what a paper needs; files of the same names are replaced. PDF and PNG
    need the extra `figures`.

    \b
    Examples:
      metal report runs/pariksha --open
      metal report runs/pariksha --figures paper/figures --latex paper/tables
    """
    from metal.cli import show
    from metal.cli.report_files import write_charts, write_page, write_tables_latex

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


def _parts(folder: Path) -> tuple[str, list[Chart], list[TableView]]:
    """Page, charts and tables of a run folder, by the command that made it."""
    from metal.cli.run_folder import read_run
    from metal.cli.run_parts import command_of

    command = command_of(folder)
    if command == "leaderboard":
        from metal.cli.leaderboard_run import read_leaderboard_run
        from metal.report.leaderboard import page as of_leaderboard

        people = read_leaderboard_run(folder)
        return of_leaderboard.page(people), of_leaderboard.charts(people), of_leaderboard.tables(people)
    if command == "billboard":
        from metal.cli.board_run import read_board_run
        from metal.report.board import page as of_board

        board = read_board_run(folder)
        return of_board.page(board), of_board.charts(board), of_board.tables(board)
    from metal.report import page as of_audit

    run = read_run(folder)
    return of_audit.page(run), of_audit.charts(run), of_audit.tables(run)
