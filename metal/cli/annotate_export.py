"""`metal annotate export`: tasks for people, in whatever form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metal.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metal.building.answers import Given
    from metal.data.dataset import Dataset
    from metal.data.records import Output

FORMS = ("html", "csv", "xlsx", "label-studio", "mturk", "crowd-csv")
PLATFORMS = ("label-studio", "mturk")  # that `metal annotate push` posts to


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


@click.command("export", short_help="Write tasks for people.")
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


@click.command("html", short_help="Write a rating page for each person.")
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

    from metal.building import forms
    from metal.building.choose_template import put_to_people, warn_of_returning, with_references
    from metal.building.outputs_to_rate import generators_named, outputs_to_rate, sampled
    from metal.building.store import FOLDER, note_given, read_given, task_key
    from metal.building.tasks import deal, make_tasks
    from metal.data.dataset import load_dataset
    from metal.data.folders import check_new, new_folder, one_writer
    from metal.genie.gold_questions import SIDES, side_of
    from metal.genie.store import draw_questions, read_answers, read_questions, write_questions
    from metal.runs.manifest import manifest
    from metal.show.terminal import annotation_text
    from metal.show.terminal import console as show

    click.get_current_context().with_resource(one_writer(dataset))
    put = put_to_people(load_dataset(dataset), dataset, template, criteria, prompts, add=add_criteria)
    loaded = put.dataset
    chosen = generators_named(loaded, generators)
    to_rate = outputs_to_rate(loaded, dataset, languages, only, chosen, sampled(loaded, sample, seed))
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
    annotation_text.show_handed_out(sheets, questions)
    guide = "README.txt there says how to go on" if (out / "README.txt").is_file() else "give each person their file"
    show.say(f"In {out}: {guide}", wrap=False)
    show.say(f"Who was given what is in {dataset / FOLDER}", wrap=False)
    if form in PLATFORMS:
        show.say(f"Next: metal annotate push {form} {dataset} {out}", wrap=False)
    show.say(f"{'Or' if form in PLATFORMS else 'Next'}: metal annotate import {dataset} ANSWERS...", wrap=False)


def _highest(dataset: Dataset, given: Mapping[str, Given], *, new_people: bool) -> int:
    """The highest number that is taken: by raters who are in the dataset from elsewhere, and by those who were given
    tasks if people are to be new."""
    taken = {name for name in dataset.raters if name not in given} | ({*given} if new_people else set())
    parts = (name.rpartition("-") for name in taken)
    return max((int(last) for first, _, last in parts if first in dataset.languages and last.isdecimal()), default=0)
