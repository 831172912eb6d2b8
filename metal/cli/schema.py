"""`metal schema`: the schemas of METAL's open format; `metal schema validate`: files compared with
them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import metal
from metal.cli.verb import Other, WithDefault, verb
from metal.data.text import plural
from metal.errors import UsageError
from metal.show.terminal import console


@verb(
    metal.schema,
    name="schema",
    more="Without NAME: list the records.",
    examples="""
        metal schema
        metal schema rating > rating.schema.json
    """,
)
def show(name: str) -> None:
    click.echo(json.dumps(metal.schema(name), indent=2, ensure_ascii=False))


@verb(metal.schema, name="list")
def list_(name: str) -> None:
    for record, of_record in metal.schema().items():
        console.say(f"{record:<11}{of_record['description']}", wrap=False)


@verb(
    metal.schema_validate,
    examples="""
        metal schema validate datasets/mine
        metal schema validate runs/mine/passport.json
        metal schema validate answers.jsonl --record rating
    """,
)
def validate(path: Path, **options: Any) -> None:
    with console.progress("comparing"):
        validated = metal.schema_validate(path, **options)
    for fault in validated.faults:
        click.echo(console.clean(fault))
    number = len(validated.faults) + validated.more
    if number:
        only_some = f", of which {len(validated.faults)} are shown" if validated.more else ""
        raise UsageError(
            f"{path}: {plural(number, 'fault')}{only_some}; correct them and run it again"
        )
    counts = (plural(n, kind, PLURALS.get(kind, "")) for kind, n in validated.records.items())
    console.say(f"{path}: valid ({', '.join(counts) or 'nothing in it'})", wrap=False)


PLURALS = {"criterion": "criteria"}
schema = WithDefault(
    default=show,
    others=(Other(list_, meant=lambda args: not args),),
    short_help="Show the open format, or check a file.",
)
schema.add_command(validate)
