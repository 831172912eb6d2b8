"""`metal annotate`: outputs go out to people, ratings come back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options
from metal.cli.annotate_label_studio import pull_label_studio, push_label_studio
from metal.cli.annotate_mturk import push_mturk
from metal.cli.annotate_mturk_pull import pull_mturk
from metal.cli.annotate_pull import pull
from metal.cli.annotate_push import push
from metal.cli.annotate_status import status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metal.build.answers import Given
    from metal.dataset import Dataset
    from metal.records import Output

FORMS = ("html", "csv", "xlsx", "label-studio", "mturk", "crowd-csv")


@click.group(short_help="Tasks out to people, ratings back.")
def annotate() -> None:
    """Hand the chosen outputs of a dataset to people, and take their ratings back."""


template_option = click.option(
    "--template",
    metavar="NAME",
    help="How tasks look and what is asked: metal, question-answering, commonsense, translation, summarization, or "
    "your own. [default: as metal, with the dataset's criteria]",
)
add_criteria_option = click.option(
    "--add-criteria", is_flag=True, help="Add the template's criteria to the dataset where it lacks them."
)


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
            options.test_questions,
            template_option,
            add_criteria_option,
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
    crowd-csv     a CSV of tasks, for Prolific or a platform of your own

    Every form shows guidelines for each criterion (from prompts/criteria/, or your own with --prompts), and
    none tells who wrote a text or how good it was meant to be. People are called hi-1, hi-2, ...; who was
    given what is kept in DATASET/annotation/. With more --people than --raters the outputs are dealt out
    evenly, so that any two people share about as many as any other two.

    With --test-questions, some tasks show a source with its own reference (positive) or with the reference of
    another source (negative); nobody can tell them from the rest. Answers to them stay out of the ratings:
    `metal monitor` looks at them to find people who do not read. Later rounds ask other questions.

    --template says what a task looks like and which criteria it asks (DIR/annotate/NAME.toml with --prompts
    DIR for your own; prompts/annotate/ has five to start from). summarization shows the output and the
    reference side by side in blind random order; on the way back scores are turned, so that a higher one
    always means that the output is better than the reference.

    \b
    Examples:
      metal annotate export datasets/mine --to html --template summarization \\
        --add-criteria
      metal annotate export datasets/mine --to html
      metal annotate export datasets/mine --to html --test-questions
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
    test_questions: str,
    template: str | None,
    add_criteria: bool,
    generators: tuple[str, ...],
    sample: int | None,
    prompts: tuple[Path, ...],
    seed: int,
    force: bool,
) -> None:
    import tomli_w

    from metal.build import forms
    from metal.build.tasks import deal, make_tasks
    from metal.cli import annotation_text, show
    from metal.cli.annotation_folder import FOLDER, note_given, read_given, task_key
    from metal.cli.annotation_template import put_to_people, warn_of_returning, with_references
    from metal.cli.manifest import manifest
    from metal.cli.test_folder import draw_questions, read_answers, read_questions, write_questions
    from metal.dataset import load_dataset
    from metal.folders import check_new, new_folder, one_writer
    from metal.genie.test_questions import SIDES, side_of

    click.get_current_context().with_resource(one_writer(dataset))
    put = put_to_people(load_dataset(dataset), dataset, template, criteria, prompts, add=add_criteria)
    loaded = put.dataset
    chosen = _generators_named(loaded, generators)
    to_rate = _to_rate(loaded, dataset, languages, only, chosen, _sample(loaded, sample, seed))
    outputs = with_references(loaded, dataset, to_rate, put.template)
    out = out or Path("runs") / f"{dataset.resolve().name}-{form}"
    check_new(out, force=force, marks=("run.toml",))
    first = 1 + _highest(loaded, read_given(dataset), new_people=only is not None)
    key = task_key(dataset)
    questions: tuple[Output, ...] = ()
    if test_questions:
        used = set(read_answers(dataset)["output"].astype(str))
        questions = draw_questions(loaded, outputs, test_questions, seed, read_questions(dataset), show.say, used)
    sides = [[one for one in questions if side_of(one.output) == side] for side in SIDES]
    tasks, *hidden = (make_tasks(key, group, loaded.sources, put.template) for group in (outputs, *sides))
    sheets = deal(
        tasks,
        loaded.card.name,
        put.rubrics,
        raters=raters,
        people=people,
        common=common,
        first=first,
        seed=seed,
        hidden=hidden,
        template=put.template,
    )
    warn_of_returning([*outputs, *questions], sheets)
    settings = {
        "form": form,
        "template": put.template.name,
        "raters": raters,
        "people": people or raters,
        "common": common,
        "seed": seed,
    }
    settings |= {"test_questions": test_questions} if questions else {}
    settings |= {"generators": list(chosen)} if chosen else {}
    settings |= {"sample": sample} if sample else {}
    settings |= {"people_given": {sheet.rater: len(sheet.tasks) for sheet in sheets}}
    about = manifest("annotate", loaded, [dataset], settings)
    put.keep_added(dataset)
    with new_folder(out, force=force, marks=("run.toml",)) as partial:
        for name, content in forms.write(form, sheets):
            (partial / name).write_bytes(content)
        (partial / "run.toml").write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")
        if questions:
            write_questions(dataset, questions)
        note_given(dataset, sheets, form, seed, key)
    rows = []
    for language in dict.fromkeys(sheet.language for sheet in sheets):
        mine = [sheet for sheet in sheets if sheet.language == language]
        loads = sorted({len(sheet.tasks) for sheet in mine})
        count = len({task.task for sheet in mine for task in sheet.tasks})
        names = f"{mine[0].rater} to {mine[-1].rater}" if len(mine) > 1 else mine[0].rater
        rows.append([language, f"{count:,}", names, " or ".join(map(str, loads))])
    asked_of = ", ".join(rubric.criterion.short for rubric in put.rubrics.values())
    note = f"{annotation_text.counted(len(questions), 'test question')} among them" if questions else ""
    show.table(f"Tasks for people: {asked_of}", ["", "tasks", "people", "each rates"], rows, note=note)
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
    from metal.genie.leaderboard.subsample import sources_chosen

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


def _platform(context: click.Context, option: click.Parameter, name: str) -> str:
    if name and not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise click.BadParameter(f"{name!r} is no name for a platform; small letters, digits, - and _, e.g. prolific")
    return name


@annotate.command("import", short_help="Take ratings back.")
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
    from metal.build import forms
    from metal.cli.annotation_import import import_answers
    from metal.dataset import load_dataset
    from metal.folders import one_writer

    click.get_current_context().with_resource(one_writer(dataset))
    loaded = load_dataset(dataset)
    answers, notes = forms.read_all(((file.name, file.read_bytes()) for file in files), loaded.criteria, platform)
    import_answers(dataset, loaded, answers, notes, replace=replace, group=group, dry_run=dry_run)


annotate.add_command(push)
annotate.add_command(pull)
annotate.add_command(status)
push.add_command(push_label_studio)
push.add_command(push_mturk)
pull.add_command(pull_label_studio)
pull.add_command(pull_mturk)
