"""`metal annotate pull`: what people have rated on a platform so far comes back as ratings."""

from __future__ import annotations

import click


@click.group(short_help="Fetch answers from a platform.")
def pull() -> None:
    """Fetch the answers to what `metal annotate push` posted, and take them into the dataset.

    A batch that is still running can be pulled any number of times.
    """
