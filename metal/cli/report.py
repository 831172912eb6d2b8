"""`metal report`: the page of an audit again, and its charts and tables for papers."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Write an audit's page, charts and LaTeX tables.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@click.option("--figures", type=click.Path(path_type=Path), metavar="DIR", help="Write the charts as SVG, PDF and PNG.")
@click.option("--latex", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as LaTeX (booktabs).")
def report(run: Path, open_it: bool, figures: Path | None, latex: Path | None) -> None:
    """Write report.html of RUN, the run folder of an audit, from its tables; nothing is computed again.

    The page is one file that loads nothing from elsewhere: verdicts with their reasons, agreement among people,
    judges against people, class distribution, a browser of disagreements, methods and signatures.

    --figures and --latex add to a folder what a paper needs; files of the same names are replaced. PDF and PNG
    need the extra `figures`.

    \b
    Examples:
      metal report runs/pariksha --open
      metal report runs/pariksha --figures paper/figures --latex paper/tables
    """
    from metal.cli import show
    from metal.cli.run_folder import read_run, write_figures, write_latex, write_report

    read = read_run(run)
    path = write_report(read, run)
    show.say(f"Report: {path}", wrap=False)
    if figures:
        with show.progress("drawing") as advance:
            written = write_figures(read, figures, advance)
        show.say(f"{written} charts in {figures}, each as SVG, PDF and PNG", wrap=False)
    if latex:
        tables, latin = write_latex(read, latex)
        needs = "" if latin else "; names beyond Latin letters need XeLaTeX or LuaLaTeX"
        show.say(f"{tables} tables in {latex}; \\input them where booktabs and graphicx are loaded{needs}", wrap=False)
    if open_it:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            show.say("No browser could be opened; open the file above in one.")
