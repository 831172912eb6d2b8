"""`metal leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import metal.api.leaderboard as api
from metal.cli.analysis import analyse, print_run, run_folder
from metal.cli.verb import AS_JSON, DATASET, FORCE, RATINGS, verb
from metal.cli.verb import out as out_option

BY = click.Option(
    ["--by"],
    multiple=True,
    type=click.Choice(["language", "criterion"]),
    help="Show a ranking for each of these as well (all are in the tables).",
)


@verb(
    api.leaderboard,
    DATASET,
    RATINGS,
    out_option("runs/DATASET-leaderboard"),
    BY,
    AS_JSON,
    FORCE,
    more="""
        \b
        A generator that joins needs ratings of its own outputs only:
          1. add its outputs to DATASET
          2. metal annotate export DATASET --to html --generators NAME --sample 300
          3. metal annotate import DATASET ANSWERS...
          4. metal leaderboard DATASET --sample 300

        Everything is also written to the run folder: report.html, tables/ as CSV, JSON and Parquet, run.toml.
    """,
    examples="""
        metal leaderboard datasets/cnndm --reference group=crowd
        metal leaderboard datasets/pariksha --by language
        metal leaderboard datasets/news runs/news-scores --sample 300 --with-judges
    """,
)
def leaderboard(
    data: Path,
    ratings: tuple[Path, ...],
    out: Path | None,
    by: tuple[str, ...],
    as_json: bool,
    force: bool,
    **options: Any,
) -> None:
    out = run_folder(out, data, "-leaderboard")
    run = analyse(api.leaderboard, data, ratings, out, doing="ranking", force=force, **options)
    print_run(run, out, as_json, by=by, main=run.manifest["leaderboard"]["main"])
