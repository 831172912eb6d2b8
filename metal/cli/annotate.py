"""`metal annotate`: outputs go out to people, ratings come back."""

from __future__ import annotations

import click

from metal.cli.annotate_export import export, html
from metal.cli.annotate_import import import_
from metal.cli.annotate_label_studio import pull_label_studio, push_label_studio
from metal.cli.annotate_mturk import push_mturk
from metal.cli.annotate_mturk_pull import pull_mturk
from metal.cli.annotate_pull import pull
from metal.cli.annotate_push import push
from metal.cli.annotate_status import status


@click.group(short_help="Tasks out to people, ratings back.")
def annotate() -> None:
    """Hand the chosen outputs of a dataset to people, and take their ratings back."""


for verb in (export, html, import_, push, pull, status):
    annotate.add_command(verb)
for platform in (push_label_studio, push_mturk):
    push.add_command(platform)
for platform in (pull_label_studio, pull_mturk):
    pull.add_command(platform)
