"""What the verbs that end in a run folder share: progress, the folder, JSON or the text on the screen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from metal.api.results import Result

FILES = "report.html, tables/ (CSV, JSON, Parquet), run.toml"


def analyse(
    function: Callable[..., Result],
    data: Path,
    ratings: tuple[Path, ...],
    out: Path,
    *,
    doing: str,
    force: bool,
    **options: Any,
) -> Result:
    """Call the public function with a progress bar, and save what it returns."""
    from metal.data.folders import check_new
    from metal.show.terminal import console

    check_new(out, force=force)
    with console.progress(doing) as advance:
        result = function(data, *ratings, progress=advance, **options)
    result.save(out, force=force)
    return result


def print_json(run: Result, out: Path, **more: Any) -> None:
    """The tables of a run, its signature and its warnings."""
    from metal.runs.parts import records

    printed: dict[str, Any] = {"signature": run.signature, "run": str(out), **more, "warnings": list(run.warnings)}
    printed |= {name: records(table) for name, table in run.tables.items()}
    click.echo(json.dumps(printed, indent=1, ensure_ascii=False))


def print_places(out: Path, files: str = FILES) -> None:
    """Where everything stands."""
    from metal.show.terminal import console

    console.say(f"Report: {out / 'report.html'}", wrap=False)
    console.say(f"Written to {out}: {files}", wrap=False)


def run_folder(out: Path | None, data: Path, ending: str = "") -> Path:
    """The run folder that was asked for, or runs/DATASET with the verb's ending."""
    return out or Path("runs") / f"{data.resolve().name}{ending}"
