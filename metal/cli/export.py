"""`metal export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import metal.api.export as api
from metal.cli.check import warn_at_once
from metal.cli.verb import DATASET, RATINGS, verb


@verb(
    api.export,
    DATASET,
    RATINGS,
    examples="metal export datasets/pariksha --to parquet --out pariksha.parquet",
)
def export(data: Path, ratings: tuple[Path, ...], **options: Any) -> None:
    from metal.show.terminal import console

    table = api.export(data, *ratings, **options)
    warn_at_once(table.attrs["warnings"])
    console.say(f"{len(table):,} ratings in {options['out']}")
