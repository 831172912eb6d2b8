"""`metal annotate`: outputs go out to people, ratings come back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metal.build.answers import Given
    from metal.dataset import Dataset
    from metal.records import Output

FORMS = ("html", "csv", "xlsx", "label-studio", "mturk")


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
            click.option(
                "--generators",
                "-g",
                multiple=True,
                metavar="NAME[,NAME]",
                help="Only what these generators wrote, e.g. one that is new; default all.",
            ),
            click.option(
                "--sample",
                type=click.IntRange(min=1),
                metavar="N",
                help="Only outputs of N sources a language, at random by --seed; the same for every generator, and "
                "those that `metal leaderboard --sample N` scores.",
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
def export(form: str, **wanted: Any) -> None:
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
      metal annotate export datasets/mine --to html --generators new-model --sample 300
    """
    _hand_out(form, **wanted)


@annotate.command("html", short_help="Write a rating page for each person.")
@_export_options
def html(**wanted: Any) -> None:
    """Write one HTML file for each person: open it, rate, download the answers, send them back.

    No server and no network is needed; answers are saved on the device as people go. The same as
    `metal annotate export --to html`, whose help explains the options.

    \b
    Example:
      metal annotate html datasets/mine -l sw --raters 3
    """
    _hand_out("html", **wanted)


def _hand_out(
    form: str,
    dataset: Path,
    out: Path | None,
    raters: int,
    people: int | None,
    common: int,
    languages: tuple[str, ...],
    criteria: tuple[str, ...],
    only: Path | None,
    generators: tuple[str, ...],
    sample: int | None,
    prompts: tuple[Path, ...],
    seed: int,
    force: bool,
) -> None:
    import tomli_w

    from metal.build import forms
    from metal.build.tasks import deal, make_tasks
    from metal.cli import show
    from metal.cli.annotation_folder import FOLDER, note_given, read_given, task_key
    from metal.cli.judge_folder import prompt_folders
    from metal.cli.manifest import manifest
    from metal.dataset import load_dataset
    from metal.errors import UnknownName
    from metal.folders import check_new, new_folder, one_writer
    from metal.judges.rubric import rubrics_for

    click.get_current_context().with_resource(one_writer(dataset))
    loaded = load_dataset(dataset)
    for name in criteria:
        if name not in loaded.criteria:
            raise UnknownName("criterion", name, loaded.criteria)
    asked = [one for name, one in loaded.criteria.items() if not criteria or name in criteria]
    rubrics = rubrics_for(asked, prompt_folders(map(str, prompts), dataset))
    chosen = _generators_named(loaded, generators)
    outputs = _to_rate(loaded, dataset, languages, only, chosen, _sample(loaded, sample, seed))
    out = out or Path("runs") / f"{dataset.resolve().name}-{form}"
    check_new(out, force=force, marks=("run.toml",))
    first = 1 + _highest(loaded, read_given(dataset), new_people=only is not None)
    key = task_key(dataset)
    tasks = make_tasks(key, outputs, loaded.sources)
    sheets = deal(tasks, loaded.card.name, rubrics, raters=raters, people=people, common=common, first=first, seed=seed)
    settings = {"form": form, "raters": raters, "people": people or raters, "common": common, "seed": seed}
    settings |= {"generators": list(chosen)} if chosen else {}
    settings |= {"sample": sample} if sample else {}
    settings |= {"people_given": {sheet.rater: len(sheet.tasks) for sheet in sheets}}
    about = manifest("annotate", loaded, [dataset], settings)
    with new_folder(out, force=force, marks=("run.toml",)) as partial:
        for name, content in forms.write(form, sheets):
            (partial / name).write_bytes(content)
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        note_given(dataset, sheets, form, seed, key)
    rows = []
    for language in dict.fromkeys(sheet.language for sheet in sheets):
        mine = [sheet for sheet in sheets if sheet.language == language]
        loads = sorted({len(sheet.tasks) for sheet in mine})
        count = len({task.task for sheet in mine for task in sheet.tasks})
        names = f"{mine[0].rater} to {mine[-1].rater}" if len(mine) > 1 else mine[0].rater
        rows.append([language, f"{count:,}", names, " or ".join(map(str, loads))])
    asked_of = ", ".join(one.short for one in asked)
    show.table(f"Tasks for people: {asked_of}", ["", "outputs", "people", "each rates"], rows)
    guide = "README.txt there says how to go on" if (out / "README.txt").is_file() else "give each person their file"
    show.say(f"In {out}: {guide}", wrap=False)
    show.say(f"Who was given what is in {dataset / FOLDER}", wrap=False)
    show.say(f"Next: metal annotate import {dataset} ANSWERS...", wrap=False)


