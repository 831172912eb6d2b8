"""`metal compare`."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import click

import metal.api.compare as api
from metal.cli.check import warn_at_once
from metal.cli.verb import AS_JSON, DATASET, RATINGS, verb


@verb(
    api.compare,
    DATASET,
    RATINGS,
    AS_JSON,
    examples="metal compare datasets/pariksha --generators GPT4o,gpt-4 --languages hi",
)
def compare(data: Path, ratings: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    from metal.runs.parts import records
    from metal.show.terminal import console

    comparison = api.compare(data, *ratings, **options)
    table = comparison.table
    warn_at_once(comparison.warnings)
    if as_json:
        click.echo(json.dumps(records(table), indent=1, ensure_ascii=False))
        return
    for (language, criterion), cell in table.groupby(["language", "criterion"], sort=False):
        shared = cell.groupby("rater", sort=False)["sources"].first()
        columns = ["generator", *(f"{rater} ({n})" for rater, n in shared.items())]
        rows = [
            [str(generator), *map(_mean, by.to_dict("records"))]
            for generator, by in cell.groupby("generator", sort=False)
        ]
        console.table(f"{language} {criterion}: mean score [95% interval] (shared sources)", columns, rows)
    undefined = int(table["mean"].isna().sum())
    if undefined:
        why = "no source is shared by all compared generators"
        console.say(f"- : {why} ({undefined} figures); name fewer --generators")


def _mean(row: dict[Any, Any]) -> str:
    from metal.auditing.paper_tables import UNDEFINED, number

    if isnan(row["mean"]):
        return UNDEFINED
    return f"{number(row['mean'])} [{number(row['mean_low'])}, {number(row['mean_high'])}]"
