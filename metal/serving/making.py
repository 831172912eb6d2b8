"""Making a study: from a dataset and a few choices to tasks and forms in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metal.data.text import slug
from metal.errors import UsageError
from metal.serving.ledger import ServingLedger
from metal.serving.studies import NAME, Study, StudySettings, all_studies, form_content, make_study

if TYPE_CHECKING:
    from metal.running.handing_out import AskingPeople


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
    from metal.api.annotate import highest_number
    from metal.building.forms.frame import in_their_language, note_on_english
    from metal.building.store import read_given
    from metal.building.tasks import Assignment
    from metal.data.dataset import dataset_to_change
    from metal.running.handing_out import tasks_for_people
    from metal.running.prompting import prompt_folders as folders_of_prompts

    inside = _inside(root, dataset)
    called = _free_name(ledger, name or slug(dataset.resolve().name), asked_for=bool(name))
    folders = folders_of_prompts(prompt_folders, dataset)
    with dataset_to_change(dataset) as before:
        handing = tasks_for_people(before, dataset, asking, folders, say)
        if not handing.tasks:
            raise UsageError(f"{dataset} has no outputs to rate")
        every = [*handing.tasks, *(task for side in handing.hidden for task in side)]
        languages = list(dict.fromkeys(task.language for task in handing.tasks))
        assignments = [
            Assignment(
                handing.data.card.name,
                "",
                language,
                tuple(task for task in every if task.language == language),
                handing.rubrics,
                handing.template,
            )
            for language in languages
        ]
        worded = [in_their_language(each, folders) for each in assignments]
        for line in note_on_english(worded, dataset):
            say(line)
        first = 1 + highest_number(handing.data, read_given(dataset), new_people=True)
        settings = replace(
            settings,
            template=handing.template.name,
            criteria=tuple(handing.rubrics),
            first=first,
            tests=settings.tests or len(handing.questions) / len(handing.tasks),
        )
        handing.add_criteria(before, dataset)
        handing.note(dataset, assignments)
        forms = {each.language: form_content(each) for each in worded}
        return make_study(ledger, called, inside, handing, forms, settings)


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
    free, number = name, 1
    while free in taken and not asked_for:
        number += 1
        free = f"{name[:55]}-{number}"
    return free
