"""`metal bias`: in which languages judges lean, and which data are missing to find out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.analysis import analysis
from metal.cli.flags import in_flags
from metal.cli.printing import print_json, show_parts
from metal.cli.verb import AS_JSON, Other, WithDefault, verb
from metal.runs.kinds import kind_of
from metal.show.terminal import console


@verb(
    metal.bias_plan,
    AS_JSON,
    examples="""
        metal bias --plan datasets/news -j openai:gpt-4o-mini
        metal bias --plan datasets/news -l en,eu --out news-texts
        metal generate news-texts -m openai:gpt-4o -q translation --choose all
        metal bias --plan datasets/news -l en,eu --translations news-texts --out news-eu
    """,
)
def plan(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    from metal.questions.design.planned import conditions

    with console.progress("planning"):
        planned = metal.bias_plan(data, *ratings, **options)
    if as_json:
        print_json({"written": planned.written, "conditions": planned.table})
        return
    show_parts(conditions(planned.table))
    context = click.get_current_context()
    root = context.find_root().command
    assert isinstance(root, click.Group)
    for note in planned.notes:
        console.say(in_flags(note, context.command, root))
    for command in filter(None, planned.table["command"].unique()):
        console.say(command, wrap=False)
    if planned.written:
        console.say(f"{planned.written}: {planned.out}", wrap=False)


language = analysis(kind_of("bias language"))
bias = WithDefault(default=language, others=(Other(plan, "--plan"),), name="bias")
bias.add_command(language)
