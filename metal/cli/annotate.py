"""`metal annotate`: outputs go out to people, ratings come back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metal.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from metal.build.answers import Given, Returned
    from metal.dataset import Dataset
    from metal.records import Output

FORMS = ("html", "csv", "xlsx", "label-studio", "mturk")
SHOWN = 10


@click.group(short_help="Tasks out to people, ratings back.")
def annotate() -> None:
    """Hand the chosen outputs of a dataset to people, and take their ratings back."""


def _export_options(command: options.F) -> options.F:
    for option in reversed(
        (
            options.dataset,
            click.option(
                "--out", type=click.Path(path_type=Path), help="Folder to write. [default: runs/DATASET-FORM]"
            ),
            click.option(
                "--raters",
                type=click.IntRange(min=1),
                default=3,
                show_default=True,
                metavar="N",
                help="People who rate each output.",
            ),
            click.option(
                "--people", type=click.IntRange(min=1), metavar="N", help="People a language. [default: --raters]"
            ),
            click.option(
                "--common",
                type=click.IntRange(min=0),
                default=0,
                metavar="N",
                help="Outputs a language that all its people rate, when there are more --people than --raters.",
            ),
            options.names("--languages", "-l", what="Languages; default all."),
            options.names("--criteria", "-c", what="Criteria; default all."),
            click.option(
                "--only",
                type=click.Path(path_type=Path, exists=True, dir_okay=False),
                metavar="FILE",
                help="Only the outputs in this CSV (a column `output`), by people who are new.",
            ),
            options.prompts,
            options.seed,
            options.force,
        )
    ):
        command = option(command)
    return command


@annotate.command("export", short_help="Write tasks for people.")
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="What people fill in.")
@_export_options
def export(
    form: str,
    dataset: Path,
    out: Path | None,
    raters: int,
    people: int | None,
    common: int,
    languages: tuple[str, ...],
    criteria: tuple[str, ...],
    only: Path | None,
    prompts: tuple[Path, ...],
    seed: int,
    force: bool,
) -> None:
    """Write the tasks of DATASET for people: each rates outputs of one language, in an order of their own.

    \b
    html          one page a person; opens without a network, saves as it goes
    csv, xlsx     one sheet a person
    label-studio  tasks and labelling interface
    mturk         input CSV and page layout

    Every form shows guidelines for each criterion (from prompts/criteria/, or your own with --prompts), and
    none tells who wrote a text or how good it was meant to be. People are called hi-1, hi-2, ...; who was
    given what is kept in DATASET/annotation/. With more --people than --raters the outputs are dealt out
    evenly, so that any two people share about as many as any other two.

    \b
    Examples:
      metal annotate export datasets/mine --to html
      metal annotate export datasets/mine --to xlsx -l hi --people 5 --common 10
      metal annotate export datasets/mine --to html \\
        --only datasets/mine/annotation/ambiguous.csv
    """
    _hand_out(form, dataset, out, raters, people, common, languages, criteria, only, prompts, seed, force)


@annotate.command("html", short_help="Write a rating page for each person.")
@_export_options
def html(
    dataset: Path,
    out: Path | None,
    raters: int,
    people: int | None,
    common: int,
    languages: tuple[str, ...],
    criteria: tuple[str, ...],
    only: Path | None,
    prompts: tuple[Path, ...],
    seed: int,
    force: bool,
) -> None:
    """Write one HTML file for each person: open it, rate, download the answers, send them back.

    No server and no network is needed; answers are saved on the device as people go. The same as
    `metal annotate export --to html`, whose help explains the options.

    \b
    Example:
      metal annotate html datasets/mine -l sw --raters 3
    """
    _hand_out("html", dataset, out, raters, people, common, languages, criteria, only, prompts, seed, force)


def _hand_out(
    form: str,
    folder: Path,
    out: Path | None,
    raters: int,
    people: int | None,
    common: int,
    languages: tuple[str, ...],
    criteria: tuple[str, ...],
    only: Path | None,
    prompts: tuple[Path, ...],
    seed: int,
    force: bool,
) -> None:
    import tomli_w

    from metal.build import forms
    from metal.build.tasks import deal, make_tasks
    from metal.cli import show
    from metal.cli.annotation_folder import FOLDER, note_given, read_given
    from metal.cli.judge_folder import prompt_folders
    from metal.cli.manifest import manifest
    from metal.dataset import load_dataset
    from metal.errors import UnknownName
    from metal.folders import check_new, new_folder
    from metal.judges.rubric import rubrics_for

    dataset = load_dataset(folder)
    for name in criteria:
        if name not in dataset.criteria:
            raise UnknownName("criterion", name, dataset.criteria)
    asked = [one for name, one in dataset.criteria.items() if not criteria or name in criteria]
    rubrics = rubrics_for(asked, prompt_folders(map(str, prompts), folder))
    outputs = _to_rate(dataset, folder, languages, only)
    out = out or Path("runs") / f"{folder.resolve().name}-{form}"
    check_new(out, force=force, marks=("run.toml",))
    first = 1 + _highest(read_given(folder)) if only else 1
    tasks = make_tasks(dataset.card.name, outputs, dataset.sources)
    sheets = deal(
        tasks, dataset.card.name, rubrics, raters=raters, people=people, common=common, first=first, seed=seed
    )
    settings = {"form": form, "raters": raters, "people": people or raters, "common": common, "seed": seed}
    settings |= {"people_given": {sheet.rater: len(sheet.tasks) for sheet in sheets}}
    about = manifest("annotate", dataset, [folder], settings)
    with new_folder(out, force=force, marks=("run.toml",)) as partial:
        for name, content in forms.write(form, sheets):
            (partial / name).write_bytes(content)
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        note_given(folder, sheets, form, seed)
    rows = []
    for language in dict.fromkeys(sheet.language for sheet in sheets):
        mine = [sheet for sheet in sheets if sheet.language == language]
        loads = sorted({len(sheet.tasks) for sheet in mine})
        count = len({task.task for sheet in mine for task in sheet.tasks})
        names = f"{mine[0].rater} to {mine[-1].rater}" if len(mine) > 1 else mine[0].rater
        rows.append([language, f"{count:,}", names, " or ".join(map(str, loads))])
    show.table(f"Tasks for people, on {len(rubrics)} criteria", ["", "outputs", "people", "each rates"], rows)
    show.say(f"In {out}: give each person their file. Who was given what is in {folder / FOLDER}", wrap=False)
    show.say(f"Next: metal annotate import {folder} ANSWERS...", wrap=False)


def _to_rate(dataset: Dataset, folder: Path, languages: tuple[str, ...], only: Path | None) -> list[Output]:
    """The chosen outputs that have a text. Raises UsageError when there are none."""
    from metal.cli import show
    from metal.errors import DataError, UnknownName, UsageError
    from metal.formats.table import read_frame

    for language in languages:
        if language not in dataset.languages:
            raise UnknownName("language", language, dataset.languages)
    if not dataset.outputs:
        raise UsageError(f"{folder} has no outputs to rate yet; `metal generate` makes some from its sources")
    found = [one for one in dataset.outputs.values() if one.chosen and (not languages or one.language in languages)]
    if only:
        frame = read_frame(only)
        if "output" not in frame:
            raise DataError(only, f"no column 'output' (columns found: {', '.join(frame.columns)})", "Name one a row")
        wanted = set(map(str, frame["output"]))
        unknown = sorted(wanted - set(dataset.outputs))
        if unknown:
            raise DataError(only, f"output {unknown[0]!r} is none of this dataset's", "Give ids of outputs.jsonl")
        found = [one for one in found if one.output in wanted]
    usable = [one for one in found if one.text.strip()]
    if not usable:
        raise UsageError(f"{folder}: no chosen output with a text to rate there")
    if len(usable) < len(found):
        show.say(f"warning: {len(found) - len(usable):,} outputs have no text and are not handed out")
    missing = sum(not dataset.sources[one.source].text.strip() for one in usable)
    if missing:
        show.say(f"warning: {missing:,} outputs are handed out without their source, whose text is missing")
    return usable


def _highest(given: dict[str, Given]) -> int:
    """The highest number a person has."""
    numbers = (name.rpartition("-")[2] for name in given)
    return max((int(number) for number in numbers if number.isdigit()), default=0)


@annotate.command("import", short_help="Take ratings back.")
@options.dataset
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--replace", is_flag=True, help="A rating that is there already gives way to a new one.")
@click.option("--group", default="native", show_default=True, help="Group of the raters, e.g. native, expert, crowd.")
@click.option("--dry-run", is_flag=True, help="Check the files; write nothing.")
def import_(dataset: Path, files: tuple[Path, ...], replace: bool, group: str, dry_run: bool) -> None:
    """Take the FILES that people sent back into DATASET.

    Answers of the HTML page (.json), sheets (.csv, .xlsx), Label Studio's JSON export and Mechanical Turk's
    results (.csv) are told apart by what is in them. Everything is checked before anything is written:
    unknown tasks, scores off the scale, people who answer twice. Ratings of earlier imports stay; the
    files may be given again when more has come in.

    \b
    Example:
      metal annotate import datasets/mine returned/*.json
    """
    from metal.build import forms
    from metal.build.answers import ambiguous, take_in
    from metal.cli import show
    from metal.cli.annotation_folder import AMBIGUOUS, ANSWERS, FOLDER, answers_file, read_given, read_tasks
    from metal.csv_cells import csv_text
    from metal.dataset import assemble, load_dataset, update_dataset
    from metal.errors import UsageError
    from metal.records import Rater

    loaded = load_dataset(dataset)
    tasks = read_tasks(dataset)
    if not tasks:
        raise UsageError(f"{dataset}: no tasks were handed out from it; begin with `metal annotate export`")
    answers, notes = [], []
    for file in files:
        found, said = forms.read(file.name, file.read_bytes(), loaded.criteria)
        answers += found
        notes += said
    languages = {name: output.language for name, output in loaded.outputs.items()}
    tasks = {task: output for task, output in tasks.items() if output in loaded.outputs}
    returned = take_in(
        answers,
        tasks,
        read_given(dataset),
        loaded.criteria,
        loaded.ratings,
        languages=languages,
        replace=replace,
    )
    raters = dict(loaded.raters)
    for name, language in returned.raters.items():
        raters.setdefault(name, Rater(name, "human", group, {"language": language}))
    whole = assemble(
        loaded.card,
        loaded.criteria.values(),
        loaded.sources.values(),
        loaded.outputs.values(),
        raters.values(),
        returned.facts,
        extra=loaded.extra,
    )
    unclear = ambiguous(whole.ratings[whole.ratings["kind"] == "human"], whole.criteria)
    if not dry_run:
        extra_files = {f"{FOLDER}/{ANSWERS}": answers_file(dataset, answers)}
        extra_files |= {f"{FOLDER}/{AMBIGUOUS}": csv_text(unclear).encode()}
        update_dataset(whole, dataset, extra_files)
    _show_returned(returned)
    for note in notes:
        show.say(f"note: {note}")
    _show_agreement(whole)
    _show_ambiguous(unclear, whole, dataset / FOLDER / AMBIGUOUS)
    show.say("Nothing was written." if dry_run else f"Next: metal audit {dataset}", wrap=False)


def _show_returned(returned: Returned) -> None:
    from metal.cli import show

    names = sorted({*returned.answered, *returned.open})
    rows = [
        [
            name,
            *(f"{count:,}" for count in (returned.answered[name], returned.partly[name], returned.open.get(name, 0))),
        ]
        for name in names
    ]
    show.table("Tasks answered", ["person", "in these files", "in part", "still open"], rows)
    for count, what in (
        (returned.same, "ratings were there already"),
        (returned.replaced, "ratings were replaced"),
        (returned.blank, "answers say nothing and were passed over"),
    ):
        if count:
            show.say(f"{count:,} {what}")


def _show_agreement(dataset: Dataset) -> None:
    """Agreement of the people so far, a row a language and criterion."""
    from metal.audit.cells import cells
    from metal.audit.layouts import UNDEFINED, number
    from metal.audit.people import people_row
    from metal.audit.settings import AuditSettings
    from metal.cli import show
    from metal.stats.bootstrap import SourceBootstrap

    settings = AuditSettings()
    rows = []
    for cell in cells(dataset, settings):
        row = people_row(cell, SourceBootstrap(1, 0))
        figures = (row[name] for name in ("percent_agreement", "fleiss_kappa", "alpha"))
        shown = (UNDEFINED if value is None or value != value else number(value) for value in figures)
        rows.append([f"{cell.language} {cell.criterion.short}", f"{row['items']:,}", *shown])
    if rows:
        columns = ["", "rated by all", "agreement", "Fleiss' kappa", "alpha"]
        show.table("Agreement of the people so far", columns, rows, note="-: not defined yet.")


def _show_ambiguous(unclear: pd.DataFrame, dataset: Dataset, path: Path) -> None:
    from metal.cli import show

    if unclear.empty:
        return
    show.say(f"{len(unclear):,} times an output got as many different labels as it has people; look at these again:")
    for one in unclear.head(SHOWN).itertuples():
        show.say(f"  {one.output} {dataset.criteria[str(one.criterion)].short}: {one.labels}")
    show.say(f"All are in {path}; to have them rated by others: metal annotate export ... --only {path}", wrap=False)
