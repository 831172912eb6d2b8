"""Printing that several verbs share: JSON, warnings, and the parts of a screen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from metal.show.terminal import console

if TYPE_CHECKING:
    from metal.questions.design.drawn import DrawnSources
    from metal.show.view import Screen


def print_json(value: object) -> None:
    """Print plain values as JSON; a table is printed as its rows, an undefined figure as null."""
    from metal.runs.parts import records

    click.echo(json.dumps(value, indent=1, ensure_ascii=False, default=records))


def warn_at_once(warnings: Iterable[str]) -> None:
    """Print warnings about people left out on standard error, before anything else."""
    for line in warnings:
        click.echo(console.clean(f"warning: {line}"), err=True)


def show_parts(screen: Screen) -> None:
    """Print tables and paragraphs in order."""
    for part in screen:
        console.show(part)


def say_drawn(drawn: DrawnSources, as_json: bool) -> None:
    """Print what was drawn for people to rate, where it is kept, and the next command."""
    from metal.questions.design import planned

    warn_at_once(drawn.warnings)
    if as_json:
        print_json(drawn.plain())
        return
    show_parts(planned.drawn(drawn))
    used = "; metal correct uses it" if drawn.needed is None else ""
    console.say(f"Kept in {drawn.file}{used}", wrap=False)
    folder = shlex.quote(str(drawn.folder))
    console.say(f"Next: metal annotate export {folder} --to html --drawn", wrap=False)
