"""`metal report`."""

from __future__ import annotations

from pathlib import Path

import click

import metal.api.report as api
from metal.cli.verb import PATH, verb


@verb(
    api.report,
    click.Argument(["run"], type=PATH),
    click.Option(["--open", "open_it"], is_flag=True, help="Open the page in a browser."),
    examples="""
        metal report runs/pariksha --open
        metal report runs/pariksha --figures paper/figures --latex paper/tables
    """,
)
def report(run: Path, open_it: bool, figures: Path | None, latex: Path | None) -> None:
    from metal.show.terminal import console

    with console.progress("drawing") as advance:
        written = api.report(run, figures=figures, latex=latex, progress=advance)
    console.say(f"Report: {written.page}", wrap=False)
    if figures:
        console.say(f"{written.figures} charts in {figures}, each as SVG, PDF and PNG", wrap=False)
    if latex:
        needs = "" if written.latin else "; names beyond Latin letters need XeLaTeX or LuaLaTeX"
        places = "\\input them where booktabs and graphicx are loaded"
        console.say(f"{written.tables} tables in {latex}; {places}{needs}", wrap=False)
    if open_it:
        import webbrowser

        if not webbrowser.open(written.page.resolve().as_uri()):
            console.say("No browser could be opened; open the file above in one.")
