"""What lies in a folder, and how a shell completes it: `metal ls`, `completion`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

import metal
from metal.cli.printing import print_json
from metal.cli.verb import AS_JSON, Verb, verb
from metal.data.text import plural
from metal.show.terminal import console

NOUNS = {"human": ("person", "people"), "llm": ("judge", ""), "metric": ("metric", ""), "baseline": ("baseline", "")}


@verb(
    metal.ls,
    AS_JSON,
    examples="""
        metal ls
        metal ls metal-demo --json
    """,
)
def ls(folder: Path | None, as_json: bool) -> None:
    listed = metal.ls(folder or ".")
    if as_json:
        print_json([entry.to_dict() for entry in listed])
        return
    width = max((len(entry.path) for entry in listed), default=0)
    for entry in listed:
        size = [] if entry.languages is None else [plural(len(entry.languages), "language")]
        size += [plural(number, *NOUNS[kind]) for kind, number in (entry.raters or {}).items()]
        console.say(f"{entry.path:<{width}}  {entry.kind:<11} {entry.date}  {', '.join(size)}", wrap=False)
        if entry.answer:
            console.say(f"  {entry.answer}")
    if not listed:
        console.say("No datasets and no runs here. Begin with: metal init")


@click.command(cls=Verb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes your shell complete verbs and options of `metal`.

    \b
    bash  echo 'eval "$(metal completion bash)"' >> ~/.bashrc
    zsh   echo 'eval "$(metal completion zsh)"' >> ~/.zshrc
    fish  metal completion fish > ~/.config/fish/completions/metal.fish
    """
    made = get_completion_class(shell)
    assert made
    root = click.get_current_context().find_root().command
    click.echo(made(root, {}, "metal", "_METAL_COMPLETE").source())
