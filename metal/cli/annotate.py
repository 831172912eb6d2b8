"""`metal annotate`: outputs go out to people, ratings come back."""

from __future__ import annotations

import click

from metal.cli.annotate_export import export, html
from metal.cli.annotate_import import import_
from metal.cli.annotate_platforms import pull, push, status


@click.group(short_help="Tasks out to people, ratings back.")
def annotate() -> None:
    """Hand the chosen outputs of a dataset to people, and take their ratings back."""


for command in (export, html, import_, push, pull, status):
    annotate.add_command(command)
