"""Tasks out to people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metal.data.parameters import Option

if TYPE_CHECKING:
    from metal.building.answers import Given
    from metal.building.tasks import Assignment
    from metal.data.dataset import Dataset
    from metal.data.records import Output


def _forms() -> list[str]:
    from metal.building.forms import form_names

    return form_names()


def _check_shares(text: str) -> None:
    from metal.genie.test_questions import Shares

    Shares.read(text)


@dataclass(frozen=True)
class HandedOut:
    """What an export wrote. added: criteria that were added to the dataset. notes: warnings, e.g. what was left out."""

    dataset: Path
    out: Path
    form: str
    assignments: tuple[Assignment, ...]
    questions: tuple[Output, ...]
    added: tuple[str, ...]
    notes: tuple[str, ...]


def annotate_export(
    data: str | Path,
    *,
    to: Annotated[str, Option(choices=_forms)] = "html",
    out: str | Path | None = None,
    raters: Annotated[int, Option("N", low=1)] = 3,
    people: Annotated[int | None, Option("N", low=1)] = None,
    common: Annotated[int, Option("N", low=0)] = 0,
    languages: Annotated[Sequence[str], Option("NAME[,NAME]", short="-l")] = (),
    criteria: Annotated[Sequence[str], Option("NAME[,NAME]", short="-c")] = (),
    only: Annotated[str | Path | None, Option("FILE", existing=True)] = None,
    test_questions: Annotated[str, Option("[=P%+N%]", bare="5%+5%", check=_check_shares)] = "",
    template: Annotated[str | None, Option("NAME")] = None,
    add_criteria: bool = False,
    generators: Annotated[Sequence[str], Option("NAME[,NAME]", short="-g")] = (),
    sample: Annotated[int | None, Option("N", low=1)] = None,
    prompts: Annotated[Sequence[str | Path], Option("DIR")] = (),
    seed: Annotated[int, Option(low=0)] = 0,
    force: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> HandedOut:
    """Write the tasks of a dataset for people: each rates outputs of one language, in an order of their own.

    Every form shows guidelines for each criterion, and none reveals who wrote a text or how good it was meant to be.
    People are called hi-1, hi-2, ...; who was given what is kept in the dataset's folder `annotation`.

    data: The dataset's folder.
    to: What people fill in.
    out: Folder to write. [default: runs/DATASET-FORM]
    raters: People who rate each output.
    people: People a language. [default: `raters`]
    common: Outputs a language that all its people rate, when there are more `people` than `raters`.
    languages: Languages; default all.
    criteria: Criteria; default all.
    only: Only the outputs in this CSV (a column `output`), by people who are new.
    test_questions: Hide questions whose answers are known: P% positive, N% negative. [without a value: 5%+5%]
    template: How tasks look and what is asked: metal, question-answering, commonsense, translation, summarization,
        or your own. [default: as metal, with the dataset's criteria]
    add_criteria: Add the template's criteria to the dataset where it lacks them.
    generators: Only what these generators wrote, e.g. one that is new; default all.
    sample: Only outputs of N sources a language, at random by `seed`; the same for every generator, and those that
        `metal.leaderboard(sample=N)` scores.
    prompts: Your own prompts.
    seed: Seed of all randomness.
    force: Replace the folder given with `out`.
    say: Told every note as it comes; the result has them as well.

    Raises UnknownName for an unknown form, language, criterion, generator or template; UsageError if there is nothing
    to rate, `out` exists, or `people` is less than `raters`; DataError for bad files.
    """
    from metal.building import forms
    from metal.building.choose_template import choose_template, warn_of_repeated_sources, with_references
    from metal.building.outputs_to_rate import generators_named, outputs_to_rate
    from metal.building.store import note_given, read_given, task_key
    from metal.building.tasks import assign, make_tasks
    from metal.data.dataset import load_dataset, update_dataset
    from metal.data.folders import check_new, new_folder, one_writer
    from metal.genie.leaderboard.subsample import sources_chosen
    from metal.genie.store import draw_questions, read_answers, read_questions, write_questions
    from metal.genie.test_questions import SIDES, side_of
    from metal.running.judging import prompt_folders

    dataset = Path(data)
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        say(text)

    with one_writer(dataset):
        shown = choose_template(
            load_dataset(dataset),
            dataset,
            template,
            criteria,
            prompt_folders(map(str, prompts), dataset),
            add_criteria=add_criteria,
            say=note,
        )
        loaded = shown.dataset
        chosen = generators_named(loaded, generators)
        to_rate = outputs_to_rate(
            loaded,
            dataset,
            languages=languages,
            only=Path(only) if only else None,
            generators=chosen,
            sources=None if sample is None else sources_chosen(loaded.sources.values(), sample, seed),
            say=note,
        )
        outputs = with_references(loaded, dataset, to_rate, shown.template, note)
        folder = Path(out) if out else Path("runs") / f"{dataset.resolve().name}-{to}"
        check_new(folder, force=force, marks=("run.toml",))
        key = task_key(dataset)
        questions: tuple[Output, ...] = ()
        if test_questions:
            used = set(read_answers(dataset)["output"].astype(str))
            questions = draw_questions(loaded, outputs, test_questions, seed, read_questions(dataset), note, used)
        sides = [[question for question in questions if side_of(question.output) == side] for side in SIDES]
        tasks, *hidden = (make_tasks(key, group, loaded.sources, shown.template) for group in (outputs, *sides))
        assignments = assign(
            tasks,
            loaded.card.name,
            shown.rubrics,
            raters=raters,
            people=people,
            common=common,
            first=1 + _highest_number(loaded, read_given(dataset), new_people=only is not None),
            seed=seed,
            hidden=hidden,
            template=shown.template,
        )
        warn_of_repeated_sources([*outputs, *questions], assignments, note)
        settings: dict[str, Any] = {
            "form": to,
            "template": shown.template.name,
            "raters": raters,
            "people": people or raters,
            "common": common,
            "seed": seed,
        }
        settings |= {"test_questions": test_questions} if questions else {}
        settings |= {"generators": list(chosen)} if chosen else {}
        settings |= {"sample": sample} if sample else {}
        settings |= {"people_given": {assignment.rater: len(assignment.tasks) for assignment in assignments}}
        about = _manifest(loaded, dataset, settings)
        if shown.added:
            update_dataset(loaded, dataset)
        with new_folder(folder, force=force, marks=("run.toml",)) as partial:
            for name, content in forms.write(to, assignments):
                (partial / name).write_bytes(content)
            (partial / "run.toml").write_text(about, encoding="utf-8")
            if questions:
                write_questions(dataset, questions)
            note_given(dataset, assignments, to, seed, key)
    return HandedOut(dataset, folder, to, tuple(assignments), questions, shown.added, tuple(notes))


def _manifest(dataset: Dataset, folder: Path, settings: Mapping[str, Any]) -> str:
    import tomli_w

    from metal.runs.manifest import manifest

    return tomli_w.dumps(manifest("annotate", dataset, [folder], settings).to_dict())


def _highest_number(dataset: Dataset, given: Mapping[str, Given], *, new_people: bool) -> int:
    """The highest number of a name such as hi-3 that is taken.

    Raters who are in the dataset from elsewhere have taken theirs; people who were given tasks too, if new_people.
    """
    taken = {name for name in dataset.raters if name not in given} | ({*given} if new_people else set())
    parts = (name.rpartition("-") for name in taken)
    numbers = [int(last) for first, _, last in parts if first in dataset.languages and last.isdecimal()]
    return max(numbers, default=0)
