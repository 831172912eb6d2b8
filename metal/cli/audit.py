"""`metal audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metal.api.audit as api
from metal.cli.analysis import analyse, print_run, run_folder
from metal.cli.verb import AS_JSON, DATASET, FORCE, RATINGS, verb
from metal.cli.verb import out as out_option


@verb(
    api.audit,
    DATASET,
    RATINGS,
    out_option("runs/DATASET"),
    AS_JSON,
    FORCE,
    more="""
        Everything is also written to the run folder: report.html, a page to look at and to pass on; tables/ as CSV,
        JSON and Parquet (people, judges, verdicts, differences, class_distribution by language and overall, and METAL's
        table_3 and table_6); disagreements.parquet, every output on which judges and people differ, with the texts
        and comments; run.toml, all that is needed to repeat it.
    """,
    examples="""
        metal audit datasets/pariksha
        metal audit datasets/pariksha -c task_quality -l hi,ta --json | jq .verdicts
        metal audit datasets/demo runs/baselines --out runs/demo
    """,
)
def audit(data: Path, ratings: tuple[Path, ...], out: Path | None, as_json: bool, force: bool, **options: Any) -> None:
    out = run_folder(out, data)
    run = analyse(api.audit, data, ratings, out, doing="auditing", force=force, **options)
    print_run(run, out, as_json, files="report.html, tables/ (CSV, JSON, Parquet), disagreements.parquet, run.toml")