def _generators_named(dataset: Dataset, named: tuple[str, ...]) -> tuple[str, ...]:
    """The generators of --generators: each name as it stands, or several with commas. Raises UnknownName."""
    from metal.errors import UnknownName

    known = sorted({output.generator for output in dataset.outputs.values()})
    parts = [part for text in named for part in ([text] if text in known else text.split(","))]
    found = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    for name in found:
        if name not in known:
            raise UnknownName("generator", name, known)
    return found


def _sample(dataset: Dataset, number: int | None, seed: int) -> frozenset[str] | None:
    """The sources of --sample; None for all."""
    from metal.genie.subsample import sources_chosen

    return None if number is None else sources_chosen(dataset.sources.values(), number, seed)


def _to_rate(
    dataset: Dataset,
    folder: Path,
    languages: tuple[str, ...],
    only: Path | None,
    generators: tuple[str, ...] = (),
    sources: frozenset[str] | None = None,
) -> list[Output]:
    """The chosen outputs that have a text, of these generators and sources. Raises UsageError when there are none."""
    from metal.cli import show
    from metal.cli.annotation_text import counted
    from metal.errors import UnknownName, UsageError

    for language in languages:
        if language not in dataset.languages:
            raise UnknownName("language", language, dataset.languages)
    if not dataset.outputs:
        raise UsageError(f"{folder} has no outputs to rate yet; `metal generate` makes some from its sources")
    found = [one for one in dataset.outputs.values() if not languages or one.language in languages]
    found = [one for one in found if not generators or one.generator in generators]
    found = [one for one in found if sources is None or one.source in sources]
    if only:
        wanted = _wanted(only, dataset)
        found = [one for one in found if one.output in wanted]
    chosen = [one for one in found if one.chosen]
    usable = [one for one in chosen if one.text.strip()]
    if not usable:
        where = [f"in {only}"] if only else []
        where += [f"by {', '.join(generators)}"] if generators else []
        where += ["in the sample"] if sources is not None else []
        raise UsageError(" ".join([f"{folder}: no chosen output with a text to rate", *where]))
    missing = sum(not dataset.sources[one.source].text.strip() for one in usable)
    for count, what in (
        (len(found) - len(chosen) if only else 0, "not handed out: not chosen"),
        (len(chosen) - len(usable), "not handed out: without a text"),
        (missing, "handed out without the source, whose text is missing"),
    ):
        if count:
            show.say(f"warning: {counted(count, 'output')} {what}")
    return usable


def _wanted(only: Path, dataset: Dataset) -> set[str]:
    """The outputs that a CSV names. Ids stay as they stand there: `007` is no number."""
    from metal.build.forms.csv_sheet import csv_rows
    from metal.build.forms.rows import filled_rows, listed, unguarded
    from metal.errors import DataError

    rows = filled_rows(csv_rows(str(only), only.read_bytes()))
    head = rows[0][1] if rows else []
    if "output" not in head:
        raise DataError(only, f"no column 'output' (columns found: {listed(head)})", "Name one output a row")
    place, wanted = head.index("output"), set()
    for number, row in rows[1:]:
        cell = row[place] if place < len(row) else ""
        output = cell if cell in dataset.outputs else unguarded(cell)
        if output and output not in dataset.outputs:
            raise DataError(
                f"{only} row {number}", f"output {output!r} is none of this dataset's", "Give ids of outputs.jsonl"
            )
        wanted.add(output)
    return wanted


def _highest(dataset: Dataset, given: Mapping[str, Given], *, new_people: bool) -> int:
    """The highest number that is taken: by raters who are in the dataset from elsewhere, and by those who were given
    tasks if people are to be new."""
    taken = {name for name in dataset.raters if name not in given} | ({*given} if new_people else set())
    parts = (name.rpartition("-") for name in taken)
    return max((int(last) for first, _, last in parts if first in dataset.languages and last.isdecimal()), default=0)


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
    from metal.cli.annotation_text import show_agreement, show_ambiguous, show_returned
    from metal.csv_cells import csv_text
    from metal.dataset import assemble, load_dataset, update_dataset
    from metal.errors import DataError, UsageError
    from metal.folders import one_writer
    from metal.records import Rater

    click.get_current_context().with_resource(one_writer(dataset))
    inside = Path.cwd().is_relative_to(dataset.resolve())
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
    for name, spoken in returned.raters.items():
        known = raters.setdefault(name, Rater(name, "human", group, {"language": ", ".join(sorted(spoken))}))
        if known.kind != "human":
            raise DataError(
                dataset / "raters.jsonl", f"rater {name!r} is of kind {known.kind}", "People need other names"
            )
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
    show_returned(returned)
    for note in notes:
        show.say(f"note: {note}")
    show_agreement(whole)
    show_ambiguous(unclear, whole, None if dry_run else dataset / FOLDER / AMBIGUOUS)
    show.say("Nothing was written." if dry_run else f"Next: metal audit {dataset}", wrap=False)
    if inside and not dry_run:
        show.say("You are in the dataset's folder, which was written anew: `cd .` takes you there.")
