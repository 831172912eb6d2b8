"""What several verbs print: JSON, warnings, tables as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from metal.show.terminal import console

if TYPE_CHECKING:
    import pandas as pd


def print_json(value: object) -> None:
    """Plain values as JSON; of a table its rows, undefined figures as null."""
    from metal.runs.parts import records

    click.echo(json.dumps(value, indent=1, ensure_ascii=False, default=records))


def warn_at_once(warnings: Iterable[str]) -> None:
    """Who was left out, beside what is printed."""
    for line in warnings:
        click.echo(console.clean(f"warning: {line}"), err=True)


def show_table(title: str, table: pd.DataFrame, *, keep: int = 1) -> None:
    """A table as it is, numbers with thousands separators."""
    rows = [
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row]
        for row in table.astype(object).itertuples(index=False)
    ]
    console.table(title, [str(name) for name in table.columns], rows, keep=keep)
