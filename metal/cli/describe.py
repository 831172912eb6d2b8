"""`metal describe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import metal.api.describe as api
from metal.cli.analysis import run_folder
from metal.cli.verb import AS_JSON, DATASET, FORCE, verb
from metal.cli.verb import out as out_option

if TYPE_CHECKING:
    import pandas as pd


@verb(
    api.describe,
    DATASET,
    out_option("runs/DATASET-description"),
    AS_JSON,
    FORCE,
    more="""
        The tables are also written to the run folder, as CSV, JSON and Parquet, with the charts as SVG. An audit's
        report has them as a section.
    """,
    examples="metal describe datasets/mine",
)
def describe(data: Path, out: Path | None, as_json: bool, force: bool, **options: Any) -> None:
    from metal.cli.check import show_table, warn_at_once
    from metal.data.files import check_new
    from metal.show.terminal import console

    out = run_folder(out, data, "-description")
    check_new(out, force=force)
    result = api.describe(data, **options)
    warn_at_once(result.warnings)
    result.save(out, force=force)
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=1, ensure_ascii=False))
        return
    title = f"{result.dataset.identity}: tokens ({result.settings['encoding']}, mean ± sd) and outputs by language"
    show_table(title, result.tables["table_1"], keep=1)
    by_quality = result.tables["classes_by_quality"]
    if len(by_quality):
        qualities = [quality for quality in dict.fromkeys(by_quality["quality"]) if quality != "all"]
        _show_classes(result.tables["table_2"], " / ".join(f"N({quality})" for quality in qualities) or "N(all)")
        for line in result.reversals:
            console.say(line)
        _say_tied(by_quality)
    console.say(f"Written to {out}: tables/ (CSV, JSON, Parquet), charts/, run.toml", wrap=False)


def _show_classes(table: pd.DataFrame, listed: str) -> None:
    from metal.show.terminal import console

    for figure, title in (("count", f"Classes, {listed}"), ("share", "The same as rates of each")):
        rows = table[table["figure"] == figure].drop(columns="figure")
        console.table(title, list(rows.columns), [list(map(str, row)) for row in rows.itertuples(index=False)])


def _say_tied(classes: pd.DataFrame) -> None:
    from metal.building.describe import ALL, NO_CLASS
    from metal.show.terminal import console

    tied = classes[(classes["level"] == NO_CLASS) & (classes["language"] == ALL) & (classes["quality"] == ALL)]
    if len(tied):
        counts = ", ".join(f"{row['criterion']} {row['count']}" for row in tied.to_dict("records"))
        console.say(f"Outputs on whose class people do not settle: {counts}")
