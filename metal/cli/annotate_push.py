"""`metal annotate push`: the chosen outputs of a dataset are posted to a platform where people rate them."""

from __future__ import annotations

import click


@click.group(short_help="Post tasks on a platform.")
def push() -> None:
    """Post the tasks of a dataset on a platform; `metal annotate pull` fetches the answers.

    What was posted is kept in DATASET/annotation/campaigns/ before it counts: a push that was interrupted is
    continued by the same command, and posts nothing twice.
    """
