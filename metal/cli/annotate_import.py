"""`metal annotate import`: what people sent back becomes ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metal.api.annotate import annotate_import
from metal.cli.verb import DATASET, verb

FILES = click.Argument(["files"], nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))


@verb(
    annotate_import,
    DATASET,
    FILES,
    name="import",
    short_help="Take ratings back.",
    examples="""
    metal annotate import datasets/mine returned/*.json
    metal annotate import datasets/mine answers.csv prolific_export.csv --group crowd
    """,
)
def import_(data: Path, files: tuple[Path, ...], **options: Any) -> None:
    from metal.show.terminal import annotation_text

    inside = annotation_text.is_inside(data)
    annotation_text.show_import(annotate_import(data, files, **options), inside=inside)
