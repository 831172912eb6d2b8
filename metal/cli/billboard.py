"""`metal billboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import metal.api.billboard as api
from metal.cli.analysis import analyse, print_run, run_folder
from metal.cli.billboard_apply import apply, history
from metal.cli.billboard_crowd import crowd
from metal.cli.billboard_references import references
from metal.cli.verb import AS_JSON, DATASET, FORCE, RATINGS, verb
from metal.cli.verb import out as out_option
from metal.cli.with_default import WithDefault

BY = click.Option(
    ["--by"],
    multiple=True,
    type=click.Choice(["language", "criterion", "generator"]),
    help="Show the correlations by this as well (all are in the tables).",
)


@verb(
    api.billboard,
    DATASET,
    RATINGS,
    out_option("runs/DATASET-board"),
    BY,
    AS_JSON,
    FORCE,
    more="""
        Everything is also written to the run folder: report.html, tables/ as CSV, JSON and Parquet, ensembles.json,
        run.toml.
    """,
    examples="""
        metal billboard datasets/cnndm --reference group=expert
        metal billboard datasets/news runs/news-judges runs/news-scores --by language
        metal billboard datasets/cnndm --reference group=expert -c coherence --common
    """,
)
def board(
    data: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    by: tuple[str, ...],
    as_json: bool,
    force: bool,
    **options: Any,
) -> None:
    from metal.show.terminal import console

    out = run_folder(out, data, "-board")
    run = analyse(api.billboard, data, ratings, out, doing="ranking", force=force, **options)
    ensembles = {ensemble["ensemble"]: ensemble for ensemble in run.ensembles}
    if not run.recorded and not as_json:
        console.say(f"{data} cannot be written: this version and its ensembles are in {out} only")
    files = "report.html, tables/ (CSV, JSON, Parquet), ensembles.json, run.toml"
    print_run(run, out, as_json, by=by, files=files, version=run.version, ensembles=ensembles)


billboard = WithDefault(default=board)
for command in (crowd, references, apply, history):
    billboard.add_command(command)
