"""`metal ls`, `report` and `completion`: list a folder, write a run's page, and set up completion
in a shell.
"""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

import metal
from metal.api.folders import NOUNS, replaced_in
from metal.cli.printing import print_json
from metal.cli.verb import AS_JSON, Verb, verb
from metal.data.text import dollars, first_few, plural
from metal.show.terminal import console

ANSWER_LINES = 3  # of a headline; the page has all of it


@verb(
    metal.ls,
    AS_JSON,
    examples="""
        metal ls
        metal ls metal-demo --json
    """,
)
def ls(folder: Path | None, as_json: bool) -> None:
    with console.progress("reading", "folders") as advance:
        listed = metal.ls(folder or ".", progress=advance)
    if as_json:
        print_json([entry.to_dict() for entry in listed])
        return
    width = max((len(entry.path) for entry in listed), default=0)
    for entry in listed:
        _say(entry, width)
    if not listed:
        console.say("No datasets and no runs here. Begin with: metal init")
    if replaced := replaced_in(folder or Path()):
        what = plural(len(replaced), "replaced version is", "replaced versions are")
        console.say(
            f"Not listed: {what} kept, in {first_few(list(map(str, replaced)), 3)}", wrap=False
        )


def _say(entry: metal.Folder, width: int) -> None:
    """Print a dataset or run. width: of the longest path."""
    facts = [f"{entry.kind:<13}", entry.date]
    facts += [entry.state] if entry.state not in ("", "finished") else []
    facts += [] if entry.cost is None else [dollars(entry.cost)]
    console.say("  ".join([f"{entry.path:<{width}}", *facts]), wrap=False)
    size = [] if entry.languages is None else [plural(len(entry.languages), "language")]
    for kind, number in (entry.raters or {}).items():
        size.append(plural(number, *NOUNS.get(kind, (kind, ""))))
    if summary := ": ".join(filter(None, [", ".join(size), entry.answer])):
        console.say(f"  {summary}", most=ANSWER_LINES if entry.state == "finished" else None)
    if entry.verdicts:
        counts = [f"{number:,} {verdict}" for verdict, number in entry.verdicts.items()]
        console.say(f"  Verdicts: {', '.join(counts)}")


@click.command(cls=Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that makes your shell complete verbs and options of `metal`.

    \b
    bash  echo 'eval "$(metal completion bash)"' >> ~/.bashrc
    zsh   echo 'eval "$(metal completion zsh)"' >> ~/.zshrc
    fish  metal completion fish > ~/.config/fish/completions/metal.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class
    root = click.get_current_context().find_root().command
    click.echo(completion_class(root, {}, "metal", "_METAL_COMPLETE").source())


@verb(
    metal.report,
    click.Option(["--open", "open_it"], is_flag=True, help="Open the page in a browser."),
    examples="""
        metal report runs/pariksha --open
        metal report runs/pariksha --figures paper/figures --latex paper/tables
    """,
)
def report(run: Path, open_it: bool, figures: Path | None, latex: Path | None) -> None:
    with console.progress("drawing") as advance:
        written = metal.report(run, figures=figures, latex=latex, progress=advance)
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
