"""`metal init`: from what somebody has to the commands that come next, which are shown and then run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.import_asked import Words, prompt
from metal.cli.verb import Verb
from metal.errors import MetalError
from metal.show.terminal import console

ALONE = (
    "`metal init` asks in a terminal, and nothing was typed; type instead `metal import PATH -i`, "
    "`metal judge DATASET --judge MODEL` or `metal sample --source SOURCE --out DATASET`"
)


def _ask(question: str, **settings: Any) -> Any:
    return prompt(question, instead=ALONE, **settings)


def _ratings() -> list[Words]:
    path = _ask("Table or release with the ratings", type=click.Path(exists=True, path_type=Path))
    data = str(Path("datasets") / path.stem)
    return [["import", str(path), "-i", "--out", data], ["audit", data]]


def _judge() -> list[Words]:
    datasets = [entry.path for entry in metal.ls() if entry.kind == "dataset"]
    default = datasets[0] if len(datasets) == 1 else None
    data = _ask("Dataset that people have rated", default=default, type=click.Path(exists=True))
    model = _ask("Judge, as PROVIDER:MODEL (`metal judges list` shows them)", default="openai:gpt-4o-mini")
    run = str(Path("runs") / f"{Path(data).resolve().name}-judges")
    return [["judge", data, "--judge", model, "--out", run], ["audit", data, run]]


def _dataset() -> list[Words]:
    source = _ask("Passages: xlsum, a folder or file, or hf:NAME", default="xlsum")
    own = Path(source).exists()
    languages = _ask("Languages, by code or name, with commas", default="all" if own else "en,sw")
    model = _ask("Model that writes the summaries", default="openai:gpt-4o-mini")
    data = str(Path("datasets") / _ask("Name of the dataset", default="mine"))
    chosen = [] if languages == "all" else ["--languages", languages]
    sample = ["sample", "--source", source, *chosen, "--out", data]
    if own:  # somebody's own texts are as many as they are; `sample` warns of too few
        sample.append("--allow-fewer")
    return [sample, ["generate", data, "--model", model], ["annotate", "export", data, "--to", "html"]]


HAVE = {
    "ratings": ("people and judges have rated: read the table and audit it", _ratings),
    "judge": ("people have rated: let a judge rate the same, and audit it", _judge),
    "dataset": ("nothing is rated yet: choose passages, have summaries written and rated", _dataset),
}


@click.command(cls=Verb)
@click.option("--yes", is_flag=True, help="Run the commands without asking.")
def init(yes: bool) -> None:
    """Begin: say what you have (ratings of people, a judge to audit, a dataset to build), and see and run the commands
    that come next.
    """
    for name, (means, _) in HAVE.items():
        console.say(f"{name:9}{means}")
    _, ask = HAVE[_ask("What do you begin with?", type=click.Choice(list(HAVE)), default="ratings")]
    commands = ask()
    for words in commands:
        console.say(shlex.join(["metal", *words]), wrap=False)
    if not (yes or _ask("Run them", type=bool, default="yes")):
        return
    root = click.get_current_context().find_root().command
    for place, words in enumerate(commands, 1):
        sys.argv = ["metal", *words]  # errors are in words of what is typed
        try:
            root.main(words, prog_name="metal", standalone_mode=False)
        except (MetalError, click.ClickException, SystemExit):
            console.say(f"Stopped at: {shlex.join(['metal', *words])}", wrap=False)
            for left in commands[place:]:
                console.say(f"To do after it: {shlex.join(['metal', *left])}", wrap=False)
            raise
