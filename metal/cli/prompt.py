"""`metal prompt`: what judges are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import metal.api.prompt as api
from metal.cli.verb import PATH, verb

DATASET = click.Argument(["data"], metavar="[DATASET]", type=PATH, required=False)


@click.group(short_help="Show what judges are told.")
def prompt() -> None:
    """What judges are told: prompts/judge has the templates, prompts/criteria the criteria's texts.

    Your own go into a folder given with --prompt-folders: judge/NAME.toml, criteria/NAME.toml; for prompts in another
    language criteria/NAME.LANGUAGE.toml. A folder `prompts` in a dataset is looked into as well, and METAL's
    released rubrics (simple/NAME.json and detailed/NAME.json) are read as they are.
    """


@verb(api.prompt_list, DATASET)
def list_(data: Path | None, **options: Any) -> None:
    from metal.show.terminal import console

    table = api.prompt_list(data, **options)
    console.table("Content hashes", list(table.columns), table.to_numpy().tolist())


@verb(
    api.prompt_show,
    DATASET,
    examples="""
        metal prompt show --criterion task_quality --prompt detailed
        metal prompt show datasets/demo --criterion hallucinations --output sw-1/good
    """,
)
def show(data: Path | None, **options: Any) -> None:
    from metal.show.terminal import console
    from metal.show.terminal.asking_text import show_message

    sent = api.prompt_show(data, **options)
    show_message(sent.system, sent.user)
    console.say(f"{sent.name}@{sent.digest}", dim=True)


prompt.add_command(list_)
prompt.add_command(show)
