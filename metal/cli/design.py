"""`metal design`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metal.api.design as api
from metal.cli.analysis import analyse, print_run, run_folder
from metal.cli.verb import AS_JSON, DATASET, FORCE, RATINGS, verb
from metal.cli.verb import out as out_option


@verb(
    api.design,
    DATASET,
    RATINGS,
    out_option("runs/DATASET-design"),
    AS_JSON,
    FORCE,
    more="""
        The run folder gets report.html with charts, tables/ as CSV, JSON and Parquet, and run.toml.
    """,
    examples="""
        metal design datasets/pariksha -l hi -c task_quality
        metal design datasets/news runs/news-judges --width 0.1 --pay 0.5 --seconds 60
        metal design datasets/cnndm --reference group=crowd -k 1,3,5 --json | jq .needs
    """,
)
def design(data: Path, ratings: tuple[Path, ...], out: Path | None, as_json: bool, force: bool, **options: Any) -> None:
    out = run_folder(out, data, "-design")
    run = analyse(api.design, data, ratings, out, doing="simulating", force=force, **options)
    print_run(run, out, as_json)
