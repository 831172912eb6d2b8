"""`metal billboard apply`, `metal billboard history`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import metal.api.billboard_parts as api
from metal.cli.verb import AS_JSON, DATASET, PATH, verb


@verb(
    api.billboard_apply,
    click.Argument(["signature"]),
    click.Argument(["outputs"], type=PATH),
    short_help="Score outputs with an ensemble.",
    more="""
        SIGNATURE is one such as ensemble.cnndm+refs.AB+version.1, or a part of it that only one ensemble has.

        \b
        OUTPUTS is one of
          a table (CSV, TSV, JSONL, Parquet, XLSX) with the column output and one
            for each member of the ensemble, scores as on the board (higher is
            better)
          a folder with ratings by the members: a dataset, or a run of `metal score`
          a table with the columns source and text, for sources of the board, which
            --board names: the members are run, where they can be

        The result is a CSV, printed unless --out names a file: output, score, and the reason where there is none.
    """,
    examples="""
        metal billboard apply ensemble.cnndm+refs.AB+version.1 runs/news-scores
        metal billboard apply ensemble.cnndm+refs.AB+version.1 new.jsonl --board datasets/cnndm
    """,
)
def apply(signature: str, outputs: Path, **options: Any) -> None:
    from metal.data.escaping import csv_text
    from metal.show.terminal import console

    scores = api.billboard_apply(signature, outputs, **options)
    table = scores.table
    if not options["out"]:
        click.echo(csv_text(table), nl=False)
        return
    without = int(table["score"].isna().sum())
    mean = f", mean {table['score'].mean():.4g}" if without < len(table) else ""
    missing = f"; {without:,} no score" if without else ""
    console.say(f"{scores.ensemble}: {len(table):,} outputs{mean}{missing}; written to {options['out']}")


@verb(api.billboard_history, DATASET, AS_JSON, short_help="What joined when.")
def history(data: Path, as_json: bool) -> None:
    from metal.runs.parts import records
    from metal.show.terminal import console

    versions = api.billboard_history(data)
    if as_json:
        click.echo(json.dumps(records(versions), indent=1, ensure_ascii=False))
        return
    rows = [
        [str(row["version"]), row["what"], row["name"], row["by"] or "", row["at"][:16].replace("T", " ")]
        for row in versions.to_dict("records")
    ]
    console.table(f"Versions of {data.resolve().name}", ["version", "what", "name", "by", "when (UTC)"], rows, keep=3)
