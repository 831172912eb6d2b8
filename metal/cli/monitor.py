"""`metal monitor`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metal.api.monitor as api
from metal.cli.analysis import analyse, print_run, run_folder
from metal.cli.monitor_simulate import simulate
from metal.cli.verb import AS_JSON, DATASET, FORCE, RATINGS, verb
from metal.cli.verb import out as out_option
from metal.cli.with_default import WithDefault


@verb(
    api.monitor,
    DATASET,
    RATINGS,
    out_option("runs/DATASET-people"),
    AS_JSON,
    FORCE,
    examples="""
        metal monitor datasets/mine
        metal monitor datasets/mine runs/mine-judges --model class-learned-2
        metal monitor datasets/cnndm --reference group=crowd --json | jq .behaviour
        metal monitor simulate
    """,
)
def watch(data: Path, ratings: tuple[Path, ...], out: Path | None, as_json: bool, force: bool, **options: Any) -> None:
    out = run_folder(out, data, "-people")
    run = analyse(api.monitor, data, ratings, out, doing="comparing people", force=force, **options)
    print_run(run, out, as_json)


monitor = WithDefault(default=watch)
monitor.add_command(simulate)
