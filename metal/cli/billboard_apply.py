"""`metal billboard apply`: an ensemble of a board scores other outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("apply", short_help="Score outputs with an ensemble of a board.")
@click.argument("signature")
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option(
    "--board",
    type=click.Path(path_type=Path),
    help="Dataset or run folder that has the ensemble. [default: all in datasets/ and runs/]",
)
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write. [default: standard output]")
@click.option("--force", is_flag=True, help="Replace the file given with --out.")
def apply(signature: str, outputs: Path, out: Path | None, **given: Any) -> None:
    """Score OUTPUTS with the ensemble SIGNATURE, such as ensemble.cnndm+refs.AB+version.1, also an old one.

    \b
    OUTPUTS is one of
      a table (CSV, TSV, JSONL, Parquet, XLSX) with the column output and one for
        each member of the ensemble: scores as on the board, higher is better
      a folder with ratings by the members: a dataset, or a run of `metal score`
      a table with the columns source and text, for sources of the board: the
        members are run, where they can be

    Prints a CSV: output, score, and the reason where there is none.

    \b
    Examples:
      metal billboard apply ensemble.cnndm+refs.AB+version.1 runs/news-scores
      metal billboard apply ensemble.cnndm+refs.AB+version.1 new.jsonl --board datasets/cnndm
    """
    from metal.api.billboard_parts import billboard_apply
    from metal.data.csv_cells import csv_text
    from metal.show.terminal import console as show

    scores = billboard_apply(signature, outputs, out=out, **given)
    table = scores.table
    if not out:
        click.echo(csv_text(table), nl=False)
        return
    without = int(table["score"].isna().sum())
    mean = f", mean {table['score'].mean():.4g}" if without < len(table) else ""
    missing = f"; {without:,} no score" if without else ""
    show.say(f"{scores.ensemble}: {len(table):,} outputs{mean}{missing}; written to {out}")
