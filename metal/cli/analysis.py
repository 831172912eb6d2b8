"""What the verbs that end in a run folder share: progress, the folder, JSON or the text on the screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from metal.api.results import Result

    Kind = TypeVar("Kind", bound=Result)

FILES = "report.html, tables/ (CSV, JSON, Parquet), run.toml"


def run_folder(out: Path | None, data: Path, ending: str = "") -> Path:
    """The run folder that was asked for, or runs/DATASET with the verb's ending."""
    return out or Path("runs") / f"{data.resolve().name}{ending}"


def analyse(
    function: Callable[..., Kind],
    data: Path,
    ratings: tuple[Path, ...],
    out: Path,
    *,
    doing: str,
    force: bool,
    **options: Any,
) -> Kind:
    """Call the public function with a progress bar, and save what it returns."""
    from metal.data.files import check_new
    from metal.show.terminal import console

    check_new(out, force=force)
    with console.progress(doing) as advance:
        result = function(data, *ratings, progress=advance, **options)
    result.save(out, force=force)
    return result


def print_run(
    run: Result, out: Path, as_json: bool, *, files: str = FILES, by: Sequence[str] = (), **more: Any
) -> None:
    """The run as JSON, or as tables and where everything stands. by: slices that are shown as well; more: for JSON."""
    if as_json:
        from metal.runs.parts import records

        printed: dict[str, Any] = {"signature": run.signature, "run": str(out), **more, "warnings": list(run.warnings)}
        printed |= {name: records(table) for name, table in run.tables.items()}
        click.echo(json.dumps(printed, indent=1, ensure_ascii=False))
        return
    from metal.show.pages import screen
    from metal.show.terminal import console

    for part in screen(run, by):
        console.show(part)
    console.say(f"Report: {out / 'report.html'}", wrap=False)
    console.say(f"Written to {out}: {files}", wrap=False)
