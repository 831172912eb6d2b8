"""`metal.annotate_export`, `annotate_import`, `annotate_status`: send tasks to people, and import
their ratings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.api.options import (
    Force,
    Names,
    Option,
    PromptFolders,
    Seed,
    StrPath,
    TestQuestions,
    documented,
    names,
)
from metal.api.platforms import GROUP, Say, platform_of, silent
from metal.data.progress import counted_as
from metal.errors import UsageError
from metal.running.annotating import HandedOut

CELL = ("languages", "criteria", "judges")  # options that choose among an audit's disagreements

if TYPE_CHECKING:
    from metal.building.answers import Assigned
    from metal.building.tasks import Assignment
    from metal.data.dataset import Dataset
    from metal.data.records import Output
    from metal.running.annotating import ImportReport


@documented
def annotate_export(
    data: StrPath,
    *,
    to: Annotated[
        str, Option("Kind of task: pages, sheets or a platform's format.", metavar="FORM")
    ] = "html",
    out: Annotated[StrPath | None, Option("Folder to write. [default: runs/DATASET-FORM]")] = None,
    raters: Annotated[int, Option("People who rate each output.", metavar="N", least=1)] = 3,
    people: Annotated[
        int | None, Option("People per language. [default: `raters`]", metavar="N", least=1)
    ] = None,
    common: Annotated[
        int,
        Option(
            "Outputs per language that all people of the language rate, if there are more "
            "`people` than `raters`.",
            metavar="N",
            least=0,
            rare=True,
        ),
    ] = 0,
    languages: Annotated[Names, Option("Languages; default all.", "-l")] = (),
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    only: Annotated[
        StrPath | None,
        Option(
            "Only the outputs in this CSV (column `output`), or those on which judges and people"
            " differ in this audit. New people rate them.",
            metavar="FILE_OR_AUDIT",
            rare=True,
        ),
    ] = None,
    judges: Annotated[
        Names,
        Option(
            "With an audit in `only`: outputs on which these judges differ. [default: all judges]",
            "-j",
            metavar="NAME[,NAME]",
            rare=True,
        ),
    ] = (),
    items: Annotated[
        int | None,
        Option(
            "With an audit in `only`: at most N outputs per language and criterion, the largest"
            " differences first.",
            "-n",
            metavar="N",
            least=1,
            rare=True,
        ),
    ] = None,
    test_questions: TestQuestions = "",
    template: Annotated[
        str | None,
        Option(
            "How tasks look and what is asked: metal, question-answering, commonsense, translation,"
            " summarization, or "
            "your own. [default: as metal, with the dataset's criteria]",
            metavar="NAME",
        ),
    ] = None,
    add_criteria: Annotated[
        bool, Option("Add the template's criteria to the dataset if it lacks them.", rare=True)
    ] = False,
    generators: Annotated[
        Sequence[str],
        Option(
            "Only outputs of these generators, e.g. a new one. [default: all]",
            "-g",
            metavar="NAME[,NAME]",
            rare=True,
        ),
    ] = (),
    sample: Annotated[
        int | None,
        Option(
            "Only outputs of N random sources per language (by `seed`), the same for every"
            " generator and for `metal.leaderboard(sample=N)`.",
            metavar="N",
            least=1,
            rare=True,
        ),
    ] = None,
    drawn: Annotated[
        bool, Option("Only outputs of sources drawn by `metal.sample_labels`.")
    ] = False,
    also: Annotated[
        bool, Option("Also ask which other answer would do as well.", rare=True)
    ] = False,
    prompt_folders: PromptFolders = (),
    seed: Seed = 0,
    force: Force = False,
    say: Say = silent,
) -> HandedOut:
    """Write rating tasks for people. Each person rates outputs of one language, in an order of
    their own.

    \b
    html          one page per person; opens without a network, saves as it goes
    csv, xlsx     one sheet per person
    label-studio  tasks and labelling interface
    mturk         input CSV and page layout
    crowd-csv     a CSV of tasks, for Prolific or a platform of your own
    study         tasks for `metal.study_new` (whole datasets need no export)

    Every form shows guidelines for each criterion (from prompts/criteria/, or your own with
    `prompt_folders`). No form tells who wrote a text or how good it was meant to be. The html form
    appears in the rater's language: its own words come from forms/LANGUAGE.toml (METAL has some),
    guidelines and levels from criteria/NAME.LANGUAGE.toml. Texts without a translation are in
    English. People are called hi-1, hi-2, ...; annotation/ in the dataset's folder records who got
    which tasks. With more `people` than `raters`, outputs are spread evenly, so that every two
    people share about the same number of outputs.

    With `test_questions`, some tasks show a source with its own reference (positive) or with the
    reference of another source (negative). They look like any other task. Their answers do not
    become ratings: `metal.monitor(...)` uses them to find people who do not read. Later rounds ask
    other questions.

    With `also`, people may say for each answer which other answer would do as well; that other
    answer then also counts as agreement.

    On a board, submitted generators are included (`generators` selects one), and their ratings
    become a version of the board.

    With an audit in `only`, people rate outputs on which judges and people differ. The new ratings
    join those of other people, but only where judges differ, so agreement computed with them
    favours the judges; to compare judges and people on such outputs, use
    `metal.adjudicate_plan(...)`.

    `template` sets what a task looks like and which criteria it asks for. prompts/annotate/ has
    five to start from; put your own into DIR/annotate/NAME.toml in one of your `prompt_folders`.
    The template summarization shows output and reference side by side in blind random order; on
    import, scores are turned so that higher always means that the output is better than the
    reference.

    Args:
        data: The dataset's folder.
        say: Called with every note as it arises; the result has all notes too.

    Returns:
        What was written.

    Raises:
        UnknownName: For an unknown form, language, criterion, generator or template.
        UsageError: If there is nothing to rate, `out` exists, `people` is less than `raters`, or
            `only` is neither a CSV nor an audit of this dataset.
        DataError: For bad files.

    Example:
        handed_out = metal.annotate_export("datasets/news", to="csv", raters=3)
    """
    options = dict(locals())
    import tomli_w

    from metal.api.answers import outputs_named
    from metal.boards.store import with_submissions
    from metal.building import forms
    from metal.building.choose import warn_of_repeated_sources
    from metal.building.store import note_given, read_given, read_reserved
    from metal.building.tasks import assign
    from metal.data.dataset import dataset_to_change
    from metal.data.holdings import SHEETS
    from metal.data.replacing import check_new, new_folder
    from metal.genie.store import write_questions
    from metal.running.handing_out import AskingPeople, tasks_for_people
    from metal.running.prompting import prompt_folders as folders_of_prompts
    from metal.runs.parts import manifest

    forms.check_form(to)
    if drawn and sample is not None:
        raise UsageError("`drawn` and `sample` both choose sources; pass only one")
    dataset, named_in = Path(data), Path(only) if only else None
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        say(text)

    folders = folders_of_prompts(map(str, prompt_folders), dataset)
    asking = AskingPeople(
        languages=names(languages),
        criteria=names(criteria),
        generators=(generators,) if isinstance(generators, str) else tuple(generators),
        template=template,
        add_criteria=add_criteria,
        sample=sample,
        drawn=drawn,
        also=also,
        test_questions=test_questions,
        seed=seed,
    )
    folder = Path(out) if out else Path("runs") / f"{dataset.resolve().name}-{to}"
    with dataset_to_change(dataset) as before:
        board = with_submissions(before, dataset)
        asking = replace(asking, only=outputs_named(named_in, board, options), named_in=named_in)
        handing = tasks_for_people(before, dataset, asking, folders, note)
        check_new(folder, SHEETS, force=force)
        loaded, questions = handing.data, handing.questions
        first = 1 + highest_number(loaded, read_given(dataset), new_people=only is not None)
        reserved = read_reserved(dataset)
        assignments = assign(
            handing.tasks,
            loaded.card.name,
            handing.rubrics,
            raters=raters,
            people=people,
            common=common,
            first=first,
            reserved=reserved,
            seed=seed,
            hidden=list(handing.hidden.values()),
            template=handing.template,
        )
        if reserved and assignments[0].rater.rpartition("-")[2] != str(first):
            note(
                f"studies on a server give out the numbers {reserved[0].start:,} to "
                f"{reserved[-1].stop - 1:,} in names such as {assignments[0].language}-1; the "
                "people of these forms are other people, so their names begin with "
                f"{assignments[0].rater}"
            )
        if to == "html":  # the other forms are read back by their English words
            assignments = _in_their_languages(assignments, folders, dataset, note)
        warn_of_repeated_sources([*handing.outputs, *questions], assignments, note)
        sheets = dict(forms.write(to, assignments))
        options |= {"template": handing.template.name, "generators": list(handing.generators)}
        settings = _recorded(options, questions, assignments, sheets)
        run_toml = tomli_w.dumps(manifest(SHEETS, loaded, [dataset], settings).to_dict())
        handing.add_criteria(before, dataset)
        with new_folder(folder, SHEETS, force=force) as partial:
            for name, content in sheets.items():
                (partial / name).write_bytes(content)
            (partial / "run.toml").write_text(run_toml, encoding="utf-8")
            if questions:
                write_questions(dataset, questions)
            note_given(dataset, assignments, to, seed, handing.key)
    return HandedOut(
        dataset, folder, to, tuple(assignments), questions, handing.added, tuple(notes)
    )


def _in_their_languages(
    assignments: Iterable[Assignment], folders: Sequence[Path], dataset: Path, say: Say
) -> list[Assignment]:
    """The assignments with labels and guidelines in each rater's language; notes say what stays in
    English.
    """
    from metal.building.forms.frame import in_their_language, note_on_english

    worded = [in_their_language(assignment, folders) for assignment in assignments]
    for line in note_on_english(worded, dataset):
        say(line)
    return worded


def _recorded(
    options: Mapping[str, Any],
    questions: Sequence[Output],
    assignments: Sequence[Assignment],
    sheets: Mapping[str, bytes],
) -> dict[str, Any]:
    """What run.toml records about an export.

    options: the options of `annotate_export`, by name.
    """
    from metal.data.holdings import digest

    settings = {
        "form": options["to"],
        "template": options["template"],
        "raters": options["raters"],
        "people": options["people"] or options["raters"],
        "common": options["common"],
        "seed": options["seed"],
    }
    for name in ("test_questions", "generators", "sample", "drawn", "also", "items"):
        if options[name] and (questions or name != "test_questions"):
            settings[name] = options[name]
    if options["only"]:
        settings["only"] = str(options["only"])
        settings |= {name: list(names(options[name])) for name in CELL}
    settings["people_given"] = {each.rater: len(each.tasks) for each in assignments}
    settings["files"] = {file: digest(content) for file, content in sheets.items()}
    return settings


def highest_number(
    dataset: Dataset, handed_out: Mapping[str, Assigned], *, new_people: bool
) -> int:
    """For each language, the highest number in a taken name such as hi-3; 0 if no name is taken.

    A name counts as taken if its rater never got tasks. With new_people, the names of people who
    got tasks count as taken, too.
    """
    taken = {name for name in dataset.raters if name not in handed_out} | (
        {*handed_out} if new_people else set()
    )
    parts = (name.rpartition("-") for name in taken)
    numbers = [
        int(last) for first, _, last in parts if first in dataset.languages and last.isdecimal()
    ]
    return max(numbers, default=0)


@documented
def annotate_import(
    data: StrPath,
    files: Sequence[StrPath],
    *,
    replace: Annotated[bool, Option("Let new ratings replace existing ones.")] = False,
    group: Annotated[str, Option("Group of the raters, e.g. native, expert, crowd.")] = "native",
    platform: Annotated[
        str, Option("Platform on which people answered, if the answers are a CSV.", metavar="NAME")
    ] = "",
    dry_run: Annotated[bool, Option("Check the files; write nothing.")] = False,
) -> ImportReport:
    """Import the files that people sent back.

    METAL recognizes answers of the HTML page (.json), sheets (.csv, .xlsx), Label Studio's JSON
    export and Mechanical Turk's results (.csv) by their content. It checks everything before it
    writes anything: unknown tasks, scores off the scale, people who answer twice. Earlier ratings
    stay, so you can give the same files again when more have come in.

    Any other CSV needs a column `task`, one that names the person (worker, WorkerId,
    participant_id, PROLIFIC_PID, or `rater` with `platform`) and one for each criterion. People
    become prolific:ID, csv:ID, or NAME:ID with `platform="NAME"`. You can add Prolific's own export
    of participants: people who were rejected, returned or timed out are left out and counted, and
    times are kept.

    Args:
        data: The dataset's folder.
        files: The paths of the files.

    Returns:
        A report on the answers and ratings that were imported.

    Raises:
        UsageError: If no tasks were handed out.
        DataError: For unknown tasks or people, scores off the scale and people who answer twice
            differently.
        UnknownName: For an unknown criterion.

    Example:
        report = metal.annotate_import("datasets/news", ["runs/news-csv/hi-1.csv"])
    """
    from metal.building import forms
    from metal.building.also import with_also
    from metal.data.dataset import dataset_to_change
    from metal.data.missing import no_such
    from metal.running.annotating import import_answers

    if platform and not re.fullmatch("[a-z][a-z0-9_-]*", platform):
        raise UsageError(
            f"`platform` {platform!r} is not a valid platform name; use lower-case letters, digits,"
            " - and _, e.g. prolific"
        )
    dataset = Path(data)
    for file in files:
        if not Path(file).exists() or Path(file).is_dir():
            raise no_such(file, "file")
    with dataset_to_change(dataset) as loaded:
        contents = (
            (Path(file).name, Path(file).read_bytes()) for file in counted_as(files, "files")
        )
        answers, notes = forms.read_all(contents, with_also(loaded.criteria), platform)
        return import_answers(
            dataset, loaded, answers, notes, replace=replace, group=group, dry_run=dry_run
        )


@documented
def annotate_status(data: StrPath) -> dict[str, list[Mapping[str, Any]]]:
    """List a dataset's campaigns as of the last push or pull, without asking the platform.

    For Mechanical Turk, posted counts tasks; submitted, approved, rejected and open count
    assignments. Submitted assignments wait for approval; open ones can still be submitted. `spent`
    is what was paid for approved assignments and bonuses, with fees.

    Args:
        data: The dataset's folder.

    Returns:
        A record for each campaign, by platform.

    Raises:
        UsageError: For a folder that is not a dataset.

    Example:
        metal.annotate_status("datasets/news")["html"]
    """
    from metal.building.crowdsourcing.schedule import now
    from metal.data.plugins import plugins

    if not (Path(data) / "dataset.toml").is_file():
        raise UsageError(f"{data} is not a dataset: it has no dataset.toml")
    return {name: list(platform_of(name).campaigns(Path(data), now())) for name in plugins(GROUP)}
