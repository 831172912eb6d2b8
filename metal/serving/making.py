"""Making a study: from a dataset and a few choices to tasks and forms in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.text import slug
from metal.errors import UsageError
from metal.serving.ledger import ServingLedger
from metal.serving.people import NUMBERS, RATER, new_link, new_person
from metal.serving.studies import (
    NAME,
    Study,
    StudySettings,
    StudyTask,
    address_name,
    all_studies,
    change_settings,
    free_name,
    make_study,
)

if TYPE_CHECKING:
    from metal.building.tasks import Assignment
    from metal.data.dataset import Dataset
    from metal.running.handing_out import AskingPeople, TasksForPeople


def begin_study(
    ledger: ServingLedger,
    root: Path,
    folder: Path,
    asking: AskingPeople,
    settings: StudySettings,
    say: Callable[[str], None],
    *,
    name: str = "",
    people: int = 0,
    prompt_folders: tuple[str, ...] = (),
) -> tuple[Study, list[tuple[str, str]]]:
    """Make a study of a dataset, or of a plan of adjudication, with links for its people.

    folder: of the dataset or the plan, below the server's. people: how many people of each language
    get a link; those of a plan are the adjudicators that it names.

    Returns the study, and (person, path of their link) for each person. Raises UsageError and
    UnknownName, as `new_study` and `study_of_forms` do.
    """
    if settings.budget and not settings.pay:
        raise UsageError(
            f"`budget` is {settings.budget:g}, and nothing says what an answer costs; pass `pay`,"
            " too, so that METAL can keep to the budget"
        )
    if is_plan(folder):
        return study_of_forms(ledger, root, folder, settings, name=name)
    study = new_study(
        ledger, root, folder, asking, settings, say, name=name, prompt_folders=prompt_folders
    )
    links = []
    for language in study.languages:
        for _ in range(people):
            rater, _ = new_person(ledger, study, [language])
            secret = new_link(ledger, RATER, study=study.id, person=rater.id)
            links.append((rater.name, f"/r/{secret}"))
    return study, links


def is_plan(folder: Path) -> bool:
    """Whether a folder is a run, such as a plan of adjudication, and no dataset."""
    return not (folder / "dataset.toml").is_file() and (folder / "run.toml").is_file()


def new_study(
    ledger: ServingLedger,
    root: Path,
    dataset: Path,
    asking: AskingPeople,
    settings: StudySettings,
    say: Callable[[str], None],
    *,
    name: str = "",
    prompt_folders: tuple[str, ...] = (),
) -> Study:
    """Make a study of a dataset below the server's folder.

    The dataset notes its tasks and test questions in the same way as `metal annotate export` does.
    say: called with each note. Raises UsageError for a dataset elsewhere or a name that is taken.
    """
    from metal.building.forms.frame import in_their_language, note_on_english
    from metal.building.forms.study_form import form_content
    from metal.building.store import read_reserved, reserve
    from metal.data.dataset import dataset_to_change
    from metal.running.handing_out import tasks_for_people
    from metal.running.prompting import prompt_folders as folders_of_prompts

    inside = _inside(root, dataset)
    called = _free_name(ledger, name or address_name(dataset.resolve().name), asked_for=bool(name))
    folders = folders_of_prompts(prompt_folders, dataset)
    with dataset_to_change(dataset) as before:
        handing = tasks_for_people(before, dataset, asking, folders, say)
        if not handing.tasks:
            raise UsageError(f"{dataset} has no outputs to rate")
        assignments = _by_language(handing)
        worded = [in_their_language(each, folders) for each in assignments]
        for line in note_on_english(worded, dataset):
            say(line)
        first = _first_number(ledger, inside, handing.data, dataset)
        settings = replace(
            settings,
            template=handing.template.name,
            criteria=tuple(handing.rubrics),
            first=first,
            tests=settings.tests or len(handing.questions) / len(handing.tasks),
        )
        _check_qualification(settings, handing)
        handing.add_criteria(before, dataset)
        handing.note(dataset, assignments)
        block = range(first, first + NUMBERS)
        if block not in read_reserved(dataset):
            reserve(dataset, block)
        forms = {each.language: form_content(each) for each in worded}
        return make_study(ledger, called, inside, _tasks(handing), forms, settings)


def _check_qualification(settings: StudySettings, handing: TasksForPeople) -> None:
    """Raise UsageError if a language has fewer test questions than everybody is asked first."""
    numbers = Counter({task.language: 0 for task in handing.tasks})
    numbers.update(task.language for side in handing.hidden.values() for task in side)
    few = [f"{number} in {name}" for name, number in numbers.items() if number < settings.qualify]
    if few:
        raise UsageError(
            f"`qualify` asks {settings.qualify} test questions first, and there are only"
            f' {", ".join(few)}; pass a larger share, e.g. `test_questions="20%+20%"`, or a'
            " smaller `qualify`"
        )


def _first_number(ledger: ServingLedger, inside: str, data: Dataset, dataset: Path) -> int:
    """The number of the first person, as in hi-1: that of the ledger's other studies of the
    dataset, or one after all that are taken.
    """
    from metal.api.annotate import highest_number
    from metal.building.store import read_given, read_reserved

    reserved = read_reserved(dataset)
    for study in all_studies(ledger):
        first = study.settings.first
        if study.dataset == inside and range(first, first + NUMBERS) in reserved:
            return first
    highest = highest_number(data, read_given(dataset), new_people=True)
    return 1 + max([highest, *(block.stop - 1 for block in reserved)])


def _by_language(handing: TasksForPeople) -> list[Assignment]:
    """All tasks of each language, as if one person had them."""
    from metal.building.tasks import Assignment

    every = [*handing.tasks, *(task for side in handing.hidden.values() for task in side)]
    name, rubrics, template = handing.data.card.name, handing.rubrics, handing.template
    assignments = []
    for language in dict.fromkeys(task.language for task in handing.tasks):
        tasks = tuple(task for task in every if task.language == language)
        assignments.append(Assignment(name, "", language, tasks, rubrics, template))
    return assignments


def _tasks(handing: TasksForPeople) -> list[StudyTask]:
    """The tasks as a study has them, test questions with their side."""
    tasks = [StudyTask(task.language, asdict(task)) for task in handing.tasks]
    for side, hidden in handing.hidden.items():
        tasks += [StudyTask(task.language, asdict(task), side) for task in hidden]
    return tasks


def study_of_forms(
    ledger: ServingLedger, root: Path, folder: Path, settings: StudySettings, *, name: str = ""
) -> tuple[Study, list[tuple[str, str]]]:
    """Make a study of the forms that `to=study` wrote, as for adjudication: its people are those of
    the forms, everybody answers all tasks of a part, and the answers come into the folder as files.

    Returns the study, and (person, path of their link) for each person. Raises UsageError for a
    folder without such forms, DataError for a bad one.
    """
    from metal.building.forms.study_form import ENDING, tasks_in

    files = sorted(folder.glob(f"*{ENDING}"))
    if not files:
        raise UsageError(
            f"{folder} has no tasks of a study; give a dataset, or make tasks with `metal "
            "adjudicate plan DATASET --to study`"
        )
    inside = _inside(root, folder)
    called = _free_name(ledger, name or address_name(folder.resolve().name), asked_for=bool(name))
    forms: dict[str, Any] = {}
    people: dict[str, list[str]] = {}
    parts: dict[tuple[str, ...], str] = {}
    tasks: dict[str, StudyTask] = {}
    for file in files:
        content = tasks_in(str(file), file.read_bytes())
        asked = (content["language"], *(each["name"] for each in content["form"]["questions"]))
        plain = slug(" ".join(asked[:2]))  # the same for two criteria in another script
        part = parts.setdefault(asked, free_name(plain, parts.values()))
        forms[part] = content["form"]
        people.setdefault(content["rater"], []).append(part)
        tasks |= {each["task"]: StudyTask(part, each) for each in content["tasks"]}
    settings = replace(settings, raters=len(people), of_forms=True)
    study = make_study(ledger, called, inside, list(tasks.values()), forms, settings)
    links = []
    for person, theirs in people.items():
        rater, _ = new_person(ledger, study, theirs, name=person)
        secret = new_link(ledger, RATER, study=study.id, person=rater.id)
        links.append((person, f"/r/{secret}"))
    return study, links


def _inside(root: Path, dataset: Path) -> str:
    """The dataset's folder relative to the server's. Raises UsageError for one elsewhere."""
    try:
        return dataset.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise UsageError(
            f"{dataset} is not in {root}, the folder that `metal serve` serves; move it there, or"
            " serve a folder above it"
        ) from None


def _free_name(ledger: ServingLedger, name: str, *, asked_for: bool) -> str:
    """The name, with a number if a study has it and it was not asked for. Raises UsageError for a
    name that cannot stand in an address.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"`name` {name[:60]!r} cannot be a study's; use up to 60 lower-case letters, digits and"
            " hyphens"
        )
    taken = {study.id for study in all_studies(ledger)}
    if name in taken and asked_for:
        raise UsageError(f"there is a study {name} already; give this one another `name`")
    return free_name(name, taken)


def note_names_since(ledger: ServingLedger, root: Path) -> None:
    """After a ledger was restored: note which names its datasets have meanwhile, so that no
    newcomer gets the name of somebody of whom the ledger knows nothing.
    """
    from metal.building.store import read_given

    for study in all_studies(ledger):
        folder, first = study.folder(root), study.settings.first
        if study.settings.of_forms or not folder.is_dir():
            continue
        numbers = [study.settings.past]
        for name in read_given(folder):
            end = name.rpartition("-")[2]
            number = int(end.removeprefix("s")) if end.removeprefix("s").isdecimal() else 0
            if end != str(number) or number in range(first, first + NUMBERS):
                numbers.append(number)
        change_settings(ledger, study.id, past=max(numbers))
