"""What commands without warnings of their own print about people they leave out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from metal.data.dataset import Dataset


def said_without_noisy(dataset: Dataset, folder: Path, runs: Iterable[Path], model: str) -> Dataset:
    """The dataset without its noisy people, each of whom is named on standard error."""
    from metal.genie.excluding import without_noisy

    remaining, excluded = without_noisy(dataset, folder, runs, model)
    print_warnings(excluded.lines if excluded else ())
    return remaining


def print_warnings(lines: Iterable[str]) -> None:
    """A line each on standard error."""
    from metal.show.terminal import console as show

    for line in lines:
        click.echo(show.clean(f"warning: {line}"), err=True)
