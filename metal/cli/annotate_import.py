"""`metal annotate import`: what people sent back becomes ratings."""

from __future__ import annotations

import re
from pathlib import Path

import click

from metal.cli import options


def _platform(context: click.Context, option: click.Parameter, name: str) -> str:
    if name and not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise click.BadParameter(f"{name!r} is no name for a platform; small letters, digits, - and _, e.g. prolific")
    return name


@click.command("import", short_help="Take ratings back.")
@options.dataset
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--replace", is_flag=True, help="A rating that is there already gives way to a new one.")
@click.option("--group", default="native", show_default=True, help="Group of the raters, e.g. native, expert, crowd.")
@click.option("--platform", default="", metavar="NAME", callback=_platform, help="Whose people answered in a CSV.")
@click.option("--dry-run", is_flag=True, help="Check the files; write nothing.")
def import_(dataset: Path, files: tuple[Path, ...], replace: bool, group: str, platform: str, dry_run: bool) -> None:
    """Take the FILES that people sent back into DATASET.

    Answers of the HTML page (.json), sheets (.csv, .xlsx), Label Studio's JSON export and Mechanical Turk's
    results (.csv) are told apart by what is in them. Everything is checked before anything is written:
    unknown tasks, scores off the scale, people who answer twice. Ratings of earlier imports stay; the
    files may be given again when more has come in.

    Any other CSV is read if it has a column `task`, one that names the person (worker, WorkerId,
    participant_id, PROLIFIC_PID, or `rater` with --platform) and one for each criterion; people become
    prolific:ID, csv:ID, or NAME:ID with --platform NAME. Prolific's own export of participants may be among
    the FILES: whoever was rejected, returned or timed out is left out and counted, and times are kept.

    \b
    Examples:
      metal annotate import datasets/mine returned/*.json
      metal annotate import datasets/mine answers.csv prolific_export.csv --group crowd
    """
    from metal.building import forms
    from metal.building.take_in import import_answers
    from metal.data.dataset import load_dataset
    from metal.data.folders import one_writer

    click.get_current_context().with_resource(one_writer(dataset))
    loaded = load_dataset(dataset)
    answers, notes = forms.read_all(((file.name, file.read_bytes()) for file in files), loaded.criteria, platform)
    import_answers(dataset, loaded, answers, notes, replace=replace, group=group, dry_run=dry_run)
