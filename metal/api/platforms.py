"""Platforms on which people rate: each is a `Platform`, and an entry point in the group
`metal.platforms`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from metal.data.plugins import load_plugin
from metal.errors import UsageError
from metal.running.annotating import Posted, Pulled
from metal.runs.kinds import load

if TYPE_CHECKING:
    from metal.building.tasks import Answer
    from metal.data.dataset import Dataset
    from metal.running.annotating import ImportReport

GROUP = "metal.platforms"

Say: TypeAlias = Callable[[str], None]
Confirm: TypeAlias = Callable[[str], bool]


def silent(*anything: object) -> None:
    """A callback that does nothing."""


@dataclass(frozen=True)
class Platform:
    """A platform, and the functions that serve it.

    title: its name for people. push(data, export, ...) -> Posted, pull(data, ...) -> Pulled: their
    parameters are the options of `metal annotate push` and `pull` (see metal.api.options). They get
    the callbacks for which they have parameters: say, progress, confirm and countdown for push;
    say, progress, confirm and imported for pull. campaigns(dataset, now): gives a record of figures
    for each campaign in the dataset's folder.
    """

    title: str
    push: Callable[..., Posted | None]
    pull: Callable[..., Pulled]
    campaigns: Callable[[Path, datetime], Sequence[Mapping[str, Any]]]


def platform_of(name: str) -> Platform:
    """The platform of this name. Raises UnknownName."""
    loaded: Platform = load_plugin(GROUP, "platform", name)
    return loaded


def standings(campaign: str) -> Callable[[Path, datetime], Sequence[Mapping[str, Any]]]:
    """A function for `Platform.campaigns`, made from a class of campaigns named "module:Class",
    which is imported when called.
    """
    return lambda dataset, now: [each.standing(now) for each in load(campaign).of(dataset)]


def taken_in(
    folder: Path,
    dataset: Dataset,
    answers: Sequence[Answer],
    notes: Sequence[str],
    say: Say,
    imported: Callable[[ImportReport], None],
    **options: Any,
) -> ImportReport | None:
    """Import the fetched answers as ratings, and return the report; None if there are no answers
    yet.

    options: the options of `import_answers`.
    """
    from metal.running.annotating import import_answers

    if not answers:
        for note in ["no answers to take in yet", *notes]:
            say(f"note: {note}")
        return None
    report = import_answers(folder, dataset, answers, notes, **options)
    imported(report)
    return report


def confirm_spending(question: str, yes: bool, confirm: Confirm | None) -> None:
    """Continue only with consent to spend money. Raises UsageError without it.

    yes: whether consent was already given. confirm: a function that asks for it.
    """
    if yes:
        return
    if confirm is None:
        raise UsageError(
            "this costs money: pass `yes=True` if nobody can confirm. Nothing was sent"
        )
    if not confirm(question):
        raise UsageError("nothing was sent")
